package problem

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// trainedProblem is what a run folder holds.
func trainedProblem(t *testing.T, text string) *Problem {
	t.Helper()
	p := testkit.Must(Load([]byte(text), "f", "", nil))
	p = testkit.Must(Load(p.Resolved(), "config.yaml", "", nil))
	return p
}

// redrawn goes through what experiment does.
func redrawn(p *Problem, settings ...string) (*Problem, method.Method, []Drawn, error) {
	own, err := p.Build()
	if err != nil {
		return nil, nil, nil, err
	}
	m, err := p.Method(own)
	if err != nil {
		return nil, nil, nil, err
	}
	q, err := p.Redraw(ParseSettings(settings...))
	if err != nil {
		return nil, nil, nil, err
	}
	proc, err := q.BuildRedraw()
	if err != nil {
		return nil, nil, nil, err
	}
	if m, err = q.Redrawn(m, proc); err != nil {
		return nil, nil, nil, err
	}
	set, err := p.Drawn(q, proc)
	return q, m, set, err
}

const sphere = "prior: uniform\nset: {kind: sphere, dim: 3}\nprocess: {method: ULLA, steps: 50}\n" +
	"train: {times_per_path: 9}\n"

// Keys of generation are taken, noted with the run's own, and leave the run's problem as it is.
func TestRedraw(t *testing.T) {
	p := trainedProblem(t, sphere)
	before := string(p.Resolved())
	for setting, want := range map[string]string{
		"process.steps=5":                   "{process.steps 5 50}",
		"process.steps=50":                  "{process.steps 50 50}",
		"process.method=ulla":               "{process.method ULLA ULLA}",
		"process.method=ulla-p":             "{process.method ULLA-P ULLA}",
		"process.terminal_projection=false": "{process.terminal_projection false true}",
		"process.curvature=true":            "{process.curvature true false}",
		"process.landing={mode: explicit, rate: 3}": "{process.landing.mode explicit implicit} " +
			"{process.landing.rate 3 0}",
		"prior=empirical": "{prior empirical uniform}",
		"generate={max_failed: 0.5, max_violation: 1}": "{generate.max_failed 0.5 0.01} " +
			"{generate.max_violation 1 1e-09}",
	} {
		q, m, set, err := redrawn(p, setting)
		got := ""
		for _, s := range set {
			got += fmt.Sprintf("{%s %v %v} ", s.Key, s.Value, s.Own)
		}
		if got = strings.TrimSpace(got); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", setting, got, err, want)
		}
		if err == nil && (q == p || m == nil) {
			t.Errorf("%s: %v, %v", setting, q, m)
		}
	}
	testkit.Equal(t, string(p.Resolved()), before, "the run's problem is another")
}

// Keys that take a training are refused with the reason, values that a network cannot
// serve with what it can, and changes that change nothing with what is missing.
func TestRedrawRefuses(t *testing.T) {
	cap := "set: {kind: cap, axis: [0, 0, 1], height: 0.2}\nprocess: {method: OLLA, walls: elastic}\n"
	for _, c := range []struct{ text, setting, want string }{
		{sphere, "train.epochs=5", "--set train.epochs=5: train.epochs: it takes another training: it says how the " +
			"network was trained. Keys that take none: process.method,"},
		{sphere, "process.friction=2", "process.friction: it takes another training: the score was learned for this"},
		{sphere, "process={horizon: 3}", "process.horizon: it takes another training: the score was learned for these"},
		{sphere, "process.sigma.min=0.2", "process.sigma.min: it takes another training: the score was learned at"},
		{sphere, "process.options={a: 1}", "process.options.a: there is no such option; ULLA has none"},
		{sphere, "convention=paper", "convention: it takes another training"},
		{sphere, "network.width=4", "network.width: it takes another training: the weights are those of this network"},
		{sphere, "set.dim=4", "set.dim: it takes another training"},
		{sphere, "data.tolerance=1", "data.tolerance: it takes another training"},
		{sphere, "seed=2", "that of samples is --seed"},
		{sphere, "sample.step=1", "it is a key of landing mcmc"},
		{sphere, "name=x", "it is no key of generation"},
		{sphere, "process.steps=51", "process.steps is 51; expected at most the 50 steps of training"},
		{sphere, "process.method=OLLA", `process.method is "OLLA"; expected ULLA or ULLA-P`},
		{sphere, "process.steps=0", "process.steps is 0; expected a number of steps N ≥ 1"},
		{sphere, "process.landing={mode: explicit, rate: 1000}", "process.landing.rate is 1000; expected α σ_k²Δt < 2"},
		{sphere, "process.landing.rate=4", "it changes nothing: landing is implicit; add --set " +
			"process.landing.mode=explicit"},
		{sphere, "process.walls=paper", "it changes nothing: the set has no inequalities"},
		{sphere, "process.steps", "setting is"},
		{cap, "process.repulsion=0.1", "it changes nothing: walls are elastic; add --set process.walls=paper"},
		{cap, "process.walls=late", "it changes nothing: the set closes no ring"},
		{"set: {kind: sphere, dim: 3}\nprocess: {method: OLLA-P}\n", "process.terminal_projection=false",
			"it changes nothing: OLLA-P projects at every step"},
	} {
		var e *KeyError
		if _, _, _, err := redrawn(trainedProblem(t, c.text), c.setting); !errors.As(err, &e) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.setting, err, c.want)
		}
	}
}

// With the paper's walls instead of elastic ones the program chooses the repulsion, which the run did not use, unless
// the settings have it.
func TestRedrawWalls(t *testing.T) {
	p := trainedProblem(t, "set: {kind: cap, axis: [0, 0, 1], height: 0.2}\nprocess: {method: OLLA, walls: elastic}\n")
	q, err := p.Redraw(ParseSettings("process.walls=paper"))
	if err != nil || !q.RepulsionIsAuto(true) {
		t.Errorf("%v, repulsion %v", err, q.Process.Repulsion)
	}
	q, err = p.Redraw(ParseSettings("process.walls=paper", "process.repulsion=0"))
	if err != nil || q.RepulsionIsAuto(true) {
		t.Errorf("%v, repulsion %v", err, q.Process.Repulsion)
	}
}

// What a network has learned of the space around a set serves all methods that know of the set only when they generate,
// with their own options, which are noted; and no method whose paths are on the set, nor the other way round.
func TestRedrawByRivals(t *testing.T) {
	p := trainedProblem(t, strings.Replace(strings.Replace(sphere, "uniform", "empirical", 1), "ULLA, steps: 50",
		"guided, steps: 50, options: {strength: 3}", 1))
	const forgotten = "{process.options.strength <nil> 3}"
	for setting, want := range map[string]string{
		"process.method=projected":   "{process.method projected guided} " + forgotten,
		"process.method=Guided":      "{process.method guided guided}",
		"process.options.strength=5": "{process.options.strength 5 3}",
		"process.steps=10":           "{process.steps 10 50}",
		"process={method: lagrangian, options: {penalty: 20}}": "{process.method lagrangian guided} " +
			"{process.options.penalty 20 <nil>} " + forgotten,
		"process={method: corrected, terminal_projection: false}": "{process.method corrected guided} " +
			"{process.terminal_projection false true} " + forgotten,
	} {
		_, m, set, err := redrawn(p, setting)
		got := ""
		for _, s := range set {
			got += fmt.Sprintf("{%s %v %v} ", s.Key, s.Value, s.Own)
		}
		if got = strings.TrimSpace(got); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", setting, got, err, want)
		}
		name := strings.Fields(want)[1]
		if err == nil && strings.HasPrefix(want, "{process.method") && m.Name() != name {
			t.Errorf("%s: drawn by %s", setting, m.Name())
		}
	}
	olla := trainedProblem(t, strings.Replace(strings.Replace(sphere, "uniform", "empirical", 1), "ULLA", "OLLA", 1))
	for _, c := range []struct {
		p            *Problem
		setting, key string
	}{
		{p, "process.method=OLLA", "process.method"}, {p, "process.steps=60", "process.steps"},
		{p, "process.options.penalty=3", "process.options.penalty"}, {p, "prior=uniform", "prior"},
		{p, "process.landing={mode: explicit, rate: 1}", "process.landing.mode"},
		{p, "process.curvature=true", "process.curvature"},
		{olla, "process.method=projected", "process.method"}, {olla, "process.method=euclidean", "process.method"},
		{olla, "process.options.strength=2", "process.options.strength"},
	} {
		_, _, _, err := redrawn(c.p, c.setting)
		var e *KeyError
		if !errors.As(err, &e) || e.Key != c.key {
			t.Errorf("%s: %v", c.setting, err)
		}
	}
}

// An arm's open places have names of their own, which formulas can use and the resolved problem
// has; those that are given win. Chains, which have no data, are refused such a set.
func TestOpenPlacesAreNamed(t *testing.T) {
	recipe, _, err := Source("arm")
	testkit.OK(t, err)
	tip := []string{"start_x", "start_y", "start_z"}
	for _, c := range []struct {
		set  []string
		want []string
	}{
		{[]string{"set.start={position: condition}"}, tip},
		{[]string{"set.start={position: condition}", "condition.columns=[a, b, c]"}, []string{"a", "b", "c"}},
		{[]string{"set.start={position: condition}", "condition.drop=0.1"}, tip},
		{[]string{"set.goal={joints: condition}", "potential={kind: formula, expr: goal_cos_panda_joint1 + " +
			"goal_sin_panda_joint7}"}, []string{
			"goal_cos_panda_joint1", "goal_cos_panda_joint2", "goal_cos_panda_joint3", "goal_cos_panda_joint4",
			"goal_cos_panda_joint5", "goal_cos_panda_joint6", "goal_cos_panda_joint7",
			"goal_sin_panda_joint1", "goal_sin_panda_joint2", "goal_sin_panda_joint3", "goal_sin_panda_joint4",
			"goal_sin_panda_joint5", "goal_sin_panda_joint6", "goal_sin_panda_joint7"}},
		{[]string{"set={robot: '', dh: [{d: 1}, {kind: prismatic, limits: [0, 1]}], path: [], obstacles: [], " +
			"start: {}, goal: {joints: condition}}"}, []string{"goal_cos_joint1", "goal_sin_joint1", "goal_joint2"}},
	} {
		p, err := Load(recipe, "", "", ParseSettings(c.set...))
		if err != nil {
			t.Errorf("%v: %v", c.set, err)
			continue
		}
		if _, err := p.Assemble(); err != nil || !slices.Equal(p.Condition.Columns, c.want) {
			t.Errorf("%v: %v, %v", c.set, p.Condition.Columns, err)
		}
		again, err := Load(p.Resolved(), "", "", nil)
		if err != nil || !slices.Equal(again.Condition.Columns, c.want) {
			t.Errorf("%v, resolved: %v, %v", c.set, again.Condition.Columns, err)
		}
	}
	p := testkit.Must(Load(recipe, "", "", ParseSettings("set.goal={position: condition}")))
	testkit.Refused(t, testkit.Err(p.BuildChains()),
		"condition.columns is [goal_x goal_y goal_z]; expected none", "chains")
}

// In products and intersections open numbers have the names on which the sets that see them agree;
// where others would follow them it is refused.
func TestOpenPlacesOfCompounds(t *testing.T) {
	const arm = "{kind: arm, robot: panda, waypoints: 2, goal: {position: condition}}"
	const line = "{kind: euclidean, dim: 2}"
	names := []string{"goal_x", "goal_y", "goal_z"}
	for _, c := range []struct{ set, fault string }{
		{"{product: [" + line + ", " + arm + "]}", ""},
		{"{all: [" + arm + ", " + arm + "]}", ""},
		{"{all: [" + arm + ", {dim: 28, inequality: [{name: up, expr: 'goal_z >= x[0] - 3'}]}]}", ""},
		{"{all: [{dim: 28, inequality: [{name: up, expr: 'x[0] <= 2'}]}, " + arm + "]}", ""},
		{"{all: [" + arm + ", {dim: 28, inequality: [{name: up, expr: 'goal_w >= 0'}]}]}",
			`unknown name "goal_w"; did you mean "goal_x"?`},
		{"{product: [" + arm + ", " + line + "]}", "expected a set whose open numbers stand last, such as a product " +
			"with the factor that has them at its end: coordinate 28 of product of 2 waypoints of panda"},
	} {
		p, err := Load([]byte("name: open\nset: "+c.set+"\n"), "", "", nil)
		if err == nil {
			_, err = p.Assemble()
		}
		if c.fault != "" {
			testkit.Refused(t, err, c.fault, c.set)
			continue
		}
		if err != nil || !slices.Equal(p.Condition.Columns, names) {
			t.Errorf("%s: %v", c.set, err)
		}
	}
}

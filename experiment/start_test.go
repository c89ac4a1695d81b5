package experiment

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/settle"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// compareStart is CompareStart with the problem's prior.
func compareStart(t *testing.T, e *Run, n int) (*judge.Start, error) {
	t.Helper()
	prior := testkit.Must(e.Prior(context.Background(), nil))
	return e.CompareStart(context.Background(), prior, n)
}

// A process that hardly moves is far from the uniform prior; one that forgets the data is at the floor: its energy test
// passes at the level 0.001, which is its false-alarm rate. Nothing depends on the call before.
func TestStart(t *testing.T) {
	compare := func(settings ...string) *judge.Start {
		e := begin(t, settings...)
		s := testkit.Must(compareStart(t, e, 800))
		again, err := compareStart(t, e, 800)
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Errorf("%+v, then %+v, %v", s, again, err)
		}
		return s
	}
	s := compare("process.horizon=0.01")
	if s.Prior != "uniform" || s.Metric != "Jensen–Shannon distance" || s.Paths != 2000 || s.PValue > 0.001 ||
		s.Distance < s.Floor+5*s.FloorSD || !strings.Contains(s.Warning, "prior=empirical") {
		t.Errorf("paths that stay: %+v", s)
	}
	s = compare("process.friction=1.5")
	if s.PValue <= 0.001 || s.Warning != "" || math.Abs(float64(s.Distance-s.Floor)) > 0.1*float64(s.Floor) {
		t.Errorf("paths that forget: %+v", s)
	}
}

// An empirical prior is made of such ends: there is nothing to compare.
func TestStartEmpirical(t *testing.T) {
	s, err := compareStart(t, begin(t, "prior=empirical"), 100)
	if err != nil || s.Prior != "empirical" || s.Paths != 0 || s.Warning != "" || !math.IsNaN(float64(s.Distance)) {
		t.Errorf("%+v, %v", s, err)
	}
}

// Where chains make the uniform law, their draws are what is compared.
func TestStartChains(t *testing.T) {
	e := begin(t, "set.kind=formula", `set.equality=[{name: radius, expr: "norm(x) = 1"}]`, "process.friction=1.5")
	s, err := compareStart(t, e, 300)
	if err != nil || s.Prior != "chains" || s.Paths != 2000 || math.IsNaN(float64(s.Distance)) || s.PValue <= 0.001 {
		t.Errorf("%+v, %v", s, err)
	}
}

// There are as many paths as samples. There are at least 2000 if that is cheap, and fewer if that many would be
// expensive.
func TestStartCount(t *testing.T) {
	e := begin(t)
	for _, c := range []struct{ steps, samples, want int }{
		{50, 200, 2000}, {50, 20_000, 2000},
		{9999, 200, 333},      // 30 000 numbers a path
		{9999, 5000, 2000},    // 6e7 in all
		{999_999, 200, 33},    // 1e8 in all
		{99_999_999, 5000, 1}, // one is more than that
	} {
		proc := *e.Process
		proc.Schedule.N = c.steps
		testkit.Equal(t, settle.PathCount(&proc, c.samples), c.want, "%d steps, %d samples", c.steps, c.samples)
	}
}

// prior: auto is the uniform law where paths end in it, and else the ends of paths, with
// the reason in the manifest; a folder opens with what was chosen. Where auto takes the
// uniform law the evaluation does not reject it: both make the same test. Its level,
// 0.05, is the chance that a law in which paths do end is not taken.
func TestPriorIsAuto(t *testing.T) {
	for _, c := range []struct {
		settings     []string
		want, reason string
	}{
		{[]string{"process.horizon=0.01"}, "empirical", "do not end in the uniform law (energy test, p = 0.001"},
		{[]string{"process.friction=1.5"}, "uniform", "cannot be told"},
		{[]string{"set.kind=formula", `set.equality=[{name: radius, expr: "norm(x) = 1"}]`}, "empirical",
			"no closed form"},
		{[]string{"potential.kind=linear", "potential.b=[0, 0, 1]", "train.window=0"}, "empirical", "exp(−f)"},
	} {
		e := begin(t, append(c.settings, "prior=auto")...)
		var m run.Manifest
		testkit.OK(t, e.Folder.ReadJSON(run.ManifestFile, &m))
		if len(m.Chosen) != 1 || m.Chosen[0].Key != "prior" || m.Chosen[0].Value != c.want ||
			!strings.Contains(m.Chosen[0].Reason, c.reason) || e.Problem.Prior != c.want {
			t.Errorf("%v: chosen %+v, prior %q; want %s: %s", c.settings, m.Chosen, e.Problem.Prior, c.want, c.reason)
		}
		again, err := Open(t.Context(), e.Folder.Dir, "", e.Pool, nil)
		if err != nil || again.Problem.Prior != c.want || len(again.Chosen) != 0 {
			t.Errorf("%v: opened with %+v, %v", c.settings, again, err)
		}
		if s, err := compareStart(t, e, e.SampleCount()); err != nil || s.Warning != "" {
			t.Errorf("%v: %+v, %v", c.settings, s, err)
		}
	}
}

// On a set without end there is no uniform law to take; a prior that is written stays, and fails there.
func TestPriorWithoutEnd(t *testing.T) {
	const line = "name: line\ndefaults: fixed\nset: {kind: affine, a: [[1, 1]], b: [1]}\n"
	rows := [][]float64{{0, 1}, {1, 0}, {0.5, 0.5}, {2, -1}, {0.25, 0.75}, {-1, 2}}
	l, err := written(t, line, rows)
	if err != nil || l.Problem.Prior != "empirical" || !strings.Contains(l.Chosen[0].Reason, "unbounded") {
		t.Errorf("%+v, %v", l, err)
	}
	testkit.Refused(t, testkit.Err(written(t, line+"prior: uniform\n", rows)), "auto", "uniform")
}

// The choice is a function of the problem and its data, not of the workers.
func TestPriorByWorkers(t *testing.T) {
	var first []choose.Choice
	for _, workers := range []int{1, 3} {
		pool := testkit.Pool(t, workers)
		data, origin, err := problem.Source("demo")
		testkit.OK(t, err)
		p := testkit.Must(problem.Load(data, origin, "fixed", problem.ParseSettings("prior=auto",
			"process.friction=1.5")))
		l := testkit.Must(Load(t.Context(), p, pool, nil))
		if first == nil {
			first = l.Chosen
		}
		if len(first) != 1 || !slices.Equal(first, l.Chosen) {
			t.Errorf("%d workers: %+v, first %+v", workers, l.Chosen, first)
		}
	}
}

// The doctor says what auto takes, and compares paths with the uniform law only where generation begins with it.
func TestExamineAutoPrior(t *testing.T) {
	if testing.Short() {
		t.Skip("two tests of a thousand points")
	}
	pool := testkit.Pool(t, 2)
	for _, horizon := range []string{"0.01", "40"} {
		data, origin, err := problem.Source("demo")
		testkit.OK(t, err)
		p, err := problem.Load(data, origin, "fixed", problem.ParseSettings("prior=auto", "process.horizon="+horizon))
		testkit.OK(t, err)
		r := testkit.Must(Examine(context.Background(), p, pool, nil))
		keepFindings(t, r)
	}
}

// Start and goal become the condition of the set's open places, in its order; what is not open, is
// missing or is of another length is named.
func TestEnds(t *testing.T) {
	recipe, _, err := problem.Source("arm")
	testkit.OK(t, err)
	run := func(set ...string) *Loaded {
		p := testkit.Must(problem.Load(recipe, "", "", problem.ParseSettings(set...)))
		l := &Loaded{Settled: settle.Settled{Problem: p}}
		l.Process = testkit.Must(p.Build())
		if names := p.Condition.Columns; names != nil {
			d := l.Process.Set.Dim()
			l.Condition = newCondition(names, make([]float64, 2*d), d)
		}
		return l
	}
	both := run("set.start={joints: condition}", "set.goal={position: condition}")
	asked, err := both.Between("0.1,0.2,0.3,-2,0.5,1.5, 0.7", "0.4,0.5,0.205")
	if err != nil || len(asked.Rows) != 17 {
		t.Fatalf("%v, %v", asked, err)
	}
	for k, want := range map[int]float64{0: math.Cos(0.1), 3: math.Cos(-2), 7: math.Sin(0.1), 10: math.Sin(-2),
		14: 0.4, 15: 0.5, 16: 0.205} {
		if math.Abs(asked.Rows[k]-want) > 1e-15 {
			t.Errorf("%s is %v, want %v", both.Condition.Names[k], asked.Rows[k], want)
		}
	}
	goal, closed := run("set.goal={position: condition}", "condition.columns=[a, b, c]"), run()
	// names of a person's own are for the same numbers
	got, err := goal.Between("", "0.4, 0.5,0.2")
	if err != nil || !slices.Equal(got.Rows, []float64{0.4, 0.5, 0.2}) || !strings.Contains(got.Warning, "a is 0.4") {
		t.Errorf("%v, %v", got, err)
	}
	for _, c := range []struct {
		l                 *Loaded
		start, goal, want string
	}{
		{both, "0.4,0.5,0.2", "0.4,0.5,0.2", `--start is "0.4,0.5,0.2"; expected 7 numbers, values of the joints`},
		{both, "", "0.4,0.5,0.2", "the run leaves its start open: expected --start with 7 numbers"},
		{goal, "0.4,0.5,0.2", "0.4,0.5,0.2", "expected none: the set of the run does not leave its start open"},
		{goal, "", "0.4,nan,0.2", `--goal is "0.4,nan,0.2"; expected three numbers in metres`},
		{goal, "", "0.4,0.2", `--goal is "0.4,0.2"; expected three numbers in metres`},
		{closed, "0.4,0.5,0.2", "", "no arm that leaves start or goal open"},
		{&Loaded{Settled: settle.Settled{Process: &langevin.Process{Set: zoo.Sphere{D: 3}}}}, "1,1,1", "",
			"of motions of an arm; the run's set is sphere"},
		{&Loaded{Settled: settle.Settled{Process: &langevin.Process{Set: closed.Process.Set}}}, "", "1,1,1",
			"no arm that leaves"},
	} {
		_, err := c.l.Between(c.start, c.goal)
		if fault.KindOf(err) != fault.Config || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q to %q: %v, want %s", c.start, c.goal, err, c.want)
		}
	}
}

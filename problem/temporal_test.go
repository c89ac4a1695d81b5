package problem

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The temporal network is for an arm's way points in any form of its set, with what is given
// of it behind them, and for what is said to be a sequence; keys that cannot be are named.
func TestTemporal(t *testing.T) {
	const sphere = "name: x\nset: {kind: sphere, dim: 12}\n"
	recipe, _, err := Source("arm")
	testkit.OK(t, err)
	for _, c := range []struct {
		text, variant string
		set           []string
		steps, held   int
		fault         string
	}{
		{string(recipe), "", nil, 10, 0, ""},
		{string(recipe), "", []string{"set.waypoints=7"}, 7, 0, ""},
		{string(recipe), "", []string{"set.start={joints: condition}",
			"set.goal={position: condition}", "data.kind=points",
			"condition.columns=[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q]"}, 10, 17, ""},
		{string(recipe), "", []string{"set.start={joints: condition}", "set.goal={position: condition}",
			"data.kind=points"}, 10, 17, ""},
		{string(recipe), "", []string{"set.start={position: condition}", "data.kind=points",
			"condition.columns=[a, b]"}, 0, 0, "condition.columns is [a b]; expected 3 names: 10 waypoints of panda " +
			"leaves as many numbers to a condition"},
		{sphere, "", []string{"network.options={steps: 4}"}, 0, 0, ""},
		{sphere, "", nil, 0, 0, `network.kind is "temporal"; expected mlp: temporal is for points that are steps ` +
			`of a sequence, and this set does not say of how many; network.options.steps does`},
		{sphere, "", []string{"network.options={steps: 5}"}, 0, 0, `network.kind is "temporal"; expected mlp: ` +
			`temporal is for points that are steps of one length, and 12 coordinates are not 5 steps`},
		{sphere, "", []string{"network.options={steps: 3, reach: 0.5}"}, 0, 0,
			`network.options.reach is 0.5; expected a whole number in [0, 15]`},
		{sphere, "", []string{"network.options={steps: 3, depth: 2}"}, 0, 0, `network.options.depth: there is no ` +
			`such option; those of temporal are steps, channels, levels, reach, blocks, embedding`},
		{sphere, "", []string{"network.options={steps: 3, channels: 2048, levels: 6}"}, 0, 0,
			`network.options.channels is 2048; expected a network of at most 1e+09 parameters`},
	} {
		set := append([]string{"network.kind=temporal"}, c.set...)
		p := testkit.Must(Load([]byte(c.text), "", c.variant, ParseSettings(set...)))
		proc, err := p.Build()
		if c.fault != "" {
			if err == nil || !strings.HasSuffix(err.Error(), c.fault) {
				t.Errorf("%v: %v, want %s", set, err, c.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", set, err)
			continue
		}
		m := testkit.Must(p.Method(proc))
		if n := p.NetworkConfig(m, proc.Set); n.Steps != c.steps || n.Held != c.held {
			t.Errorf("%v: %d steps, %d coordinates behind", set, n.Steps, n.Held)
		}
	}
	ball := zoo.Sphere{D: 6}
	for want, set := range map[int]constraint.Set{0: constraint.Hold(ball, []int{0, 1}), 2: constraint.Given(ball, 2),
		1: constraint.Hold(ball, []int{2, 5})} {
		if got := behind(set.Capabilities(), set.Dim()); got != want {
			t.Errorf("%s: %d coordinates behind, want %d", constraint.Name(set), got, want)
		}
	}
}

// A network that reads torsions is given those of the set's template, all twelve of a ring; where
// the set knows of no bonds, the file is refused.
func TestNetworkOfTorsions(t *testing.T) {
	const (
		file = "name: mine\ndata: {kind: molecule, path: x.npy}\nset: {kind: molecule, %}\n" +
			"network: {kind: aligned, options: {torsions: 3}}\nprior: empirical\n"
		origin = "mine.yaml"
	)
	load := func(set string) (*Problem, error) {
		return Load([]byte(strings.Replace(file, "%", set, 1)), origin, "", ParseSettings("process.steps=10"))
	}
	p := testkit.Must(load("template: ../examples/ring/ring.xyz, bonds: template"))
	proc := testkit.Must(p.Build())
	m, err := p.Method(proc)
	testkit.OK(t, err)
	c := p.NetworkConfig(m, proc.Set)
	if len(c.Torsions) != 12 {
		t.Fatalf("torsions %v", c.Torsions)
	}
	about := map[[2]int]bool{} // bonds
	for _, q := range c.Torsions {
		for i := range 3 {
			if d := (q[i+1] - q[i] + 12) % 12; d != 1 && d != 11 {
				t.Errorf("torsion %v: atoms %d and %d are not bonded", q, q[i], q[i+1])
			}
		}
		about[[2]int{min(q[1], q[2]), max(q[1], q[2])}] = true
	}
	testkit.Equal(t, len(about), 12, "torsions about %v", about)
	delete(p.Network.Options, "torsions")
	if c := p.NetworkConfig(m, proc.Set); c.Torsions != nil {
		t.Errorf("torsions of a network that reads none: %v", c.Torsions)
	}
	p = testkit.Must(load("atoms: 12, distances: [{atoms: [0, 1], value: 1.5}]"))
	_, err = p.Build()
	var key *KeyError
	if !errors.As(err, &key) || key.Key != "network.kind" || !strings.Contains(key.Want, "options.torsions") {
		t.Errorf("a set that knows of no bonds: %v", err)
	}
}

// Options are numbers by name, and a setting or a variant that writes one leaves the others; one that
// chooses another kind begins anew.
func TestOptionsAreKept(t *testing.T) {
	const file = "name: mine\nnetwork: {kind: aligned, options: {pairs: 2, torsions: 1}}\n" +
		"variants: {wide: {network: {options: {pairs: 5}}}, other: {network: {kind: temporal, options: {levels: 1}}}}\n"
	for _, c := range []struct {
		variant  string
		settings []string
		want     string
	}{
		{"", nil, "map[pairs:2 torsions:1]"},
		{"", []string{"network.options.torsions=3"}, "map[pairs:2 torsions:3]"},
		{"", []string{"network.options.torsions=3", "network.options.pairs=0"}, "map[pairs:0 torsions:3]"},
		{"", []string{"network.width=8"}, "map[pairs:2 torsions:1]"},
		{"wide", nil, "map[pairs:5 torsions:1]"},
		{"wide", []string{"network.options.torsions=4"}, "map[pairs:5 torsions:4]"},
		{"other", nil, "map[levels:1]"},
	} {
		p := testkit.Must(Load([]byte(file), "mine.yaml", c.variant, ParseSettings(c.settings...)))
		testkit.Equal(t, fmt.Sprint(p.Network.Options), c.want, "variant %q, %v", c.variant, c.settings)
	}
}

// A flow has steps of its own where the file gives none, times from 0 to 1 whatever the horizon, and
// names what means nothing to it; other methods name nothing.
func TestFlowKeys(t *testing.T) {
	const text = "name: f\nset: {kind: sphere, dim: 3}\nprocess: {friction: 3, sigma: {max: 2}}\n" +
		"network: {time_octaves: 2}\nprior: uniform\n"
	load := func(method string, settings ...string) *Problem {
		t.Helper()
		settings = append(settings, "process.method="+method)
		p, err := Load([]byte(text), "f.yaml", "", ParseSettings(settings...))
		testkit.OK(t, err)
		return p
	}
	for _, name := range []string{"flow", "RFM"} {
		p := load(name)
		proc, err := p.Build()
		if err != nil || proc.Schedule.N != 1000 {
			t.Fatalf("%d steps, %v", proc.Schedule.N, err)
		}
		testkit.EqualSlices(t, p.Idle(nil), []string{"process.sigma.max", "process.friction", "prior"}, "idle keys")
		m, err := p.Method(proc)
		if err != nil || m.Name() != "flow" {
			t.Fatal(m, err)
		}
		if c := p.NetworkConfig(m, proc.Set); c.Horizon != 1 {
			t.Errorf("the network reads times up to %v", c.Horizon)
		}
	}
	if p := load("flow", "process.steps=20"); p.Process.Steps != 20 {
		t.Errorf("%d steps where 20 are given", p.Process.Steps)
	}
	if p := load("ULLA"); p.Process.Steps != 50 || p.Idle(nil) != nil {
		t.Errorf("ULLA has %d steps, and no use for %v", p.Process.Steps, p.Idle(nil))
	}
	again, err := Load(load("flow").Resolved(), "config.yaml", "", nil)
	if err != nil || again.Process.Steps != 1000 {
		t.Errorf("the resolved form has %+v, %v", again.Process, err)
	}
}

// What a flow cannot do is refused at its key, with what it can.
func TestFlowRefusals(t *testing.T) {
	testkit.Cases(t, func(input string) string {
		set, setting, _ := strings.Cut(input, "} ")
		p, err := Load([]byte("set: "+set+"}\nprocess: {method: flow}\n"), "f.yaml", "", ParseSettings(setting))
		if err == nil {
			_, err = p.Build()
		}
		var e *KeyError
		if !errors.As(err, &e) {
			return fmt.Sprintf("%T %v", err, err)
		}
		return e.Key + ": " + err.Error()
	})
}

package problem

import (
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

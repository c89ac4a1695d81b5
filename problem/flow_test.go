package problem

import (
	"errors"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

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
	for _, c := range []struct{ set, setting, key, want string }{
		{"{kind: torus, major: 2, minor: 1}", "seed=1", "process.method", "geodesics in closed form"},
		{"{kind: orthogonal, n: 3}", "seed=1", "process.method", "geodesics in closed form"},
		{"{kind: sphere, dim: 3}", "network.output=scaled", "network.output", "plain"},
		{"{kind: sphere, dim: 3}", "train.window=0.1", "train.window", "0: "},
		{"{kind: sphere, dim: 3}", "process.options.order=3", "process.options.order", "1 or 4"},
		{"{kind: sphere, dim: 3}", "process.options.speed=3", "process.options.speed", "order"},
		{"{kind: sphere, dim: 3}", "potential.kind=quadratic", "potential.kind", "uniform law"},
		{"{kind: euclidean, dim: 2}", "potential={kind: linear, b: [1, 0]}", "potential.kind", "quadratic"},
		{"{kind: sphere, dim: 3}", "network={octaves: 2, octaves_of: start}", "network.octaves_of", "point"},
	} {
		text := "name: f\nset: " + c.set + "\nprocess: {method: flow}\n"
		p, err := Load([]byte(text), "f.yaml", "", ParseSettings(c.setting))
		if err == nil {
			_, err = p.Build()
		}
		var e *KeyError
		if !errors.As(err, &e) || e.Key != c.key || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s: %v", c.set, c.setting, err)
		}
	}
}

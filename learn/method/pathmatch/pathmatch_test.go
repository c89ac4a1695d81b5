package pathmatch_test

import (
	"errors"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/methods"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/tools/methodtest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// All four methods conform, projected ones with paths that fail, averaged targets and scaled outputs too.
func TestConforms(t *testing.T) {
	defer func(n int) { pathmatch.FitNumbers = n }(pathmatch.FitNumbers)
	pathmatch.FitNumbers = 1 << 13
	cap := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
	for _, c := range []method.Config{
		{Name: "ULLA"}, {Name: "OLLA", Output: "scaled"}, {Name: "ULLA-P", Output: "balanced"}, {Name: "RDDPM"},
		{Name: "ULLA", Output: "balanced", Window: 0.5}, {Name: "OLLA", Window: 0.3},
		{Name: "ULLA", Window: 0.4, Process: &langevin.Process{ // walls, a force and curvature inside windows
			Set: cap, Potential: langevin.Quadratic{Center: []float64{1, 0, 0}},
		}},
	} {
		p := c.Process
		if p == nil {
			p = &langevin.Process{Set: zoo.Sphere{D: 3}}
		}
		p.Friction = 3
		p.Schedule = langevin.Schedule{N: 6, T: 1.5, SigmaMin: 0.3, SigmaMax: 1.3}
		p.Method = testkit.Must(langevin.ParseMethod(c.Name))
		c.Process = p
		m := testkit.Must(methods.New(c))
		data := testkit.Must(langevin.Start(t.Context(), p, 30, 1))
		prior := testkit.Must(langevin.UniformPrior(p))
		t.Run(c.Name+" "+c.Output, func(t *testing.T) { methodtest.Run(t, m, data, 3, prior) })
		if m.Name() != p.Method.String() || m.Momentum() != p.Method.Underdamped() {
			t.Errorf("%s is called %s, momentum %v", c.Name, m.Name(), m.Momentum())
		}
	}
}

func TestConfigErrors(t *testing.T) {
	p := &langevin.Process{Set: zoo.Sphere{D: 3}, Schedule: langevin.Schedule{N: 7501}}
	for field, c := range map[string]method.Config{
		"Output": {Name: "ULLA", Process: p, Output: "loud"}, "Window": {Name: "ULLA", Process: p, Window: 1},
	} {
		var e *method.ConfigError
		if _, err := methods.New(c); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// Feasible says whether the process ends on Σ; gains are those that the output asks for.
func TestFeasibleAndGain(t *testing.T) {
	p := &langevin.Process{
		Set: zoo.Sphere{D: 3}, Friction: 3, Schedule: langevin.Schedule{N: 5, T: 1, SigmaMin: 0.2, SigmaMax: 1},
	}
	for _, c := range []struct {
		m        langevin.Method
		terminal bool
		want     bool
	}{{langevin.ULLA, false, false}, {langevin.ULLA, true, true}, {langevin.OLLAP, false, true}} {
		p.Method, p.NoTerminal = c.m, !c.terminal
		m, err := methods.New(method.Config{Name: c.m.String(), Process: p})
		if err != nil || m.Feasible() != c.want {
			t.Errorf("%v, terminal projection %v: feasible %v, %v", c.m, c.terminal, m.Feasible(), err)
		}
	}
	for output, want := range map[string]func(t float64) float64{
		"plain": nil, "scaled": p.ScoreGains(), "balanced": p.BalancedGains(),
	} {
		m := testkit.Must(methods.New(method.Config{Name: "OLLA-P", Process: p, Output: output}))
		gain := m.Gain()
		if (gain == nil) != (want == nil) {
			t.Fatalf("%s: gain %v", output, gain != nil)
		}
		for k := range p.Schedule.N {
			if at := p.Schedule.Time(k + 1); gain != nil && math.Abs(gain(at)-want(at)) > 0 {
				t.Errorf("%s: gain %v at %v, want %v", output, gain(at), at, want(at))
			}
		}
	}
}

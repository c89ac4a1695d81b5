package check

import (
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func gathered(t *testing.T, in Input, pool *parallel.Pool) *Evidence {
	t.Helper()
	return testkit.Must(gather(t.Context(), in, pool))
}

func terminalFinding(t *testing.T, p *langevin.Process, data []float64) Finding {
	t.Helper()
	pool := testkit.Pool(t, 2)
	return terminalLaw(gathered(t, Input{Process: p, Data: data, Uniform: true, Seed: 1}, pool))[0]
}

// On a cap, which has an inequality, paths from the pole that forget their momentum slowly end in the uniform law
// with elastic walls, and not with the paper's (p below 10⁻³, at which the check is wrong once in a thousand).
func TestTerminalLawWithWalls(t *testing.T) {
	s := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
	data := make([]float64, 0, 3*500)
	for i := range 500 {
		a := 0.3 * float64(i%20) / 20
		data = append(data, math.Sin(a), 0, math.Cos(a))
	}
	for walls, want := range map[langevin.Walls]Status{langevin.ElasticWalls: Pass, langevin.PaperWalls: Warn} {
		p := &langevin.Process{
			Set: s, Method: langevin.ULLA, Walls: walls, Friction: 1, Repulsion: 0.03,
			Schedule: langevin.Schedule{N: 300, T: 60, SigmaMin: 0.3, SigmaMax: 0.6},
		}
		if f := terminalFinding(t, p, data); f.Status != want {
			t.Errorf("%v walls: %+v", walls, f)
		}
	}
}

// Paths that end in the prior are found guilty at most as often as p says. Of 40 sets of prior draws 9 have p <
// 0.05 with probability below 2·10⁻⁴ (binomial), and one has p < 10⁻⁴ with probability below 4·10⁻³.
func TestTerminalFalseAlarms(t *testing.T) {
	s := zoo.Sphere{D: 5}.SampleUniform
	x0, guilty := testkit.Cluster(60, 5, false), 0
	for seed := range uint64(40) {
		end := make([]float64, 5*60)
		for i := range 60 {
			s(end[5*i:5*i+5], keyed.New(seed, keyed.Probe, 2), uint64(i))
		}
		e := compareEnd(x0, end, 5, seed, s)
		if e.p < 0.05 {
			guilty++
		}
		if e.p < 1e-4 {
			t.Errorf("seed %d: %+v", seed, e)
		}
	}
	if guilty >= 9 {
		t.Errorf("%d of 40 below p = 0.05", guilty)
	}
	t.Logf("%d of 40 below p = 0.05", guilty)
}

// A process that hardly moves is caught, one mode or two that cancel in the mean;
// the same with time to forget passes (false-alarm rate 10⁻³ each).
func TestTerminalHorizon(t *testing.T) {
	s := zoo.Sphere{D: 10}
	for _, both := range []bool{false, true} {
		data := testkit.Cluster(500, 10, both)
		p := gentle(s)
		p.Schedule.T = 0.1
		f := terminalFinding(t, p, data)
		if f.Status != Warn || !strings.Contains(f.Message, "horizon") || f.Numbers["apart"] < 0.3 {
			t.Errorf("two modes %v, short: %+v", both, f)
		}
		p.Schedule = langevin.Schedule{N: 60, T: 12, SigmaMin: 0.1, SigmaMax: 1.2}
		if f := terminalFinding(t, p, data); f.Status != Pass || f.Numbers["p"] < terminalAlpha {
			t.Errorf("two modes %v, long: %+v", both, f)
		}
	}
}

// Three modes on SO(10) with the paper's schedule: with γ = 10 paths remember them, and with less friction they do not.
func TestTerminalSO10(t *testing.T) {
	data, _, err := dataset.RotationMixture{N: 10, Modes: 3, Count: 2000, SD: 0.1, Seed: 1}.Generate(t.Context())
	testkit.OK(t, err)
	set := testkit.Must(zoo.NewOrthogonal(10, zoo.OrthogonalOptions{Special: true}))
	p := &langevin.Process{Set: set, Method: langevin.ULLA, Friction: 10, Landing: langevin.Landing{Explicit: true,
		Rate: 10}, Schedule: langevin.Schedule{N: 50, T: 2.5, SigmaMin: 0.2, SigmaMax: 2, Geometric: true}}
	f := terminalFinding(t, p, data.X)
	if f.Status != Warn || !strings.Contains(f.Message, "less friction") {
		t.Errorf("γ = 10: %+v", f)
	}
	p.Friction = 1.5
	if f := terminalFinding(t, p, data.X); f.Status != Pass {
		t.Errorf("γ = %v: %+v", p.Friction, f)
	}
}

// What cannot be compared says why, and is no fault.
func TestTerminalSkips(t *testing.T) {
	data := testkit.Cluster(50, 3, false)
	for word, in := range map[string]Input{
		"made of terminal states": {Process: gentle(zoo.Sphere{D: 3}), Data: data},
		"no data":                 {Process: gentle(zoo.Sphere{D: 3}), Uniform: true},
		"chains make it":          {Process: gentle(equality(3).equal("h", ball(1))), Data: data, Uniform: true},
	} {
		says(t, run(t, in), "terminal law", "", Skip, word)
	}
}

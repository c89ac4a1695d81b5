package check

import (
	"fmt"
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
	f := terminalLaw(gathered(t, Input{Process: p, Data: data, Uniform: true, Seed: 1}, pool))[0]
	keep(t, fmt.Sprint(p.Set), f)
	return f
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

// Where the uniform law has no closed form short chains make it, with inequalities too; on
// what they do not join, nothing is compared.
func TestTerminalLawByChains(t *testing.T) {
	pole := testkit.Cluster(400, 3, false)
	for i := range 400 { // from e_0 to e_2
		pole[3*i], pole[3*i+2] = pole[3*i+2], pole[3*i]
	}
	cap := equality(3).equal("h", ball(1)).add("height", linear(-0.2, 0, 0, -1))
	for _, c := range []struct {
		horizon float64
		want    Status
		word    string
	}{{40, Pass, "end in the prior as far"}, {0.5, Warn, "do not end in the prior"}} {
		p := gentle(cap)
		p.Walls, p.Repulsion, p.NoTerminal, p.Friction = langevin.ElasticWalls, 0, false, 2
		p.Schedule = langevin.Schedule{N: 200, T: c.horizon, SigmaMin: 0.3, SigmaMax: 0.8}
		f := terminalFinding(t, p, pole)
		if f.Status != c.want || !strings.Contains(f.Message, c.word) || !strings.Contains(f.Message, "short chains") {
			t.Errorf("horizon %v: %+v", c.horizon, f)
		}
	}
	apart := equality(3).equal("h", ball(1)).add("away from the equator", func(x []float64) (float64, []float64) {
		return 0.25 - x[2]*x[2], []float64{0, 0, -2 * x[2]}
	})
	for i := range 200 {
		pole[3*i+2] *= -1
	}
	if f := terminalFinding(t, gentle(apart), pole); f.Status != Skip || !strings.Contains(f.Message, "do not mix") {
		t.Errorf("two caps: %+v", f)
	}
}

// Paths that end in the prior are found guilty at most as often as p says. Of 40 sets of prior draws 9 have p <
// 0.05 with probability below 2·10⁻⁴ (binomial), and one has p < 10⁻⁴ with probability below 4·10⁻³.
func TestTerminalFalseAlarms(t *testing.T) {
	s := zoo.Sphere{D: 5}.SampleUniform
	x0, guilty := testkit.Cluster(60, 5, false), 0
	for seed := range uint64(40) {
		end := uniformDraws(s, 5, 60, keyed.New(seed, keyed.Probe, 2))
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
		if f.Status != Warn || !strings.Contains(f.Message, "horizon") || f.Numbers["apart"] < 0.4 {
			t.Errorf("two modes %v, short: %+v", both, f)
		}
		p.Schedule = langevin.Schedule{N: 60, T: 12, SigmaMin: 0.1, SigmaMax: 1.2}
		if f := terminalFinding(t, p, data); f.Status != Pass || f.Numbers["p"] < terminalAlpha {
			t.Errorf("two modes %v, long: %+v", both, f)
		}
	}
}

// Three modes on SO(10) with the paper's schedule: γ = 10 keeps 0.4 of their shift. The friction that the finding names
// forgets it.
func TestTerminalSO10(t *testing.T) {
	data, _, err := dataset.RotationMixture{N: 10, Modes: 3, Count: 2000, SD: 0.1, Seed: 1}.Generate(t.Context())
	testkit.OK(t, err)
	set := testkit.Must(zoo.NewOrthogonal(10, zoo.OrthogonalOptions{Special: true}))
	p := &langevin.Process{Set: set, Method: langevin.ULLA, Friction: 10, Landing: langevin.Landing{Explicit: true,
		Rate: 10}, Schedule: langevin.Schedule{N: 50, T: 2.5, SigmaMin: 0.2, SigmaMax: 2, Geometric: true}}
	f := terminalFinding(t, p, data.X)
	if left := f.Numbers["shift"] / f.Numbers["shift_of_data"]; f.Status != Warn || left < 0.35 || left > 0.45 {
		t.Errorf("γ = 10: %+v", f)
	}
	testkit.Contains(t, f.Message, "down to γ = 1.5,")
	p.Friction = 1.5
	if f := terminalFinding(t, p, data.X); f.Status != Pass {
		t.Errorf("γ = %v: %+v", p.Friction, f)
	}
}

// What cannot be compared says why, and is no fault.
func TestTerminalSkips(t *testing.T) {
	data, large := testkit.Cluster(50, 3, false), gentle(equality(600).equal("h", ball(1)))
	for word, in := range map[string]Input{
		"made of terminal states": {Process: gentle(zoo.Sphere{D: 3}), Data: data},
		"no data":                 {Process: gentle(zoo.Sphere{D: 3}), Uniform: true},
		"chains make it":          {Process: large, Data: testkit.Cluster(50, 600, false), Uniform: true},
	} {
		says(t, run(t, in), "terminal law", "", Skip, word)
	}
}

// What helps depends on the friction: free flight takes more, and where there are walls less is of no use.
func TestFarther(t *testing.T) {
	for word, p := range map[string]*langevin.Process{
		"γ = 1.5 instead of 0.5 helps": {Set: zoo.Sphere{D: 3}, Method: langevin.ULLA, Friction: 0.5},
		"down to γ = 1.5":              {Set: zoo.Sphere{D: 3}, Method: langevin.ULLA, Friction: 10},
		"A longer horizon or":          {Set: zoo.Sphere{D: 3}, Method: langevin.OLLA},
	} {
		p.Schedule = langevin.Schedule{N: 40, T: 2, SigmaMin: 1, SigmaMax: 1}
		testkit.Contains(t, gathered(t, Input{Process: p, Uniform: true}, testkit.Pool(t, 1)).farther(), word)
	}
}

package langevin

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// c_k is what it is said to be: by how many units of noise a unit score moves the backward step x_{k+1} → x_k.
func TestScoreCoefficient(t *testing.T) {
	unit := scoreFunc(func(dst, _, _ []float64, _ float64) { dst[0] = 1 })
	for _, m := range []Method{OLLA, ULLA} {
		for _, c := range []Convention{Paper, Reference} {
			p := process(zoo.Euclidean{D: 1}, m)
			p.Convention = c
			s := p.NewStepper(1)
			step := func(k int, ζ float64, score Score) float64 {
				y := make([]float64, 1)
				testkit.Must(s.Backward(y, []float64{0.3}, []float64{0.4}, []float64{ζ}, make([]bool, 1), 1, k, score))
				return y[0]
			}
			for k := range p.Schedule.N {
				base := step(k, 0, zeroScore{})
				noise := step(k, 1, zeroScore{}) - base
				if m == ULLA { // −τ√(1−a²)ζ
					noise = math.Abs(noise)
				}
				testkit.Near(t, p.ScoreCoefficient(k), (step(k, 0, unit)-base)/noise, 1e-13, "%v %v: c_%d", m, c, k)
			}
		}
	}
}

// The gain at t_{k+1} is the root of the largest |c_j| by |c_k|; between steps it is
// linear; beyond the ends, that of the last.
func TestScoreGains(t *testing.T) {
	for _, m := range []Method{OLLA, ULLA} {
		p := process(zoo.Euclidean{D: 1}, m)
		N, gain, largest := p.Schedule.N, p.ScoreGains(), 0.0
		for k := range N {
			largest = max(largest, math.Abs(p.ScoreCoefficient(k)))
		}
		before := 0.0
		for k := range N {
			want := math.Sqrt(largest / math.Abs(p.ScoreCoefficient(k)))
			at := p.Schedule.Time(k + 1)
			for _, u := range []float64{at, at * (1 - 1e-15), at * (1 + 1e-15)} {
				testkit.Equal(t, gain(u), want, "%v: m(%v)", m, u)
			}
			between := 0.3*before + 0.7*want
			if got := gain(at - 0.3*p.Schedule.Dt()); k > 0 && math.Abs(got-between) > 1e-12*want {
				t.Errorf("%v: m(%v) = %v, want %v", m, at-0.3*p.Schedule.Dt(), got, between)
			}
			before = want
		}
		if gain(-1) != gain(p.Schedule.Time(1)) || gain(9*p.Schedule.T) != gain(p.Schedule.T) {
			t.Errorf("%v: beyond the ends the gain is %v and %v", m, gain(-1), gain(9*p.Schedule.T))
		}
	}
}

// The monotone rate makes the largest ρ of the steps in use one. On an affine set a step leaves the share 1 − ρ_k of h.
func TestLandingRates(t *testing.T) {
	for c, used := range map[Convention]int{Paper: 6, Reference: 5} {
		p := process(zoo.Affine{A: [][]float64{{1, 2}}, B: []float64{0.5}}, OLLA)
		p.Convention = c
		p.Landing.Rate = p.MonotoneRate()
		testkit.Equal(t, p.Steps(), used, "%v", c)
		largest := 0.0
		for k := range used {
			largest = max(largest, p.Rho(k))
		}
		testkit.Near(t, largest, 1, 1e-15, "%v: the largest ρ", c)
		s, h, x, y := p.NewStepper(1), make([]float64, 1), []float64{1, 2}, make([]float64, 2)
		for k := range p.Schedule.N {
			copy(h, constraint.Values(p.Set, x))
			before := h[0]
			testkit.Must(s.Forward(y, x, x, []float64{0.3, -1}, make([]bool, 1), 1, k))
			copy(h, constraint.Values(p.Set, y))
			if want := (1 - p.Rho(k)) * before; math.Abs(h[0]-want) > 1e-14 {
				t.Errorf("%v: h = %v after step %d, want %v", c, h[0], k, want)
			}
		}
		p.Landing.Explicit = false
		testkit.Equal(t, p.Rho(0), 1, "implicit landing has ρ")
		p.Landing.Explicit, p.Method = true, OLLAP
		testkit.Equal(t, p.Rho(0), 1, "projection has ρ")
	}
}

package langevin

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The gradient of every potential with values is theirs, by central differences, at every row.
func TestGradientsOfEnergies(t *testing.T) {
	const n = 3
	three, err := zoo.NewOrthogonal(2, zoo.OrthogonalOptions{}) // three equations in R⁴
	testkit.OK(t, err)
	centred := Quadratic{Center: []float64{1, -2, 0.3, 0.7}, Weight: []float64{1, 2, 0.5, 3}}
	energies := map[string]Potential{
		"quadratic": Quadratic{}, "centred": Quadratic{Center: centred.Center}, "weighted": centred,
		"linear": Linear{B: []float64{1, -2, 3, 0.5}}, "before": Before(Quadratic{Center: []float64{1, 2}}, 2, 2),
	}
	for name, f := range map[string]Potential{"level": nil, "level of a potential": centred} {
		energies[name] = testkit.Must(Level(three, f))
	}
	const d = 4
	x := make([]float64, n*d)
	keyed.New(3, keyed.Probe, 8).Normals(x, 0, 0)
	for name, f := range energies {
		grad, value, up, down := make([]float64, n*d), make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range grad {
			grad[i] = math.NaN()
		}
		f.Gradient(grad, x, n)
		e := f.(Energy)
		e.Value(value, x, n)
		for j := range d {
			const h = 1e-5
			y := append([]float64(nil), x...)
			for i := range n {
				y[i*d+j] = x[i*d+j] + h
			}
			e.Value(up, y, n)
			for i := range n {
				y[i*d+j] = x[i*d+j] - h
			}
			e.Value(down, y, n)
			for i := range n {
				if got, want := grad[i*d+j], (up[i]-down[i])/(2*h); !(math.Abs(got-want) < 1e-7*(1+math.Abs(want))) {
					t.Errorf("%s: ∂f/∂x_%d of row %d is %v, by differences %v", name, j, i, got, want)
				}
				one := []float64{math.NaN()}
				if e.Value(one, x[i*d:(i+1)*d], 1); one[0] != value[i] {
					t.Errorf("%s: row %d has the value %v, alone %v", name, i, value[i], one[0])
				}
			}
		}
	}
	// The values by hand.
	got := []float64{0}
	for f, want := range map[Energy]float64{
		&weighted{centred}: (1*4 + 2*9 + 0.5*0.49 + 3*0.09) / 2, &weighted{Quadratic{}}: 4.0*9/8 + 1./2 + 1./2 + 1./2,
	} {
		f.Value(got, []float64{3, 1, 1, 1}, 1)
		testkit.Near(t, got[0], want, 1e-12, "the value")
	}
}

// weighted is a potential that can be a map's key.
type weighted struct{ Quadratic }

// r_k is what least squares say: v = x_{k+1} − x_0, m = p_{k+1} and q = p̃ are sums of independent
// units of noise, which are written out, and u is regressed on v and q.
func TestTargetSizeByRegression(t *testing.T) {
	for _, c := range []Convention{Paper, Reference} {
		p := process(zoo.Euclidean{D: 1}, ULLA)
		p.Convention = c
		N := p.Schedule.N
		for k := range N {
			unit := func(i int) []float64 { e := make([]float64, N+3); e[i] = 1; return e }
			combine := func(a float64, x []float64, b float64, y []float64) []float64 {
				out := make([]float64, len(x))
				for i := range out {
					out[i] = a*x[i] + b*y[i]
				}
				return out
			}
			v, m := make([]float64, N+3), unit(0)
			for i := range k + 1 {
				τ := p.Schedule.Tau(i)
				a := p.Decay(τ)
				m = combine(a, m, math.Sqrt(1-a*a), unit(i+1))
				v = combine(1, v, τ, m)
			}
			q := unit(N + 2)
			if k+1 < N {
				τ := p.Schedule.Tau(k + 1)
				a := p.Decay(τ)
				r := τ / p.MomentumTau(k)
				q = combine(r*a, m, r*math.Sqrt(1-a*a), unit(N+1))
			}
			back := p.BackTau(k)
			a := p.Decay(back)
			u := combine(a/math.Sqrt(1-a*a), q, -p.Schedule.Tau(k)/back/math.Sqrt(1-a*a), m)
			// Orthonormal v and q; what the noise of m alone adds to u is not known from them, but
			// p̃ is: of u, a q stands whole.
			e := combine(1/dense.Norm(v), v, 0, v)
			w := combine(1, q, -dense.Dot(q, e), e)
			w = combine(1/dense.Norm(w), w, 0, w)
			want := math.Hypot(dense.Dot(u, e), dense.Dot(u, w))
			if got := p.TargetSize(k); !(math.Abs(got-want) < 1e-9*want) {
				t.Errorf("%v: r_%d = %v, by regression %v", c, k, got, want)
			}
		}
	}
}

// Every field may be at its limit, and not beyond; the largest ρ of the steps in use is below 2, and
// the message says at which step it is not, and which rate is monotone there.
func TestLimitsOfProcesses(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		field  string // refused for; "" if it is not
		method Method
		edit   func(p *Process)
	}{
		{"", OLLA, func(p *Process) { p.Schedule.N = 1 }}, {"", OLLA, func(p *Process) { p.Schedule.N = MaxSteps }},
		{"Schedule.N", OLLA, func(p *Process) { p.Schedule.N = MaxSteps + 1 }},
		{"Schedule.N", OLLA, func(p *Process) { p.Schedule.N = 0 }},
		{"Schedule.T", OLLA, func(p *Process) { p.Schedule.T = 0 }},
		{"Schedule.T", OLLA, func(p *Process) { p.Schedule.T = inf }},
		{"Schedule.SigmaMin", OLLA, func(p *Process) { p.Schedule.SigmaMin = nan }},
		{"Schedule.SigmaMin", OLLA, func(p *Process) { p.Schedule.SigmaMin = -1 }},
		{"Schedule.SigmaMax", OLLA, func(p *Process) { p.Schedule.SigmaMax = nan }},
		{"Schedule.SigmaMax", OLLA, func(p *Process) { p.Schedule.SigmaMax = inf }},
		{"", OLLA, func(p *Process) { p.Schedule.SigmaMax = p.Schedule.SigmaMin }},
		{"Schedule.SigmaMax", OLLA, func(p *Process) { p.Schedule.SigmaMax = math.Nextafter(p.Schedule.SigmaMin, 0) }},
		{"", OLLA, func(p *Process) { p.Friction = 0 }}, {"Friction", ULLA, func(p *Process) { p.Friction = 0 }},
		{"Friction", ULLAP, func(p *Process) { p.Friction = nan }},
		{"Friction", ULLA, func(p *Process) { p.Friction = inf }},
		{"", ULLA, func(p *Process) { p.Friction = 1e-9 }}, {"", OLLA, func(p *Process) { p.Repulsion = 0 }},
		{"Repulsion", OLLA, func(p *Process) { p.Repulsion = -1e-9 }},
		{"Repulsion", OLLA, func(p *Process) { p.Repulsion = inf }},
		{"", OLLA, func(p *Process) { p.Walls = PaperWalls }},
		{"Walls", OLLA, func(p *Process) { p.Walls = LateWalls + 1 }},
		{"Walls", OLLA, func(p *Process) { p.Walls, p.NoTerminal = LateWalls, true }},
		{"Walls", OLLA, func(p *Process) { p.Walls = -1 }},
		{"Landing.Rate", OLLA, func(p *Process) { p.Landing.Rate = nan }},
		{"Landing.Rate", OLLA, func(p *Process) { p.Landing.Rate = 0 }},
		{"Landing.Rate", ULLA, func(p *Process) { p.Landing.Rate = inf }},
		{"", ULLAP, func(p *Process) { p.Landing.Rate = -1 }},
		{"", ULLA, func(p *Process) { p.Landing.Explicit, p.Landing.Rate = false, -1 }},
	} {
		p := process(zoo.Sphere{D: 3}, c.method)
		p.Landing = Landing{Explicit: true, Rate: 1e-6}
		c.edit(p)
		e, refused := p.Validate().(*ConfigError)
		if refused != (c.field != "") || refused && e.Field != c.field {
			t.Errorf("%v: %v, want a complaint about %q; %+v", c.method, e, c.field, p.Schedule)
		}
	}
	for c, last := range map[Convention]int{Paper: 4, Reference: 3} { // σ rises: the last step's is the largest
		p := process(zoo.Sphere{D: 3}, OLLA)
		p.Convention, p.Schedule = c, Schedule{N: 4, T: 4, SigmaMin: 0.5, SigmaMax: 1}
		largest := p.Schedule.Tau(last)
		for ρ, want := range map[float64]bool{1.999: true, 2.001: false} {
			p.Landing = Landing{Explicit: true, Rate: ρ / largest}
			e, refused := p.Validate().(*ConfigError)
			if refused == want {
				t.Errorf("%v: ρ = %v is refused: %v", c, ρ, refused)
			}
			text := fmt.Sprintf("at step k = %d; α ≤ %.3g is monotone there", last, 1/largest)
			if refused && !strings.Contains(e.Error(), text) {
				t.Errorf("%v: %v, want %q", c, e, text)
			}
		}
		p.Schedule.SigmaMin, p.Landing.Rate = 1, 2 // ρ = 2 exactly at every step
		if p.Validate() == nil {
			t.Errorf("%v: ρ = 2 is accepted", c)
		}
	}
}

// What Metropolis would refuse is 1 − min(1, exp(−ΔH)) of a step, to which the change of momentum by
// noise does not count: nothing without forces, and by hand without noise.
func TestRefusalsAreOfTheFlight(t *testing.T) {
	const d, n = 3, 2
	x, p, ζ := make([]float64, n*d), make([]float64, n*d), make([]float64, n*d)
	for k, v := range [][]float64{x, p, ζ} {
		keyed.New(3, keyed.Probe, 9).Normals(v, uint64(k), 0)
	}
	step := func(f Potential, friction float64) (s *splitting, y, q []float64) {
		proc := &Process{Set: zoo.Euclidean{D: d}, Method: ULLAP, Friction: friction, Potential: f,
			Schedule: Schedule{N: 1, T: 0.8, SigmaMin: 1, SigmaMax: 1}}
		s, y, q = newSplitting(proc, n), append([]float64(nil), x...), append([]float64(nil), p...)
		e, _ := f.(Energy)
		s.watched = energies{true, e, make([]float64, n), make([]float64, n), 0, 0}
		testkit.OK(t, s.set.At(y, n))
		testkit.Must(s.step(y, q, ζ, make([]bool, n), n))
		return s, y, q
	}
	free, _, q := step(nil, 2)
	if free.watched.steps != n || math.Abs(free.watched.refused) > 1e-12 {
		t.Errorf("without forces %v of %d are refused", free.watched.refused, free.watched.steps)
	}
	a := math.Exp(-2 * 0.8)
	for j, v := range q { // O: p ← a p + √(1−a²) ζ
		testkit.Near(t, v, a*p[j]+math.Sqrt(1-a*a)*ζ[j], 1e-13, "momentum %d", j)
	}
	f := Quadratic{Weight: []float64{1, 4, 9}}
	s, y, q := step(f, 1e-300)
	want, before, after := 0.0, make([]float64, n), make([]float64, n)
	f.Value(before, x, n)
	f.Value(after, y, n)
	for i := range n {
		for j := i * d; j < (i+1)*d; j++ {
			before[i] += p[j] * p[j] / 2
			after[i] += q[j] * q[j] / 2
		}
		want += 1 - min(1, math.Exp(before[i]-after[i]))
	}
	if want == 0 || math.Abs(s.watched.refused-want) > 1e-12 {
		t.Errorf("%v are refused, want %v", s.watched.refused, want)
	}
}

// A first step is a tenth of the spread of a coordinate, squared where a step goes as the root of τ.
func TestStepOf(t *testing.T) {
	points := []float64{-1, 0, 0, 1, 0, 0}
	for _, c := range []struct {
		chains Chains
		points []float64
		want   float64
	}{
		{Chains{Process: &Process{Method: OLLA}}, points, 0.01 / 2},
		{Chains{Process: &Process{Method: OLLAP}}, points, 0.01 / 2},
		{Chains{Process: &Process{Method: ULLA}}, points, 0.1 / math.Sqrt2},
		{Chains{Process: &Process{Method: OLLA}, Symmetric: true}, points, 0.1 / math.Sqrt2},
		{Chains{Process: &Process{Method: OLLA}, Leaps: 1}, points, 0.1 / math.Sqrt2},
		{Chains{Process: &Process{Method: ULLA}}, []float64{5, 0, 0, 5, 0, 0}, 0.1 / math.Sqrt2},
		{Chains{Process: &Process{Method: ULLA}}, []float64{-3, 0, 4, 3, 0, 4}, 0.3 / math.Sqrt2},
	} {
		c.chains.Process.Set = zoo.Sphere{D: 3}
		testkit.Near(t, c.chains.StepOf(c.points), c.want, 1e-15,
			"%v, symmetric %v, %d leaps", c.chains.Process.Method, c.chains.Symmetric, c.chains.Leaps)
	}
}

// Draws that are not projected are counted draw by draw, as they are one by one.
func TestUnprojectedDrawByDraw(t *testing.T) {
	const count, keep = 40, 6
	proc := &Process{Set: zoo.Ellipsoid{Axes: []float64{1, 0.05}}, Method: OLLA,
		Landing: Landing{Explicit: true, Rate: 0.05}, Schedule: Schedule{N: 1, T: 0.3, SigmaMin: 1, SigmaMax: 1}}
	x0 := make([]float64, 2*count)
	for c := range count {
		x0[2*c] = 1
	}
	all := chains(t, Chains{Process: proc, Count: count, Keep: keep, Seed: 4}, x0)
	sum := 0
	for burn := range keep {
		sum += chains(t, Chains{Process: proc, Count: count, Burn: burn, Keep: 1, Seed: 4}, x0).Unprojected
	}
	if all.Unprojected != sum || sum < 1 || sum > count*keep/2 {
		t.Errorf("%d of %d draws are not projected, one by one %d", all.Unprojected, count*keep, sum)
	}
}

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

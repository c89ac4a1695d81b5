package langevin

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// spy is a score that keeps where it was asked, by time.
type spy struct {
	mu   sync.Mutex
	seen map[float64][]float64
}

func (s *spy) Eval(dst, x, p []float64, n int, t float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[t] = append(s.seen[t], x[:len(dst)]...)
	for i := range dst {
		dst[i] = math.Sin(3 * x[i])
	}
}

// A trace has the violations of the states that the score was asked at, and of the
// samples; blocks and workers change nothing; watching changes no sample.
func TestTrace(t *testing.T) {
	const n, d = 41, 3
	cap := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
	for _, m := range []Method{ULLA, OLLA, ULLAP} {
		for _, walls := range []Walls{ElasticWalls, PaperWalls} {
			p := &Process{Set: cap, Method: m, Friction: 3, Walls: walls, Landing: Landing{Explicit: true, Rate: 0.8},
				Schedule: Schedule{N: 6, T: 1.5, SigmaMin: 0.3, SigmaMax: 1.1}}
			prior := testkit.Must(UniformPrior(p))
			run := func(rows, workers int, trace *Trace, s *spy) ([]float64, []bool) {
				pool := testkit.Pool(t, workers)
				sim := NewSimulator(p, pool, rows)
				sim.Watch(trace)
				x, failed := make([]float64, n*d), make([]bool, n)
				for _, part := range [][2]int{{0, 30}, {30, n}} { // two calls add up
					lo, hi := part[0], part[1]
					testkit.Must(sim.Backward(context.Background(), x[lo*d:hi*d], failed[lo:hi], uint64(lo), 5, prior,
						func(int) Score { return s }))
				}
				return x, failed
			}
			eye := &spy{seen: map[float64][]float64{}}
			trace := NewTrace(p)
			x, failed := run(64, 1, trace, eye)
			if slices.Contains(failed, true) {
				t.Fatalf("%v: samples failed", m)
			}
			plain, _ := run(64, 1, nil, &spy{seen: map[float64][]float64{}})
			testkit.EqualSlices(t, plain, x, "%v, %v walls: watched samples are others", m, walls)
			names := constraint.Components(cap)
			check := func(k int, at []float64) {
				values := constraint.Values(cap, at)
				for a, name := range names {
					mean, worst := 0.0, 0.0
					for i := range n {
						e := constraint.Excess(values[i*len(names)+a], a == 0)
						mean, worst = mean+e/n, max(worst, e)
					}
					if trace.Count(k) != n || math.Abs(trace.Mean(k, a)-mean) > 1e-15+1e-13*mean ||
						trace.Worst(k, a) != worst {
						t.Errorf("%v, %v walls, state %d, %s: %d states, mean %v, worst %v; want %d, %v, %v", m, walls,
							k, name, trace.Count(k), trace.Mean(k, a), trace.Worst(k, a), n, mean, worst)
					}
				}
			}
			for k := 1; k <= trace.Steps(); k++ {
				check(k, eye.seen[p.Schedule.Time(k)])
			}
			check(trace.Steps()+1, x)
			if !m.Projected() && !(trace.Mean(0, 0) > 1e3*trace.Mean(trace.Steps()+1, 0)) {
				t.Errorf("%v: before terminal projection %v, after %v", m, trace.Mean(0, 0),
					trace.Mean(trace.Steps()+1, 0))
			}
			for _, c := range [][2]int{{5, 1}, {1, 3}, {7, 2}} {
				other := NewTrace(p)
				run(c[0], c[1], other, &spy{seen: map[float64][]float64{}})
				for k := range trace.Steps() + 2 {
					for a := range names {
						if other.Mean(k, a) != trace.Mean(k, a) || other.Worst(k, a) != trace.Worst(k, a) {
							t.Fatalf("%v: in blocks of %d by %d workers state %d has another mean", m, c[0], c[1], k)
						}
					}
				}
			}
		}
	}
}

// States from which a sample got no further do not count.
func TestTraceLeavesOutFailed(t *testing.T) {
	p := &Process{Set: zoo.Sphere{D: 3}, Method: OLLAP, Schedule: Schedule{N: 4, T: 4, SigmaMin: 1, SigmaMax: 2}}
	prior := testkit.Must(UniformPrior(p))
	pool := testkit.Pool(t, 1)
	sim, trace := NewSimulator(p, pool, 16), NewTrace(p)
	sim.Watch(trace)
	x, failed := make([]float64, 3*50), make([]bool, 50)
	r, err := sim.Backward(context.Background(), x, failed, 0, 1, prior, func(int) Score { return zeroScore{} })
	testkit.OK(t, err)
	if last := trace.Count(5); r.Failed == 0 || last != 50-r.Failed || trace.Count(4) < last {
		t.Errorf("%d of 50 failed; %d count at the start and %d in the end", r.Failed, trace.Count(4), last)
	}
}

// Sums keep what rounding loses, also when two are added.
func TestSumKeepsDigits(t *testing.T) {
	var a, b sum
	for _, v := range []float64{1, 0x1p60, 3, -0x1p60, 0x1p-50} {
		a.add(v, 0)
	}
	if a.s != 0x1p-50 || a.e != 4 {
		t.Errorf("the sum is %v + %v, want 4 + 2⁻⁵⁰", a.s, a.e)
	}
	b.add(0x1p70, 0)
	b.add(5, 0)
	a.add(b.s, b.e)
	a.add(-0x1p70, 0)
	testkit.Equal(t, a.s+a.e, 9, "two sums are %v + %v", a.s, a.e)
}

// summedArm is the set for trajectories of a seven-joint arm, ten
// steps of (cos q, sin q), summed up in one equality and one inequality:
//
//	h = Σ (c²+s²−1)² + Σ_t (z_t − 0.205)² + ‖e_0 − S‖² + ‖e_9 − E‖²
//	g = Σ_t,o max(0, 0.11 − distance of obstacle o to the nearest link origin)
//
// with the positions at the angles atan2(s, c). Both gradients vanish on Σ.
func summedArm() *formula.Set {
	const steps = 10
	s := formula.Spec{Dim: 14 * steps}
	let := func(name, format string, v ...any) string {
		s.Let = append(s.Let, formula.Definition{Name: name, Expr: fmt.Sprintf(format, v...)})
		return name
	}
	h, g := "0", "0"
	for t := range steps {
		h += fmt.Sprintf(" + sum(j in %d..%d, (x[j]^2 + x[j+7]^2 - 1)^2)", 14*t, 14*t+6)
		origins, flange := links(t, let)
		h += fmt.Sprintf(" + (%s[2] - 0.205)^2", flange)
		if t == 0 || t == steps-1 {
			side := math.Copysign(0.5, float64(t)-1)
			h += fmt.Sprintf(" + distance(%s, [0.4, %v, 0.205])^2", flange, side)
		}
		for _, y := range []float64{0.3, -0.3} {
			near := "1e9"
			for _, p := range origins {
				near += fmt.Sprintf(", distance(%s, [0.4, %v, 0.205])", p, y)
			}
			g += fmt.Sprintf(" + max(0, 0.11 - min(%s))", near)
		}
	}
	s.Equality = []formula.Component{{Name: "sum of squares", Expr: h}}
	s.Inequality = []formula.Component{{Name: "sum of overlaps", Expr: g}}
	return testkit.Must(formula.New(s))
}

// links defines the origins of the seven link frames and the flange of a Panda arm (modified Denavit–Hartenberg) at a
// step, and returns their names.
func links(step int, let func(name, format string, v ...any) string) (origins []string, flange string) {
	a := [7]float64{0, 0, 0, 0.0825, -0.0825, 0, 0.088}
	d := [7]float64{0.333, 0, 0.316, 0, 0.384, 0, 0}
	twist := [7]float64{0, -1, 1, 1, -1, 1, 1} // times π/2
	r, p := "identity(3)", "[0, 0, 0]"
	for i := range 7 {
		name := func(what string) string { return fmt.Sprintf("%s%d_%d", what, step, i) }
		c, s := 14*step+i, 14*step+7+i
		ρ := let(name("n"), "norm([x[%d], x[%d]])", c, s)
		cos, sin, t := let(name("c"), "x[%d]/%s", c, ρ), let(name("s"), "x[%d]/%s", s, ρ), twist[i]
		turn := fmt.Sprintf("[[%s, -%s, 0], [0, 0, %v], [%v*%[2]s, %[4]v*%[1]s, 0]]", cos, sin, -t, t)
		shift := [3]float64{a[i], -d[i] * t, 0}
		if t == 0 {
			turn = fmt.Sprintf("[[%s, -%s, 0], [%[2]s, %[1]s, 0], [0, 0, 1]]", cos, sin)
			shift = [3]float64{a[i], 0, d[i]}
		}
		p = let(name("p"), "%s + %s*[%v, %v, %v]", p, r, shift[0], shift[1], shift[2])
		r = let(name("r"), "%s*%s", r, turn)
		origins = append(origins, p)
	}
	return origins, let(fmt.Sprint("e", step), "%s + %s*[0, 0, 0.107]", p, r)
}

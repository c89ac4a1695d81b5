package langevin

import (
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// several are the sets that step tests run on, with a point on each and one off it.
func several(t *testing.T) map[string]constraint.Set {
	t.Helper()
	return map[string]constraint.Set{
		"R3":        zoo.Euclidean{D: 3},
		"sphere":    zoo.Sphere{D: 3},
		"affine":    zoo.Affine{A: [][]float64{{1, 2, 0, -1}, {0, 1, 1, 3}}, B: []float64{0.5, -1}},
		"torus":     zoo.Torus{Major: 2, Minor: 0.6},
		"ellipsoid": zoo.Ellipsoid{Axes: []float64{1, 2, 0.5}},
	}
}

func process(set constraint.Set, m Method) *Process {
	return &Process{
		Set: set, Method: m, Friction: 3, Landing: Landing{Explicit: true, Rate: 4}, Convention: Paper,
		NoTerminal: true,
		Schedule:   Schedule{N: 5, T: 0.5, SigmaMin: 0.4, SigmaMax: 0.9},
	}
}

func pointOn(t *testing.T, p *Process) []float64 {
	t.Helper()
	return testkit.Must(Start(t.Context(), &Process{Set: p.Set}, 1, 3))
}

// tangentMatrix returns Π(x), d×d.
func tangentMatrix(t *testing.T, set constraint.Set, x []float64) []float64 {
	t.Helper()
	d := len(x)
	b := geometry.New(set, 1, 0)
	testkit.OK(t, b.At(x, 1))
	π, e := make([]float64, d*d), make([]float64, d)
	for j := range d {
		clear(e)
		e[j] = 1
		b.Tangent(e, e)
		for i := range d {
			π[i*d+j] = e[i]
		}
	}
	return π
}

// zeroScore stands for the score in tests of the rest of a step.
type zeroScore struct{}

func (zeroScore) Eval(dst, _, _ []float64, n int, _ float64) { clear(dst) }

// Zero and unit noise recover a step's mean and covariance: σ²ΔtΠ for OLLA,
// (σ²Δt)²(1−a²)Π for ULLA, in both directions and conventions.
func TestStepCovariance(t *testing.T) {
	for name, set := range several(t) {
		for _, m := range []Method{OLLA, ULLA} {
			for _, c := range []Convention{Paper, Reference} {
				p := process(set, m)
				p.Convention = c
				x := pointOn(t, p)
				d := len(x)
				s, k := p.NewStepper(1), 2
				π := tangentMatrix(t, set, x)
				for _, direction := range []string{"forward", "backward"} {
					step := func(ζ []float64) []float64 {
						y, failed := make([]float64, d), make([]bool, 1)
						var err error
						if direction == "forward" {
							_, err = s.Forward(y, x, x, ζ, failed, 1, k)
						} else {
							_, err = s.Backward(y, x, x, ζ, failed, 1, k, zeroScore{})
						}
						testkit.OK(t, err)
						return y
					}
					τ := p.Schedule.Tau(k)
					if direction == "backward" && c == Paper {
						τ = p.Schedule.Tau(k + 1)
					}
					want := τ
					if m == ULLA {
						want = τ * τ * (1 - math.Exp(-2*p.Friction*τ))
					}
					mean := step(make([]float64, d))
					cov := make([]float64, d*d)
					for j := range d {
						e := make([]float64, d)
						e[j] = 1
						y := step(e)
						for a := range d {
							for b := range d {
								cov[a*d+b] += (y[a] - mean[a]) * (y[b] - mean[b])
							}
						}
					}
					for i := range cov {
						if math.Abs(cov[i]-want*π[i]) > 1e-13 {
							t.Fatalf("%s %v %v %s: covariance %v, want %v", name, m, c, direction, cov[i], want*π[i])
						}
					}
					for j := range d {
						if math.Abs(mean[j]-x[j]) > 1e-12 {
							t.Fatalf("%s %v %s: a point of Σ at rest moves without noise", name, m, direction)
						}
					}
				}
			}
		}
	}
}

// A ULLA step off Σ with curvature terms minus one without is −τ²∇JᵀG†(𝓗₁ ∓ α𝓗₂), minus forward and plus backward, with
// α = 1/τ if landing is implicit.
func TestULLACurvatureTerm(t *testing.T) {
	// Not the torus or sphere: their h is a distance, so ∇²h ∇h = 0 and 𝓗₂ = 0.
	set := zoo.Ellipsoid{Axes: []float64{1, 2, 0.5}}
	x, near, ζ := []float64{0.7, 1.2, 0.3}, []float64{0.66, 1.23, 0.28}, []float64{0.3, -0.2, 0.5}
	for _, implicit := range []bool{false, true} {
		for _, direction := range []string{"forward", "backward"} {
			const k = 2
			p := process(set, ULLA)
			p.Landing.Explicit = !implicit
			τ, τp, sign := p.Schedule.Tau(k), p.Schedule.Tau(k-1), -1.0
			momentum := []float64{x[0] - near[0], x[1] - near[1], x[2] - near[2]}
			if direction == "backward" {
				τ, τp, sign = p.BackTau(k), p.MomentumTau(k), 1
				for j := range momentum {
					momentum[j] *= -1
				}
			}
			for j := range momentum {
				momentum[j] /= τp
			}
			step := func(curvature bool) []float64 {
				p.Curvature = curvature
				s, y := p.NewStepper(1), make([]float64, 3)
				var err error
				if direction == "forward" {
					_, err = s.Forward(y, x, near, ζ, make([]bool, 1), 1, k)
				} else {
					_, err = s.Backward(y, x, near, ζ, make([]bool, 1), 1, k, zeroScore{})
				}
				testkit.OK(t, err)
				if implicit { // undo landing: the proposal before it
					for j := range y {
						y[j] = x[j] + s.move[j]
						if curvature {
							y[j] += s.curve[j]
						}
					}
				}
				return y
			}
			b := geometry.New(set, 1, 0)
			testkit.OK(t, b.At(x, 1))
			b.Tangent(momentum, momentum)
			α := p.Landing.Rate
			if implicit {
				α = 1 / τ
			}
			κ := make([]float64, 3)
			curved := testkit.Must(geometry.NewCurvature(set, 1))
			curved.Momentum(κ, b, momentum, sign*α)
			with, without := step(true), step(false)
			for j := range κ {
				testkit.Near(t, with[j]-without[j], -τ*τ*κ[j], 1e-13,
					"%s implicit=%v: curvature moves", direction, implicit)
			}
		}
	}
}

// Potentials with vectors of their own work in blocks that are not full.
func TestPotentialsInPartBlocks(t *testing.T) {
	for _, f := range []Potential{Quadratic{Center: []float64{1, 2, 3}, Weight: []float64{3, 2, 1}},
		Linear{B: []float64{1, 2, 3}}} {
		p := process(zoo.Sphere{D: 3}, ULLA)
		p.Potential = f
		x, ζ := pointOn(t, p), []float64{0.1, 0.2, 0.3}
		one, part, failed := make([]float64, 3), make([]float64, 3), make([]bool, 1)
		testkit.Must(p.NewStepper(1).Forward(one, x, x, ζ, failed, 1, 1))
		testkit.Must(p.NewStepper(8).Forward(part, x, x, ζ, failed, 1, 1))
		if one[0] != part[0] || one[1] != part[1] || one[2] != part[2] {
			t.Errorf("%T: %v in a full block, %v in a part", f, one, part)
		}
		a, b := newSplitting(p, 1), newSplitting(p, 8)
		xa, xb, pa, pb := append([]float64(nil), x...), append([]float64(nil), x...), make([]float64, 3),
			make([]float64, 3)
		_, errA := a.step(xa, pa, ζ, failed, 1)
		_, errB := b.step(xb, pb, ζ, failed, 1)
		if errA != nil || errB != nil || xa[0] != xb[0] {
			t.Errorf("%T: splitting differs in a part block", f)
		}
	}
}

// A flight with no landing point turns back: same point, opposite momentum.
func TestSplittingTurnsBack(t *testing.T) {
	p := process(zoo.Sphere{D: 3}, ULLA)
	s := newSplitting(p, 1)
	x, failed := []float64{1, 0, 0}, make([]bool, 1)
	v := []float64{0, 5 / s.τ, 0}
	testkit.OK(t, s.set.At(x, 1))
	var o geometry.Outcome
	testkit.OK(t, s.flight(x, v, failed, 1, &o))
	testkit.Equal(t, o, (geometry.Outcome{Points: 1, Unreachable: 1}), "the flight's projection ends")
	if !failed[0] || x[0] != 1 || x[1] != 0 || v[1] != -5/s.τ {
		t.Errorf("failed %v, x = %v, p = %v", failed, x, v)
	}
}

// A projected step with no landing point goes back to where it started.
func TestFailedProjectionGoesBack(t *testing.T) {
	for _, m := range []Method{OLLAP, ULLAP} {
		p := process(zoo.Sphere{D: 3}, m)
		x, y, failed := []float64{1, 0, 0, 0, 1, 0}, make([]float64, 6), make([]bool, 2)
		ζ := []float64{0, 1e3, 0, 0.1, 0, 0} // the first row leaps out of reach
		testkit.Must(p.NewStepper(2).Forward(y, x, x, ζ, failed, 2, 1))
		if !failed[0] || failed[1] || y[0] != 1 || y[1] != 0 || y[2] != 0 || y[3] == 0 {
			t.Errorf("%v: failed %v, y = %v", m, failed, y)
		}
	}
}

// A terminal projection onto the empty set fails and leaves the row.
func TestTerminalFailureIsMarked(t *testing.T) {
	p := process(rootless{}, OLLA)
	s := p.NewStepper(2)
	x, failed := []float64{1, 2, 3, 4}, make([]bool, 2)
	testkit.Must(s.Terminal(x, failed, 2))
	if !failed[0] || !failed[1] || x[0] != 1 || x[3] != 4 {
		t.Errorf("failed %v, x = %v", failed, x)
	}
}

// rootless is {x ∈ R² : ‖x‖² + 1 = 0}.
type rootless struct{}

func (rootless) Dim() int                              { return 2 }
func (rootless) Equalities() []string                  { return []string{"never"} }
func (rootless) Inequalities() []string                { return nil }
func (rootless) Capabilities() constraint.Capabilities { return constraint.Capabilities{} }

func (s rootless) NewEvaluator(int) constraint.Evaluator { return sets.Evaluator(s) }

func (rootless) Values(v, x []float64, n int) {
	for i := range n {
		v[i] = x[2*i]*x[2*i] + x[2*i+1]*x[2*i+1] + 1
	}
}

func (r rootless) Jacobians(v, j, x []float64, n int) {
	r.Values(v, x, n)
	for i := range 2 * n {
		j[i] = 2 * x[i]
	}
}

// The collapsed, position-only ULLA is the two-variable O-B̃-A scheme on an affine set, where Π does not depend on x.
func TestCollapsedULLA(t *testing.T) {
	set := several(t)["affine"].(zoo.Affine)
	p := process(set, ULLA)
	p.Potential = Quadratic{Center: []float64{1, -2, 0.3, 0}, Weight: []float64{1, 2, 0.5, 1}}
	st := keyed.New(9, keyed.Probe, 0)
	x0 := pointOn(t, p)
	π := tangentMatrix(t, set, x0)
	apply := func(v []float64) []float64 {
		out := make([]float64, 4)
		for i := range out {
			for j := range v {
				out[i] += π[i*4+j] * v[j]
			}
		}
		return out
	}
	v := make([]float64, 4)
	st.Normals(v, 0, 0)
	P := apply(v)
	X := append([]float64(nil), x0...)
	x, prev, y, ζ := append([]float64(nil), x0...), make([]float64, 4), make([]float64, 4), make([]float64, 4)
	for i := range prev {
		prev[i] = x0[i] - p.Schedule.Tau(0)*P[i]
	}
	s, grad := p.NewStepper(1), make([]float64, 4)
	for k := range p.Schedule.N {
		st.Normals(ζ, 1, k)
		testkit.Must(s.Forward(y, x, prev, ζ, make([]bool, 1), 1, k))
		τ := p.Schedule.Tau(k)
		a := math.Exp(-p.Friction * τ)
		p.Potential.Gradient(grad, X, 1)
		for i := range v { // O, then B, then A; on Σ landing and curvature vanish
			v[i] = a*P[i] + math.Sqrt(1-a*a)*ζ[i] - τ*grad[i]
		}
		P = apply(v)
		for i := range X {
			X[i] += τ * P[i]
			if math.Abs(X[i]-y[i]) > 1e-12 {
				t.Fatalf("step %d: collapsed %v, two-variable %v", k, y, X)
			}
		}
		prev, x, y = x, y, prev
	}
}

// Without constraints OLLA is Euler–Maruyama, and ULLA its O-B-A splitting; the
// limits γ → 0 and γ → ∞ keep or forget the momentum.
func TestEuclidean(t *testing.T) {
	x, prev, ζ, y := []float64{1, 2}, []float64{0.9, 2.3}, []float64{0.3, -0.4}, make([]float64, 2)
	f := Quadratic{}
	for _, N := range []int{1, 5} {
		for _, σ := range [][2]float64{{0.4, 0.9}, {0.7, 0.7}} {
			p := process(zoo.Euclidean{D: 2}, OLLA)
			p.Schedule.N, p.Schedule.SigmaMin, p.Schedule.SigmaMax = N, σ[0], σ[1]
			p.Potential = f
			τ := p.Schedule.Tau(0)
			testkit.Must(p.NewStepper(1).Forward(y, x, nil, ζ, nil, 1, 0))
			for i := range y {
				testkit.Near(t, y[i], x[i]-τ/2*x[i]+math.Sqrt(τ)*ζ[i], 1e-15, "OLLA")
			}
			for _, γ := range []float64{1e-12, 3, 1e12} {
				p.Method, p.Friction = ULLA, γ
				testkit.Must(p.NewStepper(1).Forward(y, x, prev, ζ, nil, 1, 0))
				a := math.Exp(-γ * τ)
				for i := range y {
					want := x[i] + τ*(a*(x[i]-prev[i])/τ+math.Sqrt(1-a*a)*ζ[i]-τ*x[i])
					testkit.Near(t, y[i], want, 1e-14, "ULLA γ = %g", γ)
				}
			}
		}
	}
}

// Schedules meet their ends; geometric levels have a constant ratio.
func TestSchedule(t *testing.T) {
	for _, g := range []bool{false, true} {
		s := Schedule{N: 10, T: 2, SigmaMin: 0.1, SigmaMax: 2, Geometric: g}
		if math.Abs(s.Sigma(0)-0.1) > 1e-15 || math.Abs(s.Sigma(10)-2) > 1e-15 || s.Time(10) != 2 {
			t.Errorf("ends: %v %v %v", s.Sigma(0), s.Sigma(10), s.Time(10))
		}
		first, last := s.Sigma(1)-s.Sigma(0), s.Sigma(10)-s.Sigma(9)
		if g {
			first, last = s.Sigma(1)/s.Sigma(0), s.Sigma(10)/s.Sigma(9)
		}
		testkit.Near(t, first, last, 1e-12, "geometric=%v: uneven levels", g)
	}
}

// σ indices of both conventions, as in docs/conventions.md.
func TestConventions(t *testing.T) {
	p := process(zoo.Sphere{D: 3}, ULLA)
	N := p.Schedule.N
	for k := range N {
		p.Convention = Paper
		if p.BackTau(k) != p.Schedule.Tau(k+1) || p.MomentumTau(k) != p.Schedule.Tau(min(k+2, N)) {
			t.Errorf("paper, k = %d", k)
		}
		p.Convention = Reference
		if p.BackTau(k) != p.Schedule.Tau(k) || p.MomentumTau(k) != p.Schedule.Tau(k+1) {
			t.Errorf("reference, k = %d", k)
		}
	}
}

// Curvature needs second derivatives; every method takes inequalities.
func TestValidate(t *testing.T) {
	p := process(sets.Plain(polarCap(t)), OLLA)
	p.Curvature = true
	if _, ok := p.Validate().(*constraint.UnsupportedError); !ok {
		t.Error("curvature without Hessian products is accepted")
	}
	for _, m := range []Method{OLLA, ULLA, OLLAP, ULLAP} {
		p := process(sets.Plain(polarCap(t)), m)
		p.NoTerminal = false
		if err := p.Validate(); err != nil {
			t.Errorf("%v with an inequality: %v", m, err)
		}
	}
}

// A step of each sampler allocates nothing.
func TestStepsAllocateNothing(t *testing.T) {
	for _, b := range stepBenchmarks() {
		step := b.make(t)
		testkit.Equal(t, testing.AllocsPerRun(20, step), 0, "%s", b.name)
	}
}

type stepBenchmark struct {
	name string
	make func(t testing.TB) func()
}

func stepBenchmarks() []stepBenchmark {
	const n = 64
	var out []stepBenchmark
	for name, set := range map[string]constraint.Set{"sphere": zoo.Sphere{D: 3},
		"torus": zoo.Torus{Major: 2, Minor: 0.6}} {
		for _, m := range []Method{OLLA, ULLA, OLLAP, ULLAP} {
			for _, v := range []string{"explicit", "implicit", "curvature"} {
				if m.Projected() && v != "explicit" {
					continue
				}
				for _, direction := range []string{"forward", "backward"} {
					out = append(out, stepBenchmark{fmt.Sprintf("%s/%v/%s/%s", name, m, v, direction),
						func(t testing.TB) func() {
							p := process(set, m)
							p.Landing.Explicit, p.Curvature = v != "implicit", v == "curvature"
							s := p.NewStepper(n)
							x, err := Start(t.Context(), p, n, 1)
							testkit.OK(t, err)
							ζ, y, failed := make([]float64, len(x)), make([]float64, len(x)), make([]bool, n)
							keyed.New(1, keyed.Probe, 0).Normals(ζ, 0, 0)
							return func() {
								var err error
								if direction == "forward" {
									_, err = s.Forward(y, x, x, ζ, failed, n, 1)
								} else {
									_, err = s.Backward(y, x, x, ζ, failed, n, 1, zeroScore{})
								}
								testkit.OK(t, err)
							}
						}})
				}
			}
		}
	}
	out = append(out, stepBenchmark{"sphere/splitting", func(t testing.TB) func() {
		p := process(zoo.Sphere{D: 3}, ULLA)
		s := newSplitting(p, n)
		x, _ := Start(t.Context(), p, n, 1)
		v, ζ, failed := make([]float64, len(x)), make([]float64, len(x)), make([]bool, n)
		return func() {
			if _, err := s.step(x, v, ζ, failed, n); err != nil {
				t.Fatal(err)
			}
		}
	}})
	return out
}

// BenchmarkStep times one step of 64 points.
func BenchmarkStep(b *testing.B) {
	for _, c := range stepBenchmarks() {
		b.Run(c.name, func(b *testing.B) {
			step := c.make(b)
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/64, "ns/row")
		})
	}
}

// Where the normal at a point misses Σ, as beside the tip of a thin ellipse, the
// terminal projection lands by other steps; where it meets Σ, it is Newton's.
func TestTerminalBesideATip(t *testing.T) {
	set := zoo.Ellipsoid{Axes: []float64{1, 0.1}}
	s := process(set, OLLA).NewStepper(2)
	start := []float64{1.05, 0.2, 0.3, 0.12}
	b := geometry.New(set, 2, 0)
	testkit.OK(t, b.At(start, 2))
	newton, ok := make([]float64, 4), make([]bool, 2)
	geometry.NewProjection(set, 2).Project(b, newton, start, ok, 0)
	if ok[0] || !ok[1] {
		t.Fatalf("the test's points have projections %v, want none and one", ok)
	}
	x, failed, h := append([]float64(nil), start...), make([]bool, 2), make([]float64, 2)
	testkit.Must(s.Terminal(x, failed, 2))
	set.Values(h, x, 2)
	if failed[0] || failed[1] || math.Abs(h[0]) > 1e-13 || x[2] != newton[2] || x[3] != newton[3] {
		t.Errorf("failed %v, h = %v, x = %v", failed, h, x)
	}
	if d := math.Hypot(x[0]-start[0], x[1]-start[1]); d > 0.3 {
		t.Errorf("the first point moved by %v", d)
	}
}

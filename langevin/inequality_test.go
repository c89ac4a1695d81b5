package langevin

import (
	"context"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// walls is an affine set with inequalities: {x : A x = b, the last l rows ≤}.
type walls struct {
	zoo.Affine
	l int
}

func (s walls) Equalities() []string { return s.Affine.Equalities()[:len(s.A)-s.l] }
func (s walls) Inequalities() []string {
	return s.Affine.Equalities()[len(s.A)-s.l:]
}

// room has one equality and three inequalities that are not orthogonal to it or to each other.
func room() walls {
	return walls{zoo.Affine{
		A: [][]float64{{1, 2, 0, -1, 0.5}, {0, 1, 1, 3, 0}, {1, 1, 0, 0, -2}, {-1, 0, 2, 0, 1}},
		B: []float64{0.5, 0.2, -0.1, 0.3},
	}, 3}
}

// The decay lemma of Section 4.1 on an affine set, with noise, a potential and a score: what is active at x_k follows
// J_{k+1} = (1 − ασ_k²Δt) J_k with J = [h; g_I + ε] to round-off, and implicit landing puts what is active at the
// proposal at J = 0. OLLA and ULLA, both ways.
func TestDecayWithInequalities(t *testing.T) {
	const ε = 0.07
	set := room()
	st := keyed.New(2, keyed.Probe, 0)
	seen := map[int]int{} // by the number of active inequalities
	for _, m := range []Method{OLLA, ULLA} {
		for _, implicit := range []bool{false, true} {
			for _, backward := range []bool{false, true} {
				p := process(set, m)
				p.Walls, p.Repulsion, p.Landing.Explicit = PaperWalls, ε, !implicit
				p.Potential = Quadratic{Center: []float64{1, -2, 0.3, 0, 1}}
				s := p.NewStepper(1)
				x, prev, y, ζ := make([]float64, 5), make([]float64, 5), make([]float64, 5), make([]float64, 5)
				c0, c1 := make([]float64, 4), make([]float64, 4)
				for trial := range uint64(60) {
					k := int(trial) % p.Schedule.N
					st.Normals(x, trial, 1)
					st.Normals(prev, trial, 2)
					for j := range prev { // a momentum of size 1
						prev[j] = x[j] + p.Schedule.Tau(k)*prev[j]
					}
					st.Normals(ζ, trial, 3)
					τ := p.Schedule.Tau(k)
					var err error
					if backward {
						τ = p.BackTau(k)
						_, err = s.Backward(y, x, prev, ζ, make([]bool, 1), 1, k, smooth)
					} else {
						_, err = s.Forward(y, x, prev, ζ, make([]bool, 1), 1, k)
					}
					testkit.OK(t, err)
					if implicit { // the landing term is that of the proposal
						for j, v := range s.move {
							x[j] += v
						}
					}
					set.Values(c0, x, 1)
					set.Values(c1, y, 1)
					active := 0
					for a, c := range c0 {
						shift := 0.0
						if a > 0 {
							shift = ε
						}
						if a > 0 && c < 0 {
							continue
						} else if a > 0 {
							active++
						}
						want := (1 - p.Landing.Rate*τ) * (c + shift)
						if implicit {
							want = 0
						}
						if math.Abs(c1[a]+shift-want) > 1e-12 {
							t.Fatalf("%v implicit=%v backward=%v trial %d: component %d goes from %g to %g, want %g",
								m, implicit, backward, trial, a, c, c1[a], want-shift)
						}
					}
					seen[active]++
				}
			}
		}
	}
	for active := range 4 {
		if seen[active] == 0 {
			t.Errorf("no trial with %d active inequalities", active)
		}
	}
}

// Projected steps keep h = 0 and g ≤ 0, both ways, and a step that meets a wall ends ε before it: it can leave again.
func TestProjectedStepsStayInside(t *testing.T) {
	const ε = 0.02
	for name, set := range map[string]constraint.Set{"room": room(), "cap": polarCap(t)} {
		for _, m := range []Method{OLLAP, ULLAP} {
			p := process(set, m)
			p.Walls, p.Repulsion = PaperWalls, ε
			p.Schedule = Schedule{N: 200, T: 20, SigmaMin: 0.7, SigmaMax: 0.7}
			x0 := testkit.Must(Start(t.Context(), p, 8, 5))
			pool := parallel.New(2)
			var paths Paths
			sim := NewSimulator(p, pool, 4)
			if _, err := sim.Forward(context.Background(), &paths, x0, 1, 1); err != nil { // not counted below
				t.Fatal(err)
			}
			report, err := sim.Forward(context.Background(), &paths, x0, 1, 0)
			pool.Close()
			testkit.OK(t, err)
			if report.Projections.Points != 8*p.Schedule.N || report.NewtonIterations == 0 ||
				report.Projections.Failed() > 8*p.Schedule.N/20 {
				t.Errorf("%s %v: %+v", name, m, report.Projections)
			}
			met, left := 0, 0
			for i := range 8 {
				was := false
				for k := 1; k <= p.Schedule.N; k++ {
					at := false
					for a, v := range constraint.Values(set, paths.At(i, k)) {
						if a < len(set.Equalities()) && math.Abs(v) > 1e-12 || a >= len(set.Equalities()) && v > 1e-13 {
							t.Fatalf("%s %v: component %d is %g at step %d", name, m, a, v, k)
						}
						at = at || math.Abs(v+ε) < 1e-12
					}
					if at {
						met++
					} else if was {
						left++
					}
					was = at
				}
			}
			if met < 10 || left < 10 {
				t.Errorf("%s %v: the walls were met at %d states and left %d times", name, m, met, left)
			}
		}
	}
}

// The terminal projection takes OLLA and ULLA to Σ itself, not into it.
func TestTerminalWithInequalities(t *testing.T) {
	set := polarCap(t)
	p := process(set, OLLA)
	p.Repulsion = 0.1
	s := p.NewStepper(2)
	x, failed := []float64{1.1, 0, -0.3, 0, 0.2, 0.9}, make([]bool, 2)
	if _, err := s.Terminal(x, failed, 2); err != nil || failed[0] || failed[1] {
		t.Fatal(err, failed)
	}
	c := make([]float64, 4)
	set.Values(c, x, 2)
	if math.Abs(c[0]) > 1e-13 || math.Abs(c[1]) > 1e-13 || math.Abs(c[2]) > 1e-13 || c[3] > -0.1 {
		t.Errorf("h and g at the rim and inside: %v", c)
	}
}

// again is a set with every component repeated, equalities scaled by −3.
type again struct{ constraint.Set }

func twice(names []string) []string { return append(append([]string(nil), names...), names...) }

func (s again) Equalities() []string   { return twice(s.Set.Equalities()) }
func (s again) Inequalities() []string { return twice(s.Set.Inequalities()) }

func (s again) Capabilities() constraint.Capabilities { return constraint.Capabilities{} }

func (s again) NewEvaluator(rows int) constraint.Evaluator {
	return sets.Evaluator(againEvaluator{s, s.Set.NewEvaluator(rows)})
}

type againEvaluator struct {
	again
	inner constraint.Evaluator
}

func (s againEvaluator) Values(values, x []float64, n int) {
	s.Jacobians(values, make([]float64, len(values)*s.Dim()), x, n)
}

func (s againEvaluator) Jacobians(values, jac, x []float64, n int) {
	d, m, l := s.Dim(), len(s.Set.Equalities()), len(s.Set.Inequalities())
	c := m + l
	v, j := make([]float64, n*c), make([]float64, n*c*d)
	s.inner.Jacobians(v, j, x, n)
	for i := range n {
		for a := range 2 * c {
			from, f := a, 1.0
			switch {
			case a >= 2*m:
				from = m + (a-2*m)%l
			case a >= m:
				from, f = a-m, -3
			}
			values[i*2*c+a] = f * v[i*c+from]
			for k := range d {
				jac[(i*2*c+a)*d+k] = f * j[(i*c+from)*d+k]
			}
		}
	}
}

// A repeated constraint changes no state of any method beyond 1e-9, forward or backward.
func TestRepeatedConstraintsChangeNothing(t *testing.T) {
	const n = 20
	for name, set := range map[string]constraint.Set{
		"torus": zoo.Torus{Major: 2, Minor: 0.6}, "cap": polarCap(t), "room": room(),
		"redundant axis": zoo.RedundantAxis{},
	} {
		for c := range 8 {
			m, walls := Method(c%4), Walls(c/4)
			var results [2][]float64
			x0 := testkit.Must(Start(t.Context(), &Process{Set: set, Repulsion: 0.05}, n, 4))
			for e, s := range []constraint.Set{set, again{set}} {
				p := process(s, m)
				p.Walls, p.Repulsion, p.NoTerminal = walls, 0.05, false
				pool := parallel.New(2)
				sim := NewSimulator(p, pool, 8)
				var paths Paths
				testkit.Must(sim.Forward(context.Background(), &paths, x0, 5, 2))
				out, failed := make([]float64, len(x0)), make([]bool, n)
				testkit.Must(sim.Backward(context.Background(), out, failed, 0, 5, Empirical{x0},
					func(int) Score { return smooth }))
				pool.Close()
				results[e] = append(append([]float64(nil), paths.X...), out...)
			}
			for i, v := range results[0] {
				if !(math.Abs(v-results[1][i]) <= 1e-9) {
					t.Fatalf("%s %v %v: number %d of %d is %v, with repeated constraints %v", name, m, walls, i,
						len(results[0]), v, results[1][i])
				}
			}
		}
	}
}

// On the paper's rCRCQ example OLLA moves along the z-axis as free Brownian motion would, whether g is active or not.
func TestRedundantAxisIsALine(t *testing.T) {
	const n = 10
	p := process(zoo.RedundantAxis{}, OLLA)
	p.Repulsion, p.Landing.Explicit, p.NoTerminal = 0, false, false
	p.Schedule.N = 40
	x0 := make([]float64, 3*n)
	pool := testkit.Pool(t, 2)
	var paths Paths
	report, err := NewSimulator(p, pool, 4).Forward(context.Background(), &paths, x0, 5, 2)
	if err != nil || report.Failed > 0 {
		t.Fatal(err, report.Failed)
	}
	noise, ζ := keyed.New(5, keyed.ForwardNoise, 2), make([]float64, 3)
	for i := range n {
		z := 0.0
		for k := range p.Schedule.N {
			noise.Normals(ζ, uint64(i), k)
			z += math.Sqrt(p.Schedule.Tau(k)) * ζ[2]
			x := paths.At(i, k+1)
			if math.Abs(x[0]) > 1e-14 || math.Abs(x[1]) > 1e-14 || math.Abs(x[2]-z) > 1e-13 {
				t.Fatalf("path %d at step %d is at %v, want (0, 0, %v)", i, k+1, x, z)
			}
		}
	}
}

// polarCap is {‖x‖ = 1, x₂ ≥ 0.2}.
func polarCap(t *testing.T) zoo.Cap {
	t.Helper()
	return testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
}

func distance(a, b []float64) (s float64) {
	for j := range a {
		s += (a[j] - b[j]) * (a[j] - b[j])
	}
	return math.Sqrt(s)
}

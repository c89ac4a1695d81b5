package constraint_test

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// shell is {x_0² + x_1² + x_2² + x_3² = c_0², x_3 ≤ c_1, x_0 − c_1 ≤ 2} in R⁶, c = (x_4, x_5): a part of a
// sphere whose radius and wall are the condition.
func shell(t *testing.T) constraint.Set {
	t.Helper()
	b := formula.NewBuilder(6)
	x := b.X()
	b.Equality("radius", expr.Norm(x.Slice(0, 4)).Sub(x.At(4)))
	b.Inequality("wall", x.At(3).Sub(x.At(5)))
	b.Inequality("side", x.At(0).Sub(x.At(5)).Sub(b.Const(2)))
	return testkit.Must(b.Set())
}

// A held set is the set of its slices: at (x, c) all that moves is that of Σ(c) at x, to
// the last bit, and what does not is 0.
func TestHoldIsItsSlices(t *testing.T) {
	sphere := zoo.Sphere{D: 4, R: 2}
	for name, s := range map[string]constraint.Set{
		"formulas": constraint.Hold(shell(t), []int{4, 5}),
		"dense":    constraint.Hold(dense{shell(t)}, []int{5, 4, 5}),
		"given":    constraint.Given(sphere, 2),
		"product":  constraint.Given(constraint.Product(zoo.Sphere{D: 2, R: 1}, zoo.Sphere{D: 2, R: 2}), 2),
		"nothing":  constraint.Given(free(4), 2),
	} {
		const n, d = 30, 4
		st := keyed.New(3, keyed.Probe, 4)
		var whole, x, v, u []float64
		c := []float64{1.7, 0.4}
		for i := range uint64(n) {
			p, q := make([]float64, d), make([]float64, d)
			st.Normals(p, i, 0)
			st.Normals(q, i, 1)
			x, whole = append(x, p...), append(append(whole, p...), c...)
			v, u = append(v, q...), append(append(u, q...), 3, -5)
		}
		flat := constraint.Slice(s, c)
		if inner, ok := constraint.Free(s); ok {
			flat = inner
		}
		held, slice := geometry.New(s, n, 0.1), geometry.New(flat, n, 0.1)
		for _, g := range []struct {
			geometry.Geometry
			x []float64
		}{{held, whole}, {slice, x}} {
			if err := g.At(g.x, n); err != nil {
				t.Fatal(name, err)
			}
		}
		cv := len(constraint.Components(s))
		components := make([]float64, n*cv)
		st.Normals(components, 99, 0)
		compare := func(what string, f func(dst []float64, g geometry.Geometry, set constraint.Set, v []float64)) {
			t.Helper()
			a, b := make([]float64, n*(d+2)), make([]float64, n*d)
			for i := range a {
				a[i] = math.NaN()
			}
			f(a, held, s, u)
			f(b, slice, flat, v)
			for i := range n {
				for j := range d {
					if e := math.Abs(a[i*(d+2)+j] - b[i*d+j]); !(e <= 1e-15*(1+math.Abs(b[i*d+j]))) {
						t.Fatalf("%s: %s at point %d is %v, on the slice %v", name, what, i, a[i*(d+2)+j], b[i*d+j])
					}
				}
				if a[i*(d+2)+4] != 0 || a[i*(d+2)+5] != 0 {
					t.Fatalf("%s: %s moves what is held: %v", name, what, a[i*(d+2):(i+1)*(d+2)])
				}
			}
		}
		compare("Π", func(dst []float64, g geometry.Geometry, _ constraint.Set, v []float64) { g.Tangent(dst, v) })
		compare("∇Jᵀ G† J", func(dst []float64, g geometry.Geometry, _ constraint.Set, _ []float64) { g.Landing(dst) })
		compare("∇Jᵀ G† u", func(dst []float64, g geometry.Geometry, _ constraint.Set, _ []float64) {
			g.Normal(dst, components)
		})
		if cv == 0 {
			continue
		}
		curvature := func(s constraint.Set) *geometry.Curvature {
			return testkit.Must(geometry.NewCurvature(s, n))
		}
		compare("𝓗", func(dst []float64, g geometry.Geometry, s constraint.Set, _ []float64) {
			curvature(s).Mean(dst, g)
		})
		compare("𝓗₁ + 𝓗₂", func(dst []float64, g geometry.Geometry, s constraint.Set, v []float64) {
			p := make([]float64, len(v))
			g.Tangent(p, v)
			curvature(s).Momentum(dst, g, p, 0.7)
		})
		compare("II² e", func(dst []float64, g geometry.Geometry, s constraint.Set, _ []float64) {
			w := s.Dim()
			ii := make([]float64, n*w*w)
			curvature(s).Square(ii, g)
			for i := range n {
				for j := range d {
					dst[i*w+j] = ii[i*w*w+j*w+1]
				}
				for j := d; j < w; j++ {
					dst[i*w+j] = ii[i*w*w+j*w+j] + ii[i*w*w+j]
				}
			}
		})
	}
}

// dense hides what a set knows of its support.
type dense struct{ constraint.Set }

func (s dense) Capabilities() constraint.Capabilities { return constraint.Capabilities{} }

func (s dense) NewEvaluator(rows int) constraint.Evaluator {
	e := s.Set.NewEvaluator(rows)
	e.SparseJacobians = nil
	return e
}

// free is R^d.
type free int

func (d free) Dim() int                            { return int(d) }
func (free) Equalities() []string                  { return nil }
func (free) Inequalities() []string                { return nil }
func (free) Capabilities() constraint.Capabilities { return constraint.Capabilities{} }
func (free) NewEvaluator(int) constraint.Evaluator {
	return constraint.Evaluator{Values: func(_, _ []float64, _ int) {}, Jacobians: func(_, _, _ []float64, _ int) {},
		HessianVectors: func(_, _, _ []float64, _ int) {}}
}

// Projections, closed forms and the solver leave what is held as it was, bit for bit, and bring the rest to Σ(c).
func TestHeldIsNotProjected(t *testing.T) {
	for name, s := range map[string]constraint.Set{
		"formulas": constraint.Hold(shell(t), []int{4, 5}), "given": constraint.Given(zoo.Sphere{D: 4, R: 2}, 2),
		"torus": constraint.Given(zoo.Torus{Major: 2, Minor: 0.5}, 3),
	} {
		solver, st := geometry.NewSolver(s, 0), keyed.New(5, keyed.Probe, 4)
		for i := range uint64(200) {
			x := make([]float64, 6)
			st.Normals(x, i, 0)
			x[4], x[5] = 1+math.Abs(x[4]), 0.3*x[5]
			y := append([]float64(nil), x...)
			if !solver.Descend(y, 1e-13) {
				t.Fatalf("%s: point %d did not arrive", name, i)
			}
			z := append([]float64(nil), x...)
			if solver.Project(z, 0) {
				y = append(y, z...)
			}
			for ; len(y) > 0; y = y[6:] {
				for _, j := range s.Capabilities().Held {
					if y[j] != x[j] {
						t.Fatalf("%s: x[%d] was %v and is %v", name, j, x[j], y[j])
					}
				}
				if worst, at := constraint.Worst(constraint.Values(s, y[:6]), len(s.Equalities())); worst > 1e-11 {
					t.Fatalf("%s: component %d is violated by %v", name, at, worst)
				}
			}
		}
	}
}

// A slice is a set like any other.
func TestSliceSuite(t *testing.T) {
	s := constraint.Slice(constraint.Hold(shell(t), []int{4, 5}), []float64{1.5, 0.8})
	if s.Dim() != 4 || s.Capabilities().Held != nil {
		t.Fatalf("dimension %d, held %v", s.Dim(), s.Capabilities().Held)
	}
	constrainttest.Run(t, s, constrainttest.Options{})
	of := constraint.Slice(constraint.Given(zoo.Sphere{D: 3, R: 2}, 1), []float64{7})
	constrainttest.Run(t, of, constrainttest.Options{})
}

// Views of a held set hold what it holds, and holding twice is holding all.
func TestHoldWrapped(t *testing.T) {
	s := constraint.Hold(constraint.Hold(shell(t), []int{5}), []int{4})
	for _, v := range []constraint.Set{s, constraint.EqualitiesOf(s), constraint.Edge(s, 0)} {
		if h := v.Capabilities().Held; len(h) != 2 || h[0] != 4 || h[1] != 5 {
			t.Errorf("%s holds %v", constraint.Name(v), h)
		}
	}
	if _, ok := constraint.As[*formula.Set](s); !ok {
		t.Error("the inner set is not found")
	}
	if same := shell(t); constraint.Hold(same, nil) != same || constraint.Given(same, 0) != same {
		t.Error("nothing held is another set")
	}
}

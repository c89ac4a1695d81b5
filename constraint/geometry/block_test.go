package geometry

import (
	"errors"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// formula is a set of components given by functions of one point that return a value and a gradient.
type formula struct {
	d, m  int
	names []string
	f     []func(x []float64) (float64, []float64)
}

func (s formula) Dim() int                            { return s.d }
func (s formula) Equalities() []string                { return s.names[:s.m] }
func (s formula) Inequalities() []string              { return s.names[s.m:] }
func (formula) Capabilities() constraint.Capabilities { return constraint.Capabilities{} }

func (s formula) NewEvaluator(int) constraint.Evaluator { return sets.Evaluator(s) }

func (s formula) Values(v, x []float64, n int) {
	s.Jacobians(v, make([]float64, n*len(s.f)*s.d), x, n)
}

func (s formula) Jacobians(v, j, x []float64, n int) {
	for i := range n {
		for a, f := range s.f {
			value, grad := f(x[i*s.d : (i+1)*s.d])
			v[i*len(s.f)+a] = value
			copy(j[(i*len(s.f)+a)*s.d:], grad)
		}
	}
}

func plane(a, b, c, e float64) func(x []float64) (float64, []float64) {
	return func(x []float64) (float64, []float64) {
		return a*x[0] + b*x[1] + c*x[2] - e, []float64{a, b, c}
	}
}

func squared(f func(x []float64) (float64, []float64)) func(x []float64) (float64, []float64) {
	return func(x []float64) (float64, []float64) {
		v, g := f(x)
		out := make([]float64, len(g))
		for i := range g {
			out[i] = 2 * v * g[i]
		}
		return v * v, out
	}
}

// A tested is a geometry with its projection.
type tested struct {
	Geometry
	projection *Projection
	outcome    Outcome // of all projections
}

func newTested(s constraint.Set, rows int, ε float64) *tested {
	s = measured{s}
	return &tested{Geometry: New(s, rows, ε), projection: NewProjection(s, rows)}
}

func (b *tested) project(dst, y []float64, ok []bool, margin float64) {
	b.outcome.Add(b.projection.Project(b.Geometry, dst, y, ok, margin))
}

func at(t *testing.T, s constraint.Set, ε float64, x ...float64) *tested {
	t.Helper()
	b := newTested(s, 1, ε)
	testkit.OK(t, b.At(x, 1))
	return b
}

// A squared constraint has no gradient on Σ: an error with its name, not a projector that lets go of Σ.
func TestSquaredConstraint(t *testing.T) {
	s := formula{3, 2, []string{"good", "square"}, []func([]float64) (float64, []float64){plane(1, 0, 0, 0),
		squared(plane(0, 1, 0, 1))}}
	var e *RankError
	if err := newTested(s, 1, 0).At([]float64{0, 1, 5}, 1); !errors.As(err, &e) || e.Component != "square" {
		t.Errorf("got %v", err)
	}
	at(t, s, 0, 0, 1.5, 5) // off Σ it has one
}

// Repeated constraints lower the rank and change nothing else; conflicting ones
// land at the least-squares point; nothing is NaN.
func TestDependentConstraints(t *testing.T) {
	one := formula{3, 1, []string{"h"}, []func([]float64) (float64, []float64){plane(3, 4, 0, 5)}}
	twice := formula{3, 3, []string{"h", "again", "scaled"}, []func([]float64) (float64, []float64){plane(3, 4, 0, 5),
		plane(3, 4, 0, 5), plane(-300, -400, 0, -500)}}
	x := []float64{2, 3, -1}
	a, b := at(t, one, 0, x...), at(t, twice, 0, x...)
	if b.Rank(0) != 1 || b.Active(0) != 3 {
		t.Errorf("rank %d of %d", b.Rank(0), b.Active(0))
	}
	la, lb := make([]float64, 3), make([]float64, 3)
	a.Landing(la)
	b.Landing(lb)
	for j := range la {
		testkit.Near(t, la[j], lb[j], 1e-14, "landing %v, alone %v", lb, la)
	}
	conflict := formula{3, 2, []string{"at 0", "at 1"}, []func([]float64) (float64, []float64){plane(1, 0, 0, 0),
		plane(1, 0, 0, 1)}}
	c := at(t, conflict, 0, 4, 0, 0)
	c.Landing(la)
	if math.Abs(la[0]-3.5) > 1e-14 || la[1] != 0 || la[2] != 0 {
		t.Errorf("conflicting planes land by %v, want to the middle", la)
	}
	y, ok := []float64{4, 1, 1}, make([]bool, 1)
	b.project(y, y, ok, 0)
	if v := 3*y[0] + 4*y[1] - 5; !ok[0] || math.Abs(v) > 1e-13 {
		t.Errorf("projection with repeated constraints: %v, off by %g", ok, v)
	}
	c.project(y, y, ok, 0)
	if ok[0] {
		t.Error("projection onto the empty set succeeded")
	}
}

// Gradients at a small angle are independent down to RankTolerance, and Π stays
// a projector to round-off among nearly parallel ones.
func TestNearlyParallel(t *testing.T) {
	for angle, rank := range map[float64]int{1e-6: 2, 1e-12: 1} {
		s := formula{3, 2, []string{"a", "b"}, []func([]float64) (float64, []float64){plane(1, 0, 0, 0),
			plane(1, angle, 0, 0)}}
		if b := at(t, s, 0, 1, 2, 3); b.Rank(0) != rank {
			t.Errorf("angle %g: rank %d, want %d", angle, b.Rank(0), rank)
		}
	}
	s := formula{5, 4, []string{"a", "b", "c", "d"}, nil}
	for i := range 4 {
		s.f = append(s.f, func(x []float64) (float64, []float64) {
			g := []float64{1, 1, 1, 1, 1}
			g[i] += 1e-7
			return 0, g
		})
	}
	b := at(t, s, 0, 1, 2, 3, 4, 5)
	if b.Rank(0) != 4 {
		t.Fatalf("rank %d, want 4", b.Rank(0))
	}
	q, _ := b.Geometry.(*factored).basis(0, 0)
	for i := range 4 {
		for j := range i + 1 {
			want := 0.0
			if i == j {
				want = 1
			}
			if e := math.Abs(dense.Dot4(q[5*i:5*i+5], q[5*j:5*j+5]) - want); e > 1e-14 {
				t.Errorf("basis vectors %d and %d: off by %g", i, j, e)
			}
		}
	}
}

// Two inequalities that meet in parallel: rank 1 whichever are active, and the
// active set is g ≥ 0 with the boundary itself.
func TestParallelInequalities(t *testing.T) {
	s := formula{3, 0, []string{"a", "b", "far"}, []func([]float64) (float64, []float64){plane(1, 0, 0, 0),
		plane(2, 0, 0, 0), plane(0, 1, 0, 9)}}
	for _, c := range []struct {
		x            float64
		active, rank int
	}{{-1, 0, 0}, {0, 2, 1}, {0.5, 2, 1}} {
		b := at(t, s, 0.1, c.x, 0, 0)
		if b.Active(0) != c.active || b.Rank(0) != c.rank {
			t.Errorf("x = %v: rank %d of %d active, want %d of %d", c.x, b.Rank(0), b.Active(0), c.rank, c.active)
		}
	}
}

// Non-finite values and gradients are named.
func TestNonFinite(t *testing.T) {
	s := formula{1, 1, []string{"log"}, []func([]float64) (float64, []float64){func(x []float64) (float64, []float64) {
		return math.Log(x[0]), []float64{1 / x[0]}
	}}}
	b := newTested(s, 3, 0)
	var e *NonFiniteError
	if err := b.At([]float64{1, -1, 1}, 3); !errors.As(err, &e) || e.Row != 1 || e.Component != "log" {
		t.Errorf("got %v", err)
	}
	if err := b.At([]float64{1, 2, math.Inf(1)}, 3); !errors.As(err, &e) || e.Row != 2 {
		t.Errorf("got %v", err)
	}
}

// ballWithWall is {‖x‖² = r², x_0 ≥ r/2} in the unit r.
func ballWithWall(r float64) constraint.Set {
	return makeSet(3, 1, func(x []float64) (float64, []float64) {
		return x[0]*x[0] + x[1]*x[1] + x[2]*x[2] - r*r, []float64{2 * x[0], 2 * x[1], 2 * x[2]}
	}, func(x []float64) (float64, []float64) { return r/2 - x[0], []float64{-1, 0, 0} })
}

// What lands points on Σ does so in any unit: Newton's method with and without walls, closed
// forms, descents and approaches, to 10⁻¹⁰ of the points and mostly to their round-off. With an absolute 10⁻¹³
// a sphere of radius 10⁻⁷ by squares would be met anywhere.
func TestEveryUnit(t *testing.T) {
	for _, exponent := range []int{0, -10, -20, -30, -36, 10, 20, 30} {
		unit := math.Ldexp(1, exponent)
		in := func(x ...float64) []float64 {
			y := make([]float64, len(x))
			for j, v := range x {
				y[j] = unit * v
			}
			return y
		}
		sphere := makeSet(3, 1, func(x []float64) (float64, []float64) {
			return x[0]*x[0] + x[1]*x[1] + x[2]*x[2] - unit*unit, []float64{2 * x[0], 2 * x[1], 2 * x[2]}
		})
		for name, c := range map[string]struct {
			set     constraint.Set
			from, y []float64
			want    []float64
		}{
			"sphere":    {sphere, in(0, 0.6, 0.8), in(0.3, 0.6, 0.8), in(0.3, 0.6*c91, 0.8*c91)},
			"wall":      {ballWithWall(unit), in(0.6, 0, 0.8), in(0.4, 0.3, 0.8), nil},
			"ellipsoid": {zoo.Ellipsoid{Axes: in(1, 2, 3)}, in(1, 0, 0), in(1.1, 0.5, 0.6), nil},
			"torus":     {zoo.Torus{Major: 2 * unit, Minor: unit / 2}, in(2.5, 0, 0), in(2.4, 0.2, 0.1), nil},
			"round":     {zoo.Sphere{D: 3, R: unit}, in(0, 0.6, 0.8), in(0.3, 0.6, 0.8), nil},
		} {
			d, m := c.set.Dim(), len(c.set.Equalities())
			g, out, ok := New(c.set, 1, 0), make([]float64, d), []bool{false}
			if err := g.At(c.from, 1); err != nil {
				t.Fatalf("2^%d, %s: %v", exponent, name, err)
			}
			check := func(how string, x []float64) {
				t.Helper()
				e := c.set.NewEvaluator(1)
				val, jac := make([]float64, len(constraint.Components(c.set))), make([]float64, d*len(
					constraint.Components(c.set)))
				e.Jacobians(val, jac, x, 1)
				for l, v := range val {
					slope := 0.0
					for _, w := range jac[l*d : (l+1)*d] {
						slope += math.Abs(w)
					}
					if off := constraint.Excess(v, l < m); !(off <= 1e-12*slope*dense.Largest(x)) {
						t.Errorf("2^%d, %s: %s leaves component %d at %.3g, %.3g of its terms", exponent, name, how, l,
							off, off/slope/dense.Largest(x))
					}
				}
			}
			o := NewProjection(c.set, 1).Project(g, out, c.y, ok, 0)
			if o.Failed() > 0 {
				t.Errorf("2^%d, %s: %+v", exponent, name, o)
				continue
			}
			check("projection", out)
			for j, v := range c.want {
				testkit.Near(t, out[j], v, 1e-12*unit,
					"2^%d, %s: projected to %v, want %v", exponent, name, out, c.want)
			}
			x := append([]float64(nil), c.y...)
			if !NewSolver(c.set, 0).Descend(x, 1e-13) {
				t.Errorf("2^%d, %s: the descent ends at %v", exponent, name, x)
			}
			check("descent", x)
			if len(constraint.Components(c.set)) > m {
				continue
			}
			x = append(x[:0], c.y...)
			if _, ok := NewApproach(New(c.set, 1, 0), d, ApproachOptions{}).Run(x); !ok {
				t.Errorf("2^%d, %s: the approach ends at %v", exponent, name, x)
			}
			check("approach", x)
		}
	}
}

// c91 is what brings (0.3, 0.6, 0.8) onto the unit sphere along its normal at (0, 0.6, 0.8).
var c91 = math.Sqrt(0.91)

// A set through the origin, where nothing has a size, is met too: a single coordinate that is 0, and one with an h that
// has a round-off of its own.
func TestTermsOfNothing(t *testing.T) {
	for name, h := range map[string]func(x []float64) (float64, []float64){
		"plane":     func(x []float64) (float64, []float64) { return x[0], []float64{1} },
		"round-off": func(x []float64) (float64, []float64) { return (1 + x[0]) - 1, []float64{1} },
		"wavers": func(x []float64) (float64, []float64) {
			return x[0] + 1e-14*math.Cos(1e20*x[0]), []float64{1}
		},
		"cube": func(x []float64) (float64, []float64) { return x[0] * (1 + x[0]*x[0]), []float64{1 + 3*x[0]*x[0]} },
	} {
		set := makeSet(1, 1, h)
		for _, from := range []float64{1, 1e-3, 1e-6} {
			g, out, ok := New(set, 1, 0), []float64{0}, []bool{false}
			testkit.OK(t, g.At([]float64{from / 2}, 1))
			if o := NewProjection(set, 1).Project(g, out, []float64{from}, ok, 0); o.Failed() > 0 ||
				!(math.Abs(out[0]) <= 1e-13) || o.Iterations > 12 {
				t.Errorf("%s: from %v to %v, %+v", name, from, out, o)
			}
			x := []float64{from}
			if _, ok := NewApproach(New(set, 1, 0), 1, ApproachOptions{}).Run(x); !ok || !(math.Abs(x[0]) <= 1e-13) {
				t.Errorf("%s: the approach goes from %v to %v, arrived %v", name, from, x, ok)
			}
		}
	}
}

// Where h meets 1e-13 and no step makes it less, projections stay; where steps make it less by little, as at a
// triple root, they take eight more.
func TestPolish(t *testing.T) {
	for name, c := range map[string]struct {
		h          func(x []float64) (float64, []float64)
		from       float64
		iterations int
	}{
		"no less": {func(x []float64) (float64, []float64) { return max(x[0], 0) + 1e-14, []float64{1} }, 1e-6, 2},
		"no way": {func(x []float64) (float64, []float64) {
			if x[0] > 0.5 {
				return x[0], []float64{1}
			}
			return 5e-14, []float64{0}
		}, 1e-6, 1},
		// x falls by a third a step: to below 10^(−13/3) in 25 steps.
		"by little": {func(x []float64) (float64, []float64) { return x[0] * x[0] * x[0], []float64{3 * x[0] * x[0]} },
			1, 25 + polish},
	} {
		set := makeSet(1, 1, c.h)
		g, out, ok := New(set, 1, 0), []float64{0}, []bool{false}
		testkit.OK(t, g.At([]float64{1}, 1))
		o := NewProjection(set, 1).Project(g, out, []float64{c.from}, ok, 0)
		if !ok[0] || o.Failed() > 0 || o.Iterations != c.iterations {
			t.Errorf("%s: at %v, %+v", name, out, o)
		}
	}
}

// II² is how fast the tangent space turns: ‖DΠ[v]‖² = 2 II²(v, v) for tangent v, by
// central differences; of a symmetric form its diagonal is enough. On surfaces, on
// curves in space, off Σ, where it is that of the level set there, and on a block of points.
func TestSquare(t *testing.T) {
	curve, err := zoo.NewOrthogonal(2, zoo.OrthogonalOptions{}) // a circle in R⁴
	testkit.OK(t, err)
	for name, set := range map[string]constraint.Set{
		"ellipsoid": zoo.Ellipsoid{Axes: []float64{1, 0.6, 0.3}}, "torus": zoo.Torus{Major: 2, Minor: 0.6},
		"five": zoo.Ellipsoid{Axes: []float64{1, 0.6, 0.3, 0.8, 2}}, "circle": curve,
	} {
		d := set.Dim()
		const n = 7
		st := keyed.New(3, keyed.Probe, 4)
		x, v := make([]float64, n*d), make([]float64, n*d)
		for i := range n {
			st.Normals(x[i*d:(i+1)*d], uint64(i), 0)
			st.Normals(v[i*d:(i+1)*d], uint64(i), 1)
			if name == "circle" {
				sin, cos := math.Sincos(float64(i))
				copy(x[i*d:], []float64{cos, -sin, sin, cos})
			} else {
				NewSolver(set, 0).Project(x[i*d:(i+1)*d], 0)
			}
			if i == n-1 {
				x[i*d] += 0.05
			}
		}
		k := testkit.Must(NewCurvature(set, n))
		g, other := New(set, n, 0), New(set, 1, 0)
		square := make([]float64, n*d*d)
		for range 2 { // scratch is used again
			testkit.OK(t, g.At(x, n))
			k.Square(square, g)
		}
		g.Tangent(v, v)
		turned := func(i int, s float64) (π []float64) {
			y := append([]float64(nil), x[i*d:(i+1)*d]...)
			dense.Axpy(y, s, v[i*d:(i+1)*d])
			testkit.OK(t, other.At(y, 1))
			for e := range d {
				unit := make([]float64, d)
				unit[e] = 1
				other.Tangent(unit, unit)
				π = append(π, unit...)
			}
			return π
		}
		for i := range n {
			const h = 1e-4
			a, b, want, got := turned(i, h), turned(i, -h), 0., 0.
			for e := range a {
				want += (a[e] - b[e]) * (a[e] - b[e]) / (8 * h * h)
			}
			for e := range d {
				got += v[i*d+e] * dense.Dot(square[(i*d+e)*d:(i*d+e+1)*d], v[i*d:(i+1)*d])
			}
			if math.Abs(got-want) > 1e-5*want || want == 0 {
				t.Errorf("%s, point %d: II²(v, v) is %v, the tangent space turns by %v", name, i, got, want)
			}
		}
	}
}

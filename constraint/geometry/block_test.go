package geometry

import (
	"errors"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
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

// Newton's method converges to round-off on random quadrics, moves only along
// the normals of the base point, and fails honestly where there is no solution.
func TestNewton(t *testing.T) {
	st := keyed.New(1, keyed.Probe, 7)
	circle := func(x []float64) (float64, []float64) {
		return x[0]*x[0] + 2*x[1]*x[1] + 0.5*x[2]*x[2] - 1, []float64{2 * x[0], 4 * x[1], x[2]}
	}
	s := formula{3, 2, []string{"quadric", "plane"}, []func([]float64) (float64, []float64){circle,
		plane(1, 1, 1, 0.2)}}
	x, y, normal := make([]float64, 3), make([]float64, 3), make([]float64, 3)
	done, ok, v := 0, make([]bool, 1), make([]float64, 2)
	for i := range uint64(200) {
		st.Normals(x, i, 0)
		b := at(t, s, 0, x...)
		b.project(y, x, ok, 0)
		if !ok[0] {
			for j := range y {
				if y[j] != x[j] {
					t.Fatal("a failed row does not keep its proposal")
				}
			}
			continue
		}
		done++
		s.Values(v, y, 1)
		if math.Abs(v[0]) > 1e-12 || math.Abs(v[1]) > 1e-12 {
			t.Fatalf("Newton stopped at h = %v", v)
		}
		for j := range normal {
			normal[j] = y[j] - x[j]
		}
		b.Tangent(normal, normal)
		if n := math.Sqrt(dense.Dot4(normal, normal)); n > 1e-12*(1+math.Sqrt(dense.Dot4(y, y))) {
			t.Fatalf("Newton moved %g along the tangent space", n)
		}
	}
	if done < 100 {
		t.Errorf("only %d of 200 projections succeeded", done)
	}
}

// A block's rows do not depend on each other, with inequalities switching rows of J on and off.
func TestRowsAreIndependent(t *testing.T) {
	s := formula{3, 1, []string{"h", "g", "k"}, []func([]float64) (float64, []float64){plane(1, 2, 3, 0),
		plane(0, 1, 0, 0), plane(1, 1, 1, 0.5)}}
	const n = 40
	x, p := make([]float64, 3*n), make([]float64, 3*n)
	keyed.New(1, keyed.Probe, 8).Normals(x, 0, 0)
	keyed.New(1, keyed.Probe, 8).Normals(p, 1, 0)
	all := newTested(s, n, 0.1)
	testkit.OK(t, all.At(x, n))
	tangent, landing := make([]float64, 3*n), make([]float64, 3*n)
	all.Tangent(tangent, p)
	all.Landing(landing)
	for i := range n {
		one := at(t, s, 0.1, x[3*i:3*i+3]...)
		a, b := make([]float64, 3), make([]float64, 3)
		one.Tangent(a, p[3*i:3*i+3])
		one.Landing(b)
		for j := range a {
			if a[j] != tangent[3*i+j] || b[j] != landing[3*i+j] {
				t.Fatalf("row %d differs alone", i)
			}
		}
	}
}

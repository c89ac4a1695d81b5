package geometry

import (
	"math"
	"runtime"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// noRetract keeps O(n)'s normal space in closed form and hides its retraction.
type noRetract struct{ constraint.Set }

func (s noRetract) NewEvaluator(rows int) constraint.Evaluator {
	e := s.Set.NewEvaluator(rows)
	return constraint.Evaluator{Values: e.Values, Jacobians: e.Jacobians, Projector: e.Projector}
}

func orthogonal(t testing.TB, n int) *zoo.Orthogonal {
	t.Helper()
	return testkit.Must(zoo.NewOrthogonal(n, zoo.OrthogonalOptions{}))
}

// haar returns k points of O(n), each off it by about the distance off.
func haar(s *zoo.Orthogonal, k int, off float64) []float64 {
	d := s.Dim()
	x, noise := make([]float64, k*d), make([]float64, k*d)
	keyed.New(5, keyed.Probe, 2).Normals(noise, 0, 0)
	for i := range k {
		s.SampleUniform(x[i*d:(i+1)*d], keyed.New(5, keyed.Probe, 1), uint64(i))
	}
	dense.Axpy(x, off/math.Sqrt(float64(d)), noise)
	return x
}

// The iteration with the base point's closed form lands where Newton's method
// does; where it is too slow, Newton's method takes over.
func TestProjectWithClosedForm(t *testing.T) {
	const k = 10
	s := orthogonal(t, 4)
	d := s.Dim()
	for _, c := range []struct{ off, move float64 }{{0, 0.1}, {0.1, 0.1}, {0.1, 0}, {0.3, 1.2}} {
		x, move := haar(s, k, c.off), make([]float64, k*d)
		keyed.New(5, keyed.Probe, 3).Normals(move, 0, 0)
		y := append([]float64(nil), x...)
		dense.Axpy(y, c.move/math.Sqrt(float64(d)), move)
		quick, newton := newTested(noRetract{s}, k, 0), newTested(sets.Plain(s), k, 0)
		if quick.At(x, k) != nil || newton.At(x, k) != nil {
			t.Fatal("no geometry")
		}
		a, b := make([]float64, k*d), make([]float64, k*d)
		okA, okB := make([]bool, k), make([]bool, k)
		quick.project(a, y, okA, 0)
		newton.project(b, y, okB, 0)
		both := 0
		for i := range k {
			if !okB[i] {
				continue
			}
			if !okA[i] {
				t.Errorf("off %v, move %v: point %d is not projected, but by Newton's method alone", c.off, c.move, i)
				continue
			}
			both++
			if e := distance(a[i*d:(i+1)*d], b[i*d:(i+1)*d]); e > 1e-11 {
				t.Errorf("off %v, move %v: point %d differs by %g", c.off, c.move, i, e)
			}
		}
		if both < k/2 || quick.outcome.Failed()+both > k {
			t.Errorf("off %v, move %v: %d points in common, %+v", c.off, c.move, both, quick.outcome)
		}
	}
}

// A point where the closed form does not hold is factored, beside others where it does.
func TestIrregularPoints(t *testing.T) {
	s := orthogonal(t, 3)
	x := haar(s, 3, 0.1)
	copy(x[9:], []float64{1, 0, 0, 1, 0, 0, 0, 0, 1}) // column 1 is 0: h_11 has no gradient
	b := newTested(s, 3, 0)
	if _, ok := b.At(x, 3).(*RankError); !ok {
		t.Error("a vanishing gradient goes unseen")
	}
	copy(x[9:], []float64{1, 1e-9, 0, 1, -1e-9, 0, 0, 0, 1}) // nearly
	whole := newTested(sets.Plain(s), 3, 0)
	testkit.OK(t, b.At(x, 3))
	testkit.OK(t, whole.At(x, 3))
	if regular := b.Geometry.(*closed).regular; regular[1] || !regular[0] {
		t.Fatalf("regular points: %v", regular)
	}
	v, got, want := make([]float64, 27), make([]float64, 27), make([]float64, 27)
	keyed.New(5, keyed.Probe, 4).Normals(v, 0, 0)
	for name, f := range map[string]func(b *tested, dst []float64){
		"tangent": func(b *tested, dst []float64) { b.Tangent(dst, v) },
		"landing": func(b *tested, dst []float64) { b.Landing(dst) },
		"normal":  func(b *tested, dst []float64) { b.Normal(dst, v[:18]) },
	} {
		f(b, got)
		f(whole, want)
		for i := range want {
			testkit.Near(t, got[i], want[i], 1e-12*(1+math.Abs(want[i])), "%s: place %d", name, i)
		}
	}
	quick := newTested(noRetract{s}, 3, 0)
	testkit.OK(t, quick.At(x, 3))
	okA, okB := make([]bool, 3), make([]bool, 3)
	quick.project(got, x, okA, 0)
	whole.project(want, x, okB, 0)
	for i := range 3 {
		if okA[i] != okB[i] || distance(got[9*i:9*i+9], want[9*i:9*i+9]) > 1e-11 {
			t.Errorf("point %d is projected to %v (%v), factored %v (%v)", i, got[9*i:9*i+9], okA[i], want[9*i:9*i+9],
				okB[i])
		}
		testkit.Equal(t, b.Rank(i), whole.Rank(i), "rank")
	}
}

// The geometry is that of the last call of At: points that change afterwards do not change it, a call with the same
// memory or with a point nearly the same is evaluated anew, and after an error there is none.
func TestNoStaleGeometry(t *testing.T) {
	for name, set := range map[string]constraint.Set{
		"one": sets.Plain(zoo.Sphere{D: 3}), "retraction": zoo.Sphere{D: 3}, "box": box(3),
		"closed": noRetract{orthogonal(t, 3)},
	} {
		d := set.Dim()
		fresh := func(x []float64) (out [][]float64) {
			b := newTested(set, 2, 0.1)
			testkit.OK(t, b.At(x, 1))
			return everything(b, d)
		}
		same := func(what string, a, b [][]float64) {
			t.Helper()
			for i := range a {
				for j := range a[i] {
					if a[i][j] != b[i][j] {
						t.Fatalf("%s: %s: result %d is %v, afresh %v", name, what, i, a[i], b[i])
					}
				}
			}
		}
		x := normals(d, 1, 0.7)
		first := fresh(x)
		b := newTested(set, 2, 0.1)
		testkit.OK(t, b.At(x, 1))
		x[0] += 1e-9
		same("after the points changed", everything(b, d), first)
		for range 2 {
			testkit.OK(t, b.At(x, 1))
			same("at the changed points", everything(b, d), fresh(x))
			x[0] += 1e-12 // what a cache by approximate equality would miss
		}
		x[0] = math.NaN()
		if b.At(x, 1) == nil {
			t.Errorf("%s: NaN is accepted", name)
		} else if len(b.Values()) != 0 {
			t.Errorf("%s: a block has values after an error", name)
		}
	}
}

func everything(b *tested, d int) [][]float64 {
	v := normals(d, 2, 1)
	tangent, landing, y := make([]float64, d), make([]float64, d), make([]float64, d)
	b.Tangent(tangent, v)
	b.Landing(landing)
	for j := range y {
		y[j] = b.Points()[j] + 0.05*v[j]
	}
	b.project(y, y, make([]bool, 1), 0)
	return [][]float64{append([]float64(nil), b.Values()...), tangent, landing, y}
}

// At the rim of a spherical cap 𝓗 is the curvature of the rim, a circle; above it, that of the sphere.
func TestCurvatureOfTheRim(t *testing.T) {
	s := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.6))
	for _, c := range []struct{ x, want []float64 }{
		{[]float64{0.48, 0.64, 0.6}, []float64{-0.48 / 0.64, -0.64 / 0.64, 0}}, // ρ = 0.8
		{[]float64{0.36, 0.48, 0.8}, []float64{-0.72, -0.96, -1.6}},
	} {
		b, got := New(s, 1, 0), make([]float64, 3)
		k := testkit.Must(NewCurvature(s, 1))
		testkit.OK(t, b.At(c.x, 1))
		k.Mean(got, b)
		if distance(got, c.want) > 1e-14 {
			t.Errorf("𝓗(%v) = %v with %d active, want %v", c.x, got, b.Active(0), c.want)
		}
	}
}

// A set with a closed form takes no room for Jacobians and their systems before a point needs them.
func TestClosedFormTakesLittleRoom(t *testing.T) {
	const n, rows = 60, 2
	s := orthogonal(t, n)
	x := haar(s, rows, 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b := newTested(s, rows, 0)
	testkit.OK(t, b.At(x, rows))
	ok := make([]bool, rows)
	b.project(x, x, ok, 0)
	runtime.ReadMemStats(&after)
	m := n * (n + 1) / 2
	if bytes := after.TotalAlloc - before.TotalAlloc; !ok[0] || bytes > uint64(8*m*m/2) {
		t.Errorf("%d bytes, more than half of one matrix of %d×%d; projected %v", bytes, m, m, ok)
	}
	testkit.Equal(t, JacobianSize(s), m*n*n, "a Jacobian")
}

// Points for which the chord iteration is too slow go back to their proposals, for Newton's method to start afresh.
func TestChordGivesUpWhole(t *testing.T) {
	const k = 20
	s := noRetract{orthogonal(t, 4)}
	x := haar(orthogonal(t, 4), k, 0.3)
	y := append([]float64(nil), x...)
	dense.Axpy(y, 0.3, normals(len(y), 3, 1))
	g, p, ok, o := New(s, k, 0).(*closed), NewProjection(s, k), make([]bool, k), Outcome{}
	testkit.OK(t, g.At(x, k))
	p.room()
	copy(p.y, y)
	for i := range k {
		p.row = append(p.row, i)
	}
	dst := append([]float64(nil), y...)
	p.chord(g, dst, ok, &o)
	if len(p.row) < 3 || len(p.row) > k-3 {
		t.Fatalf("%d of %d points are left: the test says too little", len(p.row), k)
	}
	left := make([]bool, k)
	for _, i := range p.row {
		left[i] = true
	}
	for i := range k {
		if left[i] == ok[i] || left[i] != (distance(dst[16*i:16*i+16], y[16*i:16*i+16]) == 0) {
			t.Errorf("point %d: left %v, projected %v", i, left[i], ok[i])
		}
	}
}

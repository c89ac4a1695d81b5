package geometry

import (
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// quadric is Σ_j w_j (x_j − c_j)² − r as a component, with random numbers.
func quadric(d int, sample uint64) component {
	w, c := normals(d, 2*sample, 1), normals(d, 2*sample+1, 0.5)
	return func(x []float64) (float64, []float64) {
		v, g := -1.0, make([]float64, d)
		for j := range x {
			u := x[j] - c[j]
			v += w[j] * u * u
			g[j] = 2 * w[j] * u
		}
		return v, g
	}
}

// factoredOf is the factorisation of any set, whatever New would choose.
func factoredOf(s constraint.Set, rows int, ε float64) Geometry {
	return newFactored(newPoints(s, rows), newLayout(s), ε)
}

// Every implementation gives what the factorisation of the plain set gives, on random
// sets and points off Σ: one dense row, closed forms, groups.
func TestImplementationsAgree(t *testing.T) {
	const n = 5
	type pair struct {
		name   string
		g, all Geometry
		set    constraint.Set
		x      []float64
	}
	var pairs []pair
	add := func(name string, s constraint.Set, x []float64) {
		pairs = append(pairs, pair{name, New(s, n, 0), factoredOf(sets.Plain(s), n, 0), s, x})
	}
	for d := 2; d <= 9; d++ {
		add(fmt.Sprintf("quadric in R^%d", d), makeSet(d, 1, quadric(d, uint64(d))), normals(n*d, uint64(d), 1))
	}
	for k := 2; k <= 5; k++ {
		add(fmt.Sprintf("O(%d)", k), orthogonal(t, k), haar(orthogonal(t, k), n, 0.2))
	}
	for _, s := range []steps{{3, 4, 1, math.Inf(1), 1}, {2, 3, 2, math.Inf(1), 0}} {
		add(fmt.Sprintf("%+v", s), s, s.near1(n))
	}
	kinds := map[string]int{}
	for _, p := range pairs {
		d, c := p.set.Dim(), len(constraint.Components(p.set))
		kinds[fmt.Sprintf("%T", p.g)]++
		for _, g := range []Geometry{p.g, p.all} {
			if err := g.At(p.x, n); err != nil {
				t.Fatal(p.name, err)
			}
		}
		v, u := normals(n*d, 3, 1), normals(n*c, 4, 1)
		near := func(what string, got, want []float64) {
			t.Helper()
			for i, w := range want {
				if !(math.Abs(got[i]-w) <= 1e-11*(1+math.Abs(w))) {
					t.Fatalf("%s: %s: element %d of point %d is %v, factored %v", p.name, what, i%d, i/d, got[i], w)
				}
			}
		}
		write := func(f func(dst []float64)) []float64 {
			dst := make([]float64, n*d)
			for i := range dst {
				dst[i] = math.NaN()
			}
			f(dst)
			return dst
		}
		near("values", p.g.Values(), p.all.Values())
		near("points", p.g.Points(), p.x)
		tangent := write(func(dst []float64) { p.g.Tangent(dst, v) })
		near("Πv", tangent, write(func(dst []float64) { p.all.Tangent(dst, v) }))
		near("Πv in place", write(func(dst []float64) { copy(dst, v); p.g.Tangent(dst, dst) }), tangent)
		near("ΠΠv", write(func(dst []float64) { p.g.Tangent(dst, tangent) }), tangent)
		q, by := make([]float32, n*(c*d+1)), append([]float64(nil), v...)
		new(Basis).Of(q, c*d+1, 1, p.g, n)
		for i := range n { // Π = I − QᵀQ, to the digits of float32
			for a := range c {
				s, row := 0.0, q[i*(c*d+1)+1+a*d:][:d]
				for j, w := range row {
					s += float64(w) * v[i*d+j]
				}
				for j, w := range row {
					by[i*d+j] -= s * float64(w)
				}
			}
			if off := math.Sqrt(dense.SquaredDistance(by[i*d:(i+1)*d], tangent[i*d:(i+1)*d])); off > 1e-6*float64(d) {
				t.Errorf("%s: by a basis of its normals Πv is off by %v", p.name, off)
			}
		}
		near("∇Jᵀ G† u", write(func(dst []float64) { p.g.Normal(dst, u) }),
			write(func(dst []float64) { p.all.Normal(dst, u) }))
		near("landing", write(p.g.Landing), write(p.all.Landing))
		near("Π of landing", write(func(dst []float64) { p.g.Landing(dst); p.g.Tangent(dst, dst) }),
			make([]float64, n*d))
		for i := range n {
			if p.g.Rank(i) != p.all.Rank(i) || p.g.Active(i) != p.all.Active(i) {
				t.Errorf("%s: rank %d of %d, factored %d of %d", p.name, p.g.Rank(i), p.g.Active(i), p.all.Rank(i),
					p.all.Active(i))
			}
		}
		x := append([]float64(nil), p.x...)
		x[d] = math.NaN()
		if p.g.At(x, n) == nil || len(p.g.Values()) != 0 || len(p.g.Points()) != 0 {
			t.Errorf("%s: NaN leaves a geometry", p.name)
		}
	}
	for _, kind := range []string{"*geometry.single", "*geometry.closed", "*geometry.factored"} {
		if kinds[kind] == 0 {
			t.Errorf("no set takes %s: %v", kind, kinds)
		}
	}
}

// New chooses the cheapest geometry that holds.
func TestNewChooses(t *testing.T) {
	for _, c := range []struct {
		set  constraint.Set
		want string
	}{
		{zoo.Sphere{D: 3}, "*geometry.single"}, {zoo.Euclidean{D: 3}, "*geometry.factored"},
		{box(2), "*geometry.factored"},
		{simplex(3), "*geometry.factored"}, {orthogonal(t, 3), "*geometry.closed"},
		{steps{blocks: 2, k: 2, wall: math.Inf(1)}, "*geometry.factored"},
	} {
		if got := fmt.Sprintf("%T", New(c.set, 1, 0)); got != c.want {
			t.Errorf("%s has the geometry %s, want %s", constraint.Name(c.set), got, c.want)
		}
	}
}

// On the line, where an equation leaves no direction, groups have one coordinate.
func TestOneCoordinate(t *testing.T) {
	for name, s := range map[string]constraint.Set{
		"alone":  makeSet(1, 2, half(0.5, 1), half(1, 2)), // twice the same
		"beside": makeSet(2, 2, half(0.5, 1, 0), half(1, 2, 0)),
	} {
		d := s.Dim()
		b := newTested(s, 1, 0)
		x := []float64{0.7, 3}[:d]
		testkit.OK(t, b.At(x, 1))
		v, landing := []float64{4, 5}[:d], make([]float64, d)
		b.Tangent(v, v)
		b.Landing(landing)
		if math.Abs(v[0]) > 1e-15 || math.Abs(landing[0]-0.2) > 1e-15 || d > 1 && (v[1] != 5 || landing[1] != 0) {
			t.Errorf("%s: tangent %v, landing %v", name, v, landing)
		}
	}
}

// foreign is a geometry that this package does not know.
type foreign struct{ Geometry }

// A projection from the points of another package's geometry finds normals of its own.
func TestProjectFromForeignGeometry(t *testing.T) {
	const n = 6
	s := makeSet(4, 2, quadric(4, 1), half(0.3, 1, 1, 0, 1), quadric(4, 7))
	x := normals(4*n, 9, 1)
	y := append([]float64(nil), x...)
	dense.Axpy(y, 0.1, normals(4*n, 10, 1))
	g, a, b, okA, okB := New(s, n, 0), make([]float64, 4*n), make([]float64, 4*n), make([]bool, n), make([]bool, n)
	testkit.OK(t, g.At(x, n))
	p := NewProjection(s, n)
	one := p.Project(g, a, y, okA, 0.01)
	two := p.Project(foreign{g}, b, y, okB, 0.01)
	if one != two || one.Points != n || one.Failed() == n {
		t.Errorf("outcomes %+v and %+v", one, two)
	}
	for i := range a {
		if a[i] != b[i] || okA[i/4] != okB[i/4] {
			t.Fatalf("point %d: %v and %v", i/4, a[i], b[i])
		}
	}
}

// An outcome is of its own call, in every way to project, and outcomes add up.
func TestOutcomes(t *testing.T) {
	s := orthogonal(t, 3)
	x := haar(s, 2, 0)
	y := append([]float64(nil), x...)
	dense.Axpy(y[:9], 0.05, normals(9, 1, 1))
	for j := range 9 { // far beyond the group's reach
		y[9+j] += 10 * float64(j%2)
	}
	var all Outcome
	var projected []float64
	for name, set := range map[string]constraint.Set{"retraction": s, "chord": noRetract{s}, "newton": sets.Plain(s)} {
		g, p, ok := New(set, 2, 0), NewProjection(set, 2), make([]bool, 2)
		testkit.OK(t, g.At(x, 2))
		var sum Outcome
		for range 2 {
			z := make([]float64, 18)
			o := p.Project(g, z, y, ok, 0)
			if projected == nil {
				projected = z
			}
			if e := distance(z[:9], projected[:9]); e > 1e-12 || distance(z[9:], y[9:]) != 0 {
				t.Errorf("%s: projected to %v, %.3g from another way's", name, z, e)
			}
			if o.Points != 2 || o.Failed() != 1 || !ok[0] || ok[1] || (o.Iterations > 0) != (name != "retraction") {
				t.Errorf("%s: %v, %+v", name, ok, o)
			}
			sum.Add(o)
		}
		if sum.Points != 4 || sum.Failed() != 2 {
			t.Errorf("%s: twice is %+v", name, sum)
		}
		all.Add(sum)
	}
	if want := (Outcome{1, 2, 3, 4, 5}); all.Points != 12 || want.Failed() != 12 {
		t.Errorf("%+v in all; %+v failed %d", all, want, want.Failed())
	} else if want.Add(Outcome{10, 20, 30, 40, 50}); want != (Outcome{11, 22, 33, 44, 55}) {
		t.Errorf("a sum is %+v", want)
	}
}

// Nothing allocates after the first call.
func TestAllocatesNothing(t *testing.T) {
	arm := steps{blocks: 2, k: 3, more: 1, wall: 0.5}
	for name, c := range map[string]struct {
		set constraint.Set
		x   []float64
	}{
		"single":    {zoo.Torus{Major: 2, Minor: 0.5}, []float64{2.5, 0.1, 0}},
		"closed":    {orthogonal(t, 3), haar(orthogonal(t, 3), 1, 0.1)},
		"chord":     {noRetract{orthogonal(t, 3)}, haar(orthogonal(t, 3), 1, 0.1)},
		"irregular": {noRetract{orthogonal(t, 3)}, []float64{1, 1e-9, 0, 1, -1e-9, 0, 0, 0, 1}},
		"walls":     {simplexOf(t, 4), []float64{0.5, 0.6, -0.2, 0.3}},
		"groups":    {arm, arm.near1(1)},
	} {
		d := c.set.Dim()
		g, p, k := New(c.set, 1, 0.1), NewProjection(c.set, 1), (*Curvature)(nil)
		if CanCurve(c.set) == nil {
			k, _ = NewCurvature(c.set, 1)
		}
		v, out, ok := normals(d, 1, 0.01), make([]float64, d), make([]bool, 1)
		call := func() {
			if g.At(c.x, 1) != nil {
				t.Fatal(name, "no geometry")
			}
			g.Tangent(out, v)
			g.Landing(out)
			p.Project(g, out, c.x, ok, 0)
			if k != nil {
				k.Mean(out, g)
				k.Momentum(out, g, v, 1)
			}
		}
		if a := testing.AllocsPerRun(20, call); a != 0 && name != "groups" { // this test's set allocates
			t.Errorf("%s: %v allocations", name, a)
		}
	}
}

func simplexOf(t *testing.T, d int) constraint.Set {
	t.Helper()
	return testkit.Must(zoo.NewSimplex(d))
}

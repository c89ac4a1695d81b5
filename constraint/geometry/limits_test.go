package geometry

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// woven has equalities x₀²x₁ − 1 and x₂ sin x₃ − 1/2 and the inequality x₀x₁ ≤ 1, which belongs to the first one's
// group; x₄ is of no component. It says its support, and Hessian products along it.
type woven struct{ held []int }

func (woven) Dim() int               { return 5 }
func (woven) Equalities() []string   { return []string{"a", "b"} }
func (woven) Inequalities() []string { return []string{"g"} }
func (s woven) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Support: [][]int{{0, 1}, {2, 3}, {0, 1}}, Held: s.held}
}

// hessian returns the second derivatives of component a along its support, as xx, xy, yy.
func (woven) hessian(a int, x []float64) (xx, xy, yy float64) {
	switch a {
	case 0:
		return 2 * x[1], 2 * x[0], 0
	case 1:
		return 0, math.Cos(x[3]), -x[2] * math.Sin(x[3])
	}
	return 0, 1, 0
}

func (s woven) NewEvaluator(int) constraint.Evaluator {
	sparse := func(values, jac, x []float64, n int) {
		for i := range n {
			x := x[5*i : 5*i+5]
			copy(values[3*i:3*i+3], []float64{x[0]*x[0]*x[1] - 1, x[2]*math.Sin(x[3]) - 0.5, x[0]*x[1] - 1})
			if jac != nil {
				copy(jac[6*i:6*i+6], []float64{2 * x[0] * x[1], x[0] * x[0], math.Sin(x[3]),
					x[2] * math.Cos(x[3]), x[1], x[0]})
			}
		}
	}
	products := func(dst, x, v []float64, n int) {
		for i := range n {
			for a, at := range s.Capabilities().Support {
				xx, xy, yy := s.hessian(a, x[5*i:])
				u, w := v[5*i+at[0]], v[5*i+at[1]]
				copy(dst[6*i+2*a:6*i+2*a+2], []float64{xx*u + xy*w, xy*u + yy*w})
			}
		}
	}
	spread := func(dst, packed []float64, n int) {
		clear(dst[:15*n])
		for i := range n {
			for a, at := range s.Capabilities().Support {
				dst[15*i+5*a+at[0]], dst[15*i+5*a+at[1]] = packed[6*i+2*a], packed[6*i+2*a+1]
			}
		}
	}
	return constraint.Evaluator{
		Values:               func(values, x []float64, n int) { sparse(values, nil, x, n) },
		SparseJacobians:      sparse,
		SparseHessianVectors: products,
		Jacobians: func(values, jac, x []float64, n int) {
			packed := make([]float64, 6*n)
			sparse(values, packed, x, n)
			spread(jac, packed, n)
		},
		HessianVectors: func(dst, x, v []float64, n int) {
			packed := make([]float64, 6*n)
			products(packed, x, v, n)
			spread(dst, packed, n)
		},
	}
}

// whole hides what a set knows of its support.
type whole struct{ constraint.Set }

func (whole) Capabilities() constraint.Capabilities { return constraint.Capabilities{} }
func (s whole) NewEvaluator(rows int) constraint.Evaluator {
	e := s.Set.NewEvaluator(rows)
	e.SparseJacobians, e.SparseHessianVectors = nil, nil
	return e
}

// quick has whole products that nobody should ask for.
type quick struct{ constraint.Set }

func (s quick) NewEvaluator(rows int) constraint.Evaluator {
	e := s.Set.NewEvaluator(rows)
	e.HessianVectors = func(_, _, _ []float64, _ int) { panic("whole products of a set that knows its support") }
	return e
}

// unwritten is n numbers with no room behind them, NaN.
func unwritten(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return slices.Clip(v)
}

// The curvature terms are what their formulas say of the Hessians written out, from products along
// the support as from whole ones, one after the other with the same scratch.
func TestCurvatureTerms(t *testing.T) {
	const d, c, n = 5, 3, 4
	x, p := normals(d*n, 1, 1), normals(d*n, 2, 1)
	set := woven{}
	for name, s := range map[string]constraint.Set{"support": quick{set}, "whole": whole{set}} {
		k := testkit.Must(NewCurvature(s, n))
		for _, n := range []int{n, 1, n} {
			g := New(s, n, 0.3)
			testkit.OK(t, g.At(x[:d*n], n))
			form := func(i, a int, u, v []float64) float64 { // uᵀ∇²c_a v
				at := set.Capabilities().Support[a]
				xx, xy, yy := set.hessian(a, x[d*i:])
				return xx*u[at[0]]*v[at[0]] + xy*(u[at[0]]*v[at[1]]+u[at[1]]*v[at[0]]) + yy*u[at[1]]*v[at[1]]
			}
			landing := unwritten(n * d)
			g.Landing(landing)
			for _, speed := range []float64{0.7, 0, 1, -2, 0} {
				u, want, got := make([]float64, n*c), unwritten(n*d), unwritten(n*d)
				k.Mean(got, g) // other numbers in the scratch
				for i := range n {
					pi, li := p[i*d:(i+1)*d], landing[i*d:(i+1)*d]
					for a := range c {
						u[i*c+a] = form(i, a, pi, pi) + speed*form(i, a, pi, li)
					}
				}
				g.Normal(want, u)
				k.Momentum(got, g, slices.Clip(p[:n*d]), speed)
				if e := distance(got, want); !(e < 1e-12) {
					t.Errorf("%s: 𝓗₁ + %v 𝓗₂ is %.3g off", name, speed, e)
				}
			}
			u, want, got := make([]float64, n*c), unwritten(n*d), unwritten(n*d)
			for j := range d {
				e := make([]float64, n*d)
				for i := range n {
					e[i*d+j] = 1
				}
				g.Tangent(e, e)
				for i := range n {
					unit := make([]float64, d)
					unit[j] = 1
					for a := range c {
						u[i*c+a] -= form(i, a, unit, e[i*d:(i+1)*d])
					}
				}
			}
			g.Normal(want, u)
			k.Mean(got, g)
			if e := distance(got, want); !(e < 1e-12) {
				t.Errorf("%s: 𝓗 is %.3g off", name, e)
			}
		}
	}
}

// The square of the second form makes its scratch once, also for fewer points than there is room.
func TestSquareAllocatesOnce(t *testing.T) {
	set := zoo.Ellipsoid{Axes: []float64{1, 0.6, 0.3}}
	k := testkit.Must(NewCurvature(set, 2))
	for _, n := range []int{2, 1} {
		g, x, out := New(set, n, 0), []float64{1, 0.1, 0, 0, 0.5, 0.1}, make([]float64, n*9)
		testkit.OK(t, g.At(x, n))
		if a := testing.AllocsPerRun(10, func() { k.Square(out, g) }); a != 0 {
			t.Errorf("%v allocations for %d points", a, n)
		}
	}
}

// What no component touches is written, as zero, and coordinates that are held are no directions.
func TestUntouchedCoordinates(t *testing.T) {
	one := steps{blocks: 1, k: 1, wall: math.Inf(1), spare: 2}
	for name, s := range map[string]constraint.Set{
		"none": zoo.Euclidean{D: 3}, "one group": one, "groups": woven{}, "held": woven{held: []int{1, 4}},
	} {
		d, c := s.Dim(), len(constraint.Components(s))
		g, v := New(s, 1, 0.1), normals(d, 2, 1)
		testkit.OK(t, g.At(normals(d, 1, 1), 1))
		landing, normal, tangent := unwritten(d), unwritten(d), unwritten(d)
		g.Landing(landing)
		g.Normal(normal, normals(c, 3, 1))
		g.Tangent(tangent, v)
		touched, held := make([]bool, d), s.Capabilities().Held
		for _, at := range s.Capabilities().Support {
			for _, j := range at {
				touched[j] = true
			}
		}
		for j := range d {
			if !touched[j] && (landing[j] != 0 || normal[j] != 0) {
				t.Errorf("%s: coordinate %d of the normals is %v and %v", name, j, landing[j], normal[j])
			}
			if want := v[j]; slices.Contains(held, j) {
				testkit.Equal(t, tangent[j], 0, "%s: held coordinate %d moves", name, j)
			} else if !touched[j] && tangent[j] != want || math.IsNaN(tangent[j]) {
				t.Errorf("%s: tangent %d is %v of %v", name, j, tangent[j], want)
			}
		}
	}
}

// A set that says a support of nothing is not taken for one that says none.
func TestEmptySupport(t *testing.T) {
	if _, place := makeGroups(supported{zoo.Euclidean{D: 2}, [][]int{}}, fewer); place == nil {
		t.Error("an empty support is taken for none")
	}
	if l := newLayout(zoo.Euclidean{D: 2}); l.place != nil || len(l.groups) != 0 || l.mat != 0 {
		t.Errorf("a set without components has %+v", l)
	}
}

type supported struct {
	constraint.Set
	support [][]int
}

func (s supported) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Support: s.support}
}

// A geometry's error names the row, the component and what is not finite; a gradient of
// GradientTolerance is one, a shorter one is none.
func TestErrorsOfPoints(t *testing.T) {
	value := func(x []float64) (float64, []float64) { return x[0], []float64{0, 1} }
	slope := func(x []float64) (float64, []float64) { return x[1], []float64{1, x[0] * 2} }
	other := func(x []float64) (float64, []float64) { return x[1], []float64{0, 1} }
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		set       formula
		row       [2]float64
		component string
		want      float64
	}{
		"value":            {makeSet(2, 1, value, other), [2]float64{inf, 3}, "h[0]", inf},
		"value alone":      {makeSet(2, 1, value), [2]float64{-inf, 3}, "h[0]", -inf},
		"second":           {makeSet(2, 2, other, value), [2]float64{-inf, 3}, "h[1]", -inf},
		"gradient":         {makeSet(2, 2, other, slope), [2]float64{-inf, 3}, "h[1]", inf},
		"gradient alone":   {makeSet(2, 1, slope), [2]float64{inf, 3}, "h[0]", inf},
		"of an inequality": {makeSet(2, 1, other, slope), [2]float64{-inf, 3}, "g[0]", inf},
	} {
		var e *NonFiniteError
		err := New(c.set, 3, 0).At(append([]float64{1, 2, 3, 4}, c.row[:]...), 3)
		if !errors.As(err, &e) || e.Row != 2 || e.Component != c.component || e.Value != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, m := range []int{1, 2} {
		for g, want := range map[float64]bool{GradientTolerance: true, math.Nextafter(GradientTolerance, 0): false} {
			f := []component{half(0, g, 0), half(0, 0, 1)}
			var e *RankError
			if err := New(makeSet(2, m, f[:m]...), 1, 0).At([]float64{1, 1}, 1); want && err != nil || !want &&
				(!errors.As(err, &e) || e.Row != 0 || e.Component != "h[0]" || e.Norm != g) {
				t.Errorf("a gradient of %v: %v", g, err)
			}
		}
	}
	// An inequality has a gradient, or is left out.
	for g, want := range map[float64]int{GradientTolerance: 2, math.Nextafter(GradientTolerance, 0): 1} {
		if b := at(t, makeSet(2, 1, half(0, 0, 1), half(0, g, 0)), 0, 1, 1); b.Active(0) != want {
			t.Errorf("an inequality with a gradient of %v: %d active, want %d", g, b.Active(0), want)
		}
	}
}

// What projections need of the base points is the same of one gradient as of its factorisation, at every row.
func TestBases(t *testing.T) {
	const d, n = 4, 3
	s := makeSet(d, 1, quadric(d, 3))
	x := normals(n*d, 5, 1)
	one, all := New(s, n, 0).(*single), factoredOf(s, n, 0).(*factored)
	if one.At(x, n) != nil || all.At(x, n) != nil {
		t.Fatal("no geometry")
	}
	for i := range n {
		q, rank := one.basis(i, 0)
		p, other := all.basis(i, 0)
		if e := distance(q, p); rank != 1 || other != 1 || len(q) != d || !(e < 1e-15) {
			t.Errorf("row %d: the basis %v, factored %v", i, q, p)
		}
		if a, b := one.gradients(i, 0), all.gradients(i, 0); len(a) != d || !slices.Equal(a, b) {
			t.Errorf("row %d: the gradient %v, factored %v", i, a, b)
		}
	}
	y := append([]float64(nil), x...)
	dense.Axpy(y, 0.1, normals(n*d, 6, 1))
	var kept [][]float64
	for _, g := range []Geometry{one, all} {
		z, ok := unwritten(n*d), make([]bool, n)
		if o := NewProjection(s, n).Project(g, z, y, ok, 0); o.Failed() > 0 {
			t.Fatalf("%+v", o)
		}
		kept = append(kept, z)
	}
	if e := distance(kept[0], kept[1]); !(e < 1e-12) {
		t.Errorf("projected %v apart", e)
	}
}

// Inequalities without a gradient where they have slack are no obstacle, the first one neither.
func TestSlackWithoutGradient(t *testing.T) {
	disc := func(x []float64) (float64, []float64) { return dense.Dot4(x, x) - 1, []float64{2 * x[0], 2 * x[1]} }
	for _, s := range []formula{makeSet(2, 0, disc, half(0.5, 0, 1)), makeSet(2, 0, half(0.5, 0, 1), disc),
		makeSet(2, 1, half(0.2, 1, 0), disc, half(0.5, 0, 1))} {
		z, _ := project(t, s, []float64{0, 0}, []float64{0.2, 0.6}, 0)
		if distance(z, []float64{0.2, 0.5}) > 1e-15 {
			t.Errorf("projected to %v", z)
		}
	}
}

// As many walls as there are may push at once.
func TestManyWallsPush(t *testing.T) {
	const d = 60
	x, y := make([]float64, d), make([]float64, d)
	for j := range d {
		x[j], y[j] = 0.5, 2+float64(j)
	}
	z, _ := project(t, box(d), x, y, 0)
	for j, v := range z {
		if math.Abs(v-1) > 1e-14 {
			t.Fatalf("coordinate %d is put at %v", j, v)
		}
	}
}

// The limits of the active set: a row is independent above a sine of √1e-13, and a violation is one
// above the 2⁻⁵⁰th of the move.
func TestActiveLimits(t *testing.T) {
	for sine, want := range map[float64]int{dependent: 1, math.Nextafter(dependent, 1): 2} {
		s := newActive(2, 2)
		s.m, s.at, s.kept = []float64{1, 0, 0, sine}, []int{0, 2}, []int{0, 1}
		if rows, cols := s.independent(); len(rows) != want || len(cols) != want {
			t.Errorf("at %v rows %v are independent", sine, rows)
		}
		one := newActive(1, 1)
		one.size[0], one.res[0], one.at[0] = 1, 1, -1
		testkit.Equal(t, one.enter(0, &group{c: 1, d: 1}, []float64{1}, []float64{sine}), want == 2,
			"a wall at %v of its normal enters", sine)
	}
	s := makeSet(2, 0, half(1, 1, 0), half(0, 0, 1))
	for v, want := range map[float64]float64{0x1p-50: 0x1p-50, 1.25 * 0x1p-50: 0} {
		if z, _ := project(t, s, []float64{0.5, -1}, []float64{1.5, v}, 0); z[0] != 1 || z[1] != want {
			t.Errorf("beyond the wall by %v: projected to %v", v, z)
		}
	}
}

// On the line the descent takes 200 whole steps and 50 halved ones, stops a whole descent after 12
// that have not helped, and keeps the best point that it saw.
func TestDescendCounts(t *testing.T) {
	line := func(h func(x float64) float64) formula { // whole steps are of length 1
		return makeSet(1, 1, func(x []float64) (float64, []float64) { v := h(x[0]); return v, []float64{max(v, 0.5)} })
	}
	down := func(x []float64, h func(x float64) float64) (float64, bool) {
		ok := NewSolver(line(h), 0).Descend(x, 1e-9)
		return x[0], ok
	}
	if x, ok := down([]float64{1000}, func(x float64) float64 { return x }); x != 775 || ok {
		t.Errorf("250 steps lead from 1000 to %v", x)
	}
	// From 100 on the violation is 10, 3 at 99, then 5, and 1 after this many steps.
	for after, want := range map[float64]float64{13: 87, 14: 99} {
		if x, _ := down([]float64{100}, func(x float64) float64 {
			switch {
			case x == 100:
				return 10
			case x == 99:
				return 3
			case x <= 100-after:
				return 1 - 1e-3*(100-after-x)
			}
			return 5
		}); math.Ceil(x) > want || x > 99 || after == 14 && x != 99 {
			t.Errorf("after %v steps: ended at %v, want %v", after, x, want)
		}
	}
	// Nothing helps until the 12th step, or the 13th.
	for at, want := range map[float64]float64{88: 88, 87: 100} {
		if x, _ := down([]float64{100}, func(x float64) float64 {
			if x == 100 || x == at {
				return 3 + x/1e3
			}
			return 5
		}); x != want {
			t.Errorf("less at %v: ended at %v", at, x)
		}
	}
	// Of two points as good as each other halved steps keep the first.
	if x, _ := down([]float64{8}, func(x float64) float64 { return 2 }); x != 8 {
		t.Errorf("moved to %v, where nothing is better", x)
	}
	evaluations := 0
	if x, ok := down([]float64{3}, func(x float64) float64 { evaluations++; return math.Floor(x) }); x != 0 || !ok {
		t.Errorf("ended at %v", x)
	} else if evaluations != 5 { // at 3, 2, 1, 0, and whether it arrived
		t.Errorf("%d evaluations", evaluations)
	}
}

// Where a gradient vanishes nearer to Σ the descent ends, there; an excess of tol (1 + Σ|x ∂c|) has
// arrived, more has not.
func TestDescendEnds(t *testing.T) {
	s := makeSet(1, 1, func(x []float64) (float64, []float64) {
		if x[0] == 1 {
			return 1, []float64{1}
		}
		return 0.25, []float64{0}
	})
	x := []float64{1}
	if NewSolver(s, 0).Descend(x, 1e-9) || x[0] != 0 {
		t.Errorf("moved to %v", x)
	}
	for h, want := range map[float64]bool{3e-9: true, 3.1e-9: false} { // 1 + |−4·0.5| = 3
		s := NewSolver(makeSet(2, 1, func([]float64) (float64, []float64) { return h, []float64{0.5, 0} }), 0)
		testkit.Equal(t, s.arrived([]float64{-4, 7}, 1e-9), want, "an excess of %v has arrived", h)
	}
}

// A reach of less than one is kept too.
func TestApproachWithinReach(t *testing.T) {
	same := func(x float64) float64 { return x }
	for reach, want := range map[float64]bool{0.5: true, 0.49: false} {
		x := []float64{0.5}
		if _, ok := NewApproach(&hop{value: same, step: same}, 1, ApproachOptions{Reach: reach}).Run(x); ok != want {
			t.Errorf("0.5 away within %v: %v, at %v", reach, ok, x)
		}
	}
}

// Errors at a point name the component, the number and the row.
func TestErrorsTell(t *testing.T) {
	rank := &RankError{Row: 4, Component: "knot", Norm: 1.5e-20}
	for _, part := range []string{`constraint "knot"`, "norm 1.5e-20", "point 4", "write it without squares"} {
		testkit.Contains(t, rank.Error(), part, "%v", rank)
	}
	lost := &NonFiniteError{Row: 2, Component: "tube", Value: -3}
	testkit.Equal(t, lost.Error(), `constraint "tube" is not finite (-3) at point 2`)
}

// A point has arrived where each excess is at most tol (1 + Σ|x_j ∂_j c|), an equality's on either
// side, an inequality's beyond its wall alone.
func TestWhereDescentsEnd(t *testing.T) {
	const tol = 0.125
	for _, c := range []struct {
		equality bool
		x, at    float64 // of the constraint 2(x − at)
		want     bool
	}{
		{true, 1, 0.8125, true}, {true, 1, 0.8, false}, {true, 1, 1.1875, true}, {true, 1, 1.19, false},
		{true, 0, 0.0625, true}, {true, 0, 0.07, false}, {false, 1, 0.8125, true}, {false, 1, 0.8, false},
		{false, 1, 9, true}, {true, 1, math.NaN(), false},
	} {
		set := sided{zoo.Affine{A: [][]float64{{2}}, B: []float64{2 * c.at}}, c.equality}
		testkit.Equal(t, NewSolver(set, 0).arrived([]float64{c.x}, tol), c.want, "%+v: arrived", c)
	}
}

// sided is {2x = b}, or {2x ≤ b}.
type sided struct {
	zoo.Affine
	equality bool
}

func (s sided) Equalities() []string {
	if s.equality {
		return s.Affine.Equalities()
	}
	return nil
}

func (s sided) Inequalities() []string {
	if s.equality {
		return nil
	}
	return s.Affine.Equalities()
}

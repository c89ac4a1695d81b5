package program

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// nearest is what both programs do.
type nearest interface {
	Nearest(dst, x []float64, ok []bool, n int) geometry.Outcome
}

// each runs f with a program of each kind, for rows points of a set.
func each(t *testing.T, set constraint.Set, rows int, f func(t *testing.T, w nearest)) {
	t.Run("Interior", func(t *testing.T) { f(t, NewInterior(set, rows, InteriorOptions{})) })
	t.Run("Lagrangian", func(t *testing.T) { f(t, NewLagrangian(set, rows, LagrangianOptions{})) })
}

// paths returns those of a program after it ran.
func paths(w nearest) *search {
	if w, ok := w.(*Interior); ok {
		return w.search
	}
	return w.(*Lagrangian).search
}

// The nearest point of sets where it is known, to 1e-8 of the distance: affine ones, however
// their components are scaled and however often they are written, a half space, a box, a ball, a
// sphere, from inside and outside, an edge of a box cut by a plane, and a set without interior.
func TestNearestPoints(t *testing.T) {
	clamp := func(x []float64) {
		for j, v := range x {
			x[j] = min(max(v, -0.5), 1)
		}
	}
	plane := func(x []float64) {
		off := (2*x[0] - x[1] + 2*x[2] - 3) / 9
		x[0], x[1], x[2] = x[0]-2*off, x[1]+off, x[2]-2*off
	}
	ball := func(x []float64) {
		if r := dense.Norm(x); r > 1.5 {
			dense.Scaled(x, 1.5/r, x)
		}
	}
	sphere := func(x []float64) { dense.Scaled(x, 1/dense.Norm(x), x) }
	for name, c := range map[string]struct {
		equalities, inequalities []string
		want                     func(x []float64)
	}{
		"plane":            {[]string{"2*x[0] - x[1] + 2*x[2] = 3"}, nil, plane},
		"scaled plane":     {[]string{"1e5*(2*x[0] - x[1] + 2*x[2] - 3) = 0"}, nil, plane},
		"two planes":       {[]string{"x[0] = 1", "x[0] + x[1] = 0"}, nil, func(x []float64) { x[0], x[1] = 1, -1 }},
		"redundant planes": {[]string{"2*x[0] - x[1] + 2*x[2] = 3", "x[1] - 2*x[0] - 2*x[2] = -3"}, nil, plane},
		"half space": {nil, []string{"2*x[0] - x[1] + 2*x[2] <= 3"}, func(x []float64) {
			if 2*x[0]-x[1]+2*x[2] > 3 {
				plane(x)
			}
		}},
		"box": {nil, []string{"x[0] >= -0.5", "x[0] <= 1", "x[1] >= -0.5", "x[1] <= 1", "x[2] >= -0.5",
			"x[2] <= 1"}, clamp},
		"box, twice": {nil, []string{"x[0] >= -0.5", "x[0] <= 1", "x[1] >= -0.5", "x[1] <= 1", "x[2] >= -0.5",
			"x[2] <= 1", "2*x[2] <= 2", "-3*x[1] <= 1.5"}, clamp},
		"ball": {nil, []string{"dot(x, x) <= 2.25"}, ball},
		"ball, far": {nil, []string{"sqrt(dot(x, x)) <= 1e-2"}, func(x []float64) {
			dense.Scaled(x, 1e-2/dense.Norm(x), x)
		}},
		"sphere": {[]string{"dot(x, x) = 1"}, nil, sphere},
		"disk": {[]string{"x[2] = 0"}, []string{"dot(x, x) <= 2.25"}, func(x []float64) {
			x[2] = 0
			ball(x)
		}},
		"no interior": {nil, []string{"x[0] <= 0.25", "x[0] >= 0.25"}, func(x []float64) { x[0] = 0.25 }},
	} {
		set := written(t, 3, c.equalities, c.inequalities)
		const n = 60
		x := normals(n, 3, 2)
		each(t, set, n, func(t *testing.T, w nearest) {
			got, ok := make([]float64, 3*n), make([]bool, n)
			o := w.Nearest(got, x, ok, n)
			if o.Failed() > 0 || slices.Contains(ok, false) {
				t.Errorf("%s: %+v", name, o)
			}
			worst := 0.0
			for i := range n {
				want := slices.Clone(x[3*i : 3*i+3])
				c.want(want)
				for j, v := range want {
					worst = max(worst, math.Abs(got[3*i+j]-v))
				}
			}
			t.Logf("%s: off by %.2g, %.3g iterations a point", name, worst, float64(o.Iterations)/n)
			if !(worst <= 1e-8) {
				t.Errorf("%s: off by %v", name, worst)
			}
		})
	}
}

// Where a program ends, the conditions of Karush, Kuhn and Tucker hold with its multipliers, to 1e-8: y − x̃ + ∇hᵀλ +
// ∇gᵀμ = 0, h = 0, g ≤ 0, μ ≥ 0 and μg = 0, on curved sets whose walls meet; derivatives by differences.
func TestKarushKuhnTucker(t *testing.T) {
	set := written(t, 3, []string{"x[0]^2 + 2*x[1]^2 + 3*x[2]^2 = 1"},
		[]string{"x[0] + x[1] <= 0.4", "sin(3*x[2]) <= 0.3 + x[1]"})
	const n = 40
	x := normals(n, 3, 0.5)
	each(t, set, n, func(t *testing.T, w nearest) {
		y, ok := make([]float64, 3*n), make([]bool, n)
		o := w.Nearest(y, x, ok, n)
		if o.Failed() > 0 {
			t.Errorf("%+v", o)
		}
		pressed, restored := 0, 0
		for i := range n {
			s, at := &paths(w).paths[i], y[3*i:3*i+3]
			if !ok[i] {
				continue
			}
			v := constraint.Values(set, at)
			if e, _ := constraint.Worst(v, 1); e > 1e-12 {
				t.Errorf("point %d is off by %v", i, e)
			}
			if s.restored {
				restored++
				continue
			}
			if s.evaluations == 0 {
				continue // it was on Σ
			}
			ν := s.next
			if w, ok := w.(*Lagrangian); ok {
				ν = make([]float64, 3)
				for a := range ν {
					ν[a] = w.program.(*augmented).force(s, a, s.value[a])
				}
			}
			gradient := make([]float64, 3)
			for j := range gradient {
				gradient[j] = at[j] - x[3*i+j]
				up, down := slices.Clone(at), slices.Clone(at)
				up[j] += 1e-5
				down[j] -= 1e-5
				for a, v := range constraint.Values(set, up) {
					gradient[j] += ν[a] * s.scale[a] * (v - constraint.Values(set, down)[a]) / 2e-5
				}
			}
			if g := dense.Largest(gradient); g > 1e-8 {
				t.Errorf("point %d: the gradient is %v", i, g)
			}
			for a := 1; a < 3; a++ {
				if ν[a] < -1e-12 || math.Abs(ν[a]*v[a]) > 1e-8 {
					t.Errorf("point %d: μ is %v where g is %v", i, ν[a], v[a])
				}
				if ν[a] > 1e-3 {
					pressed++
				}
			}
		}
		if pressed < n/4 || restored > n/10 {
			t.Errorf("walls press on %d points, %d are restored", pressed, restored)
		}
		t.Logf("%+v", o)
	})
}

// What has no point of Σ to go to is lost, stays where it was, is counted by reason, and
// nothing beside it is changed: NaN, walls that leave no room, equalities that contradict each
// other, a point where all gradients vanish, a component that is not defined.
func TestNearestCountsFailures(t *testing.T) {
	for name, c := range map[string]struct {
		equalities, inequalities []string
		x                        []float64
		want                     geometry.Outcome
	}{
		"NaN":           {[]string{"dot(x, x) = 1"}, nil, []float64{math.NaN(), 1}, geometry.Outcome{NotFinite: 1}},
		"not defined":   {[]string{"log(x[0]) = 1"}, nil, []float64{-1, 1}, geometry.Outcome{NotFinite: 1}},
		"no room":       {nil, []string{"x[0] <= -1", "x[0] >= 1"}, []float64{0.2, 1}, geometry.Outcome{}},
		"contradiction": {[]string{"x[0] = 1", "x[0] = 2"}, nil, []float64{0.2, 1}, geometry.Outcome{}},
		"no gradient":   {[]string{"dot(x, x) = 1"}, nil, []float64{0, 0}, geometry.Outcome{Unreachable: 1}},
		"empty":         {nil, []string{"dot(x, x) <= -1"}, []float64{0.3, 0.2}, geometry.Outcome{}},
	} {
		set := written(t, 2, c.equalities, c.inequalities)
		good := []float64{0.9, 0.1}
		each(t, set, 3, func(t *testing.T, w nearest) {
			alone, flag := make([]float64, 2), make([]bool, 1)
			w.Nearest(alone, good, flag, 1)
			x, ok := slices.Concat(good, c.x, good), make([]bool, 3)
			o := w.Nearest(x, x, ok, 3)
			if ok[1] || ok[0] != flag[0] || ok[2] != flag[0] || !slices.Equal(x[:2], alone) ||
				!slices.Equal(x[4:], alone) {
				t.Errorf("%s: %v, %v; alone %v", name, ok, x, alone)
			}
			for j, v := range c.x {
				if x[2+j] != v && v == v {
					t.Errorf("%s: what is lost moves to %v", name, x[2:4])
				}
			}
			failed := 1
			if !flag[0] {
				failed = 3
			}
			if o.Failed() != failed || o.NotFinite < c.want.NotFinite || o.Unreachable < c.want.Unreachable {
				t.Errorf("%s: %+v", name, o)
			}
			t.Logf("%s: %+v", name, o)
		})
	}
}

// Sets of many components: SO(4), a product that shares no coordinates; blocks that are smaller
// than the rows; a set that has nothing; no allocation.
func TestNearestInBlocks(t *testing.T) {
	set := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
	so := testkit.Must(zoo.NewOrthogonal(4, zoo.OrthogonalOptions{}))
	for name, set := range map[string]constraint.Set{"SO(4)": so, "cap": set} {
		d := set.Dim()
		const n = 30
		x := normals(n, d, 0.2)
		for i := range n {
			for j := range d {
				if name == "cap" || j%5 == 0 {
					x[i*d+j] += 0.8
				}
			}
		}
		each(t, set, n, func(t *testing.T, w nearest) {
			all, ok := make([]float64, n*d), make([]bool, n)
			if o := w.Nearest(all, x, ok, n); o.Failed() > 0 {
				t.Errorf("%s: %+v", name, o)
			}
			if e := constraint.Values(set, all); dense.Largest(e[:len(set.Equalities())]) > 1e-12 {
				t.Errorf("%s: off by %v", name, dense.Largest(e))
			}
			paths(w).block = 7
			parts := make([]float64, n*d)
			if w.Nearest(parts, x, ok, n); !slices.Equal(parts, all) {
				t.Errorf("%s: blocks of another size give other points", name)
			}
			testkit.Equal(t, testing.AllocsPerRun(3, func() { w.Nearest(parts, x, ok, n) }), 0,
				"%s: it allocates", name)
		})
	}
	each(t, zoo.Euclidean{D: 3}, 2, func(t *testing.T, w nearest) {
		x, ok := []float64{1, 2, 3, 4, 5, 6}, make([]bool, 2)
		if o := w.Nearest(x, x, ok, 2); o != (geometry.Outcome{Points: 2}) || !ok[0] || !ok[1] || x[5] != 6 {
			t.Errorf("%+v, %v, %v", o, x, ok)
		}
	})
}

// The nearest points of a set of 1e-5 times the size are those of the set, times 1e-5.
func TestNearestOfSmallSets(t *testing.T) {
	size := func(r string) constraint.Set {
		return written(t, 3, []string{"sqrt(x[0]^2 + 2*x[1]^2 + 3*x[2]^2) = " + r}, []string{"x[0] + x[1] <= 0.4*" + r})
	}
	const n = 40
	x := normals(n, 3, 0.5)
	small := make([]float64, 3*n)
	dense.Scaled(small, 1e-5, x)
	want := map[string][]float64{}
	for _, r := range []string{"1", "1e-5"} {
		each(t, size(r), n, func(t *testing.T, w nearest) {
			y, ok, from := make([]float64, 3*n), make([]bool, n), x
			if r != "1" {
				from = small
			}
			if o := w.Nearest(y, from, ok, n); o.Failed() > 0 {
				t.Errorf("%+v", o)
			}
			kind := fmt.Sprintf("%T", w)
			if r == "1" {
				want[kind] = y
				return
			}
			for i, v := range want[kind] {
				if d := math.Abs(y[i] - 1e-5*v); !(d < 1e-8*1e-5) {
					t.Errorf("number %d is %v, want %v", i, y[i], 1e-5*v)
				}
			}
		})
	}
}

// What round-off a component has goes by the coordinates that it depends on: here by a large one.
func TestNearestOfLargeCoordinates(t *testing.T) {
	set := written(t, 3, []string{"x[0] + 1e-7*x[2] = 1.5", "x[2]^2 = 2e14"}, nil)
	each(t, set, 1, func(t *testing.T, w nearest) {
		y, ok := []float64{0.2, 0.3, 1.5e7}, make([]bool, 1)
		o := w.Nearest(y, y, ok, 1)
		if !ok[0] || math.Abs(y[2]-math.Sqrt2*1e7) > 1e-6 || math.Abs(y[0]-1.5+math.Sqrt2) > 1e-12 || y[1] != 0.3 {
			t.Errorf("%v, %+v", y, o)
		}
	})
}

// Beside walls that meet on a curved set an interior point takes no more steps than it should. With walls that steps
// may cross it is 25 a point. With a merit whose weight only grows it is 24, and nine points are restored.
func TestInteriorBesideWalls(t *testing.T) {
	set := written(t, 3, []string{"x[0]^2 + 2*x[1]^2 + 3*x[2]^2 = 1"},
		[]string{"x[0] + x[1] <= 0.4", "sin(3*x[2]) <= 0.3 + x[1]"})
	const n = 200
	w, y, ok := NewInterior(set, n, InteriorOptions{}), make([]float64, 3*n), make([]bool, n)
	o, restored := w.Nearest(y, normals(n, 3, 0.5), ok, n), 0
	for i := range n {
		if w.paths[i].restored {
			restored++
		}
	}
	t.Logf("%+v, %d restored", o, restored)
	if o.Failed() > 0 || o.Iterations > 24*n || restored > 2 {
		t.Errorf("%+v, %d restored", o, restored)
	}
}

// The nearest point of an ellipse from farther than its radius of curvature, where whole steps
// without second derivatives go astray, by a search over the angle.
func TestNearestOfAnEllipse(t *testing.T) {
	set := written(t, 2, []string{"x[0]^2/4 + x[1]^2 = 1"}, nil)
	const n = 50
	x := normals(n, 2, 1.5)
	each(t, set, n, func(t *testing.T, w nearest) {
		y, ok := make([]float64, 2*n), make([]bool, n)
		o := w.Nearest(y, x, ok, n)
		off, lost := 0, 0
		for i := range n {
			if !ok[i] {
				lost++
				continue
			}
			best := math.Inf(1)
			for a := range 200_000 {
				s, c := math.Sincos(2 * math.Pi * float64(a) / 200_000)
				best = min(best, math.Hypot(2*c-x[2*i], s-x[2*i+1]))
			}
			if at := math.Hypot(y[2*i]-x[2*i], y[2*i+1]-x[2*i+1]); at > best+1e-6 {
				off++
			}
		}
		t.Logf("%d of %d are not the nearest, %d lost, %.3g iterations", off, n, lost, float64(o.Iterations)/n)
		if lost > 0 || off > n/5 {
			t.Errorf("%d of %d are not the nearest points, %d lost", off, n, lost)
		}
	})
}

// At kinks, where no step lowers the merit, an Interior restores paths to Σ; a Lagrangian loses some.
func TestNearestAtKinks(t *testing.T) {
	for name, c := range map[string][2][]string{
		"corner": {nil, {"max(x[0], x[1]) <= -0.5"}},
		"roof":   {{"x[2] = abs(x[0])"}, {"max(x[0], x[1], x[2]) <= 1"}},
		"peaks":  {nil, {"abs(x[0]) + abs(x[1]) + abs(x[2]) <= 0.3"}},
	} {
		set := written(t, 3, c[0], c[1])
		const n = 60
		x := normals(n, 3, 1)
		each(t, set, n, func(t *testing.T, w nearest) {
			y, ok := make([]float64, 3*n), make([]bool, n)
			o := w.Nearest(y, x, ok, n)
			t.Logf("%s: %+v", name, o)
			if _, interior := w.(*Interior); interior && o.Failed() > 0 {
				t.Errorf("%s: %+v", name, o)
			}
			for i := range n {
				e, _ := constraint.Worst(constraint.Values(set, y[3*i:3*i+3]), len(set.Equalities()))
				testkit.Equal(t, e <= 1e-12, ok[i], "%s: point %d is off by %v, ok", name, i, e)
			}
		})
	}
}

// The gradient of the violation is that of its differences; where inequalities hold they add nothing.
func TestGuidance(t *testing.T) {
	set := written(t, 3, []string{"dot(x, x) = 1", "x[0]*x[1] = 0.1"}, []string{"sin(3*x[2]) <= 0.3", "x[1] >= -5"})
	const n = 20
	x := normals(n, 3, 1)
	g := NewGuidance(set, 7)
	got, steep := make([]float64, 3*n), make([]float64, n)
	for lo := 0; lo < n; lo += 7 {
		k := min(7, n-lo)
		g.Gradient(got[3*lo:], steep[lo:], x[3*lo:], k)
	}
	v := func(x []float64) (sum float64) {
		for i, v := range constraint.Values(set, x) {
			e := constraint.Excess(v, i < 2)
			sum += e * e / 2
		}
		return sum
	}
	for i := range 3 * n {
		row := slices.Clone(x[i/3*3 : i/3*3+3])
		row[i%3] = x[i] + 1e-6
		up := v(row)
		row[i%3] = x[i] - 1e-6
		if want := (up - v(row)) / 2e-6; math.Abs(got[i]-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("derivative %d is %v, by differences %v", i, got[i], want)
		}
	}
	one := []float64{1.5, 0, 0}
	if g.Gradient(got, steep, one, 1); math.Abs(got[0]-1.25*3) > 1e-15 || math.Abs(steep[0]-(9+1.5*1.5)) > 1e-12 {
		t.Errorf("%v, %v", got[:3], steep[0])
	}
	testkit.Equal(t, testing.AllocsPerRun(3, func() { g.Gradient(got, steep, x, 7) }), 0, "it allocates")
}

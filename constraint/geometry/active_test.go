package geometry

import (
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

type component = func(x []float64) (float64, []float64)

// half is a·x − e as a component.
func half(e float64, a ...float64) component {
	return func(x []float64) (float64, []float64) { return dense.Dot4(a, x) - e, a }
}

// makeSet names its components h[i] and g[j]; the first m are equalities.
func makeSet(d, m int, f ...component) formula {
	s := formula{d: d, m: m, f: f}
	for i := range f {
		if i < m {
			s.names = append(s.names, fmt.Sprintf("h[%d]", i))
		} else {
			s.names = append(s.names, fmt.Sprintf("g[%d]", i-m))
		}
	}
	return s
}

// box is [0, 1]^d.
func box(d int) formula {
	var f []component
	for j := range d {
		e, minus := make([]float64, d), make([]float64, d)
		e[j], minus[j] = 1, -1
		f = append(f, half(1, e...), half(0, minus...))
	}
	return makeSet(d, 0, f...)
}

// simplex is {x ≥ 0, Σx = 1}.
func simplex(d int) formula {
	ones := make([]float64, d)
	f := []component{half(1, ones...)}
	for j := range d {
		ones[j] = 1
		minus := make([]float64, d)
		minus[j] = -1
		f = append(f, half(0, minus...))
	}
	return makeSet(d, 1, f...)
}

// project projects y from base point x.
func project(t *testing.T, s formula, x, y []float64, margin float64) ([]float64, *tested) {
	t.Helper()
	b := at(t, s, 0, x...)
	z, ok := make([]float64, len(y)), make([]bool, 1)
	b.project(z, y, ok, margin)
	if !ok[0] {
		t.Fatalf("no projection of %v from %v: %+v", y, x, b.outcome)
	}
	return z, b
}

func normals(d int, sample uint64, scale float64) []float64 {
	v := make([]float64, d)
	keyed.New(11, keyed.Probe, 5).Normals(v, sample, 0)
	for j := range v {
		v[j] *= scale
	}
	return v
}

func distance(a, b []float64) (s float64) {
	for j := range a {
		s += (a[j] - b[j]) * (a[j] - b[j])
	}
	return math.Sqrt(s)
}

// On random affine sets the projection is the nearest point, found by trying
// every subset of inequalities; repeated rows change nothing.
func TestProjectQuadraticProgram(t *testing.T) {
	const d, l = 5, 6
	iterations := 0
	for i := range uint64(300) {
		m, inside := int(i%3), normals(d, 100*i+52, 0.5)
		var f []component
		for a := range uint64(m + l) {
			row := normals(d, 100*i+a, 1)
			e := dense.Dot4(row, inside)
			if int(a) >= m {
				e += math.Abs(row[0])
			}
			f = append(f, half(e, row...))
		}
		s := makeSet(d, m, f...)
		y := normals(d, 100*i+50, 3)
		z, b := project(t, s, normals(d, 100*i+51, 1), y, 0)
		want, best := []float64(nil), math.Inf(1)
		for mask := range 1 << l {
			sub := f[:m:m]
			for j := range l {
				if mask>>j&1 == 1 {
					sub = append(sub, f[m+j])
				}
			}
			if len(sub) > d {
				continue
			}
			p := at(t, makeSet(d, len(sub), sub...), 0, y...)
			landing := make([]float64, d)
			p.Landing(landing)
			w := append([]float64(nil), y...)
			dense.Axpy(w, -1, landing)
			v := make([]float64, m+l)
			s.Values(v, w, 1)
			worst, _ := constraint.Worst(v, m)
			if r := distance(w, y); worst < 1e-11 && r < best {
				want, best = w, r
			}
		}
		if distance(z, want) > 1e-11 {
			t.Fatalf("set %d: %v, nearest %v; %v against %v away", i, z, want, distance(z, y), best)
		}
		iterations += b.outcome.Iterations
		twice := makeSet(d, 2*m, append(f[:m:m], f[:m]...)...)
		for _, g := range f[m:] {
			twice.f, twice.names = append(twice.f, g, g), append(twice.names, "g", "again")
		}
		if again, _ := project(t, twice, y, y, 0); distance(z, again) > 1e-11 {
			t.Fatalf("set %d: repeated rows move the projection by %g", i, distance(z, again))
		}
	}
	if iterations > 2*300 { // one, and now and then more for round-off
		t.Errorf("%d iterations for 300 affine sets", iterations)
	}
}

// On curved sets the result is feasible, moved along the normals at the base
// point, and no inequality with slack pushes or pulls.
func TestProjectCurved(t *testing.T) {
	quadric := func(w, c []float64, r float64) component {
		return func(x []float64) (float64, []float64) {
			v, g := -r, make([]float64, len(x))
			for j := range x {
				u := x[j] - c[j]
				v += w[j] * u * u
				g[j] = 2 * w[j] * u
			}
			return v, g
		}
	}
	// An ellipsoid outside two balls.
	s := makeSet(3, 1, quadric([]float64{1, 2, 0.5}, []float64{0, 0, 0}, 1),
		quadric([]float64{-1, -1, -1}, []float64{1, 0, 0}, -0.2), quadric([]float64{-1, -1, -1}, []float64{0, 0, 1.4},
			-0.5))
	done, pushed, failed := 0, 0, 0
	for i := range uint64(300) {
		x := normals(3, i, 1)
		b := at(t, s, 0, x...)
		ok := make([]bool, 1)
		if b.project(x, x, ok, 0); !ok[0] {
			continue
		}
		y := normals(3, 5000+i, 0.15)
		dense.Axpy(y, 1, x)
		b = at(t, s, 0, x...)
		z := make([]float64, 3)
		b.project(z, y, ok, 0)
		if !ok[0] {
			failed++
			if b.outcome.Failed() != 1 || z[0] != y[0] || z[1] != y[1] || z[2] != y[2] {
				t.Fatalf("a failed row has %+v and moved to %v from %v", b.outcome, z, y)
			}
			continue
		}
		done++
		v := make([]float64, 3)
		s.Values(v, z, 1)
		if math.Abs(v[0]) > 1e-13 || v[1] > 1e-13 || v[2] > 1e-13 {
			t.Fatalf("projected to c = %v", v)
		}
		jac := b.Geometry.(*factored).jac
		left := make([]float64, 3) // y + ∇Jᵀλ − z
		copy(left, y)
		dense.Axpy(left, -1, z)
		for l := range 3 {
			λ := b.projection.z[l]
			if l > 0 && (λ > 0 || λ < 0 && v[l] < -1e-12) {
				t.Fatalf("multiplier %g with g = %g", λ, v[l])
			}
			if λ != 0 {
				dense.Axpy(left, λ/dense.Norm4(jac[3*l:3*l+3]), jac[3*l:3*l+3])
			}
			if l > 0 && λ < 0 {
				pushed++
			}
		}
		if dense.Norm4(left) > 1e-12 {
			t.Fatalf("moved %g across the normals", dense.Norm4(left))
		}
	}
	if done < 200 || pushed < 20 {
		t.Errorf("%d projections, %d pushed, %d failed: too few to say anything", done, pushed, failed)
	}
}

// Failures are counted by reason, leave the proposal and are never NaN.
func TestProjectFailures(t *testing.T) {
	log := func(x []float64) (float64, []float64) { return math.Log(x[0]) + 5, []float64{1 / x[0], 0} }
	never := func(x []float64) (float64, []float64) { return x[0]*x[0] + 1, []float64{2 * x[0], 0} }
	for _, c := range []struct {
		name string
		set  formula
		x, y []float64
		want Outcome
	}{
		{"conflict", makeSet(2, 0, half(0, 1, 0), half(-1, -1, 0)), []float64{0.5, 0}, []float64{0.3, 2},
			Outcome{Points: 1, Unreachable: 1}},
		{"equality against inequality", makeSet(2, 1, half(3, 1, 0), half(1, 1, 0)), []float64{0.5, 0},
			[]float64{0.3, 2}, Outcome{Points: 1, Unreachable: 1}},
		{"logarithm", makeSet(2, 1, log, half(9, 0, 1)), []float64{1, 0}, []float64{-1, 0},
			Outcome{Points: 1, NotFinite: 1}},
		{"no root", makeSet(2, 1, never, half(9, 0, 1)), []float64{1, 0}, []float64{0.3, 0},
			Outcome{Points: 1, Stalled: 1, Iterations: 50}},
		{"no gradient", makeSet(2, 0, func(x []float64) (float64, []float64) { return 1, []float64{0, 0} }),
			[]float64{1, 0}, []float64{0.3, 0}, Outcome{Points: 1, Unreachable: 1}},
	} {
		b := at(t, c.set, 0.1, c.x...)
		z, ok := make([]float64, 2), []bool{true}
		b.project(z, c.y, ok, 0)
		if ok[0] || b.outcome != c.want || z[0] != c.y[0] || z[1] != c.y[1] {
			t.Errorf("%s: ok %v, %+v, at %v", c.name, ok[0], b.outcome, z)
		}
	}
}

// Walls whose gradients differ in length are each left by the margin in their own units, those
// too that are met only after another one has pushed.
func TestMarginOfUnequalGradients(t *testing.T) {
	const margin = 0.1
	for _, c := range []struct {
		walls [3][3]float64 // a x + b y ≤ e
		y     []float64
	}{
		{[3][3]float64{{2, 0, 2}, {3, 4, 6}, {0, 0.5, 9}}, []float64{3, 1.2, 7}},
		{[3][3]float64{{3, 4, 6}, {0, 0.5, 9}, {2, 0, 2}}, []float64{3, 1.2, 7}},
		{[3][3]float64{{10, 0, 10}, {-1, 1, 0}, {0, 1, 9}}, []float64{3, 2.5, 7}}, // met after the first
		{[3][3]float64{{0, 1, 9}, {-0.1, 0.1, 0}, {10, 0, 10}}, []float64{3, 2.5, 7}},
	} {
		s := formula{d: 3, names: []string{"a", "b", "c"}}
		var at [][3]float64
		for _, w := range c.walls {
			s.f = append(s.f, plane(w[0], w[1], 0, w[2]))
			if w[2] != 9 {
				at = append(at, [3]float64{w[0], w[1], w[2] - margin})
			}
		}
		det := at[0][0]*at[1][1] - at[0][1]*at[1][0]
		want := []float64{
			(at[0][2]*at[1][1] - at[0][1]*at[1][2]) / det, (at[0][0]*at[1][2] - at[0][2]*at[1][0]) / det, 7,
		}
		z, b := project(t, s, []float64{0, 0, 7}, c.y, margin)
		if distance(z, want) > 1e-14 || b.outcome.Iterations != 1 {
			t.Errorf("%v: %v goes to %v after %d iterations, want %v after 1",
				c.walls, c.y, z, b.outcome.Iterations, want)
		}
	}
}

// A margin that has no room is dropped: between two walls closer than it, and
// for an inequality that the equalities make active everywhere.
func TestMarginWithoutRoom(t *testing.T) {
	walls := makeSet(2, 0, half(0.1, 1, 0), half(0, -1, 0), half(0, 0, 1))
	if z, _ := project(t, walls, []float64{0, 0}, []float64{1, 2}, 0.2); math.Abs(z[0]-0.1) > 1e-14 ||
		math.Abs(z[1]) > 1e-14 {
		t.Errorf("between the walls at %v", z)
	}
	line := makeSet(3, 2, half(0, 1, 0, 0), half(0, 0, 1, 0), func(x []float64) (float64, []float64) {
		return x[0] + x[1] + x[0]*x[0], []float64{1 + 2*x[0], 1, 0}
	})
	if z, _ := project(t, line, []float64{0, 0, 0}, []float64{0.3, 0.4, 2}, 0.2); dense.Norm4(z[:2]) > 1e-13 ||
		z[2] != 2 {
		t.Errorf("on the z-axis at %v", z)
	}
}

// A violation of 1e-9 is removed as one of 1 is; a proposal on the wall itself counts as reaching it; one nearer than
// the margin is left alone, also by a block that has pushed it before; a slack inequality without gradient does not
// matter.
func TestProjectAtTheWall(t *testing.T) {
	flat := func(x []float64) (float64, []float64) { return -1, []float64{0, 0} }
	s := makeSet(2, 0, half(1, 1, 0), half(2, 0, 1), flat)
	b := at(t, s, 0, 0, 0)
	z, ok := make([]float64, 2), make([]bool, 1)
	for _, c := range []struct{ y, margin, want float64 }{
		{1 + 1e-9, 0, 1}, {2, 0.1, 0.9}, {0.95, 0.1, 0.95}, {1, 0.1, 0.9}, {1, 0, 1}, {1 - 1e-9, 0.1, 1 - 1e-9},
	} {
		b.project(z, []float64{c.y, 3}, ok, c.margin)
		if !ok[0] || math.Abs(z[0]-c.want) > 1e-15 || math.Abs(z[1]-(2-c.margin)) > 1e-15 {
			t.Errorf("%v with margin %v goes to %v, want %v", c.y, c.margin, z, c.want)
		}
	}
}

// Outside a ball Newton's first iterate goes too far: the point is brought back to g = 0, where its multiplier belongs.
func TestProjectOntoABall(t *testing.T) {
	s := makeSet(2, 0, func(x []float64) (float64, []float64) {
		return 0.25 - dense.Dot4(x, x), []float64{-2 * x[0], -2 * x[1]}
	})
	z, b := project(t, s, []float64{0.4, 0}, []float64{0.3, 0.2}, 0)
	if want := math.Sqrt(0.25 - 0.04); math.Abs(z[0]-want) > 1e-13 || z[1] != 0.2 || b.outcome.Iterations < 3 {
		t.Errorf("projected to %v after %d iterations, want (%v, 0.2)", z, b.outcome.Iterations, want)
	}
}

// Where round-off in h is far above 1e-13 the iteration ends at round-off.
func TestProjectAtScale(t *testing.T) {
	circle := func(x []float64) (float64, []float64) {
		return dense.Dot4(x, x) - 1e12, []float64{2 * x[0], 2 * x[1]}
	}
	for _, s := range []formula{makeSet(2, 1, circle), makeSet(2, 1, circle, half(7e5, 0, 1))} {
		z, _ := project(t, s, []float64{6e5, 8e5}, []float64{5.3e5, 8.3e5}, 0)
		if math.Abs(dense.Norm4(z)-1e6) > 1e-9 || len(s.f) == 2 && math.Abs(z[1]-7e5) > 1e-9 {
			t.Errorf("projected to %v, %g off the circle", z, dense.Norm4(z)-1e6)
		}
	}
}

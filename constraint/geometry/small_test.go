package geometry

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
)

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

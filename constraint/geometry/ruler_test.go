package geometry_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func formulas(t *testing.T, dim int, equalities, inequalities []string) constraint.Set {
	t.Helper()
	spec := formula.Spec{Dim: dim}
	for i, e := range equalities {
		spec.Equality = append(spec.Equality, formula.Component{Name: fmt.Sprint("h", i), Expr: e})
	}
	for i, e := range inequalities {
		spec.Inequality = append(spec.Inequality, formula.Component{Name: fmt.Sprint("g", i), Expr: e})
	}
	return testkit.Must(formula.New(spec))
}

// Of planes the gap is the distance, whatever their equations are multiplied by: of one, and of
// all together, which is more where they meet at a small angle.
func TestGapOfPlanes(t *testing.T) {
	const s = 0.02 // the slope of the second plane to the first
	for _, scale := range []float64{1, 1e6, 1e-6} {
		set := formulas(t, 3, []string{fmt.Sprintf("%g*x[1] = 0", scale),
			fmt.Sprintf("%g*(x[1] - %g*x[0]) = 0", 1/scale, s)}, []string{fmt.Sprintf("%g*(x[2] - 1)", scale)})
		r := geometry.NewRuler(set)
		for _, c := range []struct {
			x            []float64
			single, step float64
			component    int
		}{
			{[]float64{0, 0, 0.5}, 0, 0, -1},
			{[]float64{0, 0, 3}, 2, 2, 2},
			{[]float64{5, 0, 1}, 5 * s / math.Sqrt(1+s*s), 5, 1}, // both planes meet in the axis of x_2 alone
			{[]float64{0, 0.3, 1 + 0.4}, 0.4, 0.5, 2},
			{[]float64{0, -0.3, 1}, 0.3, 0.3, 0},
		} {
			g := r.Gap(c.x)
			if math.Abs(g.Single-c.single) > 1e-12 || math.Abs(g.Step-c.step) > 1e-10 || g.Component != c.component {
				t.Errorf("scale %g, at %v: %+v; want %v of component %d, and %v", scale, c.x, g, c.single, c.component,
					c.step)
			}
		}
	}
}

// Where a gradient vanishes, or a value is none, no step leads to Σ; on Σ the gap is 0 even there.
func TestGapWithoutAWay(t *testing.T) {
	sphere := geometry.NewRuler(zoo.Sphere{D: 3, R: 2})
	if g := sphere.Gap([]float64{0, 0, 0}); !math.IsInf(g.Single, 1) || !math.IsInf(g.Step, 1) || g.Component != 0 {
		t.Errorf("the centre of a sphere: %+v", g)
	}
	squared := geometry.NewRuler(formulas(t, 2, []string{"(x[0] - 1)^2"}, nil))
	testkit.Equal(t, squared.Gap([]float64{1, 7}), (geometry.Gap{Component: -1}), "on a squared plane")
	if g := squared.Gap([]float64{1.5, 7}); math.Abs(g.Single-0.25) > 1e-15 || math.Abs(g.Step-0.25) > 1e-15 ||
		math.Abs(g.Excess-0.25) > 1e-15 {
		t.Errorf("beside a squared plane: %+v", g) // Newton's step halves the distance
	}
	root := geometry.NewRuler(formulas(t, 2, []string{"x[0]"}, []string{"sqrt(x[1]) - 1"}))
	if g := root.Gap([]float64{0, -1}); !math.IsInf(g.Single, 1) || !math.IsInf(g.Step, 1) || g.Component != 1 ||
		!math.IsInf(g.Excess, 1) {
		t.Errorf("the root of −1: %+v", g)
	}
}

// Sets that know their support, or a closed form of their normal space, have the gap of the same set without.
func TestGapOfGroups(t *testing.T) {
	circle := zoo.Sphere{D: 2, R: 1}
	product := geometry.NewRuler(constraint.Product(circle, circle, circle))
	x := []float64{1.5, 0, 0, 0.5, -2, 0}
	g := product.Gap(x)
	single := geometry.NewRuler(circle)
	want := 0.0
	for i := range 3 {
		s := single.Gap(x[2*i : 2*i+2])
		want = math.Hypot(want, s.Step)
		if i == 0 && g.Component == 0 || s.Single > g.Single {
			t.Errorf("%+v, and circle %d alone %+v", g, i, s)
		}
	}
	if math.Abs(g.Step-want) > 1e-14 || g.Single != single.Gap(x[4:]).Single && g.Single != single.Gap(x[2:4]).Single {
		t.Errorf("%+v; want %v", g, want)
	}
	o := testkit.Must(zoo.NewOrthogonal(3, zoo.OrthogonalOptions{}))
	// A rotation times 1 + δ: XᵀX − I = (2δ + δ²) I, and the nearest point is δ away from each column.
	const δ = 1e-6
	scaled := []float64{1 + δ, 0, 0, 0, 0, 1 + δ, 0, -1 - δ, 0}
	if g := geometry.NewRuler(o).Gap(scaled); math.Abs(g.Step-δ*math.Sqrt(3)) > 1e-11 || math.Abs(g.Single-δ) > 1e-11 {
		t.Errorf("a rotation, larger by %v: %+v", δ, g)
	}
}

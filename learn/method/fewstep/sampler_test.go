package fewstep

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// retracted is where a set's retraction takes a point of the plane.
func retracted(t *testing.T, spec formula.Spec, y ...float64) []float64 {
	t.Helper()
	spec.Dim = 2
	set := testkit.Must(formula.New(spec))
	ok := make([]bool, 1)
	newRetraction(set, 4).block(y, ok, 1)
	if !ok[0] {
		t.Fatalf("%v does not arrive", y)
	}
	if v, _ := constraint.Worst(constraint.Values(set, y), len(set.Equalities())); !(v <= 1e-13) {
		t.Fatalf("%v is off the set by %v", y, v)
	}
	return y
}

// On the ellipse x²/4 + y² = 1 an answer takes two landing steps y ← y − h∇h/‖∇h‖², and then goes along the normal
// where they end: to the root of a quadratic equation. With one step more or fewer the point is another by 10⁻³.
func TestLandsTwiceThenProjects(t *testing.T) {
	h := func(x, y float64) float64 { return x*x/4 + y*y - 1 }
	x, y := 1.9, 1.6
	for range 2 {
		gx, gy := x/2, 2*y
		c := h(x, y) / (gx*gx + gy*gy)
		x, y = x-c*gx, y-c*gy
	}
	gx, gy := x/2, 2*y
	a, b := gx*gx/4+gy*gy, x*gx/2+2*y*gy // h(x + λg) = aλ² + bλ + h
	λ := 2 * -h(x, y) / (b + math.Sqrt(b*b-4*a*h(x, y)))
	got := retracted(t, formula.Spec{Equality: []formula.Component{{Name: "ellipse", Expr: "x[0]^2/4 + x[1]^2 - 1"}}},
		1.9, 1.6)
	if math.Hypot(got[0]-x-λ*gx, got[1]-y-λ*gy) > 1e-12 {
		t.Errorf("got %v, want %v, %v", got, x+λ*gx, y+λ*gy)
	}
}

// An answer beyond a wall is mirrored in it; one that is far beyond, and would be mirrored over another, ends at that.
func TestMirrorsInWalls(t *testing.T) {
	strip := formula.Spec{Equality: []formula.Component{{Name: "flat", Expr: "x[1]"}},
		Inequality: []formula.Component{{Name: "right", Expr: "x[0] - 1"}, {Name: "left", Expr: "-x[0]"}}}
	for y, want := range map[float64]float64{0.4: 0.4, 1.3: 0.7, -0.2: 0.2, 2.5: 0, -1.5: 1} {
		if got := retracted(t, strip, y, 0.3); math.Abs(got[0]-want) > 1e-12 || got[1] != 0 {
			t.Errorf("%v ends at %v, want %v", y, got, want)
		}
	}
}

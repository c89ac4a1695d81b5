package figure

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// The extent of the unit sphere's map, from the published coefficients.
func TestEqualEarthExtent(t *testing.T) {
	testkit.Near(t, eeWidth, 2.7066299836960748, 1e-12, "half width")
	testkit.Near(t, eeHeight, 1.3173627591574132, 1e-12, "half height")
	// The paper: poles are lines 0.59 times as long as the equator.
	x, _ := equalEarth(math.Pi/2, math.Pi)
	testkit.Near(t, x/eeWidth, 0.59, 0.005, "pole to equator")
}

func TestEqualEarthSymmetry(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		phi, lambda := (r.Float64()-0.5)*math.Pi, (r.Float64()-0.5)*2*math.Pi
		x, y := equalEarth(phi, lambda)
		if u, v := equalEarth(-phi, lambda); u != x || v != -y {
			t.Fatalf("φ → −φ at (%g, %g): (%g, %g) and (%g, %g)", phi, lambda, x, y, u, v)
		}
		if u, v := equalEarth(phi, -lambda); u != -x || v != y {
			t.Fatalf("λ → −λ at (%g, %g): (%g, %g) and (%g, %g)", phi, lambda, x, y, u, v)
		}
	}
}

// Areas are true: the Jacobian's determinant is cos φ everywhere. Since y depends on φ alone and x is linear in λ, it
// is ∂x/∂λ · dy/dφ; dy/dφ is taken by a central difference of eighth order.
func TestEqualEarthArea(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	const h = 5e-3
	weights := []float64{4. / 5, -1. / 5, 4. / 105, -1. / 280}
	for range 500 {
		phi, lambda := (r.Float64()-0.5)*(math.Pi-0.1), (r.Float64()-0.5)*2*math.Pi
		var dy float64
		for i, w := range weights {
			step := float64(i+1) * h
			_, up := equalEarth(phi+step, lambda)
			_, down := equalEarth(phi-step, lambda)
			dy += w * (up - down) / h
		}
		right, _ := equalEarth(phi, lambda+1)
		left, _ := equalEarth(phi, lambda-1)
		if got := (right - left) / 2 * dy; math.Abs(got-math.Cos(phi)) > 1e-9 {
			t.Fatalf("at φ = %g: area scale %.12g, want %.12g", phi, got, math.Cos(phi))
		}
	}
}

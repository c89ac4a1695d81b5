package gaussian

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/scoretest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// config is a small network of a law of n rows in three dimensions.
func config(momentum bool, n int) score.Config {
	draw := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, 3*n)
	for i := range x {
		x[i] = 1 + []float64{2, 0.5, 0.05}[i%3]*draw.NormFloat64()
	}
	for i := 0; i < len(x); i += 3 {
		x[i+2] += x[i]
	}
	c := score.Config{Dim: 3, Momentum: momentum, Width: 6, Layers: 2, Seed: 1, Wavelength: 2,
		Ahead: func(t float64) (b, v, a, c float64) { return 0.3 * t, 0.1 + t, -0.1, -1 - t }}
	return testkit.Must(prepare(c, x))
}

func TestConforms(t *testing.T) {
	for _, momentum := range []bool{false, true} {
		c := config(momentum, 40)
		c.TimeOctaves, c.Horizon, c.Gain = 3, 2, func(t float64) float64 { return 1 + t }
		scoretest.Run(t, New[float64](c), momentum)
		scoretest.Kind(t, Kind, c)
		c.Start = func(t float64) (b, v float64) { return 0.5 + t, 1 }
		c.Center, c.Scales = c.Reference[:3], []float64{1, 2, 3}
		scoretest.Run(t, New[float64](c), momentum)
		if Kind.Fits(c) != "" {
			t.Error("it does not fit")
		}
		c.Held = 1
		if Kind.Fits(c) == "" {
			t.Error("a condition fits")
		}
	}
}

// Of a perceptron of zeros the mean x + a p̃ + c s of where a path began is that of a Gaussian: (C + v)(x̂_0 − μ) =
// C(y − μ). With many rows C is their covariance.
func TestScore(t *testing.T) {
	c := config(true, 20_000)
	m := New[float64](c)
	clear(m.Parameters())
	x, p, s := []float64{1.5, 0.2, 2}, []float64{-0.3, 0.7, 0.1}, make([]float64, 3)
	score.NewField[float64](m, 1).Eval(s, x, p, 1, 0.4)
	b, v, a, k := c.Ahead(0.4)
	λ, axes := c.Reference[3:6], c.Reference[6:]
	C := func(i, j int) (sum float64) {
		for l := range 3 {
			sum += λ[l] * axes[3*l+i] * axes[3*l+j]
		}
		return sum
	}
	for i, want := range [3][3]float64{{4, 0, 4}, {0, 0.25, 0}, {4, 0, 4.0025}} {
		left, right := 0.0, 0.0
		for j := range 3 {
			if math.Abs(C(i, j)-want[j]) > 0.2 { // sd of the largest is 0.04: 5 of them
				t.Errorf("the covariance of %d and %d is %v, want %v", i, j, C(i, j), want[j])
			}
			begun, y := x[j]+a*p[j]+k*s[j]-c.Reference[j], x[j]-b*p[j]-c.Reference[j]
			left, right = left+C(i, j)*begun, right+C(i, j)*y
			if i == j {
				left += v * begun
			}
		}
		if math.Abs(left-right) > 1e-12 {
			t.Errorf("row %d: %v is not %v", i, left, right)
		}
	}
}

// Variances of few rows are those of rows that are set aside: along axes of the same 60 rows of N(0, 1) in 40
// dimensions the least is 0.03. One of the 40 is outside 0.3 to 2 once in a thousand (60 squares: the sd is 0.18).
func TestFewRows(t *testing.T) {
	draw, x := rand.New(rand.NewPCG(3, 4)), make([]float64, 60*40)
	for i := range x {
		x[i] = draw.NormFloat64()
	}
	c := testkit.Must(prepare(score.Config{Dim: 40}, x))
	for i, λ := range c.Reference[40:80] {
		if λ < 0.3 || λ > 2 {
			t.Errorf("variance %d is %v", i, λ)
		}
	}
}

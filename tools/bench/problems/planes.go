package problems

import (
	"math"
	"math/cmplx"
)

func planes() []Problem {
	return []Problem{{
		Name: "curve", Dim: 2, Rows: 4000,
		About: "closed plane curve r = 1 + 0.3 cos 3θ without the end of a lobe; two bumps of θ, one at the cut",
		set: `
dim: 2
equality: [{name: curve, expr: "norm(x) = 1 + 0.3*cos(3*atan2(x[1], x[0]))"}]
inequality: [{name: cut, expr: "x[0] <= 0.9"}]`,
		observe: `
- {name: angle, expr: "atan2(x[1], x[0])", circular: true}
- {name: x, expr: "x[0]"}`,
		row: func(x []float64, d *dice) {
			for ok := false; !ok; ok = x[0] <= trefoilCut {
				trefoil(x, trefoilAngle(d))
			}
		},
	}, {
		Name: "components", Dim: 3, Rows: 4000,
		About: "two separate eggs, 70 and 30 % of the rows: distances to two foci have the product 0.81",
		set: `
dim: 3
equality: [{name: egg, expr: "distance(x, [1, 0, 0])*distance(x, [-1, 0, 0]) = 0.81"}]`,
		observe: `
- {name: along the axis, expr: "x[0]"}
- {name: on the egg, expr: "let r = norm(x[1:3]); atan2(2*abs(x[0])*r, x[0]^2 - r^2 - 1)"}
- {name: around the axis, expr: "atan2(x[2], x[1])", circular: true}`,
		row: func(x []float64, d *dice) {
			// With z = x + iρ the set is |z² − 1| = 0.81: z² = 1 + 0.81 exp(iψ), ψ ∈ (0, π).
			ψ, side := math.Acos(eggCosine(d)), 1.0
			if d.accepts(0.3) {
				side = -1
			}
			z := cmplx.Sqrt(1 + cmplx.Rect(0.81, ψ))
			sin, cos := math.Sincos(side*1 + 0.7*d.normal())
			x[0], x[1], x[2] = side*real(z), imag(z)*cos, imag(z)*sin
		},
	}}
}

const trefoilCut = 0.9

// trefoil writes the point of the curve at an angle.
func trefoil(x []float64, θ float64) {
	r := 1 + 0.3*math.Cos(3*θ)
	x[0], x[1] = r*math.Cos(θ), r*math.Sin(θ)
}

// trefoilAngle draws an angle before the cut.
func trefoilAngle(d *dice) float64 {
	if d.accepts(0.4) {
		return d.vonMises(0.6, 6)
	}
	return d.vonMises(-2.4, 2)
}

// eggCosine draws cos ψ with the density ∝ exp(cos ψ) on [−1, 1].
func eggCosine(d *dice) float64 { return 1 + math.Log1p(-d.uniform()*(1-math.Exp(-2))) }

package problems

import (
	"math"
)

func compounds() []Problem {
	return []Problem{{
		Name: "quadrics", Dim: 6, Rows: 4000,
		About: "intersection of two quadrics in R⁶: unit vectors p and q, q about p with its coordinates in turn",
		set: `
dim: 6
equality:
  - {name: sphere, expr: "dot(x, x) = 2"}
  - {name: cone, expr: "dot(x[0:3], x[3:6]) = 0"}`,
		// u = (p + q)/√2, v = (p − q)/√2: ‖u‖² + ‖v‖² = 2 and u·v = 0 are ‖p‖ = ‖q‖ = 1.
		observe: `
- {name: "p[j]", for: "j in 0..2", expr: "(x[j] + x[j+3])/sqrt(2)"}
- {name: "q[j]", for: "j in 0..2", expr: "(x[j] - x[j+3])/sqrt(2)"}
- {name: together, expr: "sum(j in 0..2, (x[j] - x[j+3])*(x[(j+1)%3] + x[(j+1)%3+3]))/2"}`,
		row: func(x []float64, d *dice) {
			var p, q [3]float64
			l := lobesPair[d.of(0.6, 0.4)]
			d.fisher(p[:], l.at, l.κ)
			d.fisher(q[:], []float64{p[1], p[2], p[0]}, pairκ)
			for j := range 3 {
				x[j], x[j+3] = (p[j]+q[j])/math.Sqrt2, (p[j]-q[j])/math.Sqrt2
			}
		},
	}, {
		Name: "product", Dim: 8, Rows: 4000,
		About: "product of a sphere, a torus and a square; three classes tie the factors together",
		set: `
product:
  - {kind: sphere, dim: 3}
  - {kind: torus, major: 2, minor: 0.6}
  - {kind: box, lower: [0, 0], upper: [1, 1]}
names: [direction, ring, place]`,
		observe: `
- {name: "direction[j]", for: "j in 0..2", expr: "x[j]"}
- {name: around the axis, expr: "atan2(x[4], x[3])", circular: true}
- {name: around the tube, expr: "atan2(x[5], norm(x[3:5]) - 2)", circular: true}
- {name: "place[j]", for: "j in 0..1", expr: "x[6+j]", range: [0, 1]}
- {name: direction and place, expr: "x[0]*(x[6] - 0.5)"}`,
		row: func(x []float64, d *dice) {
			c := classes[d.of(classes[0].weight, classes[1].weight, classes[2].weight)]
			d.fisher(x[:3], c.at, c.κ)
			torus(x[3:6], d.vonMises(c.θ, 4), d.vonMises(c.φ, 3), 1)
			for j := range 2 {
				var b [2]float64
				d.dirichlet(b[:], c.beta[j][:]...)
				x[6+j] = b[0]
			}
		},
	}, {
		Name: "redundant", Dim: 4, Rows: 4000,
		About: "two unit circles, and once more the sum of both equations; the second angle goes against the first",
		set: `
dim: 4
equality:
  - {name: first, expr: "x[0]^2 + x[1]^2 = 1"}
  - {name: second, expr: "x[2]^2 + x[3]^2 = 1"}
  - {name: both, expr: "dot(x, x) = 2"}`,
		observe: `
- {name: first, expr: "atan2(x[1], x[0])", circular: true}
- {name: second, expr: "atan2(x[3], x[2])", circular: true}
- {name: sum, expr: "atan2(x[1], x[0]) + atan2(x[3], x[2])", circular: true}`,
		row: func(x []float64, d *dice) {
			α := d.vonMises(0.5, 1)
			if d.accepts(0.4) {
				α = d.vonMises(-2, 8)
			}
			β := d.vonMises(1-α, pairκ)
			x[1], x[0] = math.Sincos(α)
			x[3], x[2] = math.Sincos(β)
		},
	}}
}

// lobesPair are the modes of p, pairκ is the concentration of q about p.
var lobesPair = []lobe{{0.6, 8, unit(1, 0, 1)}, {0.4, 25, unit(-1, 1, 0)}}

const pairκ = 10.0

// classes are the parts of the law on the product: a direction about at, angles about θ and φ,
// and places by beta laws.
var classes = []struct {
	weight, κ float64
	at        []float64
	θ, φ      float64
	beta      [2][2]float64
}{
	{0.5, 30, unit(1, 0, 0), 0, 0, [2][2]float64{{6, 2}, {2, 4}}},
	{0.3, 15, unit(-1, 1, 0), 2, -2, [2][2]float64{{1, 3}, {5, 5}}},
	{0.2, 60, unit(0, -1, 1), -2, 2, [2][2]float64{{3, 3}, {8, 1}}},
}

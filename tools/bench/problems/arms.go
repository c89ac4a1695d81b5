package problems

import (
	"fmt"
	"math"
)

func arms() []Problem {
	return []Problem{
		arm("arm3", 3, 1.3), arm("arm5", 5, 1.5), arm("arm9", 9, 2),
	}
}

// armκ is the concentration of links about their postures.
const armκ = 4.0

// postures are two: links that unroll from one angle to another, in radians.
var postures = [2]struct{ weight, from, to float64 }{{0.6, 1.8, -1}, {0.4, 0.2, 1.6}}

// posture returns the angle of link i of n in posture m.
func posture(m, i, n int) float64 {
	p := postures[m]
	return p.from + (p.to-p.from)*float64(i)/float64(n-1)
}

// arm is a planar arm of n links of length 1 at the angles θ_i to the horizontal, whose tip is
// at a height: Σ sin θ_i = height. A point is cos θ_0, sin θ_0, cos θ_1, …. By area of the set
// of angles (in R^2n too: a link's angle is the length on its circle) the density is
//
//	∝ Σ_m w_m Π_i exp(κ (cos(θ_i − μ_mi) − 1)).
//
// All links but one, j, at random, are drawn by themselves, and j is one of the two angles
// that bring the tip to its height. By area such proposals have the density
// Σ_j |cos θ_j|/(2n ‖cos θ‖) Π_(i≠j) p_i(θ_i), p_i being normalised, whose ratio to the target
// is at most 2n max p: so rejection makes them exact.
func arm(name string, n int, height float64) Problem {
	return Problem{
		Name: name, Dim: 2 * n, Rows: 4000,
		About: fmt.Sprintf("planar arm of %d links with its tip at height %v, two postures", n, height),
		set: fmt.Sprintf(`
dim: %d
equality:
  - {name: "circle[i]", for: "i in 0..%d", expr: "x[2*i]^2 + x[2*i+1]^2 = 1"}
  - {name: tip, expr: "sum(i in 0..%d, x[2*i+1]) = %v"}`, 2*n, n-1, n-1, height),
		observe: fmt.Sprintf(`
- {name: "link[i]", for: "i in 0..%d", expr: "atan2(x[2*i+1], x[2*i])", circular: true}
- {name: reach, expr: "sum(i in 0..%d, x[2*i])"}`, n-1, n-1),
		row: func(x []float64, d *dice) {
			var angles [9]float64
			θ := angles[:n]
			for !unrolled(θ, height, d) {
			}
			for i, a := range θ {
				x[2*i+1], x[2*i] = math.Sincos(a)
			}
		},
	}
}

// unrolled proposes angles, and reports whether they are accepted.
func unrolled(θ []float64, height float64, d *dice) bool {
	n := len(θ)
	m, j := d.of(postures[0].weight, postures[1].weight), int(d.uniform()*float64(n))
	rest := height
	for i := range θ {
		if i != j {
			θ[i] = d.vonMises(posture(m, i, n), armκ)
			rest -= math.Sin(θ[i])
		}
	}
	if math.Abs(rest) > 1 {
		return false
	}
	if θ[j] = math.Asin(rest); d.accepts(0.5) {
		θ[j] = math.Pi - θ[j]
	}
	// With p_i = exp(κ(cos(θ_i − μ_i) − 1))/Z the ratio over its bound is
	// ‖cos θ‖ / Σ_i |cos θ_i| exp(−κ(cos(θ_i − μ_i) − 1)).
	var squares, sum float64
	for i, a := range θ {
		c := math.Abs(math.Cos(a))
		squares += c * c
		sum += c * math.Exp(armκ*(1-math.Cos(a-posture(m, i, n))))
	}
	return d.accepts(math.Sqrt(squares) / sum)
}

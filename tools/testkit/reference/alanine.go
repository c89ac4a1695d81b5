// Package reference holds feasible sets as the paper's reference implementation
// writes them, for tests against its numbers.
package reference

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
)

// Alanine is the set on ten atoms in R³ where the torsion φ of atoms 1, 3, 4, 6
// is fixed and ψ of 3, 4, 6, 8 stays in a window, written as one maximum.
var Alanine = alanine{-1.2217304763960306, 2.2689280275926285, 2.9670597283903604}

type alanine struct{ φ, lo, hi float64 }

func (alanine) Dim() int               { return 30 }
func (alanine) Equalities() []string   { return []string{"φ"} }
func (alanine) Inequalities() []string { return []string{"ψ"} }

func (alanine) Capabilities() constraint.Capabilities { return constraint.Capabilities{} }

func (s alanine) NewEvaluator(int) constraint.Evaluator {
	return constraint.Evaluator{Values: s.Values, Jacobians: s.Jacobians}
}

func (s alanine) Values(values, x []float64, n int) {
	s.Jacobians(values, make([]float64, 60*n), x, n)
}

func (s alanine) Jacobians(values, jac, x []float64, n int) {
	clear(jac[:60*n])
	for i := range n {
		xi, j := x[30*i:30*i+30], jac[60*i:60*i+60]
		values[2*i] = torsion(j[:30], xi, [4]int{1, 3, 4, 6}, 1) - s.φ
		ψ := torsion(j[30:], xi, [4]int{3, 4, 6, 8}, 1)
		values[2*i+1] = ψ - s.hi
		if s.lo-ψ > ψ-s.hi {
			clear(j[30:])
			torsion(j[30:], xi, [4]int{3, 4, 6, 8}, -1)
			values[2*i+1] = s.lo - ψ
		}
	}
}

// torsion returns the dihedral angle of four atoms of x and adds sign times its
// gradient to grad. With F = r₀−r₁, G = r₁−r₂, H = r₃−r₂, A = F×G, B = H×G
// (Blondel and Karplus, 1996).
func torsion(grad, x []float64, atoms [4]int, sign float64) float64 {
	at := func(i int) []float64 { return x[3*atoms[i] : 3*atoms[i]+3] }
	sub := func(a, b []float64) []float64 { return []float64{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
	cross := func(a, b []float64) []float64 {
		return []float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
	}
	dot := func(a, b []float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
	F, G, H := sub(at(0), at(1)), sub(at(1), at(2)), sub(at(3), at(2))
	A, B := cross(F, G), cross(H, G)
	g := math.Sqrt(dot(G, G))
	AA, BB := dot(A, A), dot(B, B)
	fg, hg := dot(F, G)/(AA*g), dot(H, G)/(BB*g)
	for k := range 3 {
		grad[3*atoms[0]+k] += sign * -g / AA * A[k]
		grad[3*atoms[1]+k] += sign * (g/AA*A[k] + fg*A[k] - hg*B[k])
		grad[3*atoms[2]+k] += sign * (hg*B[k] - fg*A[k] - g/BB*B[k])
		grad[3*atoms[3]+k] += sign * g / BB * B[k]
	}
	return math.Atan2(dot(cross(B, A), G)/g, dot(A, B))
}

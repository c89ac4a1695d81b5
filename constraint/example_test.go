package constraint_test

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
)

// parabola is {x ∈ R² : x₁ − x₀² = 0}, written by hand. An evaluator of values and Jacobians makes a constraint.Set;
// HessianVectors, which curvature terms need, is optional.
type parabola struct{}

func (parabola) Dim() int               { return 2 }
func (parabola) Equalities() []string   { return []string{"height"} }
func (parabola) Inequalities() []string { return nil }

// Capabilities has a name for messages; the parabola knows no more of itself.
func (parabola) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: "parabola"}
}

// NewEvaluator needs no scratch, so every evaluator is the same.
func (p parabola) NewEvaluator(int) constraint.Evaluator {
	return constraint.Evaluator{Values: p.Values, Jacobians: p.Jacobians, HessianVectors: p.HessianVectors}
}

func (parabola) Values(values, x []float64, n int) {
	for i := range n {
		values[i] = x[2*i+1] - x[2*i]*x[2*i]
	}
}

func (p parabola) Jacobians(values, jac, x []float64, n int) {
	p.Values(values, x, n)
	for i := range n {
		jac[2*i], jac[2*i+1] = -2*x[2*i], 1
	}
}

func (parabola) HessianVectors(dst, _, v []float64, n int) {
	for i := range n {
		dst[2*i], dst[2*i+1] = -2*v[2*i], 0
	}
}

// A set with its own code works wherever one of the zoo does. constrainttest.Run checks it.
func Example() {
	b := geometry.New(parabola{}, 1, 0)
	if err := b.At([]float64{1, 1}, 1); err != nil {
		fmt.Println(err)
		return
	}
	tangent := []float64{1, 0}
	b.Tangent(tangent, tangent)
	fmt.Printf("rank %d, tangential part of e₀: %.1f\n", b.Rank(0), tangent)
	// Output:
	// rank 1, tangential part of e₀: [0.2 0.4]
}

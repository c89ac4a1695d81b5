package zoo

import "github.com/landing-diffusion/landing/constraint"

// RedundantAxis is the z-axis {x_1 = x_2 = 0} of R³ with an inequality that holds there anyway,
//
//	h = (x_1, x_2),   g = x_1 + x_2 + x_1² ≤ 0
//
// (paper, remark on rCRCQ). g is active on all of Σ, and ∇g = ∇h_1 + ∇h_2 there:
// the gradients are dependent, but their rank is 2 everywhere.
type RedundantAxis struct{}

func (RedundantAxis) String() string         { return "z-axis with a redundant inequality" }
func (RedundantAxis) Dim() int               { return 3 }
func (RedundantAxis) Equalities() []string   { return []string{"x[0]", "x[1]"} }
func (RedundantAxis) Inequalities() []string { return []string{"redundant"} }

func (s RedundantAxis) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: s.String()}
}

func (s RedundantAxis) NewEvaluator(int) constraint.Evaluator {
	return constraint.Evaluator{Values: s.Values, Jacobians: s.Jacobians, HessianVectors: s.HessianVectors}
}

func (RedundantAxis) Values(values, x []float64, n int) {
	for i := range n {
		a, b := x[3*i], x[3*i+1]
		values[3*i], values[3*i+1], values[3*i+2] = a, b, a+b+a*a
	}
}

func (s RedundantAxis) Jacobians(values, jac, x []float64, n int) {
	s.Values(values, x, n)
	for i := range n {
		copy(jac[9*i:9*i+9], []float64{1, 0, 0, 0, 1, 0, 1 + 2*x[3*i], 1, 0})
	}
}

func (RedundantAxis) HessianVectors(dst, _, v []float64, n int) {
	clear(dst[:9*n])
	for i := range n {
		dst[9*i+6] = 2 * v[3*i]
	}
}

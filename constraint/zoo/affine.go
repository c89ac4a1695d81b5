package zoo

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// Affine is {x ∈ R^d : a_i·x = b_i, i = 1 … m}.
type Affine struct {
	A [][]float64 // m rows of length d
	B []float64   // m right-hand sides
}

func (s Affine) String() string { return fmt.Sprintf("affine set of %d equations", len(s.A)) }
func (s Affine) Dim() int       { return len(s.A[0]) }

func (s Affine) Equalities() []string {
	names := make([]string, len(s.A))
	for i := range names {
		names[i] = fmt.Sprintf("row[%d]", i)
	}
	return names
}

func (Affine) Inequalities() []string { return nil }

func (s Affine) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: s.String()}
}

func (s Affine) NewEvaluator(int) constraint.Evaluator {
	return constraint.Evaluator{Values: s.Values, Jacobians: s.Jacobians, HessianVectors: s.HessianVectors,
		Exp: straight, Log: difference}
}

func (s Affine) Values(values, x []float64, n int) {
	d, m := s.Dim(), len(s.A)
	for p := range n {
		for i, a := range s.A {
			values[p*m+i] = dense.Dot(a, x[p*d:(p+1)*d]) - s.B[i]
		}
	}
}

func (s Affine) Jacobians(values, jac, x []float64, n int) {
	s.Values(values, x, n)
	d, m := s.Dim(), len(s.A)
	for p := range n {
		for i, a := range s.A {
			copy(jac[(p*m+i)*d:], a)
		}
	}
}

func (s Affine) HessianVectors(dst, _, _ []float64, n int) { clear(dst[:n*len(s.A)*s.Dim()]) }

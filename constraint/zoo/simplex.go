package zoo

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
)

// Simplex is the probability simplex {x ∈ R^d : Σ x_j = 1, x ≥ 0}.
type Simplex struct{ d int }

// NewSimplex returns the simplex of dim ≥ 2 vertices, or a *DomainError.
func NewSimplex(dim int) (Simplex, error) {
	if dim < 2 {
		return Simplex{}, &DomainError{"simplex", "dim", dim, "at least 2 coordinates"}
	}
	return Simplex{dim}, nil
}

func (s Simplex) String() string     { return fmt.Sprintf("simplex in R^%d", s.d) }
func (s Simplex) Dim() int           { return s.d }
func (Simplex) Equalities() []string { return []string{"sum"} }

func (s Simplex) Inequalities() []string {
	names := make([]string, s.d)
	for j := range names {
		names[j] = fmt.Sprintf("lower[%d]", j)
	}
	return names
}

func (s Simplex) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: s.String(), SampleUniform: s.SampleUniform}
}

func (s Simplex) NewEvaluator(int) constraint.Evaluator {
	return constraint.Evaluator{Values: s.Values, Jacobians: s.Jacobians, HessianVectors: s.HessianVectors,
		Exp: straight, Log: difference}
}

func (s Simplex) Values(values, x []float64, n int) {
	for ; n > 0; n-- {
		sum := -1.0
		for j, v := range x[:s.d] {
			sum += v
			values[1+j] = -v
		}
		values[0] = sum
		values, x = values[1+s.d:], x[s.d:]
	}
}

func (s Simplex) Jacobians(values, jac, x []float64, n int) {
	s.Values(values, x, n)
	d := s.d
	clear(jac[:n*(1+d)*d])
	for i := range n {
		ji := jac[i*(1+d)*d:]
		for j := range d {
			ji[j], ji[(1+j)*d+j] = 1, -1
		}
	}
}

func (s Simplex) HessianVectors(dst, _, _ []float64, n int) { clear(dst[:n*(1+s.d)*s.d]) }

// SampleUniform divides independent exponential numbers by their sum.
func (s Simplex) SampleUniform(dst []float64, st keyed.Stream, sample uint64) {
	st.Uniforms(dst, sample, 0)
	sum := 0.0
	for j, u := range dst {
		dst[j] = -math.Log1p(-u) + 0x1p-1000 // above zero, so that the sum is
		sum += dst[j]
	}
	for j := range dst {
		dst[j] /= sum
	}
}

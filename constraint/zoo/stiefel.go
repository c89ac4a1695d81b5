package zoo

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
)

// Stiefel is V(n, p) = {X ∈ R^(n×p) : XᵀX − I = 0}, with the equalities i ≤ j. A point is the row-major matrix.
type Stiefel struct{ gram }

// NewStiefel returns V(n, p), 1 ≤ p ≤ n, or a *DomainError.
func NewStiefel(n, p int) (Stiefel, error) {
	if n < 1 || n > maxOrder {
		return Stiefel{}, &DomainError{"stiefel", "n", n, fmt.Sprintf("1 to %d rows", maxOrder)}
	}
	if p < 1 || p > n {
		return Stiefel{}, &DomainError{"stiefel", "p", p, fmt.Sprintf("1 to n = %d columns", n)}
	}
	return Stiefel{gram{n: n, p: p}}, nil
}

// maxOrder bounds n: Jacobians have n·p·p(p+1)/2 numbers a point.
const maxOrder = 100

func (s Stiefel) String() string { return fmt.Sprintf("Stiefel manifold V(%d, %d)", s.n, s.p) }

func (s Stiefel) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: s.String(), SampleUniform: s.SampleUniform}
}

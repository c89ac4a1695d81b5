package program

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
)

// A point is on Σ where each excess is at most tolerance, or at most roundoff of the terms
// that the component is made of, Σ_j |x_j ∂_j c|.
const (
	tolerance = 1e-12
	roundoff  = 0x1p-46
)

// met reports whether a component with this value and these derivatives along the coordinates cols, nil
// for all, is as Σ asks at x.
func met(v float64, equality bool, gradient []float64, cols []int, x []float64) bool {
	e := constraint.Excess(v, equality)
	if e <= tolerance {
		return true
	}
	terms := 0.0
	for k, u := range gradient {
		j := k
		if cols != nil {
			j = cols[k]
		}
		terms += math.Abs(u * x[j])
	}
	return e <= roundoff*terms
}

// A test tells whether single points are on Σ.
type test struct {
	eval        constraint.Evaluator
	m           int
	values, jac []float64
}

func newTest(s constraint.Set) test {
	d, c := s.Dim(), len(constraint.Components(s))
	return test{s.NewEvaluator(1), len(s.Equalities()), make([]float64, c), make([]float64, c*d)}
}

// met reports whether all components are as Σ asks at the point x.
func (t *test) met(x []float64) bool {
	t.eval.Jacobians(t.values, t.jac, x, 1)
	d := len(x)
	for i, v := range t.values {
		if !met(v, i < t.m, t.jac[i*d:(i+1)*d], nil, x) {
			return false
		}
	}
	return finite(x)
}

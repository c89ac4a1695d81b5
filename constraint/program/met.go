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
	eval           constraint.Evaluator
	parts          []part
	values, jac, y []float64
}

func newTest(s constraint.Set) test {
	parts, derivatives := parts(s)
	return test{s.NewEvaluator(1), parts, make([]float64, len(constraint.Components(s))), make([]float64, derivatives),
		make([]float64, s.Dim())}
}

// met reports whether all components are as Σ asks at the point x.
func (t *test) met(x []float64) bool {
	jacobians(&t.eval, t.values, t.jac, x, 1)
	for i := range t.parts {
		q := &t.parts[i]
		q.take(t.y, x)
		if !q.met(t.y, t.values, t.jac) {
			return false
		}
	}
	return finite(x)
}

// jacobians evaluates a set with the derivatives that parts keeps.
func jacobians(e *constraint.Evaluator, values, jac, x []float64, n int) {
	if e.SparseJacobians != nil {
		e.SparseJacobians(values, jac, x, n)
	} else {
		e.Jacobians(values, jac, x, n)
	}
}

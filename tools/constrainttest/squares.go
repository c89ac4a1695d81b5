package constrainttest

import (
	"errors"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// squares: with h_a replaced by h_a², whose gradient vanishes on Σ, geometry must name the component instead of letting
// go of it, and must not return NaN. The point is put on Σ to the last bit by shifting h_a to zero there.
func squares(t *testing.T, s evaluated, x []float64) {
	d, m := s.Dim(), len(s.Equalities())
	if m == 0 {
		t.Skip("no equalities")
	}
	for _, a := range []int{0, m - 1} {
		v := make([]float64, len(constraint.Components(s)))
		s.Values(v, x[:d], 1)
		var e *geometry.RankError
		err := geometry.New(&square{s, a, v[a]}, 1, 0).At(x[:d], 1)
		if !errors.As(err, &e) || e.Component != s.Equalities()[a] {
			t.Errorf("with component %q squared: %v", s.Equalities()[a], err)
		}
	}
}

// square is a set with h_a replaced by (h_a − at)².
type square struct {
	constraint.Set
	a  int
	at float64
}

func (s *square) Capabilities() constraint.Capabilities { return constraint.Capabilities{} }

func (s *square) NewEvaluator(rows int) constraint.Evaluator {
	return sets.Evaluator(&squareEvaluator{s, s.Set.NewEvaluator(rows)})
}

type squareEvaluator struct {
	*square
	inner constraint.Evaluator
}

func (s *squareEvaluator) Values(values, x []float64, n int) {
	s.inner.Values(values, x, n)
	c := len(constraint.Components(s.Set))
	for i := range n {
		v := values[i*c+s.a] - s.at
		values[i*c+s.a] = v * v
	}
}

func (s *squareEvaluator) Jacobians(values, jac, x []float64, n int) {
	s.inner.Jacobians(values, jac, x, n)
	c, d := len(constraint.Components(s.Set)), s.Dim()
	for i := range n {
		v := values[i*c+s.a] - s.at
		values[i*c+s.a] = v * v
		row := jac[(i*c+s.a)*d : (i*c+s.a+1)*d]
		for j := range row {
			row[j] *= 2 * v
		}
	}
}

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
		err := geometry.New(square(s.Set, a, v[a]), 1, 0).At(x[:d], 1)
		if !errors.As(err, &e) || e.Component != s.Equalities()[a] {
			t.Errorf("with component %q squared: %v", s.Equalities()[a], err)
		}
	}
}

// square returns a set with h_a replaced by (h_a − at)².
func square(s constraint.Set, a int, at float64) constraint.Set {
	c, d := len(constraint.Components(s)), s.Dim()
	return sets.Changed(s, func(c *constraint.Capabilities) { *c = constraint.Capabilities{} },
		func(e *constraint.Evaluator) {
			inner := *e
			*e = constraint.Evaluator{Values: func(values, x []float64, n int) {
				inner.Values(values, x, n)
				for i := range n {
					v := values[i*c+a] - at
					values[i*c+a] = v * v
				}
			}, Jacobians: func(values, jac, x []float64, n int) {
				inner.Jacobians(values, jac, x, n)
				for i := range n {
					v := values[i*c+a] - at
					values[i*c+a] = v * v
					row := jac[(i*c+a)*d : (i*c+a+1)*d]
					for j := range row {
						row[j] *= 2 * v
					}
				}
			}}
		})
}

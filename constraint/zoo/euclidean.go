package zoo

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
)

// Euclidean is R^d: no constraint at all.
type Euclidean struct{ D int }

func (s Euclidean) String() string       { return fmt.Sprintf("R^%d", s.D) }
func (s Euclidean) Dim() int             { return s.D }
func (Euclidean) Equalities() []string   { return nil }
func (Euclidean) Inequalities() []string { return nil }

func (s Euclidean) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: s.String()}
}

func (s Euclidean) NewEvaluator(int) constraint.Evaluator {
	return constraint.Evaluator{Values: s.Values, Jacobians: s.Jacobians, HessianVectors: s.HessianVectors,
		Exp: straight, Log: difference}
}

// Values writes nothing: there are no components.
func (Euclidean) Values(_, _ []float64, _ int) {}

// Jacobians writes nothing.
func (Euclidean) Jacobians(_, _, _ []float64, _ int) {}

// HessianVectors writes nothing.
func (Euclidean) HessianVectors(_, _, _ []float64, _ int) {}

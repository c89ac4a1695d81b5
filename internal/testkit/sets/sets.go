// Package sets holds wrappers of feasible sets for tests.
package sets

import "github.com/landing-diffusion/landing/constraint"

// Plain hides what a set knows beyond its values and first derivatives.
func Plain(s constraint.Set) constraint.Set { return plain{s} }

type plain struct{ constraint.Set }

func (s plain) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: constraint.Name(s.Set)}
}

func (s plain) NewEvaluator(rows int) constraint.Evaluator {
	e := s.Set.NewEvaluator(rows)
	return constraint.Evaluator{Values: e.Values, Jacobians: e.Jacobians}
}

// Dense hides the support of a set.
func Dense(s constraint.Set) constraint.Set { return dense{s} }

type dense struct{ constraint.Set }

func (s dense) Capabilities() constraint.Capabilities {
	c := s.Set.Capabilities()
	c.Support, c.Equalities = nil, nil
	return c
}

func (s dense) NewEvaluator(rows int) constraint.Evaluator {
	e := s.Set.NewEvaluator(rows)
	e.SparseJacobians = nil
	return e
}

// A Hand is a set written by hand: functions of blocks, and names.
type Hand interface {
	Values(values, x []float64, n int)
	Jacobians(values, jac, x []float64, n int)
}

// Evaluator lists what a set written by hand computes.
func Evaluator(s Hand) constraint.Evaluator {
	e := constraint.Evaluator{Values: s.Values, Jacobians: s.Jacobians}
	if h, ok := s.(interface {
		HessianVectors(dst, x, v []float64, n int)
	}); ok {
		e.HessianVectors = h.HessianVectors
	}
	return e
}

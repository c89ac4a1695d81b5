// Package sets holds wrappers of feasible sets for tests.
package sets

import "github.com/landing-diffusion/landing/constraint"

// Changed returns a set with what caps and eval make of its capabilities and of each evaluator; nil leaves them.
func Changed(s constraint.Set, caps func(*constraint.Capabilities), eval func(*constraint.Evaluator)) constraint.Set {
	return changed{s, caps, eval}
}

type changed struct {
	constraint.Set
	caps func(*constraint.Capabilities)
	eval func(*constraint.Evaluator)
}

func (s changed) Capabilities() constraint.Capabilities {
	c := s.Set.Capabilities()
	if s.caps != nil {
		s.caps(&c)
	}
	return c
}

func (s changed) NewEvaluator(rows int) constraint.Evaluator {
	e := s.Set.NewEvaluator(rows)
	if s.eval != nil {
		s.eval(&e)
	}
	return e
}

// Plain hides what a set knows beyond its values and first derivatives.
func Plain(s constraint.Set) constraint.Set {
	return Changed(s, func(c *constraint.Capabilities) { *c = constraint.Capabilities{Name: constraint.Name(s)} },
		func(e *constraint.Evaluator) { *e = constraint.Evaluator{Values: e.Values, Jacobians: e.Jacobians} })
}

// Dense hides the support of a set.
func Dense(s constraint.Set) constraint.Set {
	return Changed(s, func(c *constraint.Capabilities) { c.Support, c.Equalities = nil, nil },
		func(e *constraint.Evaluator) { e.SparseJacobians, e.SparseHessianVectors = nil, nil })
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

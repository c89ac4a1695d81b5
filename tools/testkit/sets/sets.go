// Package sets holds wrappers of feasible sets for tests.
package sets

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
)

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
	e.SparseJacobians, e.SparseHessianVectors = nil, nil
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

// Measured is a set that panics if it is called with less room than an Evaluator's
// methods are promised.
func Measured(s constraint.Set) constraint.Set { return measured{s} }

type measured struct{ constraint.Set }

func (s measured) Unwrap() []constraint.Set { return []constraint.Set{s.Set} }

// room panics unless a slice has n numbers.
func room(of string, v []float64, n int) {
	if len(v) < n {
		panic(fmt.Sprintf("sets: %s has %d numbers of %d", of, len(v), n))
	}
}

func (s measured) NewEvaluator(rows int) constraint.Evaluator {
	e, d, c := s.Set.NewEvaluator(rows), s.Dim(), len(constraint.Components(s.Set))
	out := e
	out.Values = func(values, x []float64, n int) {
		room("values", values, n*c)
		room("x", x, n*d)
		e.Values(values, x, n)
	}
	out.Jacobians = func(values, jac, x []float64, n int) {
		room("values", values, n*c)
		room("jac", jac, n*c*d)
		room("x", x, n*d)
		e.Jacobians(values, jac, x, n)
	}
	if e.HessianVectors != nil {
		out.HessianVectors = func(dst, x, v []float64, n int) {
			room("dst", dst, n*c*d)
			room("x", x, n*d)
			room("v", v, n*d)
			e.HessianVectors(dst, x, v, n)
		}
	}
	if e.SparseJacobians != nil {
		all := 0
		for _, along := range s.Capabilities().Support {
			all += len(along)
		}
		out.SparseJacobians = func(values, jac, x []float64, n int) {
			room("values", values, n*c)
			room("jac", jac, n*all)
			room("x", x, n*d)
			e.SparseJacobians(values, jac, x, n)
		}
	}
	if e.Retract != nil {
		out.Retract = func(dst, base, v []float64) bool {
			room("dst", dst, d)
			room("base", base, d)
			room("v", v, d)
			return e.Retract(dst, base, v)
		}
	}
	if e.Projector != nil {
		out.Projector = measuredProjector{e.Projector, d, c}
	}
	return out
}

type measuredProjector struct {
	constraint.Projector
	d, c int
}

func (p measuredProjector) Factor(values, work []float64, regular []bool, x []float64, n int) {
	room("values", values, n*p.c)
	room("work", work, n*p.WorkSize())
	room("x", x, n*p.d)
	p.Projector.Factor(values, work, regular, x, n)
}

func (p measuredProjector) Tangent(dst, v, x, work []float64, n int) {
	room("dst", dst, n*p.d)
	room("v", v, n*p.d)
	room("x", x, n*p.d)
	room("work", work, n*p.WorkSize())
	p.Projector.Tangent(dst, v, x, work, n)
}

func (p measuredProjector) Normal(dst, u, x, work []float64, n int) {
	room("dst", dst, n*p.d)
	room("u", u, n*p.c)
	room("x", x, n*p.d)
	room("work", work, n*p.WorkSize())
	p.Projector.Normal(dst, u, x, work, n)
}

func (p measuredProjector) Landing(dst, x, work []float64, n int) {
	room("dst", dst, n*p.d)
	room("x", x, n*p.d)
	room("work", work, n*p.WorkSize())
	p.Projector.Landing(dst, x, work, n)
}

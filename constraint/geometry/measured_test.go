package geometry

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
)

// measured is a set that panics if it is called with less room than an Evaluator's
// methods are promised.
type measured struct{ constraint.Set }

func (s measured) Unwrap() []constraint.Set { return []constraint.Set{s.Set} }

// room panics unless a slice has n numbers.
func room(of string, v []float64, n int) {
	if len(v) < n {
		panic(fmt.Sprintf("%s has %d numbers of %d", of, len(v), n))
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

package levelset

import (
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/constraint"
)

// blockRows is how many points a pass takes at once: two tiles of the widest
// kernel, so that their layers stay in the level-2 cache beside the weights.
const blockRows = 28

// A Set is Σ = {x : h(x) = 0}.
type Set struct {
	net    *Network
	packed *Packed
}

// New returns the zero level set of a network, whose parameters must not change from then on.
func New(n *Network) *Set { return &Set{net: n, packed: n.Pack()} }

func (s *Set) String() string       { return "level set of a network" }
func (s *Set) Dim() int             { return s.net.In() }
func (*Set) Equalities() []string   { return []string{"surface"} }
func (*Set) Inequalities() []string { return nil }

func (s *Set) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: s.String(), Work: 2 * float64(len(s.net.Params))}
}

func (s *Set) NewEvaluator(rows int) constraint.Evaluator {
	e := s.evaluator(rows)
	return constraint.Evaluator{Values: e.Values, Jacobians: e.Jacobians, HessianVectors: e.HessianVectors}
}

func (s *Set) evaluator(rows int) *evaluator {
	return &evaluator{s.packed.NewPass(max(1, min(rows, blockRows))), s.Dim()}
}

// Values writes h at n points; loops keep an evaluator instead.
func (s *Set) Values(values, x []float64, n int) { s.evaluator(n).Values(values, x, n) }

func (s *Set) Jacobians(values, jac, x []float64, n int) { s.evaluator(n).Jacobians(values, jac, x, n) }
func (s *Set) HessianVectors(dst, x, v []float64, n int) { s.evaluator(n).HessianVectors(dst, x, v, n) }

// An evaluator takes points through a pass, as many at once as it has rows.
type evaluator struct {
	*Pass
	d int
}

func (e *evaluator) Values(values, x []float64, n int) {
	for lo := 0; lo < n; lo += e.rows {
		hi := min(n, lo+e.rows)
		e.Value(x[lo*e.d:], hi-lo)
		e.outputs(values[lo:hi])
	}
}

func (e *evaluator) Jacobians(values, jac, x []float64, n int) {
	for lo := 0; lo < n; lo += e.rows {
		hi := min(n, lo+e.rows)
		e.Value(x[lo*e.d:], hi-lo)
		e.Gradient()
		e.outputs(values[lo:hi])
		gather(jac[lo*e.d:], e.Grad, hi-lo, e.d)
	}
}

func (e *evaluator) HessianVectors(dst, x, v []float64, n int) {
	for lo := 0; lo < n; lo += e.rows {
		hi := min(n, lo+e.rows)
		e.Value(x[lo*e.d:], hi-lo)
		e.Gradient()
		e.Direct(v[lo*e.d:])
		e.Tangent()
		e.Adjoint(nil)
		gather(dst[lo*e.d:], e.InputAdjoint, hi-lo, e.d)
	}
}

func (q *Pass) outputs(h []float64) {
	for i := range h {
		h[i] = q.Out[i*kernel.Pad64(1)]
	}
}

// gather copies padded rows to rows of d numbers.
func gather(dst, src []float64, n, d int) {
	stride := kernel.Pad64(d)
	for i := range n {
		copy(dst[i*d:(i+1)*d], src[i*stride:])
	}
}

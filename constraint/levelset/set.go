package levelset

import (
	"sync"

	"github.com/landing-diffusion/landing/kernel"
)

// blockRows is how many points a pass takes at once: two tiles of the widest
// kernel, so that their layers stay in the level-2 cache beside the weights.
const blockRows = 28

// A Set is Σ = {x : h(x) = 0}. It implements constraint.Set and
// constraint.HessianVectorer; calls may be concurrent and do not allocate once
// warm.
type Set struct {
	net    *Network
	packed *Packed

	mu   sync.Mutex
	free []*Pass // as many as there were calls at once
}

// New returns the zero level set of a network, whose parameters must not change
// from then on.
func New(n *Network) *Set {
	return &Set{net: n, packed: n.Pack()}
}

// take lends a pass until give.
func (s *Set) take() *Pass {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.free)
	if n == 0 {
		return s.packed.NewPass(blockRows)
	}
	q := s.free[n-1]
	s.free = s.free[:n-1]
	return q
}

func (s *Set) give(q *Pass) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, q)
}

func (s *Set) String() string       { return "level set of a network" }
func (s *Set) Dim() int             { return s.net.In() }
func (*Set) Equalities() []string   { return []string{"surface"} }
func (*Set) Inequalities() []string { return nil }

// Values implements constraint.Set.
func (s *Set) Values(values, x []float64, n int) {
	s.blocks(n, func(q *Pass, lo, hi int) {
		q.Value(x[lo*s.Dim():], hi-lo)
		q.outputs(values[lo:hi])
	})
}

// Jacobians implements constraint.Set.
func (s *Set) Jacobians(values, jac, x []float64, n int) {
	d := s.Dim()
	s.blocks(n, func(q *Pass, lo, hi int) {
		q.Value(x[lo*d:], hi-lo)
		q.Gradient()
		q.outputs(values[lo:hi])
		gather(jac[lo*d:], q.Grad, hi-lo, d)
	})
}

// HessianVectors implements constraint.HessianVectorer.
func (s *Set) HessianVectors(dst, x, v []float64, n int) {
	d := s.Dim()
	s.blocks(n, func(q *Pass, lo, hi int) {
		q.Value(x[lo*d:], hi-lo)
		q.Gradient()
		q.Direct(v[lo*d:])
		q.Tangent()
		q.Adjoint(nil)
		gather(dst[lo*d:], q.InputAdjoint, hi-lo, d)
	})
}

// blocks calls f on blocks of n rows.
func (s *Set) blocks(n int, f func(q *Pass, lo, hi int)) {
	if n == 0 {
		return
	}
	q := s.take()
	for lo := 0; lo < n; lo += blockRows {
		f(q, lo, min(n, lo+blockRows))
	}
	s.give(q)
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

package zoo

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// Orthogonal is O(n) = {X ∈ R^(n×n) : XᵀX − I = 0} with the n(n+1)/2 equalities i ≤ j (paper, experiment SO(10)), or
// its half SO(n) where det X > 0. A point is the row-major matrix.
type Orthogonal struct {
	gram
	special bool
}

// OrthogonalOptions choose between variants; the zero value is O(n) as the paper writes it.
type OrthogonalOptions struct {
	// Special selects SO(n): uniform samples have det = 1, and Selects rejects
	// points with det < 0. The equalities are those of O(n).
	Special bool
}

// NewOrthogonal returns O(n), or a *DomainError.
func NewOrthogonal(n int, o OrthogonalOptions) (*Orthogonal, error) {
	if n < 1 || n > maxOrder {
		return nil, &DomainError{"orthogonal", "n", n, fmt.Sprintf("1 to %d rows", maxOrder)}
	}
	return &Orthogonal{gram: gram{n, n}, special: o.Special}, nil
}

func (s *Orthogonal) String() string {
	if s.special {
		return fmt.Sprintf("SO(%d)", s.n)
	}
	return fmt.Sprintf("O(%d)", s.n)
}

func (s *Orthogonal) Capabilities() constraint.Capabilities {
	c := named(s.String(), s.SampleUniform, s.formulas)
	if s.special {
		c.Selects, c.Selection = s.Selects, "det > 0"
	}
	return c
}

func (s *Orthogonal) NewEvaluator(rows int) constraint.Evaluator {
	e, own := s.gram.NewEvaluator(rows), &orthogonalEvaluator{s, newOrthogonalScratch(s.n)}
	e.Retract, e.Geodesic = own.Retract, own.Geodesic
	if s.special { // O(n) is in two parts, between which there is no geodesic
		e.Exp, e.Log = own.Exp, own.Log
	}
	return e
}

// An orthogonalEvaluator is the closed forms of O(n), with scratch of their own.
type orthogonalEvaluator struct {
	*Orthogonal
	w *orthogonalScratch
}

// Order returns n.
func (s *Orthogonal) Order() int { return s.n }

// Selects reports det X > 0 on SO(n), and all points on O(n).
func (s *Orthogonal) Selects(x []float64) bool {
	if !s.special {
		return true
	}
	var room [256]float64 // enough for n = 16, without an allocation
	return dense.Eliminate(append(room[:0], x...), nil, s.n) > 0
}

// SampleUniform draws from Haar measure. On SO(n) a reflection is turned into a
// rotation by changing the sign of its first column.
func (s *Orthogonal) SampleUniform(dst []float64, st keyed.Stream, sample uint64) {
	s.gram.SampleUniform(dst, st, sample)
	if !s.Selects(dst) {
		for i := range s.n {
			dst[i*s.n] = -dst[i*s.n]
		}
	}
}

type orthogonalScratch struct {
	b, c, m, k, u, y []float64 // n²
	λ                []float64 // n
	sys, rhs         []float64 // m², m of the general case; made on first use

	// Of Log near the cut locus; made on first use.
	sorted, basis      []float64 // n, n²
	wide, wideU, wideλ []float64 // 4n², 4n², 2n
}

func newOrthogonalScratch(n int) *orthogonalScratch {
	mat := func() []float64 { return make([]float64, n*n) }
	return &orthogonalScratch{b: mat(), c: mat(), m: mat(), k: mat(), u: mat(), y: mat(), λ: make([]float64, n)}
}

// Retract solves Y = C − B S, YᵀY = I for a symmetric S, with B = base and
// C = base + v, and S = 0 for v = 0 on the group.
//
//   - v = 0: Y = B (BᵀB)^(−1/2), the polar factor.
//   - B on the group: Y = B (W + √(I + W²)) with W the skew part of Bᵀv, since
//     Z = BᵀY is orthogonal with skew part W, and a symmetric T with
//     (W + T)ᵀ(W + T) = I commutes with W. There is no Y if ‖W‖₂ > 1.
//   - otherwise Newton's method in S.
func (s *Orthogonal) Retract(dst, base, v []float64) bool {
	return (&orthogonalEvaluator{s, newOrthogonalScratch(s.n)}).Retract(dst, base, v)
}

func (s *orthogonalEvaluator) Retract(dst, base, v []float64) bool {
	w := s.w
	n, still := s.n, true
	for e, b := range base {
		w.b[e], w.c[e] = b, b+v[e]
		still = still && v[e] == 0
	}
	dense.TMul(w.m, w.b, w.b, n)
	off := 0.0
	for e, m := range w.m {
		if e%(n+1) == 0 {
			m--
		}
		off = max(off, math.Abs(m))
	}
	ok := false
	switch {
	case still:
		ok = w.polar(n)
	case off <= 1e-13:
		ok = w.onGroup(n)
	default:
		ok = w.general(n)
	}
	if !ok || !dense.Finite(w.y) {
		return false
	}
	copy(dst, w.y)
	return true
}

// polar writes y = B M^(−1/2).
func (w *orthogonalScratch) polar(n int) bool {
	if !w.root(n, 0x1p-40, func(λ float64) float64 { return 1 / math.Sqrt(λ) }) {
		return false
	}
	dense.Mul(w.y, w.b, w.k, n)
	w.polish(n)
	return true
}

// onGroup writes y = B (W + √(I + W²)).
func (w *orthogonalScratch) onGroup(n int) bool {
	dense.TMul(w.k, w.b, w.c, n)
	skew(w.k, w.k, n)
	dense.Mul(w.m, w.k, w.k, n)
	for i := range n {
		w.m[i*n+i]++
	}
	copy(w.c, w.k)
	if !w.root(n, 0, math.Sqrt) {
		return false
	}
	for e := range w.k {
		w.k[e] += w.c[e]
	}
	dense.Mul(w.y, w.b, w.k, n)
	w.polish(n)
	return true
}

// root writes f(M) to k; false if an eigenvalue of M is not above least.
func (w *orthogonalScratch) root(n int, least float64, f func(float64) float64) bool {
	dense.Eigen(w.m, w.u, w.λ, n)
	for i := range n {
		if w.λ[i] = w.m[i*n+i]; !(w.λ[i] > least) {
			return false
		}
	}
	function(w.k, w.λ, w.u, n, f)
	return true
}

// polish removes round-off by one Newton–Schulz step, y ← y (3I − yᵀy)/2.
func (w *orthogonalScratch) polish(n int) {
	dense.TMul(w.m, w.y, w.y, n)
	for e := range w.m {
		w.m[e] /= -2
		if e%(n+1) == 0 {
			w.m[e] += 1.5
		}
	}
	dense.Mul(w.k, w.y, w.m, n)
	copy(w.y, w.k)
}

// general runs Newton's method: each step solves AᵀE + E A = YᵀY − I with
// A = BᵀY, for a symmetric E, and sets S ← S + E.
func (w *orthogonalScratch) general(n int) bool {
	m := n * (n + 1) / 2
	if w.sys == nil {
		w.sys, w.rhs = make([]float64, m*m), make([]float64, m)
	}
	copy(w.y, w.c)
	last := math.Inf(1)
	for range 50 {
		size := 0.0
		dense.TMul(w.m, w.y, w.y, n)
		e := 0
		for i := range n {
			w.m[i*n+i]--
			for j := i; j < n; j++ {
				w.rhs[e] = w.m[i*n+j]
				size = max(size, math.Abs(w.rhs[e]))
				e++
			}
		}
		if size <= 1e-13 || size <= 1e-11 && size >= last {
			return true
		}
		if last = size; size != size {
			return false
		}
		dense.TMul(w.k, w.b, w.y, n)
		sylvester(w.sys, w.k, n)
		if !dense.GaussInOrder(w.sys, w.rhs, m) {
			return false
		}
		unpack(w.m, w.rhs, n)
		dense.Mul(w.k, w.b, w.m, n)
		for e, v := range w.k {
			w.y[e] -= v
		}
	}
	return false
}

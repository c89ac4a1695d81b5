// Package geometry computes what a landing step needs to know of Σ at a block
// of points: the active set, the rank of ∇J, the projector
//
//	Π(x) = I − ∇Jᵀ G† ∇J,   G = ∇J ∇Jᵀ,
//
// the landing direction ∇Jᵀ G† J, the curvature terms 𝓗, 𝓗₁, 𝓗₂ and Newton's
// projection (paper, Section 3 and Propositions 1 and 2).
//
// G is never formed. A rank-revealing QR factorisation of the row-normalised
// ∇J gives an orthonormal basis Q of the normal space, so Π = I − QᵀQ is a
// projector to round-off even where constraints are redundant, and nothing
// depends on how the rows of a constraint are scaled.
package geometry

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint"
)

const (
	// RankTolerance: a unit gradient whose part outside the span of the others
	// is shorter than this is counted as dependent on them.
	RankTolerance = 1e-10
	// GradientTolerance: a gradient shorter than this counts as zero.
	GradientTolerance = 1e-12
)

// A Block holds the geometry at up to Rows points. It is scratch space for one
// goroutine; no method allocates.
type Block struct {
	set     constraint.Set
	hess    constraint.HessianVectorer // nil if the set has none
	retract constraint.Retractor       // nil if the set has none
	names   []string
	ε       float64

	d, m, c int // ambient dimension, equalities, all components
	rows, n int // room, and points held

	x      []float64 // n×d: the points (the caller's memory)
	values []float64 // n×c
	jac    []float64 // n×c×d

	count []int     // active components at each point
	rank  []int     // rank of ∇J at each point
	pivot []int     // n×c: active components in the order of elimination
	scale []float64 // n×c: norms of their gradients
	q     []float64 // n×c×d: orthonormal basis of the normal space, by rows
	r     []float64 // n×c×c: column i is the i-th pivoted unit gradient in basis q

	z, w, rhs []float64 // small solves: c, c², c
	newton    *newton   // made on first use
	hv, hd    []float64 // n×c×d Hessian-vector products and n×d directions
	comp      []float64 // n×c
}

// NewBlock makes room for the geometry of rows points of s, with boundary
// repulsion ε ≥ 0.
func NewBlock(s constraint.Set, rows int, ε float64) *Block {
	if rows <= 0 {
		panic("geometry: a block needs at least one row")
	}
	d, m := s.Dim(), len(s.Equalities())
	c := m + len(s.Inequalities())
	b := &Block{
		set: s, names: constraint.Components(s), ε: ε, d: d, m: m, c: c, rows: rows,
		values: make([]float64, rows*c), jac: make([]float64, rows*c*d),
		count: make([]int, rows), rank: make([]int, rows),
		pivot: make([]int, rows*c), scale: make([]float64, rows*c),
		q: make([]float64, rows*c*d), r: make([]float64, rows*c*c),
		z: make([]float64, c), w: make([]float64, c*c), rhs: make([]float64, c),
		comp: make([]float64, rows*c),
	}
	b.hess, _ = s.(constraint.HessianVectorer)
	b.retract, _ = s.(constraint.Retractor)
	return b
}

// A RankError says that an equality cannot be followed because its gradient
// vanishes, as that of a squared constraint does on Σ.
type RankError struct {
	Row       int    // point of the block
	Component string // constraint's name
	Norm      float64
}

func (e *RankError) Error() string {
	return fmt.Sprintf("constraint %q has a vanishing gradient (norm %.3g) at point %d: its rank drops there; write it without squares, or away from its singular points",
		e.Component, e.Norm, e.Row)
}

// A NonFiniteError says that a constraint or its gradient is NaN or infinite.
type NonFiniteError struct {
	Row       int
	Component string
	Value     float64
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("constraint %q is not finite (%v) at point %d", e.Component, e.Value, e.Row)
}

// At evaluates the geometry at the n points x (n×d). x must stay unchanged
// while the block is used. The error, if any, is a *NonFiniteError or a
// *RankError and names the first such point.
func (b *Block) At(x []float64, n int) error {
	if n > b.rows || len(x) < n*b.d {
		panic(fmt.Sprintf("geometry: %d points of dimension %d in a block of %d, from %d numbers", n, b.d, b.rows, len(x)))
	}
	b.x, b.n = x[:n*b.d], n
	b.set.Jacobians(b.values[:n*b.c], b.jac[:n*b.c*b.d], b.x, n)
	if b.c == 1 && b.m == 1 {
		return b.factorOne()
	}
	for i := range n {
		if err := b.factor(i); err != nil {
			return err
		}
	}
	return nil
}

// factorOne is factor for a single equality: q = ∇h/‖∇h‖.
func (b *Block) factorOne() error {
	d := b.d
	for i := range b.n {
		s := 0.0
		ji, qi := b.jac[i*d:(i+1)*d], b.q[i*d:(i+1)*d]
		for _, v := range ji {
			s += v * v
		}
		s = math.Sqrt(s)
		if err := b.check(i, 0, s); err != nil {
			return err
		}
		inv := 1 / s
		for j, v := range ji {
			qi[j] = v * inv
		}
		b.count[i], b.rank[i], b.pivot[i], b.scale[i], b.r[i] = 1, 1, 0, s, 1
	}
	return nil
}

func (b *Block) check(i, comp int, norm float64) error {
	v := b.values[i*b.c+comp]
	if v-v != 0 || norm-norm != 0 {
		if norm-norm != 0 && v-v == 0 {
			v = norm
		}
		return &NonFiniteError{Row: i, Component: b.names[comp], Value: v}
	}
	if norm < GradientTolerance && comp < b.m {
		return &RankError{Row: i, Component: b.names[comp], Norm: norm}
	}
	return nil
}

// factor computes the pivoted QR factorisation of the unit gradients of the
// active components at point i, by modified Gram–Schmidt with
// reorthogonalisation.
func (b *Block) factor(i int) error {
	d, c := b.d, b.c
	vals, jac := b.values[i*c:(i+1)*c], b.jac[i*c*d:(i+1)*c*d]
	q, r := b.q[i*c*d:(i+1)*c*d], b.r[i*c*c:(i+1)*c*c]
	pivot, scale := b.pivot[i*c:(i+1)*c], b.scale[i*c:(i+1)*c]

	// I_x = {j : g_j(x) ≥ 0}; equalities are always active. An inequality whose
	// gradient vanishes has no direction to push in and is left out.
	k := 0
	for comp := range c {
		row := jac[comp*d : (comp+1)*d]
		s := math.Sqrt(dot(row, row))
		if err := b.check(i, comp, s); err != nil {
			return err
		}
		if comp >= b.m && (vals[comp] < 0 || s < GradientTolerance) {
			continue
		}
		for j, v := range row {
			q[k*d+j] = v / s
		}
		pivot[k], scale[k] = comp, s
		k++
	}
	b.count[i] = k
	clear(r)
	for j := range k {
		// The column with the most left outside the span so far; ties keep the
		// order of the components.
		best, size := j, 0.0
		for p := j; p < k; p++ {
			if s := dot(q[p*d:(p+1)*d], q[p*d:(p+1)*d]); s > size*(1+1e-12) {
				best, size = p, s
			}
		}
		if best != j {
			swap(q[j*d:(j+1)*d], q[best*d:(best+1)*d])
			pivot[j], pivot[best] = pivot[best], pivot[j]
			scale[j], scale[best] = scale[best], scale[j]
			for p := range j {
				r[p*c+j], r[p*c+best] = r[p*c+best], r[p*c+j]
			}
		}
		qj := q[j*d : (j+1)*d]
		for p := range j { // reorthogonalise
			qp := q[p*d : (p+1)*d]
			s := dot(qp, qj)
			r[p*c+j] += s
			axpy(qj, -s, qp)
		}
		s := math.Sqrt(dot(qj, qj))
		if s <= RankTolerance {
			b.rank[i] = j
			return nil
		}
		r[j*c+j] = s
		for t := range qj {
			qj[t] /= s
		}
		for p := j + 1; p < k; p++ {
			qp := q[p*d : (p+1)*d]
			s := dot(qj, qp)
			r[j*c+p] = s
			axpy(qp, -s, qj)
		}
	}
	b.rank[i] = k
	return nil
}

// Rank returns the rank of ∇J at point i, and Active the number of components
// in J there; a smaller rank means that some are redundant.
func (b *Block) Rank(i int) int { return b.rank[i] }

// Active returns the number of components in J at point i.
func (b *Block) Active(i int) int { return b.count[i] }

// Values returns the components at the block's points, n×(m+l).
func (b *Block) Values() []float64 { return b.values[:b.n*b.c] }

// basis returns the orthonormal rows that span the normal space at point i.
func (b *Block) basis(i int) []float64 {
	return b.q[i*b.c*b.d : i*b.c*b.d+b.rank[i]*b.d]
}

// Tangent writes Π(x_i) v_i for every point: n×d. dst may be v.
func (b *Block) Tangent(dst, v []float64) {
	d := b.d
	for i := range b.n {
		out, in := dst[i*d:(i+1)*d], v[i*d:(i+1)*d]
		if &out[0] != &in[0] {
			copy(out, in)
		}
		q := b.basis(i)
		for ; len(q) > 0; q = q[d:] {
			axpy(out, -dot(q[:d], out), q[:d])
		}
	}
}

// Landing writes ∇Jᵀ G† J at every point, J = [h; g_I + ε]: n×d. It is the
// Gauss–Newton direction away from Σ; a step of minus it lands on an affine Σ.
func (b *Block) Landing(dst []float64) {
	if b.c == 1 && b.m == 1 {
		d := b.d
		for i := range b.n {
			s := b.values[i] / b.scale[i]
			for j, v := range b.q[i*d : (i+1)*d] {
				dst[i*d+j] = s * v
			}
		}
		return
	}
	for i := range b.n {
		for a, comp := range b.pivot[i*b.c : i*b.c+b.count[i]] {
			v := b.values[i*b.c+comp]
			if comp >= b.m {
				v += b.ε
			}
			b.rhs[a] = v / b.scale[i*b.c+a]
		}
		b.solve(dst[i*b.d:(i+1)*b.d], i)
	}
}

// Normal writes ∇Jᵀ G† u at every point for a vector u of components (n×c; only
// the active ones count): n×d.
func (b *Block) Normal(dst, u []float64) {
	for i := range b.n {
		for a, comp := range b.pivot[i*b.c : i*b.c+b.count[i]] {
			b.rhs[a] = u[i*b.c+comp] / b.scale[i*b.c+a]
		}
		b.solve(dst[i*b.d:(i+1)*b.d], i)
	}
}

// solve writes the vector Qᵀz of least norm with (unit gradients)·Qᵀz = rhs, in
// the least-squares sense where gradients are dependent.
func (b *Block) solve(out []float64, i int) {
	c, d, k, rank := b.c, b.d, b.count[i], b.rank[i]
	r, z := b.r[i*c*c:(i+1)*c*c], b.z[:rank]
	if rank == k { // Rᵀ z = rhs by forward substitution
		for j := range z {
			s := b.rhs[j]
			for p := range j {
				s -= r[p*c+j] * z[p]
			}
			z[j] = s / r[j*c+j]
		}
	} else {
		leastSquares(z, r, b.rhs[:k], c, 1, b.w)
	}
	clear(out)
	for j, s := range z {
		axpy(out, s, b.q[(i*c+j)*d:(i*c+j+1)*d])
	}
}

// leastSquares minimises ‖A z − rhs‖ for a matrix A of len(rhs)×len(z) and full
// column rank, by the normal equations AᵀA z = Aᵀ rhs. Element (e, p) of A is
// a[p·col + e·row]; w is scratch of len(z)².
func leastSquares(z, a, rhs []float64, col, row int, w []float64) {
	n := len(z)
	for p := range n {
		s := 0.0
		for e, v := range rhs {
			s += a[p*col+e*row] * v
		}
		z[p] = s
		for t := range p + 1 {
			s := 0.0
			for e := range rhs {
				s += a[p*col+e*row] * a[t*col+e*row]
			}
			w[p*n+t] = s
		}
	}
	cholesky(w, z, n)
}

// cholesky solves W z = z in place for a symmetric positive definite W given by
// its lower triangle (n×n, overwritten).
func cholesky(w, z []float64, n int) {
	for i := range n {
		for j := range i + 1 {
			s := w[i*n+j]
			for p := range j {
				s -= w[i*n+p] * w[j*n+p]
			}
			if i == j {
				w[i*n+i] = math.Sqrt(s)
			} else {
				w[i*n+j] = s / w[j*n+j]
			}
		}
	}
	for i := range n {
		for p := range i {
			z[i] -= w[i*n+p] * z[p]
		}
		z[i] /= w[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		for p := i + 1; p < n; p++ {
			z[i] -= w[p*n+i] * z[p]
		}
		z[i] /= w[i*n+i]
	}
}

func dot(a, b []float64) (s float64) {
	b = b[:len(a)]
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

// axpy adds s·x to y.
func axpy(y []float64, s float64, x []float64) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] += s * v
	}
}

func swap(a, b []float64) {
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
}

package geometry

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
)

const (
	newtonTolerance  = 1e-13 // on |h|, besides the round-off of h itself
	newtonIterations = 50
)

// A newton is the scratch space of Project: gathered points and one small
// system.
type newton struct {
	y, x     []float64 // rows×d: proposals, and iterates gathered
	val, jac []float64 // rows×c, rows×c×d
	z        []float64 // rows×c: multipliers in the basis q
	row      []int     // rows still iterating
	sys, rhs []float64 // c², c
	residual []float64 // rows: ‖h‖∞ of the iterate before
}

// CanProject returns nil if Project works for the set, and a
// *constraint.UnsupportedError otherwise.
func (b *Block) CanProject() error {
	if b.c > b.m {
		return &constraint.UnsupportedError{Set: constraint.Name(b.set), Need: "equalities only", For: "Newton projection"}
	}
	return nil
}

// Project finds, for every point x_i of the block and proposal y_i, the point
//
//	y_i + ∇h(x_i)ᵀ λ with h = 0
//
// (paper, Forward-OLLA-P), in closed form where the set has one and by Newton's
// method in λ otherwise. It writes the points to dst (n×d; dst may be y) and
// their success to ok (n); a row that fails keeps its proposal. It returns the
// number of Newton iterations in all.
func (b *Block) Project(dst, y []float64, ok []bool) (iterations int) {
	if err := b.CanProject(); err != nil {
		panic("geometry: " + err.Error())
	}
	if b.retract != nil {
		b.projectClosed(dst, y, ok)
		return 0
	}
	return b.projectNewton(dst, y, ok)
}

func (b *Block) projectClosed(dst, y []float64, ok []bool) {
	d := b.d
	v := b.scratchNewton().y[:d]
	for i := range b.n {
		for j := range v {
			v[j] = y[i*d+j] - b.x[i*d+j]
		}
		if ok[i] = b.retract.Retract(v, b.x[i*d:(i+1)*d], v); ok[i] {
			copy(dst[i*d:(i+1)*d], v)
		} else {
			copy(dst[i*d:(i+1)*d], y[i*d:(i+1)*d])
		}
	}
}

func (b *Block) scratchNewton() *newton {
	if b.newton == nil {
		rows, c, d := b.rows, b.c, b.d
		b.newton = &newton{
			y: make([]float64, rows*d), x: make([]float64, rows*d),
			val: make([]float64, rows*c), jac: make([]float64, rows*c*d), z: make([]float64, rows*c),
			row: make([]int, 0, rows), sys: make([]float64, c*c), rhs: make([]float64, c),
			residual: make([]float64, rows),
		}
	}
	return b.newton
}

func (b *Block) projectNewton(dst, y []float64, ok []bool) (total int) {
	w := b.scratchNewton()
	n, d, c := b.n, b.d, b.c
	copy(w.y, y[:n*d])
	copy(dst[:n*d], y[:n*d])
	clear(w.z)
	w.row = w.row[:0]
	for i := range n {
		ok[i] = false
		w.residual[i] = math.Inf(1)
		w.row = append(w.row, i)
	}
	for range newtonIterations {
		if len(w.row) == 0 {
			break
		}
		for a, i := range w.row {
			copy(w.x[a*d:(a+1)*d], dst[i*d:(i+1)*d])
		}
		b.set.Jacobians(w.val, w.jac, w.x, len(w.row))
		left := w.row[:0]
		for a, i := range w.row {
			val, jac, x := w.val[a*c:(a+1)*c], w.jac[a*c*d:(a+1)*c*d], w.x[a*d:(a+1)*d]
			size, floor := 0.0, 0.0
			for e, h := range val {
				size = max(size, math.Abs(h))
				s := 0.0
				for j, v := range x {
					s += math.Abs(v * jac[e*d+j])
				}
				floor = max(floor, s)
			}
			// Converged, or as near as the round-off of h allows.
			if size <= newtonTolerance || size <= 0x1p-50*floor && size >= w.residual[i] {
				ok[i] = true
				continue
			}
			if size-size != 0 || !b.newtonStep(dst[i*d:(i+1)*d], i, val, jac) {
				copy(dst[i*d:(i+1)*d], w.y[i*d:(i+1)*d])
				continue
			}
			w.residual[i] = size
			total++
			left = append(left, i)
		}
		w.row = left
	}
	for _, i := range w.row { // out of iterations
		copy(dst[i*d:(i+1)*d], w.y[i*d:(i+1)*d])
	}
	return total
}

// newtonStep solves (∇h(y) Qᵀ) δ = h(y), in the least-squares sense where the
// base point's rank is below m, and moves out to y_i + Qᵀ(z − δ).
func (b *Block) newtonStep(out []float64, i int, val, jac []float64) bool {
	w, d, c, rank := b.newton, b.d, b.c, b.rank[i]
	q, z := b.basis(i), w.z[i*c:i*c+rank]
	m := w.sys[:c*rank] // c×rank
	for e := range c {
		for p := range rank {
			m[e*rank+p] = dot(jac[e*d:(e+1)*d], q[p*d:(p+1)*d])
		}
	}
	δ := w.rhs[:rank]
	if rank < c {
		leastSquares(δ, m, val, 1, rank, b.w)
	} else {
		copy(δ, val)
		if !gauss(m, δ, c) {
			return false
		}
	}
	copy(out, w.y[i*d:(i+1)*d])
	for p, v := range δ {
		z[p] -= v
		if z[p]-z[p] != 0 {
			return false
		}
		axpy(out, z[p], q[p*d:(p+1)*d])
	}
	return true
}

// gauss solves A x = x in place (A n×n, overwritten) by elimination with
// partial pivoting; false if A is singular.
func gauss(a, x []float64, n int) bool {
	for k := range n {
		p := k
		for i := k + 1; i < n; i++ {
			if math.Abs(a[i*n+k]) > math.Abs(a[p*n+k]) {
				p = i
			}
		}
		if a[p*n+k] == 0 {
			return false
		}
		if p != k {
			swap(a[p*n:(p+1)*n], a[k*n:(k+1)*n])
			x[p], x[k] = x[k], x[p]
		}
		for i := k + 1; i < n; i++ {
			f := a[i*n+k] / a[k*n+k]
			for j := k + 1; j < n; j++ {
				a[i*n+j] -= f * a[k*n+j]
			}
			x[i] -= f * x[k]
		}
	}
	for i := n - 1; i >= 0; i-- {
		for j := i + 1; j < n; j++ {
			x[i] -= a[i*n+j] * x[j]
		}
		x[i] /= a[i*n+i]
	}
	return true
}

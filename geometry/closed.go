package geometry

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A closed is the geometry of a set that knows its normal space
// (constraint.Projector). Points where it says that ∇h loses rank are factored
// like those of any other set.
type closed struct {
	set     constraint.Projector
	size    int       // numbers kept of a point
	work    []float64 // rows×size
	regular []bool    // rows
	all     bool      // every point held is regular
}

func (b *Block) newClosed() *closed {
	p := b.eval.Projector
	if p == nil || b.c != b.m || b.ridge > 0 {
		return nil
	}
	size := p.WorkSize()
	return &closed{set: p, size: size, work: make([]float64, b.rows*size), regular: make([]bool, b.rows)}
}

func (b *Block) factorClosed(n int) error {
	k := b.closed
	k.set.Factor(b.values[:n*b.c], k.work[:n*k.size], k.regular[:n], b.x[:n*b.d], n)
	k.all = true
	for i := range n {
		if !k.regular[i] {
			k.all = false
			if err := b.factorRow(i); err != nil {
				return err
			}
			continue
		}
		for comp := range b.c {
			if err := b.check(i, comp, 1); err != nil {
				return err
			}
		}
		for a := range b.groups {
			b.count[i*len(b.groups)+a], b.rank[i*len(b.groups)+a] = b.groups[a].c, b.groups[a].c
		}
	}
	return nil
}

// factorRow computes the gradients and factors of point i alone.
func (b *Block) factorRow(i int) error {
	b.factored()
	b.jacobians(b.values[i*b.c:], b.jac[i*b.mat:], b.x[i*b.d:], 1)
	for a := range b.groups {
		if err := b.factor(i, a); err != nil {
			return err
		}
	}
	return nil
}

func (b *Block) tangentClosed(dst, v []float64) {
	k, d := b.closed, b.d
	if k.all {
		k.set.Tangent(dst[:b.n*d], v[:b.n*d], b.x[:b.n*d], k.work, b.n)
		return
	}
	for i := range b.n {
		if k.regular[i] {
			k.set.Tangent(dst[i*d:(i+1)*d], v[i*d:(i+1)*d], b.x[i*d:(i+1)*d], b.work(i), 1)
		} else {
			b.tangent(dst[i*d:(i+1)*d], v[i*d:(i+1)*d], i)
		}
	}
}

func (b *Block) landingClosed(dst []float64) {
	k, d := b.closed, b.d
	if k.all {
		k.set.Landing(dst[:b.n*d], b.x[:b.n*d], k.work, b.n)
		return
	}
	for i := range b.n {
		if k.regular[i] {
			k.set.Landing(dst[i*d:(i+1)*d], b.x[i*d:(i+1)*d], b.work(i), 1)
		} else {
			b.landing(dst[i*d:(i+1)*d], i)
		}
	}
}

func (b *Block) normalClosed(dst, u []float64) {
	k, d, c := b.closed, b.d, b.c
	if k.all {
		k.set.Normal(dst[:b.n*d], u[:b.n*c], b.x[:b.n*d], k.work, b.n)
		return
	}
	for i := range b.n {
		if k.regular[i] {
			k.set.Normal(dst[i*d:(i+1)*d], u[i*c:(i+1)*c], b.x[i*d:(i+1)*d], b.work(i), 1)
		} else {
			b.normal(dst[i*d:(i+1)*d], u[i*c:(i+1)*c], 0, i)
		}
	}
}

func (b *Block) work(i int) []float64 {
	return b.closed.work[i*b.closed.size : (i+1)*b.closed.size]
}

// projectChord projects the rows in w.row by Newton's method with the matrix
// ∇h(x) ∇h(x)ᵀ of the base point throughout: linear convergence, at the price of
// one Normal an iteration. It keeps in w.row those for Newton's method proper,
// where that is too slow or the base point is not regular.
func (b *Block) projectChord(dst []float64, ok []bool) (total int) {
	w, d := b.newton, b.d
	left := w.row[:0]
	for _, i := range w.row {
		if !b.closed.regular[i] {
			left = append(left, i)
			continue
		}
		z, h, size := dst[i*d:(i+1)*d], w.val[:b.c], math.Inf(1)
		for !ok[i] {
			b.eval.Values(h, z, 1)
			before := size
			size = 0
			for _, v := range h {
				size = max(size, math.Abs(v))
			}
			if size <= newtonTolerance {
				ok[i] = true
				break
			}
			if !(size < 0.7*before) {
				copy(z, w.y[i*d:(i+1)*d])
				left = append(left, i)
				break
			}
			b.closed.set.Normal(w.x[:d], h, b.x[i*d:(i+1)*d], b.work(i), 1)
			dense.Axpy(z, -1, w.x[:d])
			total++
		}
	}
	w.row = left
	return total
}

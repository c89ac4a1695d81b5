package geometry

import "github.com/landing-diffusion/landing/internal/dense"

// The reference implementation's geometry: least squares with G + λI in place
// of G†, on gradients as they are. The active ones stand in the rows of q, the
// Cholesky factor of G + λI in r.

func (b *Block) factorRidge(q, r []float64, k, c, d int) {
	w := r[:k*k]
	for p := range k {
		for t := range p + 1 {
			w[p*k+t] = dense.Dot4(q[p*d:(p+1)*d], q[t*d:(t+1)*d])
		}
		w[p*k+p] += b.ridge
	}
	dense.FactorCholesky(w, k)
}

// ridgeTangent overwrites v with v − ∇Jᵀ (G + λI)⁻¹ ∇J v.
func (b *Block) ridgeTangent(v []float64, i, a int) {
	q, r, k, d := b.ridgeRows(i, a)
	for p := range k {
		b.rhs[p] = dense.Dot4(q[p*d:(p+1)*d], v)
	}
	dense.SolveCholesky(r, b.rhs[:k], k)
	for p := range k {
		dense.Axpy(v, -b.rhs[p], q[p*d:(p+1)*d])
	}
}

// ridgeNormal writes ∇Jᵀ (G + λI)⁻¹ rhs.
func (b *Block) ridgeNormal(out []float64, i, a int) {
	q, r, k, d := b.ridgeRows(i, a)
	dense.SolveCholesky(r, b.rhs[:k], k)
	clear(out)
	for p := range k {
		dense.Axpy(out, b.rhs[p], q[p*d:(p+1)*d])
	}
}

// ridgeRows returns the k active gradients of group a, k×d, and the Cholesky
// factor of their G + λI, k×k.
func (b *Block) ridgeRows(i, a int) (q, r []float64, k, d int) {
	g := &b.groups[a]
	k, d = b.count[i*len(b.groups)+a], g.d
	return b.q[i*b.mat+g.mat:][:k*d], b.r[i*b.sq+g.sq:][:k*k], k, d
}

package geometry

import "github.com/landing-diffusion/landing/internal/dense"

// factor computes the QR factorisation of the unit gradients of the active
// components of group a at point i, by modified Gram–Schmidt: in their own order
// if they are well apart, otherwise with column pivoting, which reveals the
// rank.
func (b *Block) factor(i, a int) error {
	g := &b.groups[a]
	d, c := g.d, g.c
	vals := b.values[i*b.c : (i+1)*b.c]
	jac, q := b.jac[i*b.mat+g.mat:][:c*d], b.q[i*b.mat+g.mat:][:c*d]
	r := b.r[i*b.sq+g.sq:][:c*c]
	pivot, scale := b.pivot[i*b.c+g.vec:][:c], b.scale[i*b.c+g.vec:][:c]

	// I_x = {j : g_j(x) ≥ 0}; equalities are always active. An inequality whose
	// gradient vanishes has no direction to push in and is left out.
	k := 0
	for l, comp := range g.comp {
		row := jac[l*d : (l+1)*d]
		s := dense.Norm4(row)
		if err := b.check(i, comp, s); err != nil {
			return err
		}
		if l >= g.m && (vals[comp] < 0 || s < GradientTolerance && b.ridge == 0) {
			continue
		}
		if b.ridge > 0 {
			s = 1 // the reference does not scale
		}
		dense.Scaled(q[k*d:(k+1)*d], 1/s, row)
		pivot[k], scale[k] = l, s
		k++
	}
	at := i*len(b.groups) + a
	b.count[at], b.rank[at] = k, k
	switch {
	case b.ridge > 0:
		b.factorRidge(q, r, k, c, d)
	case k == 1:
		r[0] = 1
	case !dense.QR(q, r, k, c, d):
		for e := range k {
			dense.Scaled(q[e*d:(e+1)*d], 1/scale[e], jac[pivot[e]*d:(pivot[e]+1)*d])
		}
		b.rank[at] = dense.PivotedQR(q, r, pivot, scale, k, c, d, RankTolerance)
	}
	return nil
}

// basis returns the orthonormal rows that span the normal space of group a at
// point i.
func (b *Block) basis(i, a int) []float64 {
	g := &b.groups[a]
	return b.q[i*b.mat+g.mat:][:b.rank[i*len(b.groups)+a]*g.d]
}

// solve writes the vector Qᵀz of least norm with (unit gradients)·Qᵀz = rhs, in
// the least-squares sense where gradients are dependent.
func (b *Block) solve(out []float64, i, a int) {
	g := &b.groups[a]
	at := i*len(b.groups) + a
	c, d, k, rank := g.c, g.d, b.count[at], b.rank[at]
	r, q, z := b.r[i*b.sq+g.sq:][:c*c], b.basis(i, a), b.z[:rank]
	if rank == k { // Rᵀ z = rhs by forward substitution
		for j := range z {
			s := b.rhs[j]
			for p := range j {
				s -= r[p*c+j] * z[p]
			}
			z[j] = s / r[j*c+j]
		}
	} else {
		dense.LeastSquares(z, r, b.rhs[:k], c, 1, b.w)
	}
	clear(out)
	for j, s := range z {
		dense.Axpy(out, s, q[j*d:(j+1)*d])
	}
}

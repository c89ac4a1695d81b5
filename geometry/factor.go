package geometry

const (
	// apart: rows that keep this share of their length outside the span of the
	// rows before them need no pivoting.
	apart = 0.1
	// again: a row that keeps less is orthogonalised twice (Kahan's and Parlett's
	// "twice is enough").
	again = 0.5
)

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
		s := norm(row)
		if err := b.check(i, comp, s); err != nil {
			return err
		}
		if l >= g.m && (vals[comp] < 0 || s < GradientTolerance && b.ridge == 0) {
			continue
		}
		if b.ridge > 0 {
			s = 1 // the reference does not scale
		}
		scaled(q[k*d:(k+1)*d], 1/s, row)
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
	case !gramSchmidt(q, r, k, c, d):
		for e := range k {
			scaled(q[e*d:(e+1)*d], 1/scale[e], jac[pivot[e]*d:(pivot[e]+1)*d])
		}
		b.rank[at] = pivotedGramSchmidt(q, r, pivot, scale, k, c, d)
	}
	return nil
}

// gramSchmidt orthonormalises the k unit rows of q (each of d) in their order
// and writes R with stride c. It gives up, with q spoilt, at a row that is too
// near the span of those before it.
func gramSchmidt(q, r []float64, k, c, d int) bool {
	for j := range k {
		qj := q[j*d : (j+1)*d]
		for p := range j {
			qp := q[p*d : (p+1)*d]
			s := dot(qp, qj)
			r[p*c+j] = s
			axpy(qj, -s, qp)
		}
		s := norm(qj)
		if s < apart {
			return false
		}
		if s < again {
			for p := range j {
				qp := q[p*d : (p+1)*d]
				s := dot(qp, qj)
				r[p*c+j] += s
				axpy(qj, -s, qp)
			}
			s = norm(qj)
		}
		r[j*c+j] = s
		scaled(qj, 1/s, qj)
	}
	return true
}

// pivotedGramSchmidt orthonormalises the k rows of q (each of d) with column pivoting,
// writes R with stride c, and returns the rank. Every row is orthogonalised twice.
func pivotedGramSchmidt(q, r []float64, pivot []int, scale []float64, k, c, d int) int {
	clear(r)
	for j := range k {
		// The row with the most left outside the span so far; ties keep the
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
		s := norm(qj)
		if s <= RankTolerance {
			return j
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
	return k
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
		leastSquares(z, r, b.rhs[:k], c, 1, b.w)
	}
	clear(out)
	for j, s := range z {
		axpy(out, s, q[j*d:(j+1)*d])
	}
}

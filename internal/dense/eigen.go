package dense

import "math"

// Eigen diagonalises the symmetric p×p matrix a: it leaves the eigenvalues on a's diagonal and the eigenvectors in the
// columns of u. It turns a into a tridiagonal matrix by Householder reflections and that into a diagonal one by QL
// steps with Wilkinson's shift (Golub and Van Loan, "Matrix computations", sections 8.3.1 and 8.3.3, from the other
// end). off is scratch of p numbers. A matrix that is not finite comes back as it is, or worse.
func Eigen(a, u, off []float64, p int) {
	tridiagonal(a, u, off, p)
	for l := range p {
		for range 60 {
			m := l // a[l…m] is the leading block without a small off-diagonal
			for ; m < p-1; m++ {
				if e := math.Abs(off[m]); e <= 0x1p-54*(math.Abs(a[m*p+m])+math.Abs(a[(m+1)*p+m+1])) || e != e {
					break
				}
			}
			if m == l {
				break
			}
			chase(a, u, off, l, m, p)
		}
	}
}

// tridiagonal writes QᵀAQ, its diagonal in place and its off-diagonal to off, and Qᵀ's rows to u, so that u holds
// eigenvectors by columns after chase has turned them: u = Q.
func tridiagonal(a, u, off []float64, p int) {
	clear(u)
	for i := range p {
		u[i*p+i] = 1
	}
	for k := 0; k+2 < p; k++ {
		// v reflects column k below the diagonal to a multiple of e_1.
		v, r := off, 0.0
		for i := k + 1; i < p; i++ {
			v[i] = a[i*p+k]
			r += v[i] * v[i]
		}
		tail := r - v[k+1]*v[k+1]
		if tail == 0 {
			continue
		}
		r = math.Copysign(math.Sqrt(r), v[k+1])
		v[k+1] += r
		β := 2 / (tail + v[k+1]*v[k+1])
		for i := k; i < p; i++ { // A ← A H
			reflect(a[i*p+k+1:(i+1)*p], v[k+1:p], β)
		}
		for j := k; j < p; j++ { // A ← H A, by columns
			s := 0.0
			for i := k + 1; i < p; i++ {
				s += v[i] * a[i*p+j]
			}
			s *= β
			for i := k + 1; i < p; i++ {
				a[i*p+j] -= s * v[i]
			}
		}
		for i := range p { // Q ← Q H
			reflect(u[i*p+k+1:(i+1)*p], v[k+1:p], β)
		}
	}
	for k := range p - 1 {
		off[k] = a[(k+1)*p+k]
	}
	off[p-1] = 0
}

// reflect applies I − β v vᵀ to x.
func reflect(x, v []float64, β float64) {
	s := β * Dot(v, x)
	for i, w := range v {
		x[i] -= s * w
	}
}

// chase is one implicit QL step on the block l … m of the tridiagonal matrix.
func chase(a, u, off []float64, l, m, p int) {
	d := func(i int) *float64 { return &a[i*p+i] }
	// The shift is the eigenvalue of the leading 2×2 block nearest to d_l.
	δ := (*d(l + 1) - *d(l)) / (2 * off[l])
	shift := *d(l) - off[l]/(δ+math.Copysign(math.Sqrt(δ*δ+1), δ))
	x, z := *d(m)-shift, off[m-1]
	for i := m - 1; i >= l; i-- {
		// The rotation (c, s) of the rows i, i+1 takes z to zero.
		c, s := 1.0, 0.0
		r := math.Sqrt(x*x + z*z)
		if r > 0 {
			c, s = x/r, z/r
		}
		if i < m-1 {
			off[i+1] = r
		}
		di, dn, e := *d(i), *d(i + 1), off[i]
		*d(i + 1) = c*c*dn + 2*c*s*e + s*s*di
		*d(i) = s*s*dn - 2*c*s*e + c*c*di
		off[i] = c*s*(di-dn) + (c*c-s*s)*e
		if i > l {
			x, z = off[i], s*off[i-1]
			off[i-1] *= c
		}
		for k := range p {
			g, h := u[k*p+i+1], u[k*p+i]
			u[k*p+i+1], u[k*p+i] = c*g+s*h, c*h-s*g
		}
	}
}

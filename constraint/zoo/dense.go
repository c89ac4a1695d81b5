package zoo

import "math"

// Small dense matrices, row-major. Nothing here allocates.

// unpack writes the symmetric p×p matrix whose upper triangle is u, row by row.
func unpack(s, u []float64, p int) {
	e := 0
	for i := range p {
		for j := i; j < p; j++ {
			s[i*p+j], s[j*p+i] = u[e], u[e]
			e++
		}
	}
}

// eigen diagonalises the symmetric p×p matrix a: it leaves the eigenvalues on a's
// diagonal and the eigenvectors in the columns of u. It turns a into a
// tridiagonal matrix by Householder reflections and that into a diagonal one by
// QL steps with Wilkinson's shift (Golub and Van Loan, "Matrix computations",
// sections 8.3.1 and 8.3.3, from the other end). off is scratch of p numbers. A
// matrix that is not finite comes back as it is, or worse.
func eigen(a, u, off []float64, p int) {
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

// tridiagonal writes QᵀAQ, its diagonal in place and its off-diagonal to off,
// and Qᵀ's rows to u, so that u holds eigenvectors by columns after chase has
// turned them: u = Q.
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
	s := β * dot(v, x)
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

// lyapunov solves M S + S M = R for symmetric R (in s, overwritten by S), with
// M = U diag(λ) Uᵀ.
func lyapunov(s, λ, u, scratch []float64, p int) {
	mul(scratch, s, u, p) // R U
	for i := range p {    // UᵀRU, divided
		row := s[i*p : (i+1)*p]
		clear(row)
		for k := range p {
			w := u[k*p+i]
			for j, v := range scratch[k*p : (k+1)*p] {
				row[j] += w * v
			}
		}
		for j := range row {
			row[j] /= λ[i] + λ[j]
		}
	}
	mul(scratch, u, s, p)
	mulT(s, scratch, u, p)
}

// function writes U diag(f(λ)) Uᵀ.
func function(dst, λ, u []float64, p int, f func(λ float64) float64) {
	clear(dst)
	for k := range p {
		w := f(λ[k])
		for i := range p {
			a := w * u[i*p+k]
			for j := range p {
				dst[i*p+j] += a * u[j*p+k]
			}
		}
	}
}

// mul writes A B.
func mul(dst, a, b []float64, p int) {
	clear(dst[:p*p])
	for i := range p {
		row := dst[i*p : (i+1)*p]
		for k := range p {
			w := a[i*p+k]
			for j, v := range b[k*p : (k+1)*p] {
				row[j] += w * v
			}
		}
	}
}

// mulT writes A Bᵀ.
func mulT(dst, a, b []float64, p int) {
	for i := range p {
		for j := range p {
			dst[i*p+j] = dot(a[i*p:(i+1)*p], b[j*p:(j+1)*p])
		}
	}
}

// tmul writes AᵀB.
func tmul(dst, a, b []float64, p int) {
	clear(dst[:p*p])
	for k := range p {
		for i := range p {
			w := a[k*p+i]
			for j, v := range b[k*p : (k+1)*p] {
				dst[i*p+j] += w * v
			}
		}
	}
}

// eliminate overwrites the p×p matrix a with U and x, of p numbers or nil, with L⁻¹Px
// of the factorisation PA = LU with partial pivoting, and returns det A. It stops where
// A is singular, with 0.
func eliminate(a, x []float64, p int) float64 {
	det := 1.0
	for k := range p {
		at := k
		for i := k + 1; i < p; i++ {
			if math.Abs(a[i*p+k]) > math.Abs(a[at*p+k]) {
				at = i
			}
		}
		if a[at*p+k] == 0 {
			return 0
		}
		if at != k {
			det = -det
			for j := k; j < p; j++ {
				a[k*p+j], a[at*p+j] = a[at*p+j], a[k*p+j]
			}
			if x != nil {
				x[k], x[at] = x[at], x[k]
			}
		}
		det *= a[k*p+k]
		for i := k + 1; i < p; i++ {
			f := a[i*p+k] / a[k*p+k]
			if f == 0 {
				continue
			}
			for j := k; j < p; j++ {
				a[i*p+j] -= f * a[k*p+j]
			}
			if x != nil {
				x[i] -= f * x[k]
			}
		}
	}
	return det
}

// determinant of the p×p matrix a, which it overwrites.
func determinant(a []float64, p int) float64 { return eliminate(a, nil, p) }

// gauss solves A x = x in place (A p×p, overwritten); false if A is singular.
func gauss(a, x []float64, p int) bool {
	eliminate(a, x, p)
	for i := range p {
		if a[i*p+i] == 0 {
			return false
		}
	}
	for i := p - 1; i >= 0; i-- {
		for j := i + 1; j < p; j++ {
			x[i] -= a[i*p+j] * x[j]
		}
		x[i] /= a[i*p+i]
	}
	return true
}

// sylvester writes the matrix of E ↦ AᵀE + E A on symmetric matrices, both
// given by their upper triangles: (AᵀE + E A)_ij = Σ_k A_ki E_kj + E_ik A_kj.
func sylvester(sys, a []float64, n int) {
	m := n * (n + 1) / 2
	at := func(i, j int) int { // place of E_ij in the upper triangle
		if i > j {
			i, j = j, i
		}
		return i*n - i*(i-1)/2 + j - i
	}
	clear(sys)
	row := 0
	for i := range n {
		for j := i; j < n; j++ {
			for k := range n {
				sys[row*m+at(k, j)] += a[k*n+i]
				sys[row*m+at(i, k)] += a[k*n+j]
			}
			row++
		}
	}
}

// transpose writes Aᵀ over A.
func transpose(a []float64, n int) {
	for i := range n {
		for j := range i {
			a[i*n+j], a[j*n+i] = a[j*n+i], a[i*n+j]
		}
	}
}

// orthonormalise makes the vectors x[k*sk+i*si], i < p, k < n, orthonormal by
// Gram and Schmidt's method, each step twice; false if they are dependent.
func orthonormalise(x []float64, n, p, sk, si int) bool {
	for i := range p {
		for range 2 {
			for j := range i {
				s := 0.0
				for k := range n {
					s += x[k*sk+i*si] * x[k*sk+j*si]
				}
				for k := range n {
					x[k*sk+i*si] -= s * x[k*sk+j*si]
				}
			}
		}
		s := 0.0
		for k := range n {
			s += x[k*sk+i*si] * x[k*sk+i*si]
		}
		if !(s > 0x1p-40) {
			return false
		}
		s = math.Sqrt(s)
		for k := range n {
			x[k*sk+i*si] /= s
		}
	}
	return true
}

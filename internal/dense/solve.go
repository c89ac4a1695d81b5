// Package dense holds the small loops over float64 vectors and matrices that the geometry of Σ is made of. Destinations
// come first, callers own all memory and nothing allocates.
//
// Sums come in two orders. Dot and Norm add one term after the other; Dot4 and Norm4
// add in four lanes, which is faster from some ten numbers on and differs in the last
// bits. Results are promised byte for byte, so a caller keeps to one of them.
//
// It is not for large matrices: nothing is blocked. Those are for package kernel (networks) and gonum.
package dense

import "math"

// Eliminate overwrites the n×n matrix a with U and x, of n numbers or nil, with L⁻¹Px of the factorisation PA = LU with
// partial pivoting, and returns det A. It stops where A is singular, with 0.
func Eliminate(a, x []float64, n int) float64 {
	det := 1.0
	for k := range n {
		at := k
		for i := k + 1; i < n; i++ {
			if math.Abs(a[i*n+k]) > math.Abs(a[at*n+k]) {
				at = i
			}
		}
		if a[at*n+k] == 0 {
			return 0
		}
		if at != k {
			det = -det
			Swap(a[k*n+k:(k+1)*n], a[at*n+k:(at+1)*n])
			if x != nil {
				x[k], x[at] = x[at], x[k]
			}
		}
		det *= a[k*n+k]
		for i := k + 1; i < n; i++ {
			f := a[i*n+k] / a[k*n+k]
			if f == 0 {
				continue
			}
			Axpy(a[i*n+k:(i+1)*n], -f, a[k*n+k:(k+1)*n])
			if x != nil {
				x[i] -= f * x[k]
			}
		}
	}
	return det
}

// Gauss solves A x = x in place (A n×n, overwritten) by elimination with partial
// pivoting; false if A is singular. Its sums are those of Dot4.
func Gauss(a, x []float64, n int) bool {
	if n == 1 { // one constraint, often
		x[0] /= a[0]
		return a[0] != 0
	}
	Eliminate(a, x, n)
	if singular(a, n) {
		return false
	}
	for i := n - 1; i >= 0; i-- {
		x[i] = (x[i] - Dot4(a[i*n+i+1:(i+1)*n], x[i+1:n])) / a[i*n+i]
	}
	return true
}

// GaussInOrder is Gauss with one term taken away after the other.
func GaussInOrder(a, x []float64, n int) bool {
	Eliminate(a, x, n)
	if singular(a, n) {
		return false
	}
	for i := n - 1; i >= 0; i-- {
		for j := i + 1; j < n; j++ {
			x[i] -= a[i*n+j] * x[j]
		}
		x[i] /= a[i*n+i]
	}
	return true
}

// singular reports whether what Eliminate left has a zero on its diagonal: it stops at the first.
func singular(u []float64, n int) bool {
	for i := range n {
		if u[i*n+i] == 0 {
			return true
		}
	}
	return false
}

// FactorCholesky overwrites the lower triangle of a symmetric positive definite W (n×n) with L, W = LLᵀ.
func FactorCholesky(w []float64, n int) {
	for i := range n {
		for j := range i + 1 {
			s := w[i*n+j] - Dot4(w[i*n:i*n+j], w[j*n:j*n+j])
			if i == j {
				w[i*n+i] = math.Sqrt(s)
			} else {
				w[i*n+j] = s / w[j*n+j]
			}
		}
	}
}

// SolveCholesky solves LLᵀ z = z in place.
func SolveCholesky(w, z []float64, n int) {
	for i := range n {
		z[i] = (z[i] - Dot4(w[i*n:i*n+i], z[:i])) / w[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		z[i] /= w[i*n+i]
		Axpy(z[:i], -z[i], w[i*n:i*n+i])
	}
}

// FactorEnvelope is FactorCholesky of a matrix in envelope form: each row from its first number that is not 0 to its
// diagonal, one row after the other. diagonal[i] is the index of row i's diagonal in w. L is 0 where W is.
func FactorEnvelope(w []float64, diagonal []int) {
	for i, at := range diagonal {
		lo := begin(diagonal, i)
		row := w[at-(i-lo) : at+1] // from column lo
		for j := lo; j <= i; j++ {
			k := max(lo, begin(diagonal, j))
			s := row[j-lo] - Dot4(row[k-lo:j-lo], w[diagonal[j]-(j-k):diagonal[j]])
			if i == j {
				row[j-lo] = math.Sqrt(s)
			} else {
				row[j-lo] = s / w[diagonal[j]]
			}
		}
	}
}

// begin returns the first column that is kept of row i.
func begin(diagonal []int, i int) int {
	if i == 0 {
		return 0
	}
	return i + 1 - (diagonal[i] - diagonal[i-1])
}

// SolveEnvelope solves LLᵀ z = z in place, L as FactorEnvelope leaves it.
func SolveEnvelope(w, z []float64, diagonal []int) {
	for i, at := range diagonal {
		lo := begin(diagonal, i)
		z[i] = (z[i] - Dot4(w[at-(i-lo):at], z[lo:i])) / w[at]
	}
	for i := len(diagonal) - 1; i >= 0; i-- {
		lo, at := begin(diagonal, i), diagonal[i]
		z[i] /= w[at]
		Axpy(z[lo:i], -z[i], w[at-(i-lo):at])
	}
}

// LeastSquares minimises ‖A z − rhs‖ for a matrix A of len(rhs)×len(z) and full column rank, by the normal equations
// AᵀA z = Aᵀ rhs. Element (e, p) of A is a[p·col + e·row]; w is scratch of len(z)².
func LeastSquares(z, a, rhs []float64, col, row int, w []float64) {
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
	FactorCholesky(w, n)
	SolveCholesky(w, z, n)
}

// Reject takes away from v its part along each of the orthonormal rows of basis, one
// after the other (a modified Gram–Schmidt step), and adds what it takes to the
// coefficients r, of as many rows as r has room for. Its sums are those of Dot.
func Reject(v []float64, basis [][]float64, r []float64) {
	for p, q := range basis {
		s := Dot(q, v)
		Axpy(v, -s, q)
		if p < len(r) {
			r[p] += s
		}
	}
}

// Orthonormalise makes the columns of an n×p matrix orthonormal in their order by
// modified Gram–Schmidt steps, each taken twice; false, with x spoilt, if they are dependent.
func Orthonormalise(x []float64, n, p int) bool {
	for i := range p {
		for range 2 {
			for j := range i {
				s := 0.0
				for k := range n {
					s += x[k*p+i] * x[k*p+j]
				}
				for k := range n {
					x[k*p+i] -= s * x[k*p+j]
				}
			}
		}
		s := 0.0
		for k := range n {
			s += x[k*p+i] * x[k*p+i]
		}
		if !(s > 0x1p-40) {
			return false
		}
		s = math.Sqrt(s)
		for k := range n {
			x[k*p+i] /= s
		}
	}
	return true
}

const (
	// apart: rows that keep this share of their length outside the span of the rows before them need no pivoting.
	apart = 0.1
	// again: a row that keeps less is orthogonalised twice (Kahan's and Parlett's "twice is enough").
	again = 0.5
)

// QR orthonormalises the k unit rows of q (each of d numbers) in their order and writes R with stride c: column j of R
// is row j in the new ones. It gives up, with q spoilt, at a row that is too near the span of those before it for an
// order without pivoting. Its sums are those of Dot4.
func QR(q, r []float64, k, c, d int) bool {
	for j := range k {
		qj := q[j*d : (j+1)*d]
		for p := range j {
			qp := q[p*d : (p+1)*d]
			s := Dot4(qp, qj)
			r[p*c+j] = s
			Axpy(qj, -s, qp)
		}
		s := Norm4(qj)
		if s < apart {
			return false
		}
		if s < again {
			for p := range j {
				qp := q[p*d : (p+1)*d]
				s := Dot4(qp, qj)
				r[p*c+j] += s
				Axpy(qj, -s, qp)
			}
			s = Norm4(qj)
		}
		r[j*c+j] = s
		Scaled(qj, 1/s, qj)
	}
	return true
}

// PivotedQR is QR with column pivoting, which reveals the rank, and returns it: rows whose part outside the span of the
// others is at most tolerance long count as dependent. pivot and scale, of k numbers, go along with their rows. Every
// row is orthogonalised twice.
func PivotedQR(q, r []float64, pivot []int, scale []float64, k, c, d int, tolerance float64) int {
	clear(r)
	for j := range k {
		// The row with the most left outside the span so far; ties keep the order of the rows.
		best, size := j, 0.0
		for p := j; p < k; p++ {
			if s := Dot4(q[p*d:(p+1)*d], q[p*d:(p+1)*d]); s > size*(1+1e-12) {
				best, size = p, s
			}
		}
		if best != j {
			Swap(q[j*d:(j+1)*d], q[best*d:(best+1)*d])
			pivot[j], pivot[best] = pivot[best], pivot[j]
			scale[j], scale[best] = scale[best], scale[j]
			for p := range j {
				r[p*c+j], r[p*c+best] = r[p*c+best], r[p*c+j]
			}
		}
		qj := q[j*d : (j+1)*d]
		for p := range j { // reorthogonalise
			qp := q[p*d : (p+1)*d]
			s := Dot4(qp, qj)
			r[p*c+j] += s
			Axpy(qj, -s, qp)
		}
		s := Norm4(qj)
		if s <= tolerance {
			return j
		}
		r[j*c+j] = s
		for t := range qj {
			qj[t] /= s
		}
		for p := j + 1; p < k; p++ {
			qp := q[p*d : (p+1)*d]
			s := Dot4(qj, qp)
			r[j*c+p] = s
			Axpy(qp, -s, qj)
		}
	}
	return k
}

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

// Dot returns a·b, added in the order of the elements. b may be longer than a.
func Dot(a, b []float64) (s float64) {
	b = b[:len(a)]
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

// Norm returns ‖a‖ by Dot.
func Norm(a []float64) float64 { return math.Sqrt(Dot(a, a)) }

// SquaredDistance returns ‖a − b‖², added in the order of the elements. b may be longer than a.
func SquaredDistance(a, b []float64) (s float64) {
	b = b[:len(a)]
	for i, v := range a {
		s += (v - b[i]) * (v - b[i])
	}
	return s
}

// Largest returns max |a_i|.
func Largest(a []float64) (size float64) {
	for _, v := range a {
		size = max(size, math.Abs(v))
	}
	return size
}

// Finite says whether all elements are numbers.
func Finite(a []float64) bool {
	for _, v := range a {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// Dot4 returns a·b, added in four lanes, which the processor runs side by side. b may be longer than a.
func Dot4(a, b []float64) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(a); i += 4 {
		p, q := (*[4]float64)(a[i:]), (*[4]float64)(b[i:])
		s0 += p[0] * q[0]
		s1 += p[1] * q[1]
		s2 += p[2] * q[2]
		s3 += p[3] * q[3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + (s2 + s3)
}

// Norm4 returns ‖a‖ by Dot4.
func Norm4(a []float64) float64 { return math.Sqrt(Dot4(a, a)) }

// Axpy adds s·x to y. x may be longer than y.
func Axpy(y []float64, s float64, x []float64) {
	x = x[:len(y)]
	i := 0
	for ; i+4 <= len(y); i += 4 {
		p, q := (*[4]float64)(y[i:]), (*[4]float64)(x[i:])
		p[0] += s * q[0]
		p[1] += s * q[1]
		p[2] += s * q[2]
		p[3] += s * q[3]
	}
	for ; i < len(y); i++ {
		y[i] += s * x[i]
	}
}

// AddScaled writes x + s·v, which may stand in the place of x or v.
func AddScaled(dst, x []float64, s float64, v []float64) {
	x, v = x[:len(dst)], v[:len(dst)]
	for i := range dst {
		dst[i] = x[i] + s*v[i]
	}
}

// Scaled writes s·x, which may stand in the place of x.
func Scaled(dst []float64, s float64, x []float64) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = s * v
	}
}

// Swap exchanges two vectors of one length.
func Swap(a, b []float64) {
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
}

// Mul writes A B of p×p matrices.
func Mul(dst, a, b []float64, p int) {
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

// MulT writes A Bᵀ of p×p matrices.
func MulT(dst, a, b []float64, p int) {
	for i := range p {
		for j := range p {
			dst[i*p+j] = Dot(a[i*p:(i+1)*p], b[j*p:(j+1)*p])
		}
	}
}

// TMul writes AᵀB of p×p matrices.
func TMul(dst, a, b []float64, p int) {
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

package geometry

import "math"

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
	factorCholesky(w, n)
	solveCholesky(w, z, n)
}

// factorCholesky overwrites the lower triangle of W (n×n) with L, W = LLᵀ.
func factorCholesky(w []float64, n int) {
	for i := range n {
		for j := range i + 1 {
			s := w[i*n+j] - dot(w[i*n:i*n+j], w[j*n:j*n+j])
			if i == j {
				w[i*n+i] = math.Sqrt(s)
			} else {
				w[i*n+j] = s / w[j*n+j]
			}
		}
	}
}

// solveCholesky solves LLᵀ z = z in place.
func solveCholesky(w, z []float64, n int) {
	for i := range n {
		z[i] = (z[i] - dot(w[i*n:i*n+i], z[:i])) / w[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		z[i] /= w[i*n+i]
		axpy(z[:i], -z[i], w[i*n:i*n+i])
	}
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
			axpy(a[i*n+k+1:(i+1)*n], -f, a[k*n+k+1:(k+1)*n])
			x[i] -= f * x[k]
		}
	}
	for i := n - 1; i >= 0; i-- {
		x[i] = (x[i] - dot(a[i*n+i+1:(i+1)*n], x[i+1:n])) / a[i*n+i]
	}
	return true
}

// dot sums in four lanes, which the processor runs side by side.
func dot(a, b []float64) float64 {
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

// axpy adds s·x to y.
func axpy(y []float64, s float64, x []float64) {
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

// scaled writes s·x to y.
func scaled(y []float64, s float64, x []float64) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] = s * v
	}
}

func swap(a, b []float64) {
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
}

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

// eigen diagonalises the symmetric p×p matrix a by cyclic Jacobi rotations: it
// leaves the eigenvalues on a's diagonal and the eigenvectors in the columns of
// u. To the last bits whatever the order of eigenvalues, and quick for matrices
// near I.
func eigen(a, u []float64, p int) {
	clear(u)
	for i := range p {
		u[i*p+i] = 1
	}
	for range 50 {
		off, size := 0.0, 0.0
		for i := range p {
			size += a[i*p+i] * a[i*p+i]
			for j := range i {
				off += a[i*p+j] * a[i*p+j]
			}
		}
		if !(off > 0x1p-110*size) {
			return
		}
		for i := range p {
			for j := i + 1; j < p; j++ {
				rotate(a, u, i, j, p)
			}
		}
	}
}

// rotate turns the (i, j) plane so that a_ij = 0.
func rotate(a, u []float64, i, j, p int) {
	if a[i*p+j] == 0 {
		return
	}
	θ := (a[j*p+j] - a[i*p+i]) / (2 * a[i*p+j])
	t := 1 / (math.Abs(θ) + math.Sqrt(θ*θ+1))
	if θ < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(t*t+1)
	s := t * c
	shift := t * a[i*p+j]
	a[i*p+i] -= shift
	a[j*p+j] += shift
	a[i*p+j], a[j*p+i] = 0, 0
	for k := range p {
		if k != i && k != j {
			x, y := a[k*p+i], a[k*p+j]
			x, y = c*x-s*y, s*x+c*y
			a[k*p+i], a[k*p+j] = x, y
			a[i*p+k], a[j*p+k] = x, y
		}
		x, y := u[k*p+i], u[k*p+j]
		u[k*p+i], u[k*p+j] = c*x-s*y, s*x+c*y
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

// determinant of the p×p matrix a, which it overwrites, by elimination with
// partial pivoting.
func determinant(a []float64, p int) float64 {
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
		}
		det *= a[k*p+k]
		for i := k + 1; i < p; i++ {
			f := a[i*p+k] / a[k*p+k]
			for j := k; j < p; j++ {
				a[i*p+j] -= f * a[k*p+j]
			}
		}
	}
	return det
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

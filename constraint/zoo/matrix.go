package zoo

import "github.com/landing-diffusion/landing/internal/dense"

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

// lyapunov solves M S + S M = R for symmetric R (in s, overwritten by S), with M = U diag(λ) Uᵀ.
func lyapunov(s, λ, u, scratch []float64, p int) {
	dense.Mul(scratch, s, u, p) // R U
	for i := range p {          // UᵀRU, divided
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
	dense.Mul(scratch, u, s, p)
	dense.MulT(s, scratch, u, p)
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

package zoo

import (
	"fmt"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A gram is the set of p orthonormal vectors a_0 … a_{p−1} of R^n,
//
//	h_ij = a_i·a_j − δ_ij,   i ≤ j, row by row,
//
// with A = (a_0 … a_{p−1}) stored row-major, an n×p matrix. With M = AᵀA and a symmetric p×p matrix S,
// everything normal has the form A S, and ∇h(A S) = M S + S M. So the geometry
// needs no factorisation of the p(p+1)/2 gradients, only the eigenvalues of M:
//
//	Π V          = V − A S,       M S + S M = AᵀV + VᵀA
//	∇hᵀG⁻¹u      = A S,           M S + S M = u
//	landing      = A (I − M⁻¹)/2
type gram struct{ n, p int }

func (g gram) Dim() int             { return g.n * g.p }
func (g gram) components() int      { return g.p * (g.p + 1) / 2 }
func (gram) Inequalities() []string { return nil }

func (g gram) Equalities() []string {
	names := make([]string, 0, g.components())
	for i := range g.p {
		for j := i; j < g.p; j++ {
			names = append(names, fmt.Sprintf("gram[%d,%d]", i, j))
		}
	}
	return names
}

func (g gram) NewEvaluator(int) constraint.Evaluator {
	e := evaluator(g)
	e.Projector = g
	return e
}

func (g gram) Values(values, x []float64, n int) {
	d, e := g.Dim(), 0
	for t := range n {
		xt := x[t*d : (t+1)*d]
		for i := range g.p {
			for j := i; j < g.p; j++ {
				sum := 0.0
				for k := range g.n {
					sum += xt[k*g.p+i] * xt[k*g.p+j]
				}
				if i == j {
					sum--
				}
				values[e] = sum
				e++
			}
		}
	}
}

func (g gram) Jacobians(values, jac, x []float64, n int) {
	g.Values(values, x, n)
	g.HessianVectors(jac, nil, x, n) // h is quadratic: ∇h(x) = ∇²h x
}

// HessianVectors: ∇²h_ij v holds v_j in the place of a_i, plus v_i in that of a_j, whatever x is.
func (g gram) HessianVectors(dst, _, v []float64, n int) {
	d := g.Dim()
	clear(dst[:n*g.components()*d])
	for t := range n {
		vt := v[t*d : (t+1)*d]
		for i := range g.p {
			for j := i; j < g.p; j++ {
				for k := range g.n {
					dst[k*g.p+i] += vt[k*g.p+j]
					dst[k*g.p+j] += vt[k*g.p+i]
				}
				dst = dst[d:]
			}
		}
	}
}

// Work of a point: the eigenvalues λ of M (p) and its eigenvectors by columns U (p²), then scratch of 2p².

func (g gram) WorkSize() int { return g.p + 3*g.p*g.p }

func (g gram) work(work []float64, t int) (λ, u, s, scratch []float64) {
	p, q := g.p, g.p*g.p
	w := work[t*g.WorkSize() : (t+1)*g.WorkSize()]
	return w[:p], w[p : p+q], w[p+q : p+2*q], w[p+2*q:]
}

// regularGram: with a smaller ratio of M's extreme eigenvalues a point is left to
// the rank-revealing factorisation of package geometry.
const regularGram = 1e-12

func (g gram) Factor(values, work []float64, regular []bool, x []float64, n int) {
	g.Values(values, x, n)
	m := g.components()
	for t := range n {
		λ, u, s, scratch := g.work(work, t)
		unpack(s, values[t*m:(t+1)*m], g.p)
		for i := range g.p {
			s[i*g.p+i]++
		}
		dense.Eigen(s, u, scratch, g.p)
		lo, hi := s[0], s[0]
		for i := range λ {
			λ[i] = s[i*g.p+i]
			lo, hi = min(lo, λ[i]), max(hi, λ[i])
		}
		regular[t] = lo > regularGram*hi && finite(hi)
	}
}

func (g gram) Tangent(dst, v, x, work []float64, n int) {
	d, p := g.Dim(), g.p
	for t := range n {
		λ, u, s, scratch := g.work(work, t)
		xt, vt, out := x[t*d:(t+1)*d], v[t*d:(t+1)*d], dst[t*d:(t+1)*d]
		g.cross(s, xt, vt)
		lyapunov(s, λ, u, scratch, p)
		copy(out, vt)
		for k := range g.n { // out −= A S
			for i := range p {
				a := xt[k*g.p+i]
				for j, w := range s[i*p : (i+1)*p] {
					out[k*g.p+j] -= a * w
				}
			}
		}
	}
}

func (g gram) cross(s, x, v []float64) {
	p := g.p
	clear(s)
	for k := range g.n {
		for i := range p {
			a := x[k*g.p+i]
			row := s[i*p : (i+1)*p]
			for j := range row {
				row[j] += a * v[k*g.p+j]
			}
		}
	}
	for i := range p {
		for j := i; j < p; j++ {
			w := s[i*p+j] + s[j*p+i]
			s[i*p+j], s[j*p+i] = w, w
		}
	}
}

func (g gram) Normal(dst, c, x, work []float64, n int) {
	d, m := g.Dim(), g.components()
	for t := range n {
		λ, u, s, scratch := g.work(work, t)
		unpack(s, c[t*m:(t+1)*m], g.p)
		lyapunov(s, λ, u, scratch, g.p)
		g.times(dst[t*d:(t+1)*d], x[t*d:(t+1)*d], s)
	}
}

func (g gram) Landing(dst, x, work []float64, n int) {
	d, p := g.Dim(), g.p
	for t := range n {
		λ, u, s, _ := g.work(work, t)
		function(s, λ, u, p, func(λ float64) float64 { return (λ - 1) / (2 * λ) })
		g.times(dst[t*d:(t+1)*d], x[t*d:(t+1)*d], s)
	}
}

func (g gram) times(dst, x, s []float64) {
	p := g.p
	clear(dst)
	for k := range g.n {
		for i := range p {
			a := x[k*g.p+i]
			for j, w := range s[i*p : (i+1)*p] {
				dst[k*g.p+j] += a * w
			}
		}
	}
}

// SampleUniform orthonormalises Gaussian vectors in order. That is the QR factorisation with positive diagonal of R, so
// the law is the invariant one (Haar measure); other signs of R would not give it.
func (g gram) SampleUniform(dst []float64, st keyed.Stream, sample uint64) {
	for step := 0; ; step++ {
		st.Normals(dst, sample, step)
		if dense.Orthonormalise(dst, g.n, g.p) {
			return
		}
	}
}

// Stiefel is V(n, p) = {X ∈ R^(n×p) : XᵀX − I = 0}, with the equalities i ≤ j. A point is the row-major matrix.
type Stiefel struct{ gram }

// NewStiefel returns V(n, p), 1 ≤ p ≤ n, or a *DomainError.
func NewStiefel(n, p int) (Stiefel, error) {
	if n < 1 || n > maxOrder {
		return Stiefel{}, &DomainError{"stiefel", "n", n, fmt.Sprintf("1 to %d rows", maxOrder)}
	}
	if p < 1 || p > n {
		return Stiefel{}, &DomainError{"stiefel", "p", p, fmt.Sprintf("1 to n = %d columns", n)}
	}
	return Stiefel{gram{n: n, p: p}}, nil
}

// maxOrder bounds n: Jacobians have n·p·p(p+1)/2 numbers a point.
const maxOrder = 100

func (s Stiefel) String() string { return fmt.Sprintf("Stiefel manifold V(%d, %d)", s.n, s.p) }

func (s Stiefel) Capabilities() constraint.Capabilities {
	return named(s.String(), s.SampleUniform, s.formulas)
}

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
	dense.TMul(s, u, scratch, p)
	for i := range p { // UᵀRU, divided
		for j := range p {
			s[i*p+j] /= λ[i] + λ[j]
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

package reference

import (
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
)

// Ridge is the reference implementation's geometry: (G + λI)⁻¹ instead of G†, on the gradients as they are, without
// rank or scaling. Π² differs from Π. Where a gradient vanishes Π becomes the identity and lets go of Σ, which is no
// error.
type Ridge struct {
	λ, ε float64
	eval constraint.Evaluator
	d, m int
	c, n int

	x, values, jac []float64
	active         [][]int     // of each point
	gram           [][]float64 // Cholesky factors of G + λI
	u              []float64
}

var _ geometry.Geometry = (*Ridge)(nil)

// NewRidge returns what makes the geometry of s with ridge λ and repulsion ε, as
// langevin.Process.NewGeometry takes it.
func NewRidge(s constraint.Set, λ, ε float64) func(rows int) geometry.Geometry {
	d, m, c := s.Dim(), len(s.Equalities()), len(constraint.Components(s))
	return func(rows int) geometry.Geometry {
		vec := func(n int) []float64 { return make([]float64, rows*n) }
		return &Ridge{
			λ: λ, ε: ε, eval: s.NewEvaluator(rows), d: d, m: m, c: c,
			x: vec(d), values: vec(c), jac: vec(c * d),
			active: make([][]int, rows), gram: make([][]float64, rows), u: make([]float64, c),
		}
	}
}

// At implements geometry.Geometry.
func (g *Ridge) At(x []float64, n int) error {
	d, c := g.d, g.c
	g.n = 0
	copy(g.x, x[:n*d])
	g.eval.Jacobians(g.values[:n*c], g.jac[:n*c*d], g.x[:n*d], n)
	for i := range n {
		g.active[i] = g.active[i][:0]
		for a := range c {
			v := g.values[i*c+a]
			if v-v != 0 {
				return &geometry.NonFiniteError{Row: i, Component: "reference", Value: v}
			}
			if a < g.m || v >= 0 {
				g.active[i] = append(g.active[i], a)
			}
		}
		k := len(g.active[i])
		w := make([]float64, k*k)
		for p, a := range g.active[i] {
			for t, b := range g.active[i][:p+1] {
				w[p*k+t] = dense.Dot4(g.row(i, a), g.row(i, b))
			}
			w[p*k+p] += g.λ
		}
		dense.FactorCholesky(w, k)
		g.gram[i] = w
	}
	g.n = n
	return nil
}

func (g *Ridge) row(i, a int) []float64 { return g.jac[(i*g.c+a)*g.d : (i*g.c+a+1)*g.d] }

// Points implements geometry.Geometry.
func (g *Ridge) Points() []float64 { return g.x[:g.n*g.d] }

// Values implements geometry.Geometry.
func (g *Ridge) Values() []float64 { return g.values[:g.n*g.c] }

// Active implements geometry.Geometry.
func (g *Ridge) Active(i int) int { return len(g.active[i]) }

// Rank implements geometry.Geometry: the ridge knows none.
func (g *Ridge) Rank(i int) int { return len(g.active[i]) }

// Tangent implements geometry.Geometry: v − ∇Jᵀ (G + λI)⁻¹ ∇J v.
func (g *Ridge) Tangent(dst, v []float64) {
	d := g.d
	for i := range g.n {
		out := dst[i*d : (i+1)*d]
		copy(out, v[i*d:(i+1)*d])
		u := g.u[:len(g.active[i])]
		for p, a := range g.active[i] {
			u[p] = dense.Dot4(g.row(i, a), out)
		}
		dense.SolveCholesky(g.gram[i], u, len(u))
		for p, a := range g.active[i] {
			dense.Axpy(out, -u[p], g.row(i, a))
		}
	}
}

// Normal implements geometry.Geometry: ∇Jᵀ (G + λI)⁻¹ u.
func (g *Ridge) Normal(dst, u []float64) { g.normal(dst, u, 0) }

// Landing implements geometry.Geometry: ∇Jᵀ (G + λI)⁻¹ J.
func (g *Ridge) Landing(dst []float64) { g.normal(dst, g.values, g.ε) }

func (g *Ridge) normal(dst, u []float64, ε float64) {
	d := g.d
	for i := range g.n {
		out, z := dst[i*d:(i+1)*d], g.u[:len(g.active[i])]
		for p, a := range g.active[i] {
			if z[p] = u[i*g.c+a]; a >= g.m {
				z[p] += ε
			}
		}
		dense.SolveCholesky(g.gram[i], z, len(z))
		clear(out)
		for p, a := range g.active[i] {
			dense.Axpy(out, z[p], g.row(i, a))
		}
	}
}

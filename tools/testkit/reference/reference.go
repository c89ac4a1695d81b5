// Package reference holds feasible sets as the paper's reference implementation
// writes them, for tests against its numbers.
package reference

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

// Alanine is the set on ten atoms in R³ where the torsion φ of atoms 1, 3, 4, 6
// is fixed and ψ of 3, 4, 6, 8 stays in a window, written as one maximum.
var Alanine = testkit.Must(formula.New(formula.Spec{Dim: 30,
	Let: formula.Definitions{{Name: "ψ", Expr: "dihedral(x[9:12], x[12:15], x[18:21], x[24:27])"}},
	Equality: []formula.Component{{Name: "φ",
		Expr: "dihedral(x[3:6], x[9:12], x[12:15], x[18:21]) + 1.2217304763960306"}},
	Inequality: []formula.Component{{Name: "ψ", Expr: "max(ψ - 2.9670597283903604, 2.2689280275926285 - ψ)"}},
}))

// Landed holds Π of the case's y, and a step of 0.1 Πy that lands at the points x (n×d) or at its proposal, against the
// golden numbers named where: "on" or "off" Σ. b is at x.
func Landed(t *testing.T, f func(name string) []float64, where string, b geometry.Geometry, x []float64, ατ float64) {
	t.Helper()
	tangent, landing := make([]float64, len(x)), make([]float64, len(x))
	b.Tangent(tangent, f("y"))
	golden.Near(t, "Πy", tangent, f("tangent_"+where))
	b.Landing(landing)
	explicit, implicit := make([]float64, len(x)), make([]float64, len(x))
	for i, x := range x {
		explicit[i] = x + 0.1*tangent[i] - ατ*landing[i]
		implicit[i] = x - landing[i]
	}
	golden.Near(t, "explicit landing", explicit, f("explicit_"+where))
	golden.Near(t, "implicit landing", implicit, f("implicit_"+where))
}

// Moved is the block of points named base, moved by that named move; "" moves none.
func Moved(f func(name string) []float64, base, move string) []float64 {
	y := slices.Clone(f(base))
	if move != "" {
		for i, v := range f(move) {
			y[i] += v
		}
	}
	return y
}

// Projected holds projections of moved points, with gradients of those named base, against the golden numbers named
// want, and returns which of the n converged.
func Projected(t *testing.T, f func(name string) []float64, s constraint.Set, n int, base, move, want string) []bool {
	t.Helper()
	b := geometry.New(s, n, 0)
	if err := b.At(f(base), n); err != nil {
		t.Fatal(err)
	}
	y, ok := Moved(f, base, move), make([]bool, n)
	geometry.NewProjection(s, n).Project(b, y, y, ok, 0)
	golden.Near(t, want, y, f(want))
	return ok
}

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

// Group is O(n) as the reference implementation writes it, h = XXᵀ − I with the upper triangle row by row: h(X) and
// all that follows from it are those of the package zoo's XᵀX − I at Xᵀ. For Π it has the reference's (V − XVᵀX)/2,
// which is exact on the group only.
type Group struct {
	constraint.Set // O(n) or SO(n) of package zoo
	n              int
}

// NewGroup returns O(n), or SO(n) as the options of package zoo select it.
func NewGroup(n int, o zoo.OrthogonalOptions) (Group, error) {
	s, err := zoo.NewOrthogonal(n, o)
	return Group{s, n}, err
}

// Capabilities are those of package zoo without its formulas, which are of XᵀX.
func (s Group) Capabilities() constraint.Capabilities {
	c := s.Set.Capabilities()
	c.Formulas = nil
	return c
}

// NewEvaluator implements constraint.Set. Retractions and geodesics are left out.
func (s Group) NewEvaluator(rows int) constraint.Evaluator {
	m, e, t := len(s.Equalities()), s.Set.NewEvaluator(rows), transposer{s.n, make([]float64, rows*s.n*s.n)}
	return constraint.Evaluator{
		Values: func(values, x []float64, n int) { e.Values(values, t.in(x, n), n) },
		Jacobians: func(values, jac, x []float64, n int) {
			e.Jacobians(values, jac, t.in(x, n), n)
			t.out(jac, n*m)
		},
		HessianVectors: func(dst, x, v []float64, n int) {
			e.HessianVectors(dst, nil, t.in(v, n), n) // h is quadratic
			t.out(dst, n*m)
		},
		Projector: &groupProjector{e.Projector, t},
	}
}

// groupProjector is the normal space of Group in closed form.
type groupProjector struct {
	constraint.Projector // of XᵀX − I
	t                    transposer
}

func (p *groupProjector) Factor(values, work []float64, regular []bool, x []float64, n int) {
	p.Projector.Factor(values, work, regular, p.t.in(x, n), n)
}

func (p *groupProjector) Tangent(dst, v, x, _ []float64, points int) {
	n, d := p.t.n, p.t.n*p.t.n
	var product mat.Dense // XVᵀX
	for at := 0; at < points*d; at += d {
		X := mat.NewDense(n, n, x[at:at+d])
		product.Mul(X, mat.NewDense(n, n, v[at:at+d]).T())
		product.Mul(&product, X)
		for i, w := range product.RawMatrix().Data {
			dst[at+i] = (v[at+i] - w) / 2
		}
	}
}

func (p *groupProjector) Normal(dst, u, x, work []float64, n int) {
	p.Projector.Normal(dst, u, p.t.in(x, n), work, n)
	p.t.out(dst, n)
}

func (p *groupProjector) Landing(dst, x, work []float64, n int) {
	p.Projector.Landing(dst, p.t.in(x, n), work, n)
	p.t.out(dst, n)
}

// A transposer turns blocks of n×n matrices over.
type transposer struct {
	n    int
	room []float64
}

// in returns the transposes of k matrices, until the next call.
func (t transposer) in(x []float64, k int) []float64 {
	d := t.n * t.n
	copy(t.room, x[:k*d])
	t.out(t.room, k)
	return t.room[:k*d]
}

// out transposes k matrices in place.
func (t transposer) out(x []float64, k int) {
	n, d := t.n, t.n*t.n
	for p := range k {
		m := x[p*d : (p+1)*d]
		for i := range n {
			for j := range i {
				m[i*n+j], m[j*n+i] = m[j*n+i], m[i*n+j]
			}
		}
	}
}

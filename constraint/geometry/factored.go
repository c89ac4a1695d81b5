package geometry

import (
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A factored is the geometry by a rank-revealing QR factorisation of the unit
// gradients of the active components, group by group.
type factored struct {
	*points
	*layout
	until
	ε   float64
	der derivatives

	jac   []float64 // rows×mat: ∇J by groups
	count []int     // rows×groups: active components
	rank  []int     // rows×groups: rank of ∇J
	pivot []int     // rows×c: active components of each group, its own numbers, in the order of elimination
	scale []float64 // rows×c: norms of their gradients
	q     []float64 // rows×mat: orthonormal basis of the normal space, by rows
	r     []float64 // rows×sq: column i is the i-th pivoted unit gradient in basis q

	z, rhs, square []float64 // small solves: c, c, widest²
	buf            []float64 // a group's coordinates: d
}

func newFactored(p *points, l *layout, ε float64) *factored {
	groups := p.rows * len(l.groups)
	return &factored{
		points: p, layout: l, ε: ε, der: newDerivatives(p.eval, l, p.c, p.d, p.rows),
		jac: make([]float64, p.rows*l.mat), q: make([]float64, p.rows*l.mat), r: make([]float64, p.rows*l.sq),
		count: make([]int, groups), rank: make([]int, groups),
		pivot: make([]int, p.rows*p.c), scale: make([]float64, p.rows*p.c),
		z: make([]float64, p.c), rhs: make([]float64, p.c), square: make([]float64, l.widest*l.widest),
		buf: make([]float64, p.d),
	}
}

// At implements Geometry.
func (g *factored) At(x []float64, n int) error { return g.hold(x, n, g.factorAll) }

func (g *factored) factorAll(n int) error {
	g.der.at(g.values, g.jac, g.x, n)
	for i := range n {
		if g.mat*g.widest > heavy {
			if err := g.until.Err(); err != nil {
				return err
			}
		}
		if err := g.factorGroups(i); err != nil {
			return err
		}
	}
	return nil
}

// factorRow computes the gradients and factors of point i alone.
func (g *factored) factorRow(i int) error {
	g.der.at(g.values[i*g.c:], g.jac[i*g.mat:], g.x[i*g.d:], 1)
	return g.factorGroups(i)
}

func (g *factored) factorGroups(i int) error {
	for a := range g.groups {
		if err := g.factor(i, a); err != nil {
			return err
		}
	}
	return nil
}

// factor computes the factorisation of group a at point i: with the components in their own order if they are well
// apart, otherwise with column pivoting, which reveals the rank.
func (g *factored) factor(i, a int) error {
	gr := &g.groups[a]
	d, c := gr.d, gr.c
	vals := g.values[i*g.c : (i+1)*g.c]
	jac, q := g.jac[i*g.mat+gr.mat:][:c*d], g.q[i*g.mat+gr.mat:][:c*d]
	r := g.r[i*g.sq+gr.sq:][:c*c]
	pivot, scale := g.pivot[i*g.c+gr.vec:][:c], g.scale[i*g.c+gr.vec:][:c]

	// I_x = {j : g_j(x) ≥ 0}; equalities are always active. An inequality whose
	// gradient vanishes has no direction to push in and is left out.
	k := 0
	for l, comp := range gr.comp {
		row := jac[l*d : (l+1)*d]
		s := dense.Norm4(row)
		if err := g.check(i, comp, s); err != nil {
			return err
		}
		if l >= gr.m && (vals[comp] < 0 || s < GradientTolerance) {
			continue
		}
		dense.Scaled(q[k*d:(k+1)*d], 1/s, row)
		pivot[k], scale[k] = l, s
		k++
	}
	at := i*len(g.groups) + a
	g.count[at], g.rank[at] = k, k
	switch {
	case k == 1:
		r[0] = 1
	case !dense.QR(q, r, k, c, d):
		for e := range k {
			dense.Scaled(q[e*d:(e+1)*d], 1/scale[e], jac[pivot[e]*d:(pivot[e]+1)*d])
		}
		g.rank[at] = dense.PivotedQR(q, r, pivot, scale, k, c, d, RankTolerance)
	}
	return nil
}

// Active implements Geometry.
func (g *factored) Active(i int) int { return sum(g.count, i, len(g.groups)) }

// Rank implements Geometry.
func (g *factored) Rank(i int) int { return sum(g.rank, i, len(g.groups)) }

func sum(v []int, i, width int) (s int) {
	for _, k := range v[i*width : (i+1)*width] {
		s += k
	}
	return s
}

// Tangent implements Geometry.
func (g *factored) Tangent(dst, v []float64) {
	for i := range g.n {
		g.tangent(dst[i*g.d:(i+1)*g.d], v[i*g.d:(i+1)*g.d], i)
	}
	g.points.rest(dst)
}

// Normal implements Geometry.
func (g *factored) Normal(dst, u []float64) {
	for i := range g.n {
		g.normal(dst[i*g.d:(i+1)*g.d], u[i*g.c:(i+1)*g.c], 0, i)
	}
}

// Landing implements Geometry.
func (g *factored) Landing(dst []float64) {
	for i := range g.n {
		g.landing(dst[i*g.d:(i+1)*g.d], i)
	}
}

func (g *factored) tangent(out, v []float64, i int) {
	if &out[0] != &v[0] {
		copy(out, v)
	}
	for a := range g.groups {
		gr := &g.groups[a]
		t := gr.take(g.buf, out)
		for q, _ := g.basis(i, a); len(q) > 0; q = q[gr.d:] {
			dense.Axpy(t, -dense.Dot4(q[:gr.d], t), q[:gr.d])
		}
		gr.put(out, t)
	}
}

func (g *factored) landing(out []float64, i int) {
	g.normal(out, g.values[i*g.c:(i+1)*g.c], g.ε, i)
}

// normal writes ∇Jᵀ G† u at point i, with ε added to the inequalities in u.
func (g *factored) normal(out, u []float64, ε float64, i int) {
	if len(g.groups) != 1 || g.groups[0].coord != nil {
		clear(out) // coordinates that no component touches
	}
	for a := range g.groups {
		gr := &g.groups[a]
		o, k := i*g.c+gr.vec, g.count[i*len(g.groups)+a]
		rhs := g.rhs[:k]
		for e, l := range g.pivot[o : o+k] {
			v := u[gr.comp[l]]
			if l >= gr.m {
				v += ε
			}
			rhs[e] = v / g.scale[o+e]
		}
		t := out
		if gr.coord != nil {
			t = g.buf[:gr.d]
		}
		g.solve(t, rhs, i, a)
		gr.put(out, t)
	}
}

// solve writes the vector Qᵀz of least norm with (unit gradients)·Qᵀz = rhs, in
// the least-squares sense where gradients are dependent.
func (g *factored) solve(out, rhs []float64, i, a int) {
	gr := &g.groups[a]
	c, d := gr.c, gr.d
	q, rank := g.basis(i, a)
	r, z := g.r[i*g.sq+gr.sq:][:c*c], g.z[:rank]
	if rank == len(rhs) { // Rᵀ z = rhs by forward substitution
		for j := range z {
			s := rhs[j]
			for p := range j {
				s -= r[p*c+j] * z[p]
			}
			z[j] = s / r[j*c+j]
		}
	} else {
		dense.LeastSquares(z, r, rhs, c, 1, g.square)
	}
	clear(out)
	for j, s := range z {
		dense.Axpy(out, s, q[j*d:(j+1)*d])
	}
}

// basis implements base.
func (g *factored) basis(i, a int) ([]float64, int) {
	gr, rank := &g.groups[a], g.rank[i*len(g.groups)+a]
	return g.q[i*g.mat+gr.mat:][:rank*gr.d], rank
}

// gradients implements base.
func (g *factored) gradients(i, a int) []float64 {
	gr := &g.groups[a]
	return g.jac[i*g.mat+gr.mat:][:gr.c*gr.d]
}

// derivatives evaluates values and first derivatives, the latter by groups.
type derivatives struct {
	eval   constraint.Evaluator
	l      *layout
	c, d   int
	packed []float64 // rows×(numbers of a packed Jacobian)
}

func newDerivatives(e constraint.Evaluator, l *layout, c, d, rows int) derivatives {
	return derivatives{e, l, c, d, make([]float64, rows*len(l.place))}
}

// at writes values (n×c) and derivatives (n×mat) at n points.
func (f *derivatives) at(values, jac, x []float64, n int) {
	mat, place := f.l.mat, f.l.place
	if place == nil {
		f.eval.Jacobians(values[:n*f.c], jac[:n*mat], x[:n*f.d], n)
		return
	}
	k := len(place)
	f.eval.SparseJacobians(values[:n*f.c], f.packed[:n*k], x[:n*f.d], n)
	for i := range n {
		out, in := jac[i*mat:(i+1)*mat], f.packed[i*k:(i+1)*k]
		for a, p := range place {
			out[p] = in[a] // the rest is zero since it was allocated
		}
	}
}

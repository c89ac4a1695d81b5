// Package geometry computes what a landing step needs to know of Σ at a block
// of points: the active set, the rank of ∇J, the projector
//
//	Π(x) = I − ∇Jᵀ G† ∇J,   G = ∇J ∇Jᵀ,
//
// the landing direction ∇Jᵀ G† J, the curvature terms 𝓗, 𝓗₁, 𝓗₂ and Newton's
// projection (paper, Section 3 and Propositions 1 and 2).
//
// G is never formed. A rank-revealing QR factorisation of the row-normalised
// ∇J gives an orthonormal basis Q of the normal space, so Π = I − QᵀQ is a
// projector to round-off even where constraints are redundant, and nothing
// depends on how the rows of a constraint are scaled. Components that share no
// coordinates (their Support) are factored apart, at the sum of their costs;
// a set that knows its normal space (constraint.Projector) is not factored.
package geometry

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

const (
	// RankTolerance: a unit gradient whose part outside the span of the others
	// is shorter than this is counted as dependent on them.
	RankTolerance = 1e-10
	// GradientTolerance: a gradient shorter than this counts as zero.
	GradientTolerance = 1e-12
)

// A Block holds the geometry at up to Rows points: that of the last call of At,
// whatever happens to the points afterwards. It is scratch space for one
// goroutine; methods allocate at most once.
type Block struct {
	set   constraint.Set
	eval  constraint.Evaluator // of rows points
	names []string
	ε     float64
	ridge float64 // 0, or the reference's λ in (G + λI)⁻¹

	d, m, c int // ambient dimension, equalities, all components
	rows, n int // room, and points held

	single bool // one dense equality
	groups []group
	place  []int // of packed derivatives in a point's matrices; nil if dense
	packed []float64
	mat    int // numbers in a point's c×d matrices, groups one after the other
	sq     int // the same of c×c matrices
	widest int // components of the largest group

	x      []float64 // n×d: the points
	values []float64 // n×c
	jac    []float64 // n×mat: ∇J by groups

	count []int     // n×groups: active components
	rank  []int     // n×groups: rank of ∇J
	pivot []int     // n×c: active components of each group, its own numbers, in the order of elimination
	scale []float64 // n×c: norms of their gradients
	q     []float64 // n×mat: orthonormal basis of the normal space, by rows
	r     []float64 // n×sq: column i is the i-th pivoted unit gradient in basis q

	z, w, rhs []float64 // small solves: c, widest², c
	buf, buf2 []float64 // a group's coordinates: d
	newton    *newton   // made on first use
	closed    *closed   // nil unless the set is a constraint.Projector
	hv, hd    []float64 // n×c×d Hessian-vector products and n×d directions
	comp      []float64 // n×c

	// Projections counts what Project did since TakeProjections cleared it.
	Projections Projections
}

// An Option changes how a Block computes.
type Option func(*Block)

// Ridge replaces G† by (G + λI)⁻¹ without rank or scaling, as the paper's
// reference implementation does with λ = 1e-6. It is for reproducing its
// numbers: where a gradient vanishes, Π becomes the identity and lets go of Σ.
func Ridge(λ float64) Option { return func(b *Block) { b.ridge = λ } }

// NewBlock makes room for the geometry of rows points of s, with boundary
// repulsion ε ≥ 0.
func NewBlock(s constraint.Set, rows int, ε float64, options ...Option) *Block {
	if rows <= 0 {
		panic("geometry: a block needs at least one row")
	}
	d, m := s.Dim(), len(s.Equalities())
	c := m + len(s.Inequalities())
	b := &Block{
		set: s, eval: s.NewEvaluator(rows), names: constraint.Components(s), ε: ε, d: d, m: m, c: c, rows: rows,
		x: make([]float64, rows*d), values: make([]float64, rows*c),
		z: make([]float64, c), rhs: make([]float64, c),
		buf: make([]float64, d), buf2: make([]float64, d), comp: make([]float64, rows*c),
	}
	for _, o := range options {
		o(b)
	}
	b.groups, b.place = makeGroups(s)
	for _, g := range b.groups {
		b.mat, b.sq, b.widest = b.mat+g.c*g.d, b.sq+g.c*g.c, max(b.widest, g.c)
	}
	b.count, b.rank = make([]int, rows*len(b.groups)), make([]int, rows*len(b.groups))
	b.closed = b.newClosed()
	b.single = b.one() && b.closed == nil
	if b.closed == nil {
		b.factored()
	}
	return b
}

// factored makes room for gradients and their factors, once.
func (b *Block) factored() {
	if b.jac != nil {
		return
	}
	b.jac, b.q, b.r = make([]float64, b.rows*b.mat), make([]float64, b.rows*b.mat), make([]float64, b.rows*b.sq)
	b.pivot, b.scale = make([]int, b.rows*b.c), make([]float64, b.rows*b.c)
	b.w = make([]float64, b.widest*b.widest)
	b.packed = make([]float64, b.rows*len(b.place))
}

// JacobianSize returns how many numbers a Block keeps of ∇J at each point: m·d of a
// dense set, fewer of one with a Support.
func JacobianSize(s constraint.Set) int {
	groups, _ := makeGroups(s)
	size := 0
	for _, g := range groups {
		size += g.c * g.d
	}
	return size
}

// A RankError says that an equality cannot be followed because its gradient
// vanishes, as that of a squared constraint does on Σ.
type RankError struct {
	Row       int    // point of the block
	Component string // constraint's name
	Norm      float64
}

func (e *RankError) Error() string {
	return fmt.Sprintf("constraint %q has a vanishing gradient (norm %.3g) at point %d: its rank drops there; write it without squares, or away from its singular points",
		e.Component, e.Norm, e.Row)
}

// A NonFiniteError says that a constraint or its gradient is NaN or infinite.
type NonFiniteError struct {
	Row       int
	Component string
	Value     float64
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("constraint %q is not finite (%v) at point %d", e.Component, e.Value, e.Row)
}

// At evaluates the geometry at the n points x (n×d), which it copies: the other
// methods use that geometry until the next call of At, and no call of At is
// answered from an earlier one. The error, if any, is a *NonFiniteError or a
// *RankError and names the first such point; the block then holds no geometry.
func (b *Block) At(x []float64, n int) error {
	if n > b.rows || len(x) < n*b.d {
		panic(fmt.Sprintf("geometry: %d points of dimension %d in a block of %d, from %d numbers", n, b.d, b.rows, len(x)))
	}
	b.n = 0
	copy(b.x, x[:n*b.d])
	if err := b.evaluate(n); err != nil {
		return err
	}
	b.n = n
	return nil
}

func (b *Block) evaluate(n int) error {
	if b.closed != nil {
		return b.factorClosed(n)
	}
	b.jacobians(b.values, b.jac, b.x, n)
	if b.single {
		return b.factorOne(n)
	}
	for i := range n {
		for a := range b.groups {
			if err := b.factor(i, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// jacobians writes values (n×c) and derivatives by groups (n×mat) at n points.
func (b *Block) jacobians(values, jac, x []float64, n int) {
	if b.place == nil {
		b.eval.Jacobians(values[:n*b.c], jac[:n*b.mat], x[:n*b.d], n)
		return
	}
	packed, k := b.packed, len(b.place)
	b.eval.SparseJacobians(values[:n*b.c], packed[:n*k], x[:n*b.d], n)
	for i := range n {
		out, in := jac[i*b.mat:(i+1)*b.mat], packed[i*k:(i+1)*k]
		for a, p := range b.place {
			out[p] = in[a] // the rest is zero since it was allocated
		}
	}
}

// Rank returns the rank of ∇J at point i; below Active, some are redundant.
func (b *Block) Rank(i int) int { return sum(b.rank, i, len(b.groups)) }

// Active returns the number of components in J at point i.
func (b *Block) Active(i int) int { return sum(b.count, i, len(b.groups)) }

func sum(v []int, i, width int) (s int) {
	for _, k := range v[i*width : (i+1)*width] {
		s += k
	}
	return s
}

// Groups returns how many groups of components the set falls into.
func (b *Block) Groups() int { return len(b.groups) }

// Values returns the components at the block's points, n×(m+l).
func (b *Block) Values() []float64 { return b.values[:b.n*b.c] }

// Tangent writes Π(x_i) v_i for every point: n×d. dst may be v.
func (b *Block) Tangent(dst, v []float64) {
	if b.single {
		b.tangentOne(dst, v)
		return
	}
	if b.closed != nil {
		b.tangentClosed(dst, v)
		return
	}
	for i := range b.n {
		b.tangent(dst[i*b.d:(i+1)*b.d], v[i*b.d:(i+1)*b.d], i)
	}
}

func (b *Block) tangent(out, v []float64, i int) {
	if &out[0] != &v[0] {
		copy(out, v)
	}
	for a := range b.groups {
		g := &b.groups[a]
		t := g.take(b.buf, out)
		if b.ridge > 0 {
			b.ridgeTangent(t, i, a)
		} else {
			for q := b.basis(i, a); len(q) > 0; q = q[g.d:] {
				dense.Axpy(t, -dense.Dot4(q[:g.d], t), q[:g.d])
			}
		}
		g.put(out, t)
	}
}

// Landing writes ∇Jᵀ G† J at every point, J = [h; g_I + ε]: n×d. It is the
// Gauss–Newton direction away from Σ; a step of minus it lands on an affine Σ.
func (b *Block) Landing(dst []float64) {
	if b.single {
		b.normalOne(dst, b.values)
		return
	}
	if b.closed != nil {
		b.landingClosed(dst)
		return
	}
	for i := range b.n {
		b.landing(dst[i*b.d:(i+1)*b.d], i)
	}
}

func (b *Block) landing(out []float64, i int) {
	b.normal(out, b.values[i*b.c:(i+1)*b.c], b.ε, i)
}

// Normal writes ∇Jᵀ G† u at every point for a vector u of components (n×c; only
// the active ones count): n×d.
func (b *Block) Normal(dst, u []float64) {
	if b.single {
		b.normalOne(dst, u)
		return
	}
	if b.closed != nil {
		b.normalClosed(dst, u)
		return
	}
	for i := range b.n {
		b.normal(dst[i*b.d:(i+1)*b.d], u[i*b.c:(i+1)*b.c], 0, i)
	}
}

// normal writes ∇Jᵀ G† u at point i, with ε added to the inequalities in u.
func (b *Block) normal(out, u []float64, ε float64, i int) {
	if len(b.groups) != 1 || b.groups[0].coord != nil {
		clear(out) // coordinates that no component touches
	}
	for a := range b.groups {
		g := &b.groups[a]
		o := i*b.c + g.vec
		for e, l := range b.pivot[o : o+b.count[i*len(b.groups)+a]] {
			v := u[g.comp[l]]
			if l >= g.m {
				v += ε
			}
			b.rhs[e] = v / b.scale[o+e]
		}
		t := out
		if g.coord != nil {
			t = b.buf[:g.d]
		}
		if b.ridge > 0 {
			b.ridgeNormal(t, i, a)
		} else {
			b.solve(t, i, a)
		}
		g.put(out, t)
	}
}

// check returns an error unless the component (its number in the set) is finite
// and has a gradient.
func (b *Block) check(i, comp int, norm float64) error {
	v := b.values[i*b.c+comp]
	if v-v != 0 || norm-norm != 0 {
		if norm-norm != 0 && v-v == 0 {
			v = norm
		}
		return &NonFiniteError{Row: i, Component: b.names[comp], Value: v}
	}
	if norm < GradientTolerance && comp < b.m && b.ridge == 0 {
		return &RankError{Row: i, Component: b.names[comp], Norm: norm}
	}
	return nil
}

// Package geometry computes what a landing step needs to know of Σ at a block
// of points: the active set, the rank of ∇J, the projector
//
//	Π(x) = I − ∇Jᵀ G† ∇J,   G = ∇J ∇Jᵀ,
//
// the landing direction ∇Jᵀ G† J, the curvature terms 𝓗, 𝓗₁, 𝓗₂, projection along the normals (paper, Section 3 and
// Propositions 1 and 2), and what brings single points to Σ.
//
// A rank-revealing QR factorisation of the row-normalised ∇J gives an orthonormal basis Q of the normal space, so
// Π = I − QᵀQ is a projector to round-off even where constraints are redundant, and nothing depends on how the rows of
// a constraint are scaled. Components that share no coordinates (constraint.Capabilities.Support) are factored apart,
// at the sum of their costs. Where many components each touch few coordinates, G is sparse and is factored in a fixed
// order of elimination (sparse.go). Each solution is refined by ∇J, so that Π is as precise. A set that knows its
// normal space (constraint.Projector) is not factored.
package geometry

import (
	"errors"
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/fault"
)

const (
	// RankTolerance: a unit gradient whose part outside the span of the others
	// is shorter than this is counted as dependent on them.
	RankTolerance = 1e-10
	// GradientTolerance: a gradient shorter than this counts as zero.
	GradientTolerance = 1e-12
)

// A Geometry holds what is known of Σ at a block of points: those of the last call of At, whatever happens to the
// points afterwards. J = [h; g_I + ε] are the equalities and the active inequalities, I = {j : g_j ≥ 0}, which boundary
// repulsion ε ≥ 0 pushes inside. A Geometry is scratch space for one goroutine; methods allocate at most once. A row's
// result does not depend on the rows beside it.
type Geometry interface {
	// At evaluates the geometry at the n points x (n×d), which it copies: the other methods use that geometry until the
	// next call of At, and no call of At is answered from an earlier one. The error, if any, is a *NonFiniteError or a
	// *RankError and names the first such point; there is no geometry then.
	At(x []float64, n int) error
	// Points returns the n points, n×d, and Values the components there, n×(m+l).
	Points() []float64
	Values() []float64
	// Active returns the number of components in J at point i, and Rank the rank of
	// ∇J; below Active, some are redundant.
	Active(i int) int
	Rank(i int) int
	// Tangent writes Π(x_i) v_i for every point: n×d. dst may be v. Coordinates that the
	// set holds (constraint.Capabilities.Held) are no directions: there it writes 0.
	Tangent(dst, v []float64)
	// Normal writes ∇Jᵀ G† u at every point for a vector u of components (n×(m+l); only the active ones count): n×d.
	Normal(dst, u []float64)
	// Landing writes ∇Jᵀ G† J at every point: n×d. It is the Gauss–Newton direction
	// away from Σ; a step of minus it lands on an affine Σ.
	Landing(dst []float64)
}

// New makes room for the geometry of up to rows points of s, with boundary repulsion ε: in closed form where the set
// has one, of a single gradient where there is one equality, and otherwise by a rank-revealing factorisation.
func New(s constraint.Set, rows int, ε float64) Geometry { return newOf(s, rows, ε, newLayout(s)) }

func newOf(s constraint.Set, rows int, ε float64, l *layout) Geometry {
	p := newPoints(s, rows)
	switch {
	case p.eval.Projector != nil && p.c == p.m:
		return newClosed(p, l)
	case p.c == 1 && p.m == 1 && l.place == nil:
		return newSingle(p)
	}
	return newFactored(p, l, ε)
}

// points are what every geometry holds: points, and the components there.
type points struct {
	eval    constraint.Evaluator
	names   []string
	d, m, c int   // ambient dimension, equalities, all components
	rows, n int   // room, and points held
	still   []int // coordinates that do not move

	x      []float64 // rows×d
	values []float64 // rows×c
}

func newPoints(s constraint.Set, rows int) *points {
	if rows <= 0 {
		panic("geometry: a block needs at least one row")
	}
	d, names := s.Dim(), constraint.Components(s)
	return &points{
		eval: s.NewEvaluator(rows), names: names, still: s.Capabilities().Held, d: d, m: len(s.Equalities()),
		c: len(names), rows: rows,
		x: make([]float64, rows*d), values: make([]float64, rows*len(names)),
	}
}

// hold copies n points; they count as held when factor has no error.
func (p *points) hold(x []float64, n int, factor func(n int) error) error {
	if n > p.rows || len(x) < n*p.d {
		panic(fmt.Sprintf("geometry: %d points of dimension %d in a block of %d, from %d numbers", n, p.d, p.rows,
			len(x)))
	}
	p.n = 0
	copy(p.x, x[:n*p.d])
	if err := factor(n); err != nil {
		return err
	}
	p.n = n
	return nil
}

// rest clears what does not move of the vectors v at the points held.
func (p *points) rest(v []float64) {
	for i := range p.n {
		for _, j := range p.still {
			v[i*p.d+j] = 0
		}
	}
}

// Points implements Geometry.
func (p *points) Points() []float64 { return p.x[:p.n*p.d] }

// Values implements Geometry.
func (p *points) Values() []float64 { return p.values[:p.n*p.c] }

// check returns an error unless the component (its number in the set) is finite at
// point i and has a gradient, of the norm given.
func (p *points) check(i, comp int, norm float64) error {
	v := p.values[i*p.c+comp]
	if v-v != 0 || norm-norm != 0 {
		if norm-norm != 0 && v-v == 0 {
			v = norm
		}
		return &NonFiniteError{Row: i, Component: p.names[comp], Value: v}
	}
	if norm < GradientTolerance && comp < p.m {
		return &RankError{Row: i, Component: p.names[comp], Norm: norm}
	}
	return nil
}

// Row returns the point of a block that a *NonFiniteError or a *RankError names.
func Row(err error) (i int, ok bool) {
	var nf *NonFiniteError
	var re *RankError
	switch {
	case errors.As(err, &nf):
		return nf.Row, true
	case errors.As(err, &re):
		return re.Row, true
	}
	return 0, false
}

// A RankError says that an equality cannot be followed because its gradient
// vanishes, as that of a squared constraint does on Σ.
type RankError struct {
	Row       int    // point of the block
	Component string // constraint's name
	Norm      float64
}

func (e *RankError) Error() string {
	return fmt.Sprintf("constraint %q has a vanishing gradient (norm %.3g) at point %d: its rank drops there; "+
		"write it without squares, or away from its singular points", e.Component, e.Norm, e.Row)
}

func (*RankError) Place() fault.Place { return fault.Place{Kind: fault.Diverged} }

// A NonFiniteError says that a constraint or its gradient is NaN or infinite.
type NonFiniteError struct {
	Row       int
	Component string
	Value     float64
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("constraint %q is not finite (%v) at point %d", e.Component, e.Value, e.Row)
}

func (*NonFiniteError) Place() fault.Place { return fault.Place{Kind: fault.Diverged} }

// A closed is the geometry of a set that knows its normal space (constraint.Projector). Points where it says that ∇h
// loses rank are factored like those of any other set.
type closed struct {
	*points
	until
	l       *layout
	normals constraint.Projector
	size    int       // numbers kept of a point
	work    []float64 // rows×size
	regular []bool    // rows
	all     bool      // every point held is regular
	other   *factored // of the other points; made when there is one
}

func newClosed(p *points, l *layout) *closed {
	size := p.eval.Projector.WorkSize()
	return &closed{
		points: p, l: l, normals: p.eval.Projector, size: size,
		work: make([]float64, p.rows*size), regular: make([]bool, p.rows),
	}
}

// At implements Geometry.
func (g *closed) At(x []float64, n int) error { return g.hold(x, n, g.factor) }

func (g *closed) factor(n int) error {
	if g.other != nil {
		g.other.reset()
	}
	g.normals.Factor(g.values[:n*g.c], g.work[:n*g.size], g.regular[:n], g.x[:n*g.d], n)
	g.all = true
	for i := range n {
		if !g.regular[i] {
			g.all = false
			if err := g.until.Err(); err != nil {
				return err
			}
			if err := g.factorRow(i); err != nil {
				return err
			}
			continue
		}
		for comp := range g.c {
			if err := g.check(i, comp, 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// factorRow computes the gradients and factors of point i.
func (g *closed) factorRow(i int) error {
	if g.other == nil {
		g.other = newFactored(g.points, g.l, 0)
		g.other.until = g.until
	}
	return g.other.factorRow(i)
}

// Active implements Geometry.
func (g *closed) Active(int) int { return g.c }

// Rank implements Geometry.
func (g *closed) Rank(i int) int {
	if g.regular[i] {
		return g.c
	}
	return g.other.Rank(i)
}

// Tangent implements Geometry.
func (g *closed) Tangent(dst, v []float64) {
	d := g.d
	if g.all {
		g.normals.Tangent(dst[:g.n*d], v[:g.n*d], g.x[:g.n*d], g.work, g.n)
		return
	}
	for i := range g.n {
		if out, in := dst[i*d:(i+1)*d], v[i*d:(i+1)*d]; g.regular[i] {
			g.normals.Tangent(out, in, g.point(i), g.workOf(i), 1)
		} else {
			copy(out, in)
			g.other.tangents(dst, i, i+1)
		}
	}
	g.rest(dst)
}

// Normal implements Geometry.
func (g *closed) Normal(dst, u []float64) {
	d, c := g.d, g.c
	if g.all {
		g.normals.Normal(dst[:g.n*d], u[:g.n*c], g.x[:g.n*d], g.work, g.n)
		return
	}
	for i := range g.n {
		if out, ui := dst[i*d:(i+1)*d], u[i*c:(i+1)*c]; g.regular[i] {
			g.normals.Normal(out, ui, g.point(i), g.workOf(i), 1)
		} else {
			g.other.normals(dst, u, 0, i, i+1)
		}
	}
}

// Landing implements Geometry.
func (g *closed) Landing(dst []float64) {
	d := g.d
	if g.all {
		g.normals.Landing(dst[:g.n*d], g.x[:g.n*d], g.work, g.n)
		return
	}
	for i := range g.n {
		if out := dst[i*d : (i+1)*d]; g.regular[i] {
			g.normals.Landing(out, g.point(i), g.workOf(i), 1)
		} else {
			g.other.normals(dst, g.values, 0, i, i+1)
		}
	}
}

func (g *closed) point(i int) []float64  { return g.x[i*g.d : (i+1)*g.d] }
func (g *closed) workOf(i int) []float64 { return g.work[i*g.size : (i+1)*g.size] }

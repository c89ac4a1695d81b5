package geometry

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// An Outcome counts points that were given to be projected, and what became of them.
type Outcome struct {
	Points     int
	Iterations int // Newton steps in all
	// Points that failed, by reason:
	Unreachable int // no point of Σ in the normal directions, to first order; or a closed form has none
	Stalled     int // no convergence in 50 iterations
	NotFinite   int // left the finite numbers
}

// Failed returns how many points have no projection.
func (o Outcome) Failed() int { return o.Unreachable + o.Stalled + o.NotFinite }

// Add adds q's counts.
func (o *Outcome) Add(q Outcome) {
	o.Points += q.Points
	o.Iterations += q.Iterations
	o.Unreachable += q.Unreachable
	o.Stalled += q.Stalled
	o.NotFinite += q.NotFinite
}

// A Projection projects blocks of up to rows points onto a set along its normals: in closed form where the set has one,
// otherwise by Newton's method. It is scratch space for one goroutine.
type Projection struct {
	set     constraint.Set
	d, m, c int
	rows    int
	eval    constraint.Evaluator
	*layout
	until
	der derivatives

	y, x     []float64 // rows×d: proposals, and iterates gathered
	val, jac []float64 // rows×c, rows×mat
	z        []float64 // rows×c: multipliers, in the basis of the normals or of the components
	pushed   []bool    // rows×c: inequalities that an iterate reached
	done     []bool    // rows×groups
	late     []int     // rows×groups: iterations since newtonTolerance was met
	residual []float64 // rows×groups: violation at the iterate before
	margin   []float64 // rows×groups: how far inside pushed inequalities go
	row      []int     // rows still iterating
	sys      []float64 // widest²
	h, δ     []float64 // c
	square   []float64 // widest²: scratch of least squares
	buf      []float64 // a group's coordinates: d
	buf2     []float64
	active   active   // of sets with inequalities
	own      Geometry // at base points whose Geometry is not of this package
}

// NewProjection makes room for rows points of s; what is large, at the first call.
func NewProjection(s constraint.Set, rows int) *Projection {
	return newProjection(s, rows, newLayout(s))
}

func newProjection(s constraint.Set, rows int, l *layout) *Projection {
	d, m := s.Dim(), len(s.Equalities())
	c := m + len(s.Inequalities())
	return &Projection{set: s, d: d, m: m, c: c, rows: rows, eval: s.NewEvaluator(rows), layout: l}
}

// base is what Newton's method needs of the base points: a Geometry of this package that has factors.
type base interface {
	// basis returns the orthonormal rows that span the normal space of group a at point i, and how many there are.
	basis(i, a int) (q []float64, rank int)
	// gradients returns those of group a's components at point i.
	gradients(i, a int) []float64
}

// Project finds, for every point x_i of g and proposal y_i, the point
//
//	y_i + ∇J(x_i)ᵀ λ with h = 0, g ≤ 0, λ_j ≤ 0 and λ_j g_j = 0 for inequalities
//
// (paper, Forward-OLLA-P): in closed form where the set has one, otherwise by Newton's method in λ with an active set.
// Every inequality may push, whether or not it is active at x_i; none pulls. On an affine Σ it is the point of Σ
// nearest to y_i. The points go to dst (n×d; dst may be y) and their success to ok (n); a row that fails keeps its
// proposal. |h| and g are at most 1e-13 then, or their round-off; less where points are small (small).
//
// With a margin, g_j ≤ −margin for each inequality that the proposal or an iterate violates: the paper's J(x) = 0 with
// margin = ε. Where no point keeps that distance, as between walls that are closer, it is 0.
func (w *Projection) Project(g Geometry, dst, y []float64, ok []bool, margin float64) Outcome {
	d := w.d
	n := len(g.Points()) / d
	w.room()
	if w.eval.Retract != nil && w.c == w.m {
		return w.retract(g.Points(), dst, y, ok)
	}
	o := Outcome{Points: n}
	copy(w.y, y[:n*d])
	copy(dst[:n*d], y[:n*d])
	w.row = w.row[:0]
	for i := range n {
		ok[i] = false
		w.row = append(w.row, i)
	}
	var from base
	switch g := g.(type) {
	case *closed:
		w.chord(g, dst, ok, &o)
		w.factorLeft(g, &o)
		from = g.other
	case *factored:
		if w.sparse {
			w.chord(g, dst, ok, &o)
		}
		from = g
	case base:
		from = g
	default:
		if w.own == nil {
			w.own = New(w.set, w.rows, 0)
		}
		if w.own.At(g.Points(), n) != nil {
			o.Unreachable = n
			return o
		}
		return w.Project(w.own, dst, y, ok, margin)
	}
	w.newton(from, dst, ok, margin, &o)
	return o
}

// retract is Project by the set's own formula, from the base points x.
func (w *Projection) retract(x, dst, y []float64, ok []bool) Outcome {
	d := w.d
	o, v := Outcome{Points: len(x) / d}, w.x[:d]
	for i := range o.Points {
		for j := range v {
			v[j] = y[i*d+j] - x[i*d+j]
		}
		if ok[i] = w.eval.Retract(v, x[i*d:(i+1)*d], v); ok[i] {
			copy(dst[i*d:(i+1)*d], v)
		} else {
			copy(dst[i*d:(i+1)*d], y[i*d:(i+1)*d])
			o.Unreachable++
		}
	}
	return o
}

// A chorded is a geometry whose Normal costs little beside a step of Newton's method.
type chorded interface {
	// chords reports whether the normals of the equalities alone are known at point i.
	chords(i int) bool
	// normalRow writes ∇Jᵀ G† u at point i, in the place of that point in dst and u.
	normalRow(dst, u []float64, i int)
	// settles reports whether |h| of a size at z, projected from point i, is 0 to round-off.
	settles(size float64, falls bool, z []float64, i int) bool
}

func (g *closed) chords(i int) bool { return g.regular[i] }
func (g *closed) normalRow(dst, u []float64, i int) {
	g.normals.Normal(dst[i*g.d:(i+1)*g.d], u[i*g.c:(i+1)*g.c], g.point(i), g.workOf(i), 1)
}
func (g *closed) settles(size float64, _ bool, _ []float64, _ int) bool {
	return size <= newtonTolerance
}

func (g *factored) chords(i int) bool                 { return g.Active(i) == g.m }
func (g *factored) normalRow(dst, u []float64, i int) { g.normals(dst, u, 0, i, i+1) }
func (g *factored) settles(size float64, falls bool, z []float64, i int) bool {
	if falls || size <= newtonTolerance {
		return size <= newtonTolerance && dense.Largest(z) >= small
	}
	floor := 0.0
	for a := range g.groups {
		gr := &g.groups[a]
		at, jac := gr.take(g.buf, z), g.gradients(i, a)
		for l := range gr.m {
			floor = max(floor, gr.terms(jac, l, at))
		}
	}
	return size <= 0x1p-50*floor && dense.Largest(z) >= small
}

// chord projects the rows in w.row by Newton's method with the matrix ∇h(x) ∇h(x)ᵀ of the base point throughout: linear
// convergence, at the price of one Normal an iteration. It keeps in w.row those for Newton's method proper, where that
// is too slow, an inequality is reached, or the base point has no such normals.
func (w *Projection) chord(g chorded, dst []float64, ok []bool, o *Outcome) {
	d := w.d
	left := w.row[:0]
	for _, i := range w.row {
		if !g.chords(i) {
			left = append(left, i)
			continue
		}
		z, h, size := dst[i*d:(i+1)*d], w.val[i*w.c:(i+1)*w.c], math.Inf(1)
		for !ok[i] {
			w.eval.Values(h, z, 1)
			before := size
			size = 0
			for e, v := range h {
				if e < w.m {
					size = max(size, math.Abs(v))
				} else if v >= 0 {
					size = math.Inf(1)
				}
			}
			falls := size < 0.7*before
			if g.settles(size, falls, z, i) {
				ok[i] = true
				break
			}
			if !falls {
				copy(z, w.y[i*d:(i+1)*d])
				left = append(left, i)
				break
			}
			g.normalRow(w.x, w.val, i)
			for j, v := range w.x[i*d : (i+1)*d] {
				z[j] -= v
			}
			o.Iterations++
		}
	}
	w.row = left
}

// factorLeft computes gradients and factors where the closed form has none yet and Newton's method needs them.
func (w *Projection) factorLeft(g *closed, o *Outcome) {
	left := w.row[:0]
	for _, i := range w.row {
		if g.regular[i] && g.factorRow(i) != nil {
			o.Unreachable++
			continue
		}
		left = append(left, i)
	}
	w.row = left
}

// room makes what every projection needs, once.
func (w *Projection) room() {
	if w.y != nil {
		return
	}
	rows, c, d, groups := w.rows, w.c, w.d, len(w.groups)
	vec := func(n int) []float64 { return make([]float64, n) }
	w.y, w.x, w.val = vec(rows*d), vec(rows*d), vec(rows*c)
	w.row = make([]int, 0, rows)
	w.buf, w.buf2, w.h, w.δ, w.z = vec(d), vec(d), vec(c), vec(c), vec(rows*c)
	w.pushed, w.done, w.late = make([]bool, rows*c), make([]bool, rows*groups), make([]int, rows*groups)
	w.residual, w.margin = vec(rows*groups), vec(rows*groups)
	if c > w.m || w.sparse {
		w.active = newActive(c, d)
	}
}

// systems makes room for the systems of Newton's method, once.
func (w *Projection) systems() {
	if w.sys == nil {
		w.der = newDerivatives(w.eval, w.layout, w.c, w.d, w.rows)
		w.jac = make([]float64, w.rows*w.mat)
		w.sys, w.square = make([]float64, w.widest*w.widest), make([]float64, w.widest*w.widest)
	}
}

const (
	newtonTolerance  = 1e-13 // on |h| and g, besides their own round-off
	newtonIterations = 50
	// polish is how many iterations more a point takes that meets newtonTolerance and is small (small).
	polish = 8
)

// Beside points of size 10⁻⁹ an |h| of 10⁻¹³ is no small violation, least of all where h is a square. Where points are
// smaller than small, or h is flat, tolerances are relative to the terms of h, |∇h|·|x|, instead of 1: 10⁻¹⁰ of these
// terms if the tolerance is 10⁻¹³.
const small = 1e-3

// shrunk returns a tolerance that is meant for terms of size 1 for those of a size.
func shrunk(tolerance, terms float64) float64 { return tolerance * min(1, terms/small) }

// A fate is what one Newton iteration makes of a group at a point.
type fate int

const (
	moved fate = iota
	unreachable
	notFinite
)

// newton iterates the points in w.row, all groups of a point in step.
func (w *Projection) newton(b base, dst []float64, ok []bool, margin float64, o *Outcome) {
	if len(w.row) == 0 {
		return
	}
	w.systems()
	d, c, groups := w.d, w.c, len(w.groups)
	for _, i := range w.row {
		clear(w.z[i*c : (i+1)*c])
		clear(w.pushed[i*c : (i+1)*c])
		for a := range groups {
			at := i*groups + a
			w.done[at], w.residual[at], w.margin[at], w.late[at] = false, math.Inf(1), margin, 0
		}
	}
	for range newtonIterations {
		if len(w.row) == 0 {
			break
		}
		for e, i := range w.row {
			copy(w.x[e*d:(e+1)*d], dst[i*d:(i+1)*d])
		}
		w.der.at(w.val, w.jac, w.x, len(w.row))
		left := w.row[:0]
		for e, i := range w.row {
			if w.work > heavy && w.Err() != nil {
				return
			}
			row := dst[i*d : (i+1)*d]
			converged, fate := w.newtonRow(row, b, i, w.x[e*d:(e+1)*d], w.val[e*c:(e+1)*c], w.jac[e*w.mat:(e+1)*w.mat])
			switch {
			case converged:
				ok[i] = true
			case fate == moved:
				o.Iterations++
				left = append(left, i)
			default:
				if fate == notFinite {
					o.NotFinite++
				} else {
					o.Unreachable++
				}
				copy(row, w.y[i*d:(i+1)*d])
			}
		}
		w.row = left
	}
	for _, i := range w.row {
		o.Stalled++
		copy(dst[i*d:(i+1)*d], w.y[i*d:(i+1)*d])
	}
}

// newtonRow takes one step from the iterate x of point i in every group that has not converged, into out.
func (w *Projection) newtonRow(out []float64, b base, i int, x, val, jac []float64) (converged bool, f fate) {
	converged = true
	for a := range w.groups {
		g, at := &w.groups[a], i*len(w.groups)+a
		if w.done[at] {
			continue
		}
		jg := g.matrix(jac)
		size, floor := w.violation(i, a, g.take(w.buf, x), val, jg)
		if size-size != 0 {
			return false, notFinite
		}
		// Converged, or as near as the round-off of h allows.
		met, falls := size <= newtonTolerance, size < w.residual[at]
		if met && (!falls || w.late[at] == polish || w.near(i, a, x, val, jg)) || size <= 0x1p-50*floor && !falls {
			w.done[at] = true
			continue
		}
		if met {
			w.late[at]++
		}
		w.residual[at] = size
		converged = false
		if g.c > g.m || g.pattern != nil {
			f = w.activeStep(out, b, i, a, x, val, jg)
		} else {
			f = w.newtonStep(out, b, i, a, val, jg)
		}
		switch {
		case f == moved:
		case met: // no way from here to a smaller violation
			g.put(out, g.take(w.buf, x))
			w.done[at] = true
		default:
			return false, f
		}
	}
	return converged, moved
}

// near reports whether each component of a group is met at the iterate x, by the size of its terms there.
func (w *Projection) near(i, a int, x, val, jac []float64) bool {
	g := &w.groups[a]
	size := dense.Largest(g.take(w.buf, x))
	for l, comp := range g.comp {
		slope := 0.0
		row, _ := g.row(jac, l)
		for _, v := range row {
			slope += math.Abs(v)
		}
		if !(w.off(i, a, l, val[comp]) <= shrunk(newtonTolerance, slope*size)) {
			return false
		}
	}
	return true
}

// violation returns the largest in a group at the iterate z, and a bound of what
// round-off makes of it. Inequalities that z reaches are marked.
func (w *Projection) violation(i, a int, z, val, jac []float64) (size, floor float64) {
	g := &w.groups[a]
	for l, comp := range g.comp {
		pushed := &w.pushed[i*w.c+g.vec+l]
		*pushed = *pushed || l >= g.m && val[comp] >= 0
		size = max(size, w.off(i, a, l, val[comp]))
		floor = max(floor, g.terms(jac, l, z))
	}
	return size, floor
}

// off is how far component l of a group is from where it belongs, with the value v at the iterate.
func (w *Projection) off(i, a, l int, v float64) float64 {
	g, margin := &w.groups[a], w.margin[i*len(w.groups)+a]
	pushed := w.pushed[i*w.c+g.vec+l]
	switch {
	case l < g.m:
		return math.Abs(v)
	case pushed && w.z[i*w.c+g.vec+l] < 0:
		return math.Abs(v + margin)
	case pushed:
		return max(v+margin, 0)
	}
	return max(v, 0)
}

// newtonStep solves (∇h(z) Qᵀ) δ = h(z), in the least-squares sense where the
// base point's rank is below m, and moves out to y_i + Qᵀ(ζ − δ).
func (w *Projection) newtonStep(out []float64, b base, i, a int, val, jac []float64) fate {
	g := &w.groups[a]
	d, c := g.d, g.c
	q, rank := b.basis(i, a)
	ζ := w.z[i*w.c+g.vec:][:rank]
	h := w.h[:c]
	m := w.sys[:c*rank] // c×rank
	for e, comp := range g.comp {
		h[e] = val[comp]
		for p := range rank {
			m[e*rank+p] = dense.Dot4(jac[e*d:(e+1)*d], q[p*d:(p+1)*d])
		}
	}
	δ := w.δ[:rank]
	if rank < c {
		dense.LeastSquares(δ, m, h, 1, rank, w.square)
	} else {
		copy(δ, h)
		if !dense.Gauss(m, δ, c) {
			return unreachable
		}
	}
	t := g.take(w.buf2, w.y[i*w.d:(i+1)*w.d])
	if g.coord == nil {
		copy(out, t)
		t = out
	}
	for p, v := range δ {
		ζ[p] -= v
		if ζ[p]-ζ[p] != 0 {
			return notFinite
		}
		dense.Axpy(t, ζ[p], q[p*d:(p+1)*d])
	}
	g.put(out, t)
	return moved
}

package geometry

import (
	"math"

	"github.com/landing-diffusion/landing/internal/dense"
)

const (
	newtonTolerance  = 1e-13 // on |h| and g, besides their own round-off
	newtonIterations = 50
)

// Projections counts points that Project was given, and what became of them.
type Projections struct {
	Points     int
	Iterations int // Newton steps in all
	// Points that failed, by reason:
	Unreachable int // no point of Σ in the normal directions, to first order; or a closed form has none
	Stalled     int // no convergence in 50 iterations
	NotFinite   int // left the finite numbers
}

// Failed returns how many points have no projection.
func (p Projections) Failed() int { return p.Unreachable + p.Stalled + p.NotFinite }

// Add adds q's counts.
func (p *Projections) Add(q Projections) {
	p.Points += q.Points
	p.Iterations += q.Iterations
	p.Unreachable += q.Unreachable
	p.Stalled += q.Stalled
	p.NotFinite += q.NotFinite
}

// TakeProjections returns the counts of Project so far and clears them.
func (b *Block) TakeProjections() Projections {
	p := b.Projections
	b.Projections = Projections{}
	return p
}

// A newton is the scratch space of Project.
type newton struct {
	y, x     []float64 // rows×d: proposals, and iterates gathered
	val, jac []float64 // rows×c, rows×mat
	z        []float64 // rows×c: multipliers, in the basis q or of the components
	pushed   []bool    // rows×c: inequalities that an iterate reached
	done     []bool    // rows×groups
	residual []float64 // rows×groups: violation at the iterate before
	margin   []float64 // rows×groups: how far inside pushed inequalities go
	row      []int     // rows still iterating
	sys, rhs []float64 // widest², c
	active   active    // of sets with inequalities
}

// Project finds, for every point x_i of the block and proposal y_i, the point
//
//	y_i + ∇J(x_i)ᵀ λ with h = 0, g ≤ 0, λ_j ≤ 0 and λ_j g_j = 0 for inequalities
//
// (paper, Forward-OLLA-P): in closed form where the set has one, otherwise by
// Newton's method in λ with an active set. Every inequality may push, whether
// or not it is active at x_i; none pulls. On an affine Σ it is the point of Σ
// nearest to y_i. The points go to dst (n×d; dst may be y) and their success to
// ok (n); a row that fails keeps its proposal. |h| and g are at most 1e-13 then,
// or their round-off. It returns the number of Newton iterations in all.
func (b *Block) Project(dst, y []float64, ok []bool) (iterations int) {
	return b.ProjectInside(dst, y, ok, 0)
}

// ProjectInside is Project with g_j ≤ −margin for each inequality that the
// proposal or an iterate violates: the paper's J(x) = 0 with margin = ε. Where
// no point keeps that distance, as between walls that are closer, it is 0.
func (b *Block) ProjectInside(dst, y []float64, ok []bool, margin float64) (iterations int) {
	b.Projections.Points += b.n
	w := b.scratchNewton()
	if b.eval.Retract != nil && b.c == b.m {
		b.projectRetract(dst, y, ok)
		return 0
	}
	n, d := b.n, b.d
	copy(w.y, y[:n*d])
	copy(dst[:n*d], y[:n*d])
	w.row = w.row[:0]
	for i := range n {
		ok[i] = false
		w.row = append(w.row, i)
	}
	if b.closed != nil {
		iterations = b.projectChord(dst, ok)
		b.factorLeft()
	}
	iterations += b.projectNewton(dst, ok, margin)
	b.Projections.Iterations += iterations
	return iterations
}

// factorLeft computes gradients and factors where the closed form has none yet
// and Newton's method needs them.
func (b *Block) factorLeft() {
	w := b.newton
	left := w.row[:0]
	for _, i := range w.row {
		if b.closed.regular[i] && b.factorRow(i) != nil {
			b.Projections.Unreachable++
			continue
		}
		left = append(left, i)
	}
	w.row = left
	if len(left) > 0 {
		b.systems()
	}
}

// projectRetract is Project by the set's own formula.
func (b *Block) projectRetract(dst, y []float64, ok []bool) {
	d := b.d
	v := b.newton.x[:d]
	for i := range b.n {
		for j := range v {
			v[j] = y[i*d+j] - b.x[i*d+j]
		}
		if ok[i] = b.eval.Retract(v, b.x[i*d:(i+1)*d], v); ok[i] {
			copy(dst[i*d:(i+1)*d], v)
		} else {
			copy(dst[i*d:(i+1)*d], y[i*d:(i+1)*d])
			b.Projections.Unreachable++
		}
	}
}

func (b *Block) scratchNewton() *newton {
	if b.newton == nil {
		rows, c, d := b.rows, b.c, b.d
		b.newton = &newton{
			y: make([]float64, rows*d), x: make([]float64, rows*d),
			val: make([]float64, rows*c), z: make([]float64, rows*c),
			pushed: make([]bool, rows*c), done: make([]bool, rows*len(b.groups)),
			row: make([]int, 0, rows), rhs: make([]float64, c),
			residual: make([]float64, rows*len(b.groups)), margin: make([]float64, rows*len(b.groups)),
		}
		if c > b.m {
			b.newton.active = newActive(b.widest, d)
		}
		if b.closed == nil {
			b.systems()
		}
	}
	return b.newton
}

// systems makes room for the systems of Newton's method, once.
func (b *Block) systems() {
	if w := b.newton; w.jac == nil {
		w.jac, w.sys = make([]float64, b.rows*b.mat), make([]float64, b.widest*b.widest)
	}
}

// An outcome is what one Newton iteration makes of a group at a point.
type outcome int

const (
	moved outcome = iota
	unreachable
	notFinite
)

// projectNewton iterates the points in w.row, all groups of a point in step.
func (b *Block) projectNewton(dst []float64, ok []bool, margin float64) (total int) {
	w := b.newton
	d, c, groups := b.d, b.c, len(b.groups)
	for _, i := range w.row {
		clear(w.z[i*c : (i+1)*c])
		clear(w.pushed[i*c : (i+1)*c])
		for a := range groups {
			at := i*groups + a
			w.done[at], w.residual[at], w.margin[at] = false, math.Inf(1), margin
		}
	}
	for range newtonIterations {
		if len(w.row) == 0 {
			break
		}
		for e, i := range w.row {
			copy(w.x[e*d:(e+1)*d], dst[i*d:(i+1)*d])
		}
		b.jacobians(w.val, w.jac, w.x, len(w.row))
		left := w.row[:0]
		for e, i := range w.row {
			row := dst[i*d : (i+1)*d]
			converged, fate := b.newtonRow(row, i, w.x[e*d:(e+1)*d], w.val[e*c:(e+1)*c], w.jac[e*b.mat:(e+1)*b.mat])
			switch {
			case converged:
				ok[i] = true
			case fate == moved:
				total++
				left = append(left, i)
			default:
				if fate == notFinite {
					b.Projections.NotFinite++
				} else {
					b.Projections.Unreachable++
				}
				copy(row, w.y[i*d:(i+1)*d])
			}
		}
		w.row = left
	}
	for _, i := range w.row {
		b.Projections.Stalled++
		copy(dst[i*d:(i+1)*d], w.y[i*d:(i+1)*d])
	}
	return total
}

// newtonRow takes one step from the iterate x of point i in every group that
// has not converged, into out.
func (b *Block) newtonRow(out []float64, i int, x, val, jac []float64) (converged bool, fate outcome) {
	w := b.newton
	converged = true
	for a := range b.groups {
		g, at := &b.groups[a], i*len(b.groups)+a
		if w.done[at] {
			continue
		}
		jg := jac[g.mat:][:g.c*g.d]
		size, floor := b.residual(i, a, g.take(b.buf, x), val, jg)
		if size-size != 0 {
			return false, notFinite
		}
		// Converged, or as near as the round-off of h allows.
		if size <= newtonTolerance || size <= 0x1p-50*floor && size >= w.residual[at] {
			w.done[at] = true
			continue
		}
		w.residual[at] = size
		converged = false
		if g.c > g.m {
			fate = b.activeStep(out, i, a, x, val, jg)
		} else {
			fate = b.newtonStep(out, i, a, val, jg)
		}
		if fate != moved {
			return false, fate
		}
	}
	return converged, moved
}

// residual returns the largest violation in a group at the iterate z, and a
// bound of what round-off makes of it. Inequalities that z reaches are marked.
func (b *Block) residual(i, a int, z, val, jac []float64) (size, floor float64) {
	w, g := b.newton, &b.groups[a]
	margin := w.margin[i*len(b.groups)+a]
	for l, comp := range g.comp {
		v, pushed := val[comp], &w.pushed[i*b.c+g.vec+l]
		*pushed = *pushed || l >= g.m && v >= 0
		switch {
		case l < g.m:
			v = math.Abs(v)
		case *pushed && w.z[i*b.c+g.vec+l] < 0:
			v = math.Abs(v + margin)
		case *pushed:
			v = max(v+margin, 0)
		default:
			v = max(v, 0)
		}
		size = max(size, v)
		s := 0.0
		for j, v := range jac[l*g.d : (l+1)*g.d] {
			s += math.Abs(v * z[j])
		}
		floor = max(floor, s)
	}
	return size, floor
}

// newtonStep solves (∇h(z) Qᵀ) δ = h(z), in the least-squares sense where the
// base point's rank is below m, and moves out to y_i + Qᵀ(ζ − δ).
func (b *Block) newtonStep(out []float64, i, a int, val, jac []float64) outcome {
	w, g, rank := b.newton, &b.groups[a], b.rank[i*len(b.groups)+a]
	d, c := g.d, g.c
	q, ζ := b.basis(i, a), w.z[i*b.c+g.vec:][:rank]
	h := b.rhs[:c]
	m := w.sys[:c*rank] // c×rank
	for e, comp := range g.comp {
		h[e] = val[comp]
		for p := range rank {
			m[e*rank+p] = dense.Dot4(jac[e*d:(e+1)*d], q[p*d:(p+1)*d])
		}
	}
	δ := w.rhs[:rank]
	if rank < c {
		dense.LeastSquares(δ, m, h, 1, rank, b.w)
	} else {
		copy(δ, h)
		if !dense.Gauss(m, δ, c) {
			return unreachable
		}
	}
	t := g.take(b.buf2, w.y[i*b.d:(i+1)*b.d])
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

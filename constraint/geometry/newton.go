package geometry

import (
	"math"

	"github.com/landing-diffusion/landing/internal/dense"
)

const (
	newtonTolerance  = 1e-13 // on |h| and g, besides their own round-off
	newtonIterations = 50
	// polish is how many iterations more a point takes that meets newtonTolerance and is small (small).
	polish = 8
)

// Beside points of size 10⁻⁹ an |h| of 10⁻¹³ is no small violation, least of all where h is a square. Where
// points are smaller than small, or h is flat, tolerances are of the terms of h, |∇h|·|x|, in place of 1:
// of 10⁻¹⁰ of them where 10⁻¹³ was asked for.
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
			if w.mat*w.widest > heavy && w.Err() != nil {
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
		jg := jac[g.mat:][:g.c*g.d]
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
		if g.c > g.m {
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
		for _, v := range jac[l*g.d : (l+1)*g.d] {
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
		s := 0.0
		for j, v := range jac[l*g.d : (l+1)*g.d] {
			s += math.Abs(v * z[j])
		}
		floor = max(floor, s)
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

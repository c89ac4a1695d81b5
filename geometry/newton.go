package geometry

import (
	"math"

	"github.com/landing-diffusion/landing/internal/dense"
)

const (
	newtonTolerance  = 1e-13 // on |h| and g, besides their own round-off
	newtonIterations = 50
)

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
		w.der.at(w.val, w.jac, w.x, len(w.row))
		left := w.row[:0]
		for e, i := range w.row {
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

// newtonRow takes one step from the iterate x of point i in every group that
// has not converged, into out.
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
		if size <= newtonTolerance || size <= 0x1p-50*floor && size >= w.residual[at] {
			w.done[at] = true
			continue
		}
		w.residual[at] = size
		converged = false
		if g.c > g.m {
			f = w.activeStep(out, b, i, a, x, val, jg)
		} else {
			f = w.newtonStep(out, b, i, a, val, jg)
		}
		if f != moved {
			return false, f
		}
	}
	return converged, moved
}

// violation returns the largest in a group at the iterate z, and a bound of what
// round-off makes of it. Inequalities that z reaches are marked.
func (w *Projection) violation(i, a int, z, val, jac []float64) (size, floor float64) {
	g := &w.groups[a]
	margin := w.margin[i*len(w.groups)+a]
	for l, comp := range g.comp {
		v, pushed := val[comp], &w.pushed[i*w.c+g.vec+l]
		*pushed = *pushed || l >= g.m && v >= 0
		switch {
		case l < g.m:
			v = math.Abs(v)
		case *pushed && w.z[i*w.c+g.vec+l] < 0:
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

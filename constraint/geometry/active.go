package geometry

import (
	"math"

	"github.com/landing-diffusion/landing/internal/dense"
)

// dependent: a unit gradient at a smaller squared sine to the span of the
// working set's counts as dependent on them (an angle of 3e-7).
const dependent = 1e-13

// An active is the scratch space of one step with inequalities, in the numbers of a group's components.
type active struct {
	m          []float64 // c×c: ∇c_e(z)·∇c_p(x), both over ‖∇c(x)‖; columns of the working set
	res        []float64 // c: linearised violation at λ = 0
	size       []float64 // c: ‖∇c_e(x)‖
	λ, t       []float64 // c; λ of the working set
	rows, cols []int     // equations and unknowns of the working set: equalities, then inequalities
	eq         int       // how many of them are equalities
	lu         []float64 // c²
	move       []float64 // d
}

func newActive(c, d int) active {
	vec := func() []float64 { return make([]float64, c) }
	return active{
		m: make([]float64, c*c), lu: make([]float64, c*c), move: make([]float64, d),
		res: vec(), size: vec(), λ: vec(), t: vec(), rows: make([]int, 0, c+1), cols: make([]int, 0, c+1),
	}
}

// activeStep takes a Newton step where inequalities may push. Linearised at the
// iterate z, with base point x and proposal y, the next iterate
//
//	z⁺ = y + ∇J(x)ᵀλ   has   c_j(z) + ∇c_j(z)·(z⁺ − z) = 0 or ≤ −margin,
//	                         λ_j ≤ 0 for inequalities, 0 for those with slack.
//
// The multipliers come from the dual active-set method of Goldfarb and Idnani ("A numerically stable dual method for
// solving strictly convex quadratic programs", 1983), with ∇J(z)∇J(x)ᵀ in place of G: of the violated rows the most
// violated enters; a row whose multiplier would turn from pushing to pulling leaves. On an affine set one step is
// exact.
func (w *Projection) activeStep(out []float64, b base, i, a int, z, val, jac []float64) fate {
	g := &w.groups[a]
	margin := w.margin[i*len(w.groups)+a]
	s := &w.active
	base := b.gradients(i, a)
	pushed := w.pushed[i*w.c+g.vec:][:g.c]
	move := s.move[:g.d] // y − z
	copy(move, g.take(w.buf, w.y[i*w.d:(i+1)*w.d]))
	at := g.take(w.buf, z)
	dense.Axpy(move, -1, at)
	reach := max(shrunk(1, dense.Largest(at)), dense.Largest(move))
	for l, comp := range g.comp {
		s.size[l] = dense.Norm4(base[l*g.d : (l+1)*g.d])
		if s.size[l] < GradientTolerance { // no direction to push in
			if l < g.m || val[comp] > newtonTolerance {
				return unreachable
			}
			s.size[l] = math.Inf(1)
		}
		v := val[comp] + dense.Dot4(jac[l*g.d:(l+1)*g.d], move)
		if pushed[l] {
			v += margin
		}
		s.res[l] = v / s.size[l]
	}
	if !s.equalities(g, base, jac) {
		return unreachable
	}
	for range 10*g.c + 50 {
		if g.c*g.c > heavy/64 && w.Err() != nil {
			return unreachable
		}
		l, v := s.mostViolated(g)
		if v <= 0x1p-50*reach {
			return w.applyActive(out, i, a, base)
		}
		if margin > 0 && !pushed[l] {
			pushed[l] = true
			s.res[l] += margin / s.size[l]
			continue
		}
		if !s.enter(l, g, base, jac) {
			if margin == 0 {
				return unreachable
			}
			w.margin[i*len(w.groups)+a] = 0 // no room for it
			return w.activeStep(out, b, i, a, z, val, jac)
		}
	}
	return unreachable
}

// equalities starts the working set with independent equalities and solves for their multipliers.
func (s *active) equalities(g *group, base, jac []float64) bool {
	for p := range g.m {
		s.column(p, g, base, jac)
	}
	s.rows, s.cols = s.independent(g.m, g.c)
	s.eq = len(s.rows)
	for e, r := range s.rows {
		s.t[e] = -s.res[r]
	}
	if !s.solve(g.c) {
		return false
	}
	for p, l := range s.cols {
		s.λ[l] = s.t[p]
	}
	return true
}

// column computes ∇c_e(z)·∇c_p(x) over the base norms, for every e.
func (s *active) column(p int, g *group, base, jac []float64) {
	bp := base[p*g.d : (p+1)*g.d]
	for e := range g.c {
		s.m[e*g.c+p] = dense.Dot4(jac[e*g.d:(e+1)*g.d], bp) / (s.size[e] * s.size[p])
	}
}

// independent returns the pivots of an elimination with complete pivoting of
// the leading n×n part of m (stride c): all n, unless some are redundant.
func (s *active) independent(n, c int) (rows, cols []int) {
	rows, cols = s.rows[:0], s.cols[:0]
	for e := range n {
		rows, cols = append(rows, e), append(cols, e)
		copy(s.lu[e*n:(e+1)*n], s.m[e*c:e*c+n])
	}
	lu := s.lu
	for k := range n {
		pr, pc, best := k, k, 0.0
		for e := k; e < n; e++ {
			for p := k; p < n; p++ {
				if v := math.Abs(lu[rows[e]*n+cols[p]]); v > best {
					pr, pc, best = e, p, v
				}
			}
		}
		if best <= dependent {
			return rows[:k], cols[:k]
		}
		rows[k], rows[pr] = rows[pr], rows[k]
		cols[k], cols[pc] = cols[pc], cols[k]
		for e := k + 1; e < n; e++ {
			f := lu[rows[e]*n+cols[k]] / lu[rows[k]*n+cols[k]]
			for p := k; p < n; p++ {
				lu[rows[e]*n+cols[p]] -= f * lu[rows[k]*n+cols[p]]
			}
		}
	}
	return rows, cols
}

// solve overwrites t with the solution of the working set's system.
func (s *active) solve(c int) bool {
	n := len(s.rows)
	for e, r := range s.rows {
		for p, l := range s.cols {
			s.lu[e*n+p] = s.m[r*c+l]
		}
	}
	return dense.Gauss(s.lu, s.t[:n], n)
}

// violation is row e's at the present multipliers.
func (s *active) violation(e, c int) float64 {
	v := s.res[e]
	for _, l := range s.cols {
		v += s.m[e*c+l] * s.λ[l]
	}
	return v
}

// mostViolated returns the inequality outside the working set that is violated most, the first of equals.
func (s *active) mostViolated(g *group) (at int, worst float64) {
	for l := g.m; l < g.c; l++ {
		if v := s.violation(l, g.c); v > worst && !s.holds(l) {
			at, worst = l, v
		}
	}
	return at, worst
}

func (s *active) holds(l int) bool {
	for _, r := range s.rows[s.eq:] {
		if r == l {
			return true
		}
	}
	return false
}

// enter brings inequality l into the working set. Rows that would begin to pull
// on the way leave it. It reports false if l cannot be satisfied.
func (s *active) enter(l int, g *group, base, jac []float64) bool {
	s.column(l, g, base, jac)
	s.λ[l] = 0
	s.rows, s.cols = append(s.rows, l), append(s.cols, l) // counts in violation
	for range 2 * (g.c + 1) {
		n := len(s.rows) - 1
		s.rows, s.cols = s.rows[:n], s.cols[:n]
		for e, r := range s.rows {
			s.t[e] = s.m[r*g.c+l]
		}
		if !s.solve(g.c) {
			return false
		}
		slope := s.m[l*g.c+l] // of the violation, a unit of push
		for p, k := range s.cols {
			slope -= s.m[l*g.c+k] * s.t[p]
		}
		full := math.Inf(1)
		if slope > dependent {
			full = (s.violation(l, g.c) + s.m[l*g.c+l]*s.λ[l]) / slope
		}
		step, leaves := full, -1
		for p := s.eq; p < n; p++ {
			if k := s.cols[p]; s.t[p] > 0 && -s.λ[k]/s.t[p] < step {
				step, leaves = -s.λ[k]/s.t[p], p
			}
		}
		if math.IsInf(step, 1) || step-step != 0 {
			return false
		}
		for p, k := range s.cols {
			s.λ[k] += step * s.t[p]
		}
		s.λ[l] -= step
		if leaves >= 0 {
			s.rows = append(s.rows[:leaves], s.rows[leaves+1:]...)
			s.cols = append(s.cols[:leaves], s.cols[leaves+1:]...)
		}
		s.rows, s.cols = append(s.rows, l), append(s.cols, l)
		if leaves < 0 {
			return true
		}
	}
	return false
}

// applyActive solves once more for the final working set, which removes the
// round-off of the path to it, and moves out to y + ∇J(x)ᵀλ.
func (w *Projection) applyActive(out []float64, i, a int, base []float64) fate {
	g, s := &w.groups[a], &w.active
	for e, r := range s.rows {
		s.t[e] = -s.res[r]
	}
	if !s.solve(g.c) {
		return unreachable
	}
	λ := w.z[i*w.c+g.vec:][:g.c]
	clear(λ)
	t := g.take(w.buf2, w.y[i*w.d:(i+1)*w.d])
	if g.coord == nil {
		copy(out, t)
		t = out
	}
	for p, l := range s.cols {
		v := s.t[p]
		if v-v != 0 {
			return notFinite
		}
		λ[l] = v
		dense.Axpy(t, v/s.size[l], base[l*g.d:(l+1)*g.d])
	}
	g.put(out, t)
	return moved
}

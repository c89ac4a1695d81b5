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
	m          []float64 // columns of c numbers: ∇c_e(z)·∇c_p(x), both over ‖∇c(x)‖, of components p that entered
	at         []int     // c: where the column of p begins in m; −1: nowhere yet
	res        []float64 // c: linearised violation at λ = 0
	size       []float64 // c: ‖∇c_e(x)‖
	λ, t       []float64 // c; λ of the working set
	kept       []int     // equalities that the working set begins with: those that core does not eliminate
	rows, cols []int     // equations and unknowns of the working set: equalities, then inequalities
	eq         int       // how many of them are equalities
	lu         []float64 // of the working set
	move       []float64 // d
	core       eliminated
}

func newActive(c, d int) active {
	vec := func() []float64 { return make([]float64, c) }
	return active{
		at: make([]int, c), move: make([]float64, d), res: vec(), size: vec(), λ: vec(), t: vec(),
		kept: make([]int, 0, c), rows: make([]int, 0, c+1), cols: make([]int, 0, c+1),
		core: eliminated{n: make([]float64, d)},
	}
}

// activeStep takes a Newton step where inequalities may push. Linearised at the
// iterate z, with base point x and proposal y, the next iterate
//
//	z⁺ = y + ∇J(x)ᵀλ   has   c_j(z) + ∇c_j(z)·(z⁺ − z) = 0 or ≤ −margin,
//	                         λ_j ≤ 0 for inequalities, 0 for those with slack.
//
// The multipliers come from the dual active-set method of Goldfarb and Idnani ("A numerically stable dual method for
// solving strictly convex quadratic programs", 1983), with ∇J(z)∇J(x)ᵀ instead of G: of the violated rows the most
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
		row, _ := g.row(base, l)
		s.size[l] = dense.Norm4(row)
		if s.size[l] < GradientTolerance { // no direction to push in
			if l < g.m || val[comp] > newtonTolerance {
				return unreachable
			}
			s.size[l] = math.Inf(1)
		}
	}
	s.begin(g, base, jac)
	if g.pattern != nil {
		s.core.land(move, g, val, s.size)
	}
	for l, comp := range g.comp {
		v := val[comp] + g.dot(jac, l, move)
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
			return w.applyActive(out, i, a, base, val, at)
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

// begin finds the equalities of the working set at an iterate.
func (s *active) begin(g *group, base, jac []float64) {
	s.m, s.kept = s.m[:0], s.kept[:0]
	for l := range g.c {
		s.at[l] = -1
	}
	if g.pattern != nil {
		s.kept = s.core.factor(s.kept, g, base, jac, s.size)
		return
	}
	for l := range g.m {
		s.kept = append(s.kept, l)
	}
}

// equalities starts the working set with independent equalities and solves for their multipliers.
func (s *active) equalities(g *group, base, jac []float64) bool {
	for _, p := range s.kept {
		s.column(p, g, base, jac)
	}
	s.rows, s.cols = s.independent()
	s.eq = len(s.rows)
	for e, r := range s.rows {
		s.t[e] = -s.res[r]
	}
	if !s.solve() {
		return false
	}
	for p, l := range s.cols {
		s.λ[l] = s.t[p]
	}
	return true
}

// column computes ∇c_e(z)·∇c_p(x) over the base norms, for every e.
func (s *active) column(p int, g *group, base, jac []float64) {
	if s.at[p] >= 0 {
		return
	}
	s.at[p] = len(s.m)
	s.m = grown(s.m, len(s.m)+g.c)
	column := s.m[s.at[p]:]
	if g.pattern != nil {
		n := s.core.along(p, g, base, s.size[p])
		for e := range column {
			column[e] = g.dot(jac, e, n) / s.size[e]
		}
		return
	}
	bp, _ := g.row(base, p)
	for e := range column {
		column[e] = g.dot(jac, e, bp) / (s.size[e] * s.size[p])
	}
}

// grown returns v with n numbers; new ones have any value.
func grown[T any](v []T, n int) []T {
	if n > cap(v) {
		return append(make([]T, 0, 2*n), v...)[:n]
	}
	return v[:n]
}

// slope is ∇c_e(z)·∇c_p(x) over the base norms.
func (s *active) slope(e, p int) float64 { return s.m[s.at[p]+e] }

// independent returns the pivots of an elimination with complete pivoting of the columns of the equalities kept: all of
// them, unless some are redundant.
func (s *active) independent() (rows, cols []int) {
	rows, cols = s.rows[:0], s.cols[:0]
	n := len(s.kept)
	s.lu = grown(s.lu, n*n)
	lu := s.lu
	for e, r := range s.kept {
		rows, cols = append(rows, e), append(cols, e)
		for p, l := range s.kept {
			lu[e*n+p] = s.slope(r, l)
		}
	}
	rank := n
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
			rank = k
			break
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
	for k := range rank {
		rows[k], cols[k] = s.kept[rows[k]], s.kept[cols[k]]
	}
	return rows[:rank], cols[:rank]
}

// solve overwrites t with the solution of the working set's system.
func (s *active) solve() bool {
	n := len(s.rows)
	s.lu = grown(s.lu, n*n)
	for e, r := range s.rows {
		for p, l := range s.cols {
			s.lu[e*n+p] = s.slope(r, l)
		}
	}
	return dense.Gauss(s.lu, s.t[:n], n)
}

// violation is row e's at the present multipliers.
func (s *active) violation(e int) float64 {
	v := s.res[e]
	for _, l := range s.cols {
		v += s.slope(e, l) * s.λ[l]
	}
	return v
}

// mostViolated returns the inequality outside the working set that is violated most, the first of equals.
func (s *active) mostViolated(g *group) (at int, worst float64) {
	for l := g.m; l < g.c; l++ {
		if v := s.violation(l); v > worst && !s.holds(l) {
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
			s.t[e] = s.slope(r, l)
		}
		if !s.solve() {
			return false
		}
		slope := s.slope(l, l) // of the violation, a unit of push
		for p, k := range s.cols {
			slope -= s.slope(l, k) * s.t[p]
		}
		full := math.Inf(1)
		if slope > dependent {
			full = (s.violation(l) + s.slope(l, l)*s.λ[l]) / slope
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
func (w *Projection) applyActive(out []float64, i, a int, base, val, at []float64) fate {
	g, s := &w.groups[a], &w.active
	for e, r := range s.rows {
		s.t[e] = -s.res[r]
	}
	if !s.solve() {
		return unreachable
	}
	λ := w.z[i*w.c+g.vec:][:g.c]
	clear(λ)
	var t []float64
	if g.pattern != nil {
		t = s.move[:g.d]
	} else if t = g.take(w.buf2, w.y[i*w.d:(i+1)*w.d]); g.coord == nil {
		copy(out, t)
		t = out
	}
	for p, l := range s.cols {
		v := s.t[p]
		if v-v != 0 {
			return notFinite
		}
		λ[l] = v
		g.axpy(t, v/s.size[l], base, l)
	}
	if g.pattern != nil { // for the equalities once more, with what the others moved
		s.core.land(t, g, val, s.size)
		if !dense.Finite(t) {
			return notFinite
		}
		dense.Axpy(t, 1, at)
		if g.coord == nil {
			copy(out, t)
		}
	}
	g.put(out, t)
	return moved
}

// An eliminated is the core of the equalities of a group with a pattern at an iterate z with base point x: the factors
// of M = ∇h(z) ∇h(x)ᵀ, both over ‖∇h(x)‖. Steps keep the equalities of the core solved, so that the working set begins
// without them.
type eliminated struct {
	low, up, inverse, z []vec     // of one lane
	unit, at            []float64 // packed: ∇h(x) and ∇h(z) over ‖∇h(x)‖
	x, y                []float64
	n                   []float64 // d
}

// factor appends to kept the equalities that are not of the core.
func (s *eliminated) factor(kept []int, g *group, base, jac, size []float64) []int {
	p := g.pattern
	n, packed := len(p.li), int(p.start[g.m])
	s.low, s.up, s.inverse, s.z = grown(s.low, n), grown(s.up, n), grown(s.inverse, g.m), grown(s.z, g.m)
	s.unit, s.at = grown(s.unit, packed), grown(s.at, packed)
	s.x, s.y = grown(s.x, g.m), grown(s.y, g.m)
	for l := range g.m {
		from, to := p.start[l], p.start[l+1]
		dense.Scaled(s.unit[from:to], 1/size[l], base[from:to])
		dense.Scaled(s.at[from:to], 1/size[l], jac[from:to])
	}
	p.factorGeneral(s.low, s.up, s.inverse, s.at, s.unit, s.y, s.x, nearSpan)
	for k, v := range s.inverse {
		if v[0] == 0 {
			kept = append(kept, int(p.order[k]))
		}
	}
	return kept
}

// land adds to the move from z the normals of the core that bring its linearised equalities, with the values val at z,
// to 0; nil: none.
func (s *eliminated) land(move []float64, g *group, val, size []float64) {
	p := g.pattern
	for k, l := range p.order {
		v := 0.0
		if s.inverse[k][0] != 0 {
			v = g.dot(s.at, int(l), move)
			if val != nil {
				v += val[g.comp[l]] / size[l]
			}
		}
		s.z[k] = vec{v}
	}
	p.solve(s.low, s.up, s.inverse, s.z)
	for k, l := range p.order {
		g.axpy(move, -s.z[k][0], s.unit, int(l))
	}
}

// along returns the unit gradient of component l at x with the normals of the core that keep its equalities.
func (s *eliminated) along(l int, g *group, base []float64, size float64) []float64 {
	n := s.n[:g.d]
	clear(n)
	g.axpy(n, 1/size, base, l)
	s.land(n, g, nil, nil)
	return n
}

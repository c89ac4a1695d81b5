package choose

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin/evidence"
)

const (
	visited  = 256   // rows around which Σ is looked at
	tangents = 4     // at each
	walls    = 8     // the nearest, at each
	visiting = 3e8   // operations that the geometry at rows may take
	straight = 1e6   // times the unit of length: a radius beyond is that of a flat set
	landings = 20    // steps to Σ
	arrival  = 1e-10 // of the unit of length: a step so short arrives
	rungs    = 41    // places on the way to a wall, √2 apart
	halvings = 40    // that then find it
)

// A survey is of Σ around rows.
type survey struct {
	ctx    context.Context // ends it
	set    constraint.Set
	pool   *parallel.Pool
	unit   float64 // of length
	stream keyed.Stream
	reach  float64 // how far walls are looked for
	most   int     // of them at a row
	own    []*surveyor
}

// newSurvey begins a survey.
func newSurvey(ctx context.Context, set constraint.Set, pool *parallel.Pool, unit float64, seed uint64) *survey {
	return &survey{
		ctx: ctx, set: set, pool: pool, unit: unit, stream: keyed.MeasuredRows.Stream(seed, 1),
		own: make([]*surveyor, pool.Workers()),
	}
}

// A view is what a survey finds at one row.
type view struct {
	lost   bool      // Σ was not reached
	rank   int       // of ∇h on Σ; −1: there is none
	bends  []float64 // |II(u, u)|
	bent   bool      // some of them are no numbers, and left out
	window float64   // NaN: no wall is near, +Inf: none is opposite
}

// surroundings measures Σ at the rows.
func (m *Measures) surroundings(s *survey, t *table) error {
	set, d := s.set, s.set.Dim()
	c := len(constraint.Components(set))
	groups := float64(max(geometry.Groups(set), 1))
	factoring := float64(c*c*d)/(groups*groups) + float64(c*d) + 1 + m.Work
	n := min(len(t.order), visited, max(8, int(visiting/(20*factoring))))
	s.reach = cmp.Or(2*m.Diameter, s.unit)
	moves := int(visiting / (4 * rungs * (float64(c*d) + 1 + m.Work)))
	s.most = min(walls, max(1, moves/n))

	views := make([]view, n)
	if err := s.pool.DoUntil(s.ctx, n, func(worker, i int) {
		views[i] = s.surveyor(worker).look(t.at(t.order[i]), uint64(i))
	}); err != nil {
		return err
	}
	var radius, window []float64
	ranks := make([]int, d+1)
	seen, lost, singular, bent := 0, 0, 0, 0
	for _, v := range views {
		switch {
		case v.lost:
			lost++
			continue
		case v.rank < 0:
			singular++
			continue
		}
		if v.bent {
			bent++
		}
		seen++
		ranks[v.rank]++
		for _, b := range v.bends {
			r := 1 / b
			if !(r <= straight*s.unit) {
				r = inf
			}
			radius = append(radius, r)
		}
		if !math.IsNaN(v.window) {
			window = append(window, v.window)
		}
	}
	if lost > 0 {
		m.note("%d of %d rows could not be brought to the set and say nothing of it", lost, n)
	}
	if singular > 0 {
		m.note("at %d of %d rows a gradient of the equalities vanishes or is not finite", singular, n)
	}
	if bent > 0 {
		m.note("at %d of %d rows second derivatives of the equalities are not finite: no curvature is known there",
			bent, n)
	}
	rank := min(len(set.Equalities()), len(t.free))
	if seen > 0 {
		rank = 0
		for r, count := range ranks {
			if count > ranks[rank] {
				rank = r
			}
		}
		if ranks[rank] < seen {
			m.note("the rank of the equalities' gradients is %d at %d of %d rows only", rank, ranks[rank], seen)
		}
	} else {
		m.note("no row says what the set is like: the dimension is by count, curvature and windows are not known")
	}
	m.Dim = len(t.free) - rank
	m.constant(s, t)
	if len(radius) > 0 {
		m.Radius, m.RadiusMedian = metric.Quantile(radius, low), metric.Median(radius)
		m.RadiusThin = metric.Quantile(radius, lowest)
	}
	if len(window) > 0 {
		m.WindowMedian = metric.Median(window)
	}
	return nil
}

// constant tells coordinates that are the same in all rows, though Σ lets them move: noise then leads
// away from where all data is.
func (m *Measures) constant(s *survey, t *table) {
	if len(t.order) < 2 || m.Spread == 0 {
		return
	}
	var names []string
	w := s.surveyor(0)
	first := t.at(t.order[0])
	copy(w.x, first)
	if w.smooth.At(w.x, 1) != nil {
		return
	}
	for _, j := range t.free {
		if slices.ContainsFunc(t.order, func(i int32) bool { return t.at(i)[j] != first[j] }) {
			continue
		}
		clear(w.v)
		w.v[j] = 1
		if w.smooth.Tangent(w.v, w.v); w.v[j] > 0.5 && !w.walled() {
			names = append(names, fmt.Sprintf("x[%d] = %v", j, first[j]))
		}
	}
	if n := len(names); n > few {
		names = append(names[:few], fmt.Sprintf("and so have %d more", n-few))
	}
	if len(names) > 0 {
		m.note("all rows have %s, which the set does not say: samples will not keep it unless the set has the equation",
			strings.Join(names, ", "))
	}
}

// walled reports whether inequalities forbid small moves from x along v in both senses.
func (w *surveyor) walled() bool {
	for _, t := range []float64{1e-3, -1e-3} {
		dense.AddScaled(w.y, w.x, t*w.unit, w.v)
		if w.c == w.m {
			return false
		}
		w.eval.Values(w.values[:w.c], w.y, 1)
		if slices.Max(w.values[w.m:w.c]) <= 0 {
			return false
		}
	}
	return true
}

// few is how many equations are written out.
const few = 4

// A surveyor looks at single rows. It is scratch space for one goroutine.
type surveyor struct {
	*survey
	d, m, c  int
	at       geometry.Geometry // of the set
	smooth   geometry.Geometry // of its equalities
	curve    *geometry.Curvature
	equal    constraint.Evaluator // of the equalities, one row
	eval     constraint.Evaluator // of the set, rungs rows
	solver   *geometry.Solver
	x, step  []float64
	val, jac []float64
	v, y     []float64
	second   []float64 // m×d twice: gradients on both sides
	values   []float64 // rungs×c
	line     []float64 // rungs×d
	tol      []float64 // c
	wall     []wall
}

// A wall is an inequality, and how far away it is to first order.
type wall struct {
	of   int // component
	away float64
}

// surveyor returns that of a worker.
func (s *survey) surveyor(worker int) *surveyor {
	if s.own[worker] == nil {
		s.own[worker] = s.newSurveyor()
	}
	return s.own[worker]
}

func (s *survey) newSurveyor() *surveyor {
	equalities := constraint.EqualitiesOf(s.set)
	d, m, c := s.set.Dim(), len(s.set.Equalities()), len(constraint.Components(s.set))
	w := &surveyor{
		survey: s, d: d, m: m, c: c, at: geometry.New(s.set, 1, 0), smooth: geometry.New(equalities, 1, 0),
		equal: equalities.NewEvaluator(1), solver: geometry.NewSolver(s.set, 0).Until(s.ctx),
		x: make([]float64, d), step: make([]float64, d), val: make([]float64, c), jac: make([]float64, c*d),
		v: make([]float64, d), y: make([]float64, d), tol: make([]float64, c),
	}
	if m > 0 {
		if w.curve, _ = geometry.NewCurvature(equalities, 1); w.curve == nil {
			w.second = make([]float64, 2*m*d)
		}
	}
	if c > m {
		w.eval = s.set.NewEvaluator(rungs)
		w.values, w.line = make([]float64, rungs*c), make([]float64, rungs*d)
	}
	return w
}

// look looks at Σ next to row x, number i.
func (w *surveyor) look(x []float64, i uint64) view {
	v := view{rank: -1, window: math.NaN()}
	copy(w.x, x)
	if v.lost = !w.land(); v.lost || w.smooth.At(w.x, 1) != nil {
		return v
	}
	if v.rank = 0; w.m > 0 {
		v.rank = w.smooth.Rank(0)
	}
	if w.m > 0 {
		for k := range tangents {
			if w.tangent(i, k) {
				if b := w.bend(); finite(b) {
					v.bends = append(v.bends, b)
				} else {
					v.bent = true
				}
			}
		}
	}
	if w.c > w.m {
		v.window = w.narrowest()
	}
	return v
}

// land moves x to Σ, and reports whether it got there.
func (w *surveyor) land() bool {
	if w.c == 0 {
		return true
	}
	for range landings {
		if w.at.At(w.x, 1) != nil {
			break
		}
		w.at.Landing(w.step)
		dense.Axpy(w.x, -1, w.step)
		if dense.Norm(w.step) <= arrival*w.unit {
			return true
		}
	}
	return w.solver.Descend(w.x, evidence.Tolerance)
}

// tangent writes a random unit tangent of {h = 0} at x to v, tangent k of row i. It reports false where there is none.
func (w *surveyor) tangent(i uint64, k int) bool {
	w.stream.Normals(w.v, i, k)
	before := dense.Norm(w.v)
	w.smooth.Tangent(w.v, w.v)
	size := dense.Norm(w.v)
	if !(size > 1e-9*before) {
		return false
	}
	dense.Scaled(w.v, 1/size, w.v)
	return true
}

// bend returns |II(v, v)| at x: ‖∇hᵀG†[vᵀ∇²h_i v]‖. Without Hessian products, ∇²h v is the central
// difference of ∇h over a step t: its error is t² of the third derivatives and round-off/t.
func (w *surveyor) bend() float64 {
	if w.curve != nil {
		w.curve.Momentum(w.step, w.smooth, w.v, 0)
		return dense.Norm(w.step)
	}
	t := 0x1p-17 * w.unit // about the cube root of round-off
	plus, minus, u := w.second[:w.m*w.d], w.second[w.m*w.d:], w.val[:w.m]
	dense.AddScaled(w.y, w.x, t, w.v)
	w.equal.Jacobians(u, plus, w.y, 1)
	dense.AddScaled(w.y, w.x, -t, w.v)
	w.equal.Jacobians(u, minus, w.y, 1)
	for a := range u {
		p, q := plus[a*w.d:(a+1)*w.d], minus[a*w.d:(a+1)*w.d]
		u[a] = (dense.Dot(p, w.v) - dense.Dot(q, w.v)) / (2 * t)
	}
	w.smooth.Normal(w.step, u)
	return dense.Norm(w.step)
}

// narrowest returns the least width between walls through x, of those along the gradients of the
// nearest; NaN if no tangent moves any.
func (w *surveyor) narrowest() float64 {
	w.eval.Jacobians(w.val, w.jac, w.x, 1)
	w.wall = w.wall[:0]
	for j := w.m; j < w.c; j++ {
		grad := w.jac[j*w.d : (j+1)*w.d]
		size := dense.Norm(grad)
		w.tol[j] = one * size * w.unit
		w.smooth.Tangent(w.v, grad)
		if along := dense.Norm(w.v); along > 1e-9*size {
			w.wall = append(w.wall, wall{j, math.Abs(w.val[j]) / along})
		}
	}
	slices.SortStableFunc(w.wall, func(a, b wall) int { return cmp.Compare(a.away, b.away) })
	least := math.NaN()
	for _, near := range w.wall[:min(w.most, len(w.wall))] {
		j := near.of
		w.smooth.Tangent(w.v, w.jac[j*w.d:(j+1)*w.d])
		dense.Scaled(w.v, 1/dense.Norm(w.v), w.v)
		width := w.wayTo(1)
		if !math.IsInf(width, 1) {
			width += w.wayTo(-1)
		}
		if !(width >= least) {
			least = width
		}
	}
	return least
}

// wayTo returns how far a straight move from x along sign·v goes to the first wall, +Inf if farther
// than reach. A wall is where a component is above its tolerance, or no number.
func (w *surveyor) wayTo(sign float64) float64 {
	for r := range rungs {
		dense.AddScaled(w.line[r*w.d:(r+1)*w.d], w.x, sign*w.rung(r), w.v)
	}
	w.eval.Values(w.values, w.line, rungs)
	for r := range rungs {
		if w.outside(w.values[r*w.c : (r+1)*w.c]) {
			lo, hi := 0.0, w.rung(r)
			if r > 0 {
				lo = w.rung(r - 1)
			}
			for range halvings {
				mid := (lo + hi) / 2
				dense.AddScaled(w.y, w.x, sign*mid, w.v)
				if w.eval.Values(w.values, w.y, 1); w.outside(w.values[:w.c]) {
					hi = mid
				} else {
					lo = mid
				}
			}
			return hi
		}
	}
	return inf
}

// rung is the place r on the way: the last is the reach.
func (w *surveyor) rung(r int) float64 {
	up := rungs - 1 - r
	t := math.Ldexp(w.reach, -(up+1)/2)
	if up%2 == 1 {
		t *= math.Sqrt2
	}
	return t
}

func (w *surveyor) outside(values []float64) bool {
	for j := w.m; j < w.c; j++ {
		if !(values[j] <= w.tol[j]) {
			return true
		}
	}
	return false
}

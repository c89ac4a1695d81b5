package langevin

import (
	"context"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
)

// Walls says what becomes of a step that would leave {g ≤ 0}. On sets of equalities alone it says nothing.
type Walls int

const (
	// ElasticWalls send it back as a mirror sends light, and its momentum with it
	// (walls.go). Process.Repulsion is not used.
	ElasticWalls Walls = iota
	// PaperWalls are those of the paper (Proposition 2): from the next step on the
	// inequality is active, counts as an equality and is landed at g = −ε.
	PaperWalls
	// LateWalls are elastic, but for those that the set can leave to the last state (constraint.Capabilities.Open):
	// steps do not know these, and Terminal brings generated states to them.
	LateWalls
)

var wallsNames = [...]string{"elastic", "paper", "late"}

func (w Walls) String() string { return wallsNames[w] }

// ParseWalls reads the name of walls.
func ParseWalls(name string) (Walls, error) {
	if i := slices.Index(wallsNames[:], name); i >= 0 {
		return Walls(i), nil
	}
	return 0, &ConfigError{Field: "Walls", Value: name, Want: "elastic, paper or late"}
}

// Elastic reports whether the process has walls that are elastic.
func (p *Process) Elastic() bool { return p.Walls != PaperWalls && len(p.Set.Inequalities()) > 0 }

// Walked returns the set that paths keep to: Σ, or with late walls what is open of it. A method that projects each step
// has no last projection, and keeps to Σ.
func (p *Process) Walked() constraint.Set {
	if open := p.Set.Capabilities().Open; open != nil && p.Walls == LateWalls && !p.Method.Projected() {
		return open()
	}
	return p.Set
}

// moving returns the set whose tangents are the directions of a step: with elastic walls that of the equalities alone.
func (p *Process) moving() constraint.Set {
	if p.Elastic() {
		return constraint.EqualitiesOf(p.Set)
	}
	return p.Set
}

// # Elastic walls
//
// A step starts at x_k in {g ≤ 0}, in the directions of the equalities alone: no
// inequality is ever active. Let y be where it ends. While g_j(y) > 0 for some j, the
// deepest wall, with the part n = Π(y)∇g_j of its gradient that is tangent, reflects:
//
//	y ← y − 2 g_j n/‖n‖²,   then h is landed or projected as the method says,
//	R ← (I − 2nnᵀ/‖n‖²) R,  R = I at first,
//
// and in the end x_{k+1} = y. What arrives is the reflected move R(y_{k+1} − x_k), so the momentum is still recovered
// from two positions, the earlier of them the mirror image M of x_k:
//
//	p̃_{k+1} = Π(x_{k+1}) (x_{k+1} − M_{k+1})/τ_k,   M_{k+1} = x_{k+1} − R(y_{k+1} − x_k).
//
// Backward steps fold in the same way, and reverse forward ones: the forward step leaves x_k with the momentum (y_{k+1}
// − x_k)/τ_k and arrives with (x_{k+1} − M_{k+1})/τ_k, so the backward step from x_{k+1} aims at M_{k+1}, is folded to
// x_k, and leaves there the mirror image y_{k+1} of x_{k+1}. The loss (package cwpm) knows y and M from the path: p̃ of
// x_{k+1} comes from y_{k+2}, the target is M_{k+1}.
//
// The law. A step without f is O, p ← a p + √(1−a²) Πζ, then a flight with mirrors. O leaves the Gaussian of p alone
// and does not move x. On a flat Σ with flat walls a flight of time τ is (x, p) ↦ (x + τp, p) read through the
// unfolding that the mirrors make: of {g ≤ 0} × R^d, a shift in the space tiled by its mirror images (one wall, slabs,
// boxes: every chamber of a reflection group). The shift keeps volume and ‖p‖, and so does each mirror; so uniform ×
// Gaussian stays as it is, at any τ and γ. There is no error at the wall at all, whereas a wall that stops the normal
// part of p (the paper's active set, with momenta from positions) loses ½ E p_n² at every visit, whatever τ: its law is
// off by O(1) as τ → 0 unless p is forgotten within a step. On curved Σ or g each of flight and mirror is off by the
// curvature over a step, O(τ²) along paths that meet the wall O(1) times in unit time, so the law is off by O(τ), as by
// the kick −τ∇f of O-B̃-A already. Corners that are no chambers are misjudged on a set of flights of measure O(τ²).
//
// For OLLA this is the symmetrised Euler scheme, of weak order 1 for diffusions reflected along the normal (Bossy,
// Gobet and Talay, "A symmetrized Euler scheme for an efficient approximation of reflected diffusions", 2004); the
// score of the reversed diffusion has no normal part at the wall.
//
// The departure from the paper: Proposition 2 holds between visits to the wall only; at an
// active wall its Π removes the normal part of p̃. Here J = h throughout.
//
// Where the mirrors do not bring a step back — corners and windows much shallower than a step take more than foldLimit
// of them, a wall whose gradient is normal to Σ has none, a curved one may throw further than the step came — the step
// turns back: x_{k+1} = x_k and R = −I. That is the momentum flip with which a rejected reversible move leaves any law
// as it is. If x_k is outside itself, which only a first state can be, it is projected onto Σ instead, or fails.

// foldLimit returns how many mirrors a step may meet on a set with l walls.
func foldLimit(l int) int { return 8 + 2*l }

const (
	// roundoff is the violation of an inequality up to which a state counts as inside.
	roundoff = 1e-12
	// normalWall: a gradient with a smaller tangent share than this has no mirror.
	normalWall = 1e-8
)

// Folds are the rows of a block that a wall sent back in a step.
type Folds struct {
	Row     []int
	Y, M    []float64 // len(Row)×d: the proposal, and the mirror image of where it started
	Mirrors []int     // len(Row): how many mirrors made R, or turnedBack: R = −I
	N       []float64 // their unit normals in the order met, d each, row after row
}

// turnedBack stands for the mirrors of a step that turned back.
const turnedBack = -1

// Carry writes the mirror images over the rows of x, the points that the step
// started from: the next step recovers its momentum from them.
func (f *Folds) Carry(x []float64) {
	if f == nil {
		return
	}
	for e, i := range f.Row {
		d := len(f.M) / len(f.Row)
		copy(x[i*d:(i+1)*d], f.M[e*d:(e+1)*d])
	}
}

// A mirrors folds steps at elastic walls, and knows Σ whole where the stepper knows
// its equalities. It is scratch space for one goroutine.
type mirrors struct {
	proc       *Process
	all        constraint.Evaluator
	d, m, c    int
	l          int                  // where walls end among components: what follows is of the last state
	x, y       []float64            // rows×c: components at starts and ends of steps
	ends       []float64            // rows×d: where y are of
	at         geometry.Geometry    // of the equalities, together points
	projection *geometry.Projection // onto them
	end        geometry.Geometry    // of all but what is late, for the last state of a path
	endProject *geometry.Projection
	solver     *geometry.Solver // onto the set that paths keep to
	closer     *geometry.Solver // onto Σ
	ctx        context.Context  // of Stepper.until
	support    [][]int          // that each component's derivatives are along; nil: all coordinates
	from       []int            // c+1: where those of each component begin among a point's
	known      bool             // values and jac are those of the point that `at` evaluates next
	folds      Folds

	rows        [together]reflected // that are sent back together
	left        []*reflected        // those that are beyond a wall
	y0          []float64           // where those are, d each
	values, jac []float64           // components and derivatives there
	grad, t     []float64           // a gradient of each and its tangent part, d
	ok          [together]bool
}

// A reflected row is one that is sent back.
type reflected struct {
	row     int
	y, from []float64 // where it is, and where the step began
	y0, v   []float64 // the proposal, and the reflected step
	reach   float64   // how deep a wall may be
	back    bool      // it is inside
	normals []float64 // of its mirrors, d each
	best    []float64 // tangent part of the gradient of the deepest wall
	depth   float64
	deepest int
	comp    int // component whose gradient comes next
}

// together is how many rows are sent back at a time.
const together = 16

func newMirrors(p *Process, moving constraint.Set, rows int) *mirrors {
	d, m, c, walked := p.Set.Dim(), len(p.Set.Equalities()), len(constraint.Components(p.Set)), p.Walked()
	k := min(rows, together)
	vec := func(n int) []float64 { return make([]float64, n) }
	w := &mirrors{
		proc: p, all: p.Set.NewEvaluator(rows), d: d, m: m, c: c, l: len(constraint.Components(walked)),
		support: p.Set.Capabilities().Support, from: make([]int, c+1), x: vec(rows * c), y: vec(rows * c),
		ends:       slices.Repeat([]float64{math.NaN()}, rows*d),
		projection: geometry.NewProjection(moving, k),
		end:        geometry.New(walked, rows, 0), endProject: geometry.NewProjection(walked, rows),
		y0: vec(k * d), values: vec(k * c), grad: vec(k * d), t: vec(k * d),
	}
	for a := range c {
		w.from[a+1] = w.from[a] + d
		if w.support != nil {
			w.from[a+1] = w.from[a] + len(w.support[a])
		}
	}
	w.jac = vec(k * w.from[c])
	for e := range w.rows[:k] {
		w.rows[e].y0, w.rows[e].v, w.rows[e].best = vec(d), vec(d), vec(d)
	}
	if m > 0 && w.support != nil && p.Set.Capabilities().Equalities == nil {
		moving = recalling{moving, w}
	}
	w.at = geometry.New(moving, k, 0)
	return w
}

// A recalling set of the first components of another, as EqualitiesOf makes one, takes what mirrors know of a point.
type recalling struct {
	constraint.Set
	of *mirrors
}

func (s recalling) NewEvaluator(rows int) constraint.Evaluator {
	e, w := s.Set.NewEvaluator(rows), s.of
	compute := e.SparseJacobians
	e.SparseJacobians = func(values, jac, x []float64, n int) {
		if !w.known {
			compute(values, jac, x, n)
			return
		}
		k := w.from[w.m]
		for i := range n {
			copy(values[i*w.m:(i+1)*w.m], w.values[i*w.c:])
			copy(jac[i*k:(i+1)*k], w.jac[i*w.from[w.c]:])
		}
	}
	return e
}

// start evaluates all components at the points that a step starts from: most are where the step before ended.
func (w *mirrors) start(x []float64, n int) []float64 {
	c, d := w.c, w.d
	for lo := 0; lo < n; {
		hi := lo
		for hi < n && !slices.Equal(x[hi*d:(hi+1)*d], w.ends[hi*d:(hi+1)*d]) {
			hi++
		}
		if hi > lo {
			w.all.Values(w.x[lo*c:hi*c], x[lo*d:hi*d], hi-lo)
		}
		if lo = hi; hi < n {
			copy(w.x[hi*c:(hi+1)*c], w.y[hi*c:])
			lo++
		}
	}
	return w.x[:n*c]
}

// fold sends back the rows of dst that are beyond a wall, after steps from x.
func (w *mirrors) fold(dst, x []float64, failed []bool, n int, info *Info) {
	c, d, f := w.c, w.d, &w.folds
	f.Row, f.Y, f.M, f.Mirrors, f.N = f.Row[:0], f.Y[:0], f.M[:0], f.Mirrors[:0], f.N[:0]
	w.all.Values(w.y[:n*c], dst[:n*d], n)
	copy(w.ends, dst[:n*d])
	w.left = w.left[:0]
	for i := range n {
		if worst(w.y[i*c+w.m:i*c+w.l]) > 0 {
			r := &w.rows[len(w.left)]
			r.row, r.y, r.from, r.normals, r.back = i, dst[i*d:(i+1)*d], x[i*d:(i+1)*d], r.normals[:0], false
			copy(r.y0, r.y)
			for j := range r.v {
				r.v[j] = r.y[j] - r.from[j]
			}
			r.reach = 2*dense.Norm(r.v) + roundoff
			w.left = append(w.left, r)
		}
		if k := len(w.left); k > 0 && (i == n-1 || k == together) {
			w.reflect(info)
			for e := range w.rows[:k] {
				w.keep(&w.rows[e], failed, info)
			}
			w.left = w.left[:0]
		}
	}
	info.Folds = f
}

// keep notes the fold of a row; one that is not back turns back, or is projected.
func (w *mirrors) keep(r *reflected, failed []bool, info *Info) {
	f, mirrors := &w.folds, turnedBack
	switch {
	case r.back:
		info.Reflected++
		mirrors = len(r.normals) / w.d
		f.N = append(f.N, r.normals...)
	case worst(w.x[r.row*w.c+w.m:r.row*w.c+w.l]) <= roundoff: // turn back
		info.TurnedBack++
		copy(r.y, r.from)
		for j := range r.v {
			r.v[j] = r.from[j] - r.y0[j]
		}
	default:
		if copy(r.y, r.y0); !w.inside(r.y, info) {
			copy(r.y, r.from)
			failed[r.row] = true
		}
		return
	}
	f.Row, f.Mirrors, f.Y = append(f.Row, r.row), append(f.Mirrors, mirrors), append(f.Y, r.y0...)
	for j, v := range r.v {
		f.M = append(f.M, r.y[j]-v)
	}
}

// worst returns the largest of the inequalities; 0 or less inside.
func worst(g []float64) float64 {
	if len(g) == 0 {
		return 0
	}
	return slices.Max(g)
}

// reflect mirrors the rows that are left until no wall is violated, or until it cannot.
func (w *mirrors) reflect(info *Info) {
	for met := range foldLimit(w.l - w.m) {
		if met > 0 { // most are inside, where derivatives are not needed
			w.gather()
			w.all.Values(w.values, w.y0, len(w.left))
			w.leave(func(k int, r *reflected) bool { return !w.outside(k, r) })
		}
		w.locate(true)
		if len(w.left) == 0 {
			return
		}
		w.deepest()
		n := 0
		w.leave(func(k int, r *reflected) bool {
			if !w.outside(k, r) || !(r.depth > 0 && r.depth <= r.reach) {
				return true
			}
			s := -2 / dense.Dot(r.best, r.best)
			dense.Axpy(r.y, s*w.values[k*w.c+r.deepest], r.best)
			dense.Axpy(r.v, s*dense.Dot(r.best, r.v), r.best)
			unit := math.Sqrt(-s / 2)
			for _, v := range r.best {
				r.normals = append(r.normals, unit*v)
			}
			copy(w.y0[n*w.d:], w.y0[k*w.d:(k+1)*w.d])
			n++
			return false
		})
		w.settle(info)
	}
}

// leave removes the rows for which out returns true from the rows that are left.
func (w *mirrors) leave(out func(k int, r *reflected) bool) {
	left := w.left[:0]
	for k, r := range w.left {
		if !out(k, r) {
			left = append(left, r)
		}
	}
	w.left = left
}

// outside reports whether row k of those left is beyond a wall, by its values.
func (w *mirrors) outside(k int, r *reflected) bool {
	r.back = worst(w.values[k*w.c+w.m:k*w.c+w.l]) <= 0
	return !r.back
}

// gather copies the rows that are left to y0.
func (w *mirrors) gather() {
	for k, r := range w.left {
		copy(w.y0[k*w.d:], r.y)
	}
}

// locate asks for the geometry at the rows that are left, and leaves out those that have none. With components, it
// evaluates values and derivatives of all.
func (w *mirrors) locate(components bool) {
	for n := len(w.left); n > 0; n = len(w.left) {
		w.gather()
		if components && w.support != nil {
			w.all.SparseJacobians(w.values, w.jac, w.y0, n)
		} else if components {
			w.all.Jacobians(w.values, w.jac, w.y0, n)
		}
		w.known = components
		err := w.at.At(w.y0, n)
		if w.known = false; err == nil {
			return
		}
		row, ok := geometry.Row(err)
		w.leave(func(k int, _ *reflected) bool { return !ok || k == row }) // all, where a context ended
	}
}

// deepest finds for each of the rows left the wall that it is the deepest beyond.
func (w *mirrors) deepest() {
	d, c := w.d, w.c
	for _, r := range w.left {
		r.depth, r.comp = 0, w.m-1
	}
	for more := true; more; {
		more = false
		clear(w.grad)
		for k, r := range w.left {
			for r.comp++; r.comp < w.l && !(w.values[k*c+r.comp] > 0); r.comp++ {
			}
			if r.comp >= w.l {
				continue
			}
			more = true
			derivatives, grad := w.jac[k*w.from[c]:][w.from[r.comp]:w.from[r.comp+1]], w.grad[k*d:(k+1)*d]
			if w.support == nil {
				copy(grad, derivatives)
				continue
			}
			for e, j := range w.support[r.comp] {
				grad[j] = derivatives[e]
			}
		}
		if more {
			w.at.Tangent(w.t, w.grad)
		}
		for k, r := range w.left {
			if r.comp >= w.l {
				continue
			}
			n, value := w.t[k*d:(k+1)*d], w.values[k*c+r.comp]
			norm := dense.Norm(n)
			if norm > normalWall*dense.Norm(w.grad[k*d:(k+1)*d]) && value/norm > r.depth {
				r.depth, r.deepest = value/norm, r.comp
				copy(r.best, n)
			}
		}
	}
}

// settle lands h at the rows left, or projects them from y0, as the method does.
func (w *mirrors) settle(info *Info) {
	n := len(w.left)
	switch {
	case w.m == 0 || n == 0:
	case w.proc.Method.Projected():
		if len(w.at.Points()) > n*w.d && w.at.At(w.y0, n) != nil { // some are lost
			w.left = w.left[:0]
			return
		}
		w.gather()
		info.Projections.Add(w.projection.Project(w.at, w.y0, w.y0, w.ok[:], 0))
		w.leave(func(k int, r *reflected) bool {
			copy(r.y, w.y0[k*w.d:])
			return !w.ok[k]
		})
	case w.proc.Landing.Explicit: // of second order; the next step lands
	default:
		w.locate(false)
		w.at.Landing(w.t)
		for k, r := range w.left {
			dense.Axpy(r.y, -1, w.t[k*w.d:(k+1)*w.d])
		}
	}
}

// inside projects y onto Σ and reports whether it could.
func (w *mirrors) inside(y []float64, info *Info) bool {
	if w.solver == nil {
		w.solver = geometry.NewSolver(w.proc.Walked(), 0)
	}
	info.Pushed++
	return w.solver.Until(w.ctx).Project(y, 0)
}

// closed moves states x of the set that paths keep to onto Σ by Gauss–Newton steps and a projection. Those that do not
// arrive have failed, and stay.
func (w *mirrors) closed(x []float64, failed []bool, n int) (o geometry.Outcome) {
	const near = 1e-9
	if w.closer == nil {
		w.closer = geometry.NewSolver(w.proc.Set, 0)
	}
	w.closer.Until(w.ctx)
	for i := range n {
		if failed[i] {
			continue
		}
		row, y := x[i*w.d:(i+1)*w.d], w.y0[:w.d]
		copy(y, row)
		if o.Points++; w.closer.Descend(y, near) && w.closer.Project(y, 0) {
			copy(row, y)
		} else {
			o.Stalled++
			failed[i] = true
		}
	}
	return o
}

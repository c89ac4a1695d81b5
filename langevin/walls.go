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
)

var wallsNames = [...]string{"elastic", "paper"}

func (w Walls) String() string { return wallsNames[w] }

// ParseWalls reads the name of walls.
func ParseWalls(name string) (Walls, error) {
	if i := slices.Index(wallsNames[:], name); i >= 0 {
		return Walls(i), nil
	}
	return 0, &ConfigError{Field: "Walls", Value: name, Want: "elastic or paper"}
}

// Elastic reports whether the process has walls that are elastic.
func (p *Process) Elastic() bool { return p.Walls == ElasticWalls && len(p.Set.Inequalities()) > 0 }

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
	x, y       []float64            // rows×c: components at starts and ends of steps
	at         geometry.Geometry    // of the equalities, one point
	projection *geometry.Projection // onto them
	end        geometry.Geometry    // of all, for Terminal
	endProject *geometry.Projection
	solver     *geometry.Solver // onto Σ
	ctx        context.Context  // of Stepper.until
	support    [][]int          // that each component's derivatives are along; nil: all coordinates
	jac        []float64        // derivatives at a point, along the support
	known      []float64        // all components where at is asked next, and jac is of; nil: it computes them
	grad       []float64        // d
	n, best, v []float64        // d
	y0         []float64        // d: the proposal
	land       []float64        // d
	ok         [1]bool
	folds      Folds
}

func newMirrors(p *Process, moving constraint.Set, rows int) *mirrors {
	d, m, c := p.Set.Dim(), len(p.Set.Equalities()), len(constraint.Components(p.Set))
	vec := func() []float64 { return make([]float64, d) }
	support, derivatives := p.Set.Capabilities().Support, c*d
	if support != nil {
		derivatives = 0
		for _, at := range support {
			derivatives += len(at)
		}
	}
	w := &mirrors{
		proc: p, all: p.Set.NewEvaluator(rows), d: d, m: m, c: c,
		support: support, jac: make([]float64, derivatives), grad: vec(),
		x: make([]float64, rows*c), y: make([]float64, rows*c),
		projection: geometry.NewProjection(moving, 1),
		end:        geometry.New(p.Set, rows, 0), endProject: geometry.NewProjection(p.Set, rows),
		n: vec(), best: vec(), v: vec(), y0: vec(), land: vec(),
	}
	if m > 0 && support != nil && p.Set.Capabilities().Equalities == nil {
		moving = recalling{moving, w}
	}
	w.at = geometry.New(moving, 1, 0)
	return w
}

// A recalling set of the first components of another, as EqualitiesOf makes one, takes what mirrors know of a point.
type recalling struct {
	constraint.Set
	of *mirrors
}

func (s recalling) NewEvaluator(rows int) constraint.Evaluator {
	e := s.Set.NewEvaluator(rows)
	compute := e.SparseJacobians
	e.SparseJacobians = func(values, jac, x []float64, n int) {
		if s.of.known == nil {
			compute(values, jac, x, n)
			return
		}
		copy(values, s.of.known)
		copy(jac, s.of.jac)
	}
	return e
}

// start evaluates all components at the points that a step starts from.
func (w *mirrors) start(x []float64, n int) []float64 {
	w.all.Values(w.x[:n*w.c], x[:n*w.d], n)
	return w.x[:n*w.c]
}

// fold sends back the rows of dst that are beyond a wall, after steps from x.
func (w *mirrors) fold(dst, x []float64, failed []bool, n int, info *Info) {
	d, c, m := w.d, w.c, w.m
	f := &w.folds
	f.Row, f.Y, f.M, f.Mirrors, f.N = f.Row[:0], f.Y[:0], f.M[:0], f.Mirrors[:0], f.N[:0]
	w.all.Values(w.y[:n*c], dst[:n*d], n)
	for i := range n {
		if worst(w.y[i*c+m:(i+1)*c]) <= 0 {
			continue
		}
		y, from := dst[i*d:(i+1)*d], x[i*d:(i+1)*d]
		copy(w.y0, y)
		before, mirrors := len(f.N), turnedBack
		switch {
		case w.reflect(y, from, w.y[i*c:(i+1)*c], info):
			info.Reflected++
			mirrors = (len(f.N) - before) / d
		case worst(w.x[i*c+m:(i+1)*c]) <= roundoff: // turn back
			info.TurnedBack++
			f.N = f.N[:before]
			copy(y, from)
			for j := range w.v {
				w.v[j] = from[j] - w.y0[j]
			}
		default:
			f.N = f.N[:before]
			if copy(y, w.y0); !w.inside(y, info) {
				copy(y, from)
				failed[i] = true
			}
			continue
		}
		f.Row, f.Mirrors = append(f.Row, i), append(f.Mirrors, mirrors)
		f.Y = append(f.Y, w.y0...)
		for j, v := range w.v {
			f.M = append(f.M, y[j]-v)
		}
	}
	info.Folds = f
}

// worst returns the largest of the inequalities; 0 or less inside.
func worst(g []float64) float64 {
	if len(g) == 0 {
		return 0
	}
	return slices.Max(g)
}

// reflect mirrors y, the end of a step from x with these components, until no wall is
// violated, and leaves the reflected step in w.v. It reports whether it could.
func (w *mirrors) reflect(y, x, values []float64, info *Info) bool {
	d := w.d
	for j := range w.v {
		w.v[j] = y[j] - x[j]
	}
	reach := 2*dense.Norm(w.v) + roundoff
	for met := range foldLimit(w.c - w.m) {
		if met > 0 { // most are inside, where derivatives are not needed
			w.all.Values(values, y, 1)
		}
		if worst(values[w.m:]) <= 0 {
			return true
		}
		if w.support != nil {
			w.all.SparseJacobians(values, w.jac, y, 1)
		} else {
			w.all.Jacobians(values, w.jac, y, 1)
		}
		if worst(values[w.m:]) <= 0 {
			return true
		}
		w.known = values
		err := w.at.At(y, 1)
		if w.known = nil; err != nil {
			return false
		}
		var depth, value float64 // of the deepest wall
		at := 0                  // where component a's derivatives begin
		for a := range w.c {
			here := at
			if w.support != nil {
				at += len(w.support[a])
			} else {
				at += d
			}
			if a < w.m || !(values[a] > 0) {
				continue
			}
			grad := w.gradient(a, w.jac[here:at])
			w.at.Tangent(w.n, grad)
			norm := dense.Norm(w.n)
			if norm > normalWall*dense.Norm(grad) && values[a]/norm > depth {
				depth, value = values[a]/norm, values[a]
				copy(w.best, w.n)
			}
		}
		if !(depth > 0 && depth <= reach) {
			return false
		}
		s := -2 / dense.Dot(w.best, w.best)
		dense.Axpy(y, s*value, w.best)
		dense.Axpy(w.v, s*dense.Dot(w.best, w.v), w.best)
		unit := math.Sqrt(-s / 2)
		for _, v := range w.best {
			w.folds.N = append(w.folds.N, unit*v)
		}
		if !w.settle(y, info) {
			return false
		}
	}
	return false
}

// gradient returns that of component a from its derivatives along the support, until the next call.
func (w *mirrors) gradient(a int, derivatives []float64) []float64 {
	if w.support == nil {
		return derivatives
	}
	clear(w.grad)
	for k, j := range w.support[a] {
		w.grad[j] = derivatives[k]
	}
	return w.grad
}

// settle lands h at the point y, or projects it, as the method does.
func (w *mirrors) settle(y []float64, info *Info) bool {
	switch {
	case w.m == 0:
		return true
	case w.proc.Method.Projected():
		info.Projections.Add(w.projection.Project(w.at, y, y, w.ok[:], 0))
		return w.ok[0]
	case w.proc.Landing.Explicit:
		return true // of second order; the next step lands
	}
	if w.at.At(y, 1) != nil {
		return false
	}
	w.at.Landing(w.land)
	dense.Axpy(y, -1, w.land)
	return true
}

// inside projects y onto Σ and reports whether it could.
func (w *mirrors) inside(y []float64, info *Info) bool {
	if w.solver == nil {
		w.solver = geometry.NewSolver(w.proc.Set, 0)
	}
	info.Pushed++
	return w.solver.Until(w.ctx).Project(y, 0)
}

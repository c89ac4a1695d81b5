package geometry

import (
	"context"
	"errors"
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A Lander knows which way Σ is from a point: a Geometry does, and a set may have a cheaper way.
type Lander interface {
	At(x []float64, n int) error
	Values() []float64
	Landing(dst []float64)
}

// An Approach brings single points to Σ by Gauss–Newton steps, the landing direction x ← x − ∇JᵀG†J again and again,
// from nearby. It is scratch space for one goroutine.
type Approach struct {
	at      Lander
	o       ApproachOptions
	y, step []float64
}

// ApproachOptions of an Approach.
type ApproachOptions struct {
	Steps    int     // at most; 0 means 50
	Reach    float64 // how far from its start a point may go; 0 means any distance
	Roundoff float64 // of the components, where the descent may end; 0 means 1e-12
	// Inequalities is how many of the Lander's components, the last, are inequalities.
	Inequalities int
}

// NewApproach makes an Approach in R^d.
func NewApproach(at Lander, d int, o ApproachOptions) *Approach {
	if o.Steps == 0 {
		o.Steps = 50
	}
	if o.Roundoff == 0 {
		o.Roundoff = 1e-12
	}
	return &Approach{at, o, make([]float64, d), make([]float64, d)}
}

// Run moves x to |h|, g ≤ 1e-13, or to Roundoff where that ends the descent there or moves x by no more than
// its own; a small point (small) on to where a step is 10⁻¹⁰ of it, as far as steps lead there. It reports
// whether x arrived; if not, x stays. It returns the steps it took.
func (s *Approach) Run(x []float64) (steps int, ok bool) {
	const tolerance = 1e-13
	y, step, last, length := s.y, s.step, math.Inf(1), dense.Largest(x)
	copy(y, x)
	for range s.o.Steps {
		if s.at.At(y, 1) != nil {
			return steps, ok
		}
		size := 0.0
		values := s.at.Values()
		for i, v := range values {
			size = max(size, constraint.Excess(v, i < len(values)-s.o.Inequalities))
		}
		falls := size < last
		if last = size; ok && !falls {
			return steps, ok
		}
		if size <= tolerance || size <= s.o.Roundoff && !falls {
			ok = true
			if copy(x, y); length >= small || !falls {
				return steps, ok
			}
		}
		s.at.Landing(step)
		move := dense.Largest(step)
		if ok && move <= shrunk(tolerance, length) || !falls && move <= 0x1p-50*dense.Largest(y) {
			copy(x, y)
			return steps, true
		}
		far := 0.0
		for j, v := range step {
			y[j] -= v
			far += (y[j] - x[j]) * (y[j] - x[j])
		}
		if steps++; !ok && s.o.Reach > 0 && !(far <= s.o.Reach*s.o.Reach) {
			return steps, false
		}
	}
	return steps, ok
}

// A Solver brings single points to Σ from anywhere, one at a time. It is scratch space for one goroutine.
type Solver struct {
	until
	at         Geometry
	m          int
	eval       constraint.Evaluator
	der        derivatives
	projection *Projection
	val, jac   []float64
	y, step    []float64
	ok         [1]bool
}

// NewSolver makes a Solver for s. Where it lands, inequalities that are violated on the way are put at −ε.
func NewSolver(s constraint.Set, ε float64) *Solver {
	d, c, eval, l := s.Dim(), len(constraint.Components(s)), s.NewEvaluator(1), newLayout(s)
	return &Solver{
		at: newOf(s, 1, ε, l), m: len(s.Equalities()), eval: eval, der: newDerivatives(eval, l, c, d, 1),
		projection: newProjection(s, 1, l), val: make([]float64, c), jac: make([]float64, l.mat), y: make([]float64, d),
		step: make([]float64, d),
	}
}

// Until has Project and Descend return false once ctx is done, and returns s.
func (s *Solver) Until(ctx context.Context) *Solver {
	s.until.Until(ctx)
	s.projection.Until(ctx)
	Until(ctx, s.at)
	return s
}

// Project moves x to the point of Σ in the normal directions at x (Projection.Project)
// and reports whether there is one; if not, x stays.
func (s *Solver) Project(x []float64, margin float64) bool {
	return s.at.At(x, 1) == nil && s.projection.Project(s.at, x, x, s.ok[:], margin).Failed() == 0 && s.Err() == nil
}

// Descend moves x towards Σ by Gauss–Newton steps −∇Jᵀ G† J, the landing direction, and reports whether it arrived:
// each excess at most tol (1 + Σ_j |x_j ∂_j c|), the size of the constraint's terms. It goes on while the violation
// falls, so that a squared constraint, on which each step only halves the distance, is followed down to round-off too.
// Where it does not arrive, x is left at the least violation found.
//
// Whole steps come first: they may raise the violation on the way, when a step that lands one inequality breaks
// another, which then joins J. Where they do not arrive, steps are halved until they help.
func (s *Solver) Descend(x []float64, tol float64) bool {
	if s.whole(x); s.arrived(x, tol) {
		return true
	}
	if s.Err() != nil {
		return false
	}
	s.halved(x)
	return s.arrived(x, tol)
}

// whole takes whole steps until 12 have not helped.
func (s *Solver) whole(x []float64) {
	const iterations, patience = 200, 12
	copy(s.y, x)
	best, err := s.excess(s.y)
	for i, idle := 0, 0; i < iterations && idle < patience && err == nil && best > 0; i++ {
		s.at.Landing(s.step)
		dense.Axpy(s.y, -1, s.step)
		var v float64
		if v, err = s.excess(s.y); v < best {
			best, idle = v, 0
			copy(x, s.y)
		} else {
			idle++
		}
	}
}

// halved takes steps that each lower the violation.
func (s *Solver) halved(x []float64) {
	violation, err := s.excess(x)
	for i := 0; i < 50 && err == nil && violation > 0; i++ {
		s.at.Landing(s.step)
		better := false
		for t := 0.5; t > 1e-3 && !better; t /= 2 {
			dense.AddScaled(s.y, x, -t, s.step)
			v, e := s.excess(s.y)
			if v < violation {
				violation, err, better = v, e, true
				copy(x, s.y)
			}
		}
		if !better {
			break
		}
	}
}

// excess evaluates the geometry at x and returns the largest excess, +Inf where
// it is not finite. The error says that the landing direction is not defined.
func (s *Solver) excess(x []float64) (float64, error) {
	err := s.at.At(x, 1)
	switch {
	case err == nil:
		copy(s.val, s.at.Values())
	case errors.As(err, new(*NonFiniteError)):
		return math.Inf(1), err
	default:
		s.eval.Values(s.val, x, 1)
	}
	worst, _ := constraint.Worst(s.val, s.m)
	return worst, err
}

func (s *Solver) arrived(x []float64, tol float64) bool {
	s.der.at(s.val, s.jac, x, 1)
	for a := range s.der.l.groups {
		g := &s.der.l.groups[a]
		jac := g.matrix(s.jac)
		for l, comp := range g.comp {
			size := 1.0
			row, at := g.row(jac, l)
			for e, v := range row {
				size += math.Abs(v * x[g.whole(e, at)])
			}
			if !(constraint.Excess(s.val[comp], l < g.m) <= tol*size) {
				return false
			}
		}
	}
	return true
}

// until ends long computations when a context does. The zero value never ends them.
type until struct{ ctx context.Context }

// Until has u's owner stop within a row once ctx is done. What it computed by then is of no use.
func (u *until) Until(ctx context.Context) { u.ctx = ctx }

// Err returns the error of a context that is done.
func (u *until) Err() error {
	if u.ctx == nil {
		return nil
	}
	return u.ctx.Err()
}

// heavy is the product of matrix and components from which a row takes long in comparison with a look at the context.
const heavy = 1 << 14

// Until has At of a geometry of this package return the error of ctx once ctx is done, also in the middle of a block.
func Until(ctx context.Context, g Geometry) {
	switch g := g.(type) {
	case *factored:
		g.until.Until(ctx)
	case *closed:
		g.until.Until(ctx)
		if g.other != nil {
			g.other.until.Until(ctx)
		}
	}
}

// A single is the geometry of one dense equality: q = ∇h/‖∇h‖, Π = I − qqᵀ and ∇hᵀ G† u = u q/‖∇h‖. Points have few
// coordinates there, so that the bookkeeping of a factorisation would cost more than its sums.
type single struct {
	*points
	jac, q []float64 // rows×d: ∇h and its direction
	norm   []float64 // rows: ‖∇h‖
}

func newSingle(p *points) *single {
	return &single{
		points: p, jac: make([]float64, p.rows*p.d), q: make([]float64, p.rows*p.d), norm: make([]float64, p.rows),
	}
}

// At implements Geometry.
func (g *single) At(x []float64, n int) error { return g.hold(x, n, g.factor) }

func (g *single) factor(n int) error {
	d := g.d
	g.eval.Jacobians(g.values[:n], g.jac[:n*d], g.x[:n*d], n)
	for i := range n {
		ji, qi := g.jac[i*d:(i+1)*d], g.q[i*d:(i+1)*d]
		s := 0.0
		for _, v := range ji {
			s += v * v
		}
		s = math.Sqrt(s)
		if err := g.check(i, 0, s); err != nil {
			return err
		}
		inv := 1 / s
		for j, v := range ji {
			qi[j] = v * inv
		}
		g.norm[i] = s
	}
	return nil
}

// Active implements Geometry.
func (g *single) Active(int) int { return 1 }

// Rank implements Geometry.
func (g *single) Rank(int) int { return 1 }

// Tangent implements Geometry.
func (g *single) Tangent(dst, v []float64) {
	d := g.d
	for i := range g.n {
		q, out, in := g.q[i*d:(i+1)*d], dst[i*d:(i+1)*d], v[i*d:(i+1)*d]
		s := 0.0
		for j, w := range in {
			s += q[j] * w
		}
		for j, w := range in {
			out[j] = w - s*q[j]
		}
	}
	g.rest(dst)
}

// Normal implements Geometry.
func (g *single) Normal(dst, u []float64) {
	d := g.d
	for i := range g.n {
		s, out := u[i]/g.norm[i], dst[i*d:(i+1)*d]
		for j, v := range g.q[i*d : (i+1)*d] {
			out[j] = s * v
		}
	}
}

// Landing implements Geometry.
func (g *single) Landing(dst []float64) { g.Normal(dst, g.values) }

// basis implements base.
func (g *single) basis(i, _ int) ([]float64, int) { return g.q[i*g.d : (i+1)*g.d], 1 }

// gradients implements base.
func (g *single) gradients(i, _ int) []float64 { return g.jac[i*g.d : (i+1)*g.d] }

// A Gap is how far a point is from Σ, to first order, in the unit of the point: no matter how components are scaled.
type Gap struct {
	Step      float64 // ‖∇Jᵀ G† J‖, the length of Newton's step, with J = [h; max(g, 0)]
	Single    float64 // the largest |h_i|/‖∇h_i‖ or max(g_j, 0)/‖∇g_j‖; +Inf where only the gradient vanishes
	Component int     // with this excess; −1 if nothing is violated
	Excess    float64 // |h| or max(g, 0) of it
}

// A Ruler measures the gaps of single points. It is scratch space for one goroutine.
type Ruler struct {
	*layout
	at            Geometry
	der           derivatives
	m             int
	val, jac      []float64
	singles, step []float64
}

// NewRuler makes a Ruler for s.
func NewRuler(s constraint.Set) *Ruler {
	l, c, d := newLayout(s), len(constraint.Components(s)), s.Dim()
	return &Ruler{
		layout: l, at: newOf(s, 1, 0, l), der: newDerivatives(s.NewEvaluator(1), l, c, d, 1), m: len(s.Equalities()),
		val: make([]float64, c), jac: make([]float64, l.mat), singles: make([]float64, c), step: make([]float64, d),
	}
}

// Singles returns how far x is from satisfying each component, to first order: |h_i|/‖∇h_i‖ and max(g_j, 0)/‖∇g_j‖;
// +Inf where a gradient vanishes or something is not finite. It is true until the next call of r.
func (r *Ruler) Singles(x []float64) []float64 {
	r.der.at(r.val, r.jac, x, 1)
	for a := range r.groups {
		g := &r.groups[a]
		jac := g.matrix(r.jac)
		for l, comp := range g.comp {
			row, _ := g.row(jac, l)
			excess, norm := constraint.Excess(r.val[comp], comp < r.m), dense.Norm(row)
			switch {
			case norm-norm != 0:
				r.singles[comp] = math.Inf(1)
			case excess == 0:
				r.singles[comp] = 0
			default:
				r.singles[comp] = excess / norm
			}
		}
	}
	return r.singles
}

// Gap measures x. Where Newton's step is not defined, because a value is not finite or the
// gradient of an equality vanishes, it is as long as Single.
func (r *Ruler) Gap(x []float64) Gap {
	out := Gap{Component: -1}
	for i, far := range r.Singles(x) {
		if far > out.Single {
			out.Single, out.Component, out.Excess = far, i, constraint.Excess(r.val[i], i < r.m)
		}
	}
	out.Step = out.Single
	if len(r.val) > 1 && out.Component >= 0 && r.at.At(x, 1) == nil { // of one component they are the same
		r.at.Landing(r.step)
		out.Step = dense.Norm(r.step)
	}
	return out
}

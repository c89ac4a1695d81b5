package langevin

import (
	"context"
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
)

// A Score is s_θ, as the paper normalises it: 2∇ln q for overdamped methods, 2γ(∇_p ln q + p̃) for underdamped ones.
type Score interface {
	// Eval writes s at n rows (x_i, p_i), n×d, at time t; p is nil for overdamped methods.
	Eval(dst, x, p []float64, n int, t float64)
}

// A Stepper advances blocks of up to rows points by one step. It is scratch
// space for one goroutine; steps allocate nothing.
type Stepper struct {
	proc       *Process
	d, rows    int
	m          int               // equalities
	at         geometry.Geometry // at the point that the step starts from
	proposal   geometry.Geometry // at the proposal; implicit landing and terminal projection
	projection *geometry.Projection
	approach   *geometry.Approach  // nil unless there are equalities alone
	walls      *mirrors            // nil unless walls are elastic
	curvature  *geometry.Curvature // nil without curvature terms
	ok         []bool

	grad  []float64 // ∇f
	score []float64 // s
	move  []float64 // tangential move Π[…]
	p     []float64 // momentum recovered from positions
	curve []float64 // κ
	land  []float64
	worst []float64 // of Info
}

// Info tells what happened in a step.
type Info struct {
	// Worst is the largest excess of each component at a point that the step started
	// from. It belongs to the Stepper and holds until its next step.
	Worst []float64
	// Values are those of all components at the points that the step started from, rows
	// by components. They belong to the Stepper and hold until its next step.
	Values []float64
	// Projections counts projections, their Newton iterations and failures.
	Projections geometry.Outcome
	// Folds are the rows that elastic walls sent back, or nil. They belong to the Stepper and hold until its next step.
	// The next step's prev (or next, backward) is their mirror image: Folds.Carry.
	Folds *Folds
	Bounces
}

// Bounces count what elastic walls did to steps.
type Bounces struct {
	Reflected  int `json:"reflected"`   // mirrored
	TurnedBack int `json:"turned_back"` // that no mirror brought back, and that did not move
	Pushed     int `json:"pushed"`      // from a state outside that no mirror brought back: projected onto Σ
}

// Add adds b's counts.
func (b *Bounces) Add(o Bounces) {
	b.Reflected += o.Reflected
	b.TurnedBack += o.TurnedBack
	b.Pushed += o.Pushed
}

// NewStepper makes room for steps of rows points. The process must be valid.
func (p *Process) NewStepper(rows int) *Stepper {
	d, m := p.Set.Dim(), len(p.Set.Equalities())
	c := m + len(p.Set.Inequalities())
	vec := func() []float64 { return make([]float64, rows*d) }
	set := p.moving()
	s := &Stepper{
		proc: p, d: d, rows: rows, m: m, ok: make([]bool, rows),
		at: p.Geometry(rows), proposal: p.Geometry(rows), projection: geometry.NewProjection(set, rows),
		grad: vec(), score: vec(), move: vec(), p: vec(), curve: vec(), land: vec(), worst: make([]float64, c),
	}
	if m == c {
		s.approach = geometry.NewApproach(s.proposal, d, geometry.ApproachOptions{})
	}
	if p.Elastic() {
		s.walls = newMirrors(p, set, rows)
	}
	if p.Curvature && !p.Method.Projected() {
		k, err := geometry.NewCurvature(set, rows)
		if err != nil {
			panic("langevin: " + err.Error())
		}
		s.curvature = k
	}
	return s
}

// until has steps end early once ctx is done; what they give then is of no use.
func (s *Stepper) until(ctx context.Context) {
	geometry.Until(ctx, s.at)
	geometry.Until(ctx, s.proposal)
	s.projection.Until(ctx)
	if w := s.walls; w != nil {
		geometry.Until(ctx, w.at)
		geometry.Until(ctx, w.end)
		w.projection.Until(ctx)
		w.endProject.Until(ctx)
		w.ctx = ctx
	}
}

// Forward writes x_{k+1} from x_k = x, x_{k−1} = prev and ζ_k, all n×d; prev is ignored by overdamped methods, is x_0 −
// τ_0 p̃_0 at k = 0, and after a step with Folds the mirror image M_k. dst must not overlap the inputs. failed[i] is
// set where a projection fails; that row of dst is then x_k. The error is one of package geometry's.
func (s *Stepper) Forward(dst, x, prev, ζ []float64, failed []bool, n, k int) (Info, error) {
	if err := s.start(x, n); err != nil {
		return Info{}, err
	}
	τ := s.proc.Schedule.Tau(k)
	if s.proc.Method.Underdamped() {
		s.ullaForward(x, prev, ζ, n, k)
	} else {
		s.ollaForward(ζ, n, k)
	}
	return s.finish(dst, x, failed, n, τ)
}

// Backward writes x_k from x_{k+1} = x, x_{k+2} = next and the noise of this step, with the learned score; otherwise as
// Forward. next is x_N + τ_N p̃_N at k = N−1. ζ is 2n×d where the process splits its noise: ζ_k of all rows, then η_k.
func (s *Stepper) Backward(dst, x, next, ζ []float64, failed []bool, n, k int, score Score) (Info, error) {
	if err := s.start(x, n); err != nil {
		return Info{}, err
	}
	if s.proc.Method.Underdamped() {
		s.ullaBackward(x, next, ζ, n, k, score)
	} else {
		s.ollaBackward(x, ζ, n, k, score)
	}
	return s.finish(dst, x, failed, n, s.proc.BackTau(k))
}

// Tangent writes Π(x) v at the points x that the step in progress starts from, for a Score that it asks: n×d. dst may
// be v.
func (s *Stepper) Tangent(dst, v []float64) { s.at.Tangent(dst, v) }

// values returns all components at n points, until the next step.
func (s *Stepper) values(x []float64, n int) ([]float64, error) {
	if s.walls != nil {
		return s.walls.start(x, n), nil
	}
	err := s.at.At(x, n)
	return s.at.Values(), err
}

// start computes the geometry and ∇f at x.
func (s *Stepper) start(x []float64, n int) error {
	if n > s.rows {
		panic(fmt.Sprintf("langevin: %d rows in a stepper for %d", n, s.rows))
	}
	if err := s.at.At(x, n); err != nil {
		return err
	}
	if f := s.proc.Potential; f != nil {
		f.Gradient(s.grad[:n*s.d], x[:n*s.d], n)
	}
	return nil
}

// excess returns the largest of each component among the values at n points, until the next call.
func (s *Stepper) excess(values []float64, n int) []float64 {
	worst := s.worst
	clear(worst)
	for i := range n {
		for a, v := range values[i*len(worst) : (i+1)*len(worst)] {
			if e := constraint.Excess(v, a < s.m); e > worst[a] {
				worst[a] = e
			}
		}
	}
	return worst
}

// finish completes a step of size τ from the tangential move: by projection, or by the curvature and landing terms.
func (s *Stepper) finish(dst, x []float64, failed []bool, n int, τ float64) (Info, error) {
	values := s.at.Values()
	if s.walls != nil {
		values = s.walls.start(x, n)
	}
	info := Info{Worst: s.excess(values, n), Values: values}
	err := s.complete(dst, x, failed, n, τ, &info)
	if s.walls != nil && err == nil {
		s.walls.fold(dst, x, failed, n, &info)
	}
	return info, err
}

// complete is finish without walls.
func (s *Stepper) complete(dst, x []float64, failed []bool, n int, τ float64, info *Info) error {
	nd := n * s.d
	for i, v := range s.move[:nd] {
		dst[i] = x[i] + v
	}
	if s.proc.Method.Projected() {
		info.Projections = s.project(dst, x, failed, n)
		return nil
	}
	if s.curvature != nil {
		for i, κ := range s.curve[:nd] {
			dst[i] += κ
		}
	}
	if !s.proc.Landing.Explicit { // α_k τ_k = 1, at the proposal
		if err := s.proposal.At(dst, n); err != nil {
			return err
		}
		s.proposal.Landing(s.land)
		for i, v := range s.land[:nd] {
			dst[i] -= v
		}
		return nil
	}
	s.at.Landing(s.land)
	ατ := s.proc.Landing.Rate * τ
	for i, v := range s.land[:nd] {
		dst[i] -= ατ * v
	}
	return nil
}

// Terminal projects the n points of x onto Σ, in place, along the normal space at x: the paper's last step of OLLA and
// ULLA. A row whose normals miss Σ, as they can beside a sharp tip, is brought there by repeated landing instead (a
// departure from the paper, which drops it), on sets of equalities alone. failed[i] is set where that does not converge
// either; the row then stays. The steps of landing count as iterations.
//
// With late walls x is projected onto what is open of Σ, and closed then: to a point near in the distance of points.
func (s *Stepper) Terminal(x []float64, failed []bool, n int) (geometry.Outcome, error) {
	o, err := s.end(x, failed, n)
	if w := s.walls; err == nil && w != nil && w.l < w.c {
		o.Add(w.closed(x, failed, n))
	}
	return o, err
}

// end is Terminal of the set that paths keep to.
func (s *Stepper) end(x []float64, failed []bool, n int) (geometry.Outcome, error) {
	at, projection := s.proposal, s.projection
	if s.walls != nil {
		at, projection = s.walls.end, s.walls.endProject
	}
	if err := at.At(x, n); err != nil {
		return geometry.Outcome{}, err
	}
	o := projection.Project(at, s.move, x, s.ok, 0)
	for i, ok := range s.ok[:n] {
		row := x[i*s.d : (i+1)*s.d]
		switch {
		case ok:
			copy(row, s.move[i*s.d:(i+1)*s.d])
		case s.approach == nil:
			failed[i] = true
		default:
			steps, arrived := s.approach.Run(row)
			o.Iterations += steps
			failed[i] = failed[i] || !arrived
		}
	}
	return o, nil
}

// recover writes p̃ = Π(x)(to − from)/τ.
func (s *Stepper) recover(from, to []float64, τ float64, n int) {
	for i := range s.p[:n*s.d] {
		s.p[i] = (to[i] - from[i]) / τ
	}
	s.at.Tangent(s.p, s.p)
}

// addGradient adds c·∇f to the move.
func (s *Stepper) addGradient(c float64, n int) {
	if s.proc.Potential != nil {
		for i, g := range s.grad[:n*s.d] {
			s.move[i] += c * g
		}
	}
}

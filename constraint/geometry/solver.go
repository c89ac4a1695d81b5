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
	Steps int     // at most; 0 means 50
	Reach float64 // how far from its start a point may go; 0 means any distance
	// Inequalities is how many of the Lander's components, the last, are inequalities.
	Inequalities int
}

// NewApproach makes an Approach in R^d.
func NewApproach(at Lander, d int, o ApproachOptions) *Approach {
	if o.Steps == 0 {
		o.Steps = 50
	}
	return &Approach{at, o, make([]float64, d), make([]float64, d)}
}

// Run moves x to |h|, g ≤ 1e-13, or to 1e-12 where round-off ends the descent there or moves x by no more than
// its own; a small point (small) on to where a step is 10⁻¹⁰ of it, as far as steps lead there. It reports
// whether x arrived; if not, x stays. It returns the steps it took.
func (s *Approach) Run(x []float64) (steps int, ok bool) {
	const tolerance, roundoff = 1e-13, 1e-12
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
		if size <= tolerance || size <= roundoff && !falls {
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
	projection *Projection
	val, jac   []float64
	y, step    []float64
	ok         [1]bool
}

// NewSolver makes a Solver for s. Where it lands, inequalities that are violated on the way are put at −ε.
func NewSolver(s constraint.Set, ε float64) *Solver {
	d, c := s.Dim(), len(constraint.Components(s))
	return &Solver{
		at: New(s, 1, ε), m: len(s.Equalities()), eval: s.NewEvaluator(1), projection: NewProjection(s, 1),
		val: make([]float64, c), jac: make([]float64, c*d), y: make([]float64, d), step: make([]float64, d),
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
	s.eval.Jacobians(s.val, s.jac, x, 1)
	for i, v := range s.val {
		size := 1.0
		for j, u := range x {
			size += math.Abs(u * s.jac[i*len(x)+j])
		}
		if !(constraint.Excess(v, i < s.m) <= tol*size) {
			return false
		}
	}
	return true
}

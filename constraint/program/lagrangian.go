package program

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A Lagrangian finds nearest points by an augmented Lagrangian (Powell, Hestenes, Rockafellar):
// for multipliers λ and μ that dual ascent moves, λ ← λ + ρh and μ ← max(μ + ρg, 0), the minimum of
//
//	½‖y − x̃‖² + λᵀh + ½ρ‖h‖² + (‖max(μ + ρg, 0)‖² − ‖μ‖²)/(2ρ)
//
// by Gauss–Newton steps. The paper prints no ½‖y − x̃‖²; without it nothing holds the minimiser near the proposal, and
// it satisfies the conditions of Karush, Kuhn and Tucker with λ = μ = 0 wherever it is on Σ. ρ grows tenfold, to 10⁴ of
// what it was, where dual ascent does not lower the violation to a quarter.
type Lagrangian struct{ *search }

// LagrangianOptions of a Lagrangian.
type LagrangianOptions struct {
	Iterations int     // at most, of a point; 0 means 200
	Penalty    float64 // ρ at first, of components in units of length; 0 means 10
}

// NewLagrangian makes room for rows points of s.
func NewLagrangian(s constraint.Set, rows int, o LagrangianOptions) *Lagrangian {
	if o.Iterations == 0 {
		o.Iterations = 200
	}
	if o.Penalty == 0 {
		o.Penalty = 10
	}
	w := newSearch(s, rows, o.Iterations)
	w.program = &augmented{w, o.Penalty}
	return &Lagrangian{w}
}

// augmented is the program of a Lagrangian; its weight is ρ and its multipliers are λ and μ.
type augmented struct {
	*search
	ρ float64
}

const (
	growth    = 10   // of ρ
	mostGrown = 1e4  // ρ over that of the beginning
	enough    = 0.25 // of the violation that dual ascent may leave without ρ growing
	ascents   = 50   // at one point; of more none leads on
	exactness = 0.1  // gradient over violation at which a minimum is good enough for dual ascent
)

func (l *augmented) begin(s *path) {
	s.weight, s.violation = l.ρ, math.Inf(1)
	clear(s.ν)
}

// force returns λ + ρh or max(μ + ρg, 0) of a component.
func (l *augmented) force(s *path, i int, v float64) float64 {
	f := s.ν[i] + s.weight*v
	if !s.of.equal[i] {
		f = max(f, 0)
	}
	return f
}

func (l *augmented) merit(s *path, y, value []float64) float64 {
	sum := s.apart(y)
	for i, v := range value {
		f := l.force(s, i, v)
		sum += (f*f - s.ν[i]*s.ν[i]) / (2 * s.weight)
	}
	return sum
}

func (l *augmented) direct(s *path) fate {
	for range ascents {
		violation := l.off(s)
		gradient, ok := l.step(s)
		if !ok {
			return notFinite
		}
		stuck := dense.Largest(s.p) <= 0x1p-52*(dense.Largest(s.y)+s.length)
		done := s.met && violation <= s.tolerance
		switch {
		case done && gradient <= 10*s.tolerance:
			return arrived
		case gradient > max(exactness*violation, s.tolerance) && !stuck:
			return moving
		}
		// The minimum for these multipliers: dual ascent.
		still := true
		for i, v := range s.value {
			f := l.force(s, i, v)
			still = still && math.Abs(f-s.ν[i]) <= 0x1p-50*math.Abs(f)
			s.ν[i] = f
		}
		if !(violation <= enough*s.violation) {
			if s.weight >= mostGrown*l.ρ && still {
				return unreachable
			}
			s.weight = min(growth*s.weight, mostGrown*l.ρ)
		}
		s.violation = violation
	}
	return unreachable
}

// off returns how far a path is from Σ and from complementarity: the largest |h| and
// |max(g, −μ/ρ)|.
func (l *augmented) off(s *path) (size float64) {
	for i, v := range s.value {
		if !s.of.equal[i] {
			v = max(v, -s.ν[i]/s.weight)
		}
		size = max(size, math.Abs(v))
	}
	return size
}

// step solves for p and returns the largest element of the gradient at y.
func (l *augmented) step(s *path) (gradient float64, ok bool) {
	l.pulled(s)
	clear(s.trial) // the gradient, for now
	for j, v := range l.pull[:s.of.d] {
		s.trial[j] = -v
	}
	for i, v := range s.value {
		f := l.force(s, i, v)
		if !s.of.equal[i] && f == 0 {
			continue
		}
		l.count(s, i, 1/s.weight, v+s.ν[i]/s.weight)
		dense.Axpy(s.trial[s.of.lo[i]:s.of.hi[i]], f, s.of.span(l.gradient, i))
	}
	ok = l.solve(s)
	s.slope = 0
	for j, v := range s.trial {
		s.slope += v * s.p[j]
		gradient = max(gradient, math.Abs(v))
	}
	return gradient, ok
}

// follow leaves multipliers: dual ascent moves them.
func (*augmented) follow(*path) {}

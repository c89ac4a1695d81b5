package program

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// An Interior finds nearest points by an interior-point method (Wächter and Biegler 2006): for
// β falling to 0, the minimum of
//
//	½‖y − x̃‖² + Σ_j B_β(g_j)  with  h(y) = 0,
//	B_β(g) = −β ln(−g)                                        for g ≤ −δ, a logarithmic barrier
//	       = −β ln δ + β/δ (g + δ) + β/(2δ²) (g + δ)²          for g > −δ, a quadratic penalty
//
// with δ = β/(100 L), by primal-dual Newton steps on its conditions of first order, the equalities linearised. The
// paper joins barrier and penalty at g = 0, where the barrier is infinite; joined at −δ, which goes to 0 with β, the
// sum is twice differentiable, and a proposal may be on either side of a wall.
//
// A path that ends off Σ, as where components have kinks, is restored to it (their Section 3.3), here
// by Gauss–Newton steps: the point is on Σ and need not be the nearest.
type Interior struct{ *search }

// InteriorOptions of an Interior.
type InteriorOptions struct {
	Iterations int // at most, of a point; 0 means 100
}

// NewInterior makes room for rows points of s.
func NewInterior(s constraint.Set, rows int, o InteriorOptions) *Interior {
	if o.Iterations == 0 {
		o.Iterations = 100
	}
	w := newSearch(s, rows, o.Iterations)
	w.program, w.restoration = &barrier{w}, NewCorrection(s, 1)
	return &Interior{w}
}

// barrier is the program of an Interior; its weight is β.
type barrier struct{ *search }

const (
	firstBarrier = 0.1   // β over L²
	lastBarrier  = 1e-17 // that of the end
	steepest     = 100   // largest force of the logarithm over L
	centred      = 10    // β is lowered where p and h are at most that many β/L
	apartDual    = 1e10  // multipliers are kept within this factor of β/z
	nearWall     = 0.995 // of the way to a wall that a step may go
	light        = 1e-6  // curvature of B_β below which it is left out of the system
)

func (b *barrier) begin(s *path) {
	s.weight = firstBarrier
	if s.of.m == s.of.c {
		s.weight = lastBarrier
	}
	s.weight *= s.length * s.length
	s.penalty = 0
	clear(s.ν)
}

func (b *barrier) join(s *path) float64 { return s.weight / (steepest * s.length) }

// force returns B′ of inequality i at y and the curvature that a step reckons with: B″ outside,
// and ν/z inside, which is B″ where ν = β/z.
func (b *barrier) force(s *path, i int) (f, curvature float64) {
	β, δ, z := s.weight, b.join(s), -s.value[i]
	if z < δ {
		return β / δ * (2 - z/δ), β / (δ * δ)
	}
	return β / z, s.ν[i] / z
}

func (b *barrier) merit(s *path, y, value []float64) float64 {
	β, δ, sum := s.weight, b.join(s), s.apart(y)
	for i, v := range value {
		switch {
		case s.of.equal[i]:
			sum += s.penalty * math.Abs(v)
		case v <= -δ:
			sum -= β * math.Log(-v)
		default:
			r := (v + δ) / δ
			sum += β * (r + r*r/2 - math.Log(δ))
		}
	}
	return sum
}

func (b *barrier) direct(s *path) fate {
	b.keep(s)
	for {
		if !b.step(s) {
			return notFinite
		}
		last := lastBarrier * s.length * s.length
		size, near := s.bend*dense.Largest(s.p), max(centred*s.weight/s.length, s.tolerance)
		met := size <= near
		for i, v := range s.value {
			if s.of.equal[i] {
				met = met && math.Abs(v) <= near
				continue
			}
			μ, z := s.next[i], -v // multipliers push, and μz = β
			met = met && μ >= -near && (z < b.join(s) || math.Abs(μ*z-s.weight) <= near*s.length)
		}
		stuck := dense.Largest(s.p) <= 0x1p-52*(dense.Largest(s.y)+s.length)
		switch {
		case s.weight <= last && met && s.met:
			return arrived
		case s.weight <= last && stuck:
			return unreachable
		case !met && !stuck || s.weight <= last:
			return moving
		}
		β := s.weight / (s.length * s.length)
		s.weight = max(min(0.2*β, β*math.Sqrt(β)), lastBarrier) * s.length * s.length
		b.keep(s)
	}
}

// step solves for p at the present β.
func (b *barrier) step(s *path) bool {
	b.pulled(s)
	for i, v := range s.value {
		if s.of.equal[i] {
			b.count(s, i, 0, v)
			continue
		}
		f, w := b.force(s, i)
		if w*b.sizes[i] > light {
			b.count(s, i, 1/w, f/w)
			continue
		}
		dense.Axpy(b.pull[s.of.lo[i]:s.of.hi[i]], -f, s.of.span(b.gradient, i))
	}
	if !b.solve(s) {
		return false
	}
	s.slope = s.toward()
	// π exceeds the multipliers of this step. One that only grows stays at what a few steps beside a wall
	// asked, and then bends along a curved {h = 0} are refused until the path's evaluations are spent.
	s.penalty /= 2
	for i := range s.value {
		if s.of.equal[i] {
			s.penalty = max(s.penalty, 1.5*math.Abs(s.next[i]))
			continue
		}
		f, w := b.force(s, i)
		dg := b.along(s, i)
		s.slope += f * dg
		if w*b.sizes[i] <= light {
			s.next[i] = f + w*dg
		}
	}
	for i, v := range s.value {
		if s.of.equal[i] {
			s.slope -= s.penalty * math.Abs(v)
		}
	}
	return true
}

// bound keeps inequalities that hold from crossing their walls, to first order.
func (b *barrier) bound(s *path) float64 {
	α, δ := 1.0, b.join(s)
	for i, v := range s.value {
		if z := -v; z > δ && !s.of.equal[i] {
			if dg := b.along(s, i); α*dg > nearWall*z {
				α = nearWall * z / dg
			}
		}
	}
	return α
}

// follow moves multipliers along with the step. The penalty pushes points that are beyond a wall. Such a wall has the
// multiplier of a whole step, or none yet.
func (b *barrier) follow(s *path) {
	δ := b.join(s)
	for i := range s.ν {
		switch {
		case s.of.equal[i] || -s.value[i] >= δ:
			s.ν[i] += s.share * (s.next[i] - s.ν[i])
		case s.share == 1:
			s.ν[i] = max(s.next[i], 0)
		default:
			s.ν[i] = 0
		}
	}
}

// keep holds the multipliers of inequalities inside their walls near the force of the barrier.
func (b *barrier) keep(s *path) {
	δ := b.join(s)
	for i, v := range s.value {
		if z := -v; z >= δ && !s.of.equal[i] {
			f := s.weight / z
			if s.ν[i] == 0 {
				s.ν[i] = f
			}
			s.ν[i] = min(max(s.ν[i], f/apartDual), f*apartDual)
		}
	}
}

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

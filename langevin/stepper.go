package langevin

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/geometry"
)

// A Score is s_θ, as the paper normalises it: 2∇ln q for overdamped methods,
// 2γ(∇_p ln q + p̃) for underdamped ones.
type Score interface {
	// Eval writes s at n rows (x_i, p_i), n×d, at time t; p is nil for
	// overdamped methods.
	Eval(dst, x, p []float64, n int, t float64)
}

// A Stepper advances blocks of up to rows points by one step. It is scratch
// space for one goroutine; steps allocate nothing.
type Stepper struct {
	proc     *Process
	d, rows  int
	m        int             // equalities
	inside   float64         // ε: how far inside a projected step puts a violated inequality
	at       *geometry.Block // at the point that the step starts from
	proposal *geometry.Block // at the proposal; implicit landing and terminal projection
	ok       []bool

	grad  []float64 // ∇f
	score []float64 // s
	move  []float64 // tangential move Π[…]
	p     []float64 // momentum recovered from positions
	curve []float64 // κ
	land  []float64

	// Projections counts projections, their Newton iterations and failures
	// since the caller last cleared it.
	Projections geometry.Projections
	// Worst is the largest violation of each component at a point that a step
	// started from, since the caller last cleared it: |h_i|, or max(g_j, 0).
	Worst []float64
}

// NewStepper makes room for steps of rows points. The process must be valid.
func (p *Process) NewStepper(rows int) *Stepper {
	d := p.Set.Dim()
	vec := func() []float64 { return make([]float64, rows*d) }
	return &Stepper{
		proc: p, d: d, rows: rows, m: len(p.Set.Equalities()), inside: p.Repulsion, ok: make([]bool, rows),
		at: p.Geometry(rows), proposal: p.Geometry(rows),
		grad: vec(), score: vec(), move: vec(), p: vec(), curve: vec(), land: vec(),
		Worst: make([]float64, len(p.Set.Equalities())+len(p.Set.Inequalities())),
	}
}

// Forward writes x_{k+1} from x_k = x, x_{k−1} = prev and ζ_k, all n×d; prev is
// ignored by overdamped methods, and is x_0 − τ_0 p̃_0 at k = 0. dst must not
// overlap the inputs. failed[i] is set where a projection fails; that row of
// dst is then x_k. The error is one of package geometry's.
func (s *Stepper) Forward(dst, x, prev, ζ []float64, failed []bool, n, k int) error {
	if err := s.start(x, n); err != nil {
		return err
	}
	τ := s.proc.Schedule.Tau(k)
	if s.proc.Method.Underdamped() {
		s.ullaForward(x, prev, ζ, n, k)
	} else {
		s.ollaForward(x, ζ, n, k)
	}
	return s.finish(dst, x, failed, n, τ)
}

// Backward writes x_k from x_{k+1} = x, x_{k+2} = next and the noise of this
// step, with the learned score; otherwise as Forward. next is x_N + τ_N p̃_N at
// k = N−1.
func (s *Stepper) Backward(dst, x, next, ζ []float64, failed []bool, n, k int, score Score) error {
	if err := s.start(x, n); err != nil {
		return err
	}
	if s.proc.Method.Underdamped() {
		s.ullaBackward(x, next, ζ, n, k, score)
	} else {
		s.ollaBackward(x, ζ, n, k, score)
	}
	return s.finish(dst, x, failed, n, s.proc.BackTau(k))
}

// start computes the geometry and ∇f at x.
func (s *Stepper) start(x []float64, n int) error {
	if n > s.rows {
		panic(fmt.Sprintf("langevin: %d rows in a stepper for %d", n, s.rows))
	}
	if err := s.at.At(x, n); err != nil {
		return err
	}
	s.observe(s.at.Values(), n)
	if f := s.proc.Potential; f != nil {
		f.Gradient(s.grad[:n*s.d], x[:n*s.d], n)
	}
	return nil
}

func (s *Stepper) observe(values []float64, n int) {
	c := len(s.Worst)
	for i := range n {
		for a, v := range values[i*c : (i+1)*c] {
			if a < s.m {
				v = math.Abs(v)
			}
			if v > s.Worst[a] {
				s.Worst[a] = v
			}
		}
	}
}

// finish completes a step of size τ from the tangential move: by projection, or
// by the curvature and landing terms.
func (s *Stepper) finish(dst, x []float64, failed []bool, n int, τ float64) error {
	nd := n * s.d
	for i, v := range s.move[:nd] {
		dst[i] = x[i] + v
	}
	if s.proc.Method.Projected() {
		s.project(dst, x, failed, n)
		return nil
	}
	if s.proc.Curvature {
		for i, κ := range s.curve[:nd] {
			dst[i] += κ
		}
	}
	if s.proc.Landing.Implicit { // α_k τ_k = 1, at the proposal
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

// Terminal projects the n points of x onto Σ, in place, along the normal space
// at x: the paper's last step of OLLA and ULLA. A row whose normals miss Σ, as
// they can beside a sharp tip, is brought there by repeated landing instead (a
// departure from the paper, which drops it). failed[i] is set where that does not
// converge either; the row then stays.
func (s *Stepper) Terminal(x []float64, failed []bool, n int) error {
	if err := s.proposal.At(x, n); err != nil {
		return err
	}
	s.proposal.Project(s.move, x, s.ok)
	s.Projections.Add(s.proposal.TakeProjections())
	for i, ok := range s.ok[:n] {
		if ok {
			copy(x[i*s.d:(i+1)*s.d], s.move[i*s.d:(i+1)*s.d])
		} else if !s.approach(x[i*s.d : (i+1)*s.d]) {
			failed[i] = true
		}
	}
	return nil
}

// approach moves x to Σ by Gauss–Newton steps −∇JᵀG†J and reports whether they
// converge, to 1e-13 or to 1e-12 where round-off ends the descent; if not, x
// stays. It is for equalities only.
func (s *Stepper) approach(x []float64) bool {
	const steps, tolerance, roundoff = 50, 1e-13, 1e-12
	if s.m < len(s.Worst) {
		return false
	}
	y, land := s.curve[:s.d], s.land[:s.d]
	copy(y, x)
	last := math.Inf(1)
	for range steps {
		if s.proposal.At(y, 1) != nil {
			return false
		}
		far := 0.0
		for _, h := range s.proposal.Values() {
			far = max(far, math.Abs(h))
		}
		if far <= tolerance || far <= roundoff && far >= last {
			copy(x, y)
			return true
		}
		last = far
		s.proposal.Landing(land)
		for j, v := range land {
			y[j] -= v
		}
		s.Projections.Iterations++
	}
	return false
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

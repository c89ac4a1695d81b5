package langevin

import "math"

// OLLA, the overdamped process (Proposition 1, Algorithm 1), with τ = σ²Δt:
//
//	forward   x_{k+1} = x_k − ½τ Π∇f + √τ Πζ − ατ ∇JᵀG†J + ½τ 𝓗        at x_k
//	backward  x_k = x_{k+1} + ½τ Π(∇f + s) + √τ Πζ − ατ ∇JᵀG†J + ½τ 𝓗   at x_{k+1}
//
// These functions make the tangential part Π[…] and κ = ½τ𝓗; Stepper.finish
// adds them and the landing term. OLLA-P keeps only the tangential part.

func (s *Stepper) ollaForward(ζ []float64, n, k int) {
	τ := s.proc.Schedule.Tau(k)
	s.noise(math.Sqrt(τ), ζ, n)
	s.addGradient(-τ/2, n)
	s.at.Tangent(s.move, s.move)
	s.meanCurvature(τ, n)
}

func (s *Stepper) ollaBackward(x, ζ []float64, n, k int, score Score) {
	τ := s.proc.BackTau(k)
	score.Eval(s.score[:n*s.d], x, nil, n, s.proc.Schedule.Time(k+1))
	s.noise(math.Sqrt(τ), ζ, n)
	for i, v := range s.score[:n*s.d] {
		s.move[i] += τ / 2 * v
	}
	s.addGradient(τ/2, n)
	s.at.Tangent(s.move, s.move)
	s.meanCurvature(τ, n)
}

// noise starts the move with c·ζ.
func (s *Stepper) noise(c float64, ζ []float64, n int) {
	for i := range s.move[:n*s.d] {
		s.move[i] = c * ζ[i]
	}
}

func (s *Stepper) meanCurvature(τ float64, n int) {
	if s.curvature != nil {
		s.curvature.Mean(s.curve, s.at)
		for i := range s.curve[:n*s.d] {
			s.curve[i] *= τ / 2
		}
	}
}

package langevin

import "math"

// ULLA, the underdamped process (Proposition 2, Algorithm 2): the O-B̃-A splitting collapsed to positions, with τ =
// σ²Δt, a = exp(−γτ) and the momentum p̃ recovered from two positions:
//
//	forward   x_{k+1} = x_k + τ Π[a p̃ − τ∇f + √(1−a²) ζ] − ατ ∇JᵀG†J − τ² ∇JᵀG†(𝓗₁ − α𝓗₂)
//	          p̃ = Π(x_k)(x_k − x_{k−1})/τ_{k−1}, everything else at x_k
//	backward  x_k = x_{k+1} − τ Π[a p̃ + τ(∇f + s) + √(1−a²) ζ] − ατ ∇JᵀG†J − τ² ∇JᵀG†(𝓗₁ + α𝓗₂)
//	          p̃ = Π(x_{k+1})(x_{k+2} − x_{k+1})/τ', everything else at x_{k+1}
//
// The paper writes the backward noise with a plus sign, outside the bracket;
// the law is the same. Here it belongs to the momentum, as in the reference.
//
// These functions make the tangential part τΠ[…] and κ; Stepper.finish adds
// them and the landing term. ULLA-P keeps only the tangential part.

func (s *Stepper) ullaForward(x, prev, ζ []float64, n, k int) {
	τ := s.proc.Schedule.Tau(k)
	s.recover(prev, x, s.proc.Schedule.Tau(max(k-1, 0)), n)
	a := s.proc.Decay(τ)
	b := math.Sqrt(1 - a*a)
	for i, p := range s.p[:n*s.d] {
		s.move[i] = τ * (a*p + b*ζ[i])
	}
	s.addGradient(-τ*τ, n)
	s.at.Tangent(s.move, s.move)
	s.momentumCurvature(τ, -s.proc.landingRate(τ), n)
}

func (s *Stepper) ullaBackward(x, next, ζ []float64, n, k int, score Score) {
	τ := s.proc.BackTau(k)
	s.recover(x, next, s.proc.MomentumTau(k), n)
	a := s.proc.Decay(τ)
	b := math.Sqrt(1 - a*a)
	if s.proc.Split {
		var h float64
		h, b = s.proc.splitNoise(k)
		η := ζ[n*s.d : 2*n*s.d]
		s.at.Tangent(s.move, η)
		for i, v := range s.move[:n*s.d] {
			s.p[i] += h * v
		}
	}
	score.Eval(s.score[:n*s.d], x, s.p[:n*s.d], n, s.proc.Schedule.Time(k+1))
	for i, p := range s.p[:n*s.d] {
		s.move[i] = -τ * (a*p + τ*s.score[i] + b*ζ[i])
	}
	s.addGradient(-τ*τ, n)
	s.at.Tangent(s.move, s.move)
	s.momentumCurvature(τ, s.proc.landingRate(τ), n)
}

// momentumCurvature sets κ = −τ² ∇JᵀG†(𝓗₁ + c𝓗₂).
func (s *Stepper) momentumCurvature(τ, c float64, n int) {
	if s.curvature != nil {
		s.curvature.Momentum(s.curve, s.at, s.p, c)
		for i := range s.curve[:n*s.d] {
			s.curve[i] *= -τ * τ
		}
	}
}

package langevin

import (
	"math"

	"github.com/landing-diffusion/landing/constraint/geometry"
)

// OLLA, the overdamped process (Proposition 1, Algorithm 1), with τ = σ²Δt:
//
//	forward   x_{k+1} = x_k − ½τ Π∇f + √τ Πζ − ατ ∇JᵀG†J + ½τ 𝓗        at x_k
//	backward  x_k = x_{k+1} + ½τ Π(∇f + s) + √τ Πζ − ατ ∇JᵀG†J + ½τ 𝓗   at x_{k+1}
//
// These functions make the tangential part Π[…] and κ = ½τ𝓗; Stepper.finish
// adds them and the landing term. OLLA-P keeps only the tangential part.

func (s *Stepper) ollaForward(x, ζ []float64, n, k int) {
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

// OLLA-P (= RDDPM) and ULLA-P replace the landing and curvature terms by a
// Newton solve at every step (paper, Forward-OLLA-P and Forward-ULLA-P):
//
//	x_{k+1} = x_k + Π[…] + ∇J(x_k)ᵀ λ   with λ such that J(x_{k+1}) = 0
//
// with J = h where walls are elastic (walls.go). With the paper's J = [h; g_I + ε] and I the inequalities that the
// proposal violates, so a point that meets the boundary is put ε inside it and can leave again. Backward it is the
// same, from x_{k+1}. The tangential parts are those of OLLA and ULLA.

// project moves the proposals in dst to Σ along the normals at x. A row whose solve fails goes back to x and is marked.
func (s *Stepper) project(dst, x []float64, failed []bool, n int) geometry.Outcome {
	margin := s.proc.Repulsion
	if s.walls != nil {
		margin = 0
	}
	o := s.projection.Project(s.at, dst, dst, s.ok, margin)
	for i, ok := range s.ok[:n] {
		if !ok {
			failed[i] = true
			copy(dst[i*s.d:(i+1)*s.d], x[i*s.d:(i+1)*s.d])
		}
	}
	return o
}

// The backward step x_{k+1} → x_k draws p_{k+1}, whose law given x = x_{k+1} and q = p̃ the network knows by its
// mean m(x, q) = a_k q + τ_k s(x, q) alone. The paper gives it the variance 1 − a_k² of a forward step, in all
// directions and everywhere. That is too much where (x, q) tell of the data: as q = a p_{k+1} + bζ with ζ
// independent of the past, a = a_{k+1}, b² = 1 − a², Tweedie's formula of second order is
//
//	Cov[p_{k+1} | x, q] = (b²/a) ∂m/∂q,    ∂m/∂q = a(1 + E),
//
// E = 0 where nothing is known and −1 where all is. Modes that are narrow beside the data come out too wide: of
// a width of 0.1, 0.03 of the data's, by 7 and 14 % of their variance with 50 steps and the exact score.
//
// Split noise asks the network at q + hη in place of q, and adds less after it:
//
//	p_{k+1} = m(x, q + hη) + gζ,    h = b/(√2 a), g² = b² − a²h²,
//
// whose covariance a²h²(1 + E)² + g² is b²(1 + E + E²/2): right to the first order in E, as a matrix and
// at each point, for no evaluation more. Its mean is m's average over hη, off by ½h² of m's Laplacian, which is
// smaller than what was left out before: on a mixture of three Gaussians on the line, 0.03, 0.1 and half as
// wide as all, 50 steps with the exact score are then about as near as 100 without, and 100 as 200.
//
// h is bounded: where momentum is forgotten within a step, (x, q) tell next to nothing, and q + hη would be where
// the network never was. p̃_N is noise that knows nothing of p_N, so there h = 0 and g = 1.

// mostEarly is the largest h: q + hη has at most one and a half times the variance of q.
const mostEarly = math.Sqrt2 / 2

// splitNoise returns h and g of the backward step x_{k+1} → x_k.
func (p *Process) splitNoise(k int) (h, g float64) {
	if k == p.Schedule.N-1 {
		return 0, 1
	}
	a := p.Decay(p.Schedule.Tau(k + 1))
	b2 := 1 - a*a
	h = min(math.Sqrt(b2/2)/a, mostEarly)
	return h, math.Sqrt(b2 - a*a*h*h)
}

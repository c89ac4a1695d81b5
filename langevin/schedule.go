package langevin

import "math"

// A Schedule is the grid t_k = kΔt, Δt = T/N, and the noise level σ_k on it.
type Schedule struct {
	N                  int     // steps
	T                  float64 // horizon
	SigmaMin, SigmaMax float64
	Geometric          bool // σ_k on a geometric instead of a linear scale
}

// Dt returns Δt.
func (s Schedule) Dt() float64 { return s.T / float64(s.N) }

// Time returns t_k.
func (s Schedule) Time(k int) float64 { return float64(k) * s.Dt() }

// Sigma returns σ_k: σ_min + (k/N)(σ_max − σ_min), or σ_min (σ_max/σ_min)^(k/N).
func (s Schedule) Sigma(k int) float64 {
	u := float64(k) / float64(s.N)
	if s.Geometric {
		return s.SigmaMin * math.Pow(s.SigmaMax/s.SigmaMin, u)
	}
	return s.SigmaMin + u*(s.SigmaMax-s.SigmaMin)
}

// Tau returns τ_k = σ_k²Δt, the step's own time.
func (s Schedule) Tau(k int) float64 {
	σ := s.Sigma(k)
	return σ * σ * s.Dt()
}

// Steps returns how many of σ_0, σ_1, … and τ_0, τ_1, … the process uses, forward and backward.
func (p *Process) Steps() int {
	if p.Convention == Paper {
		return p.Schedule.N + 1
	}
	return p.Schedule.N
}

// MonotoneRate returns the largest α of explicit landing with ρ_k = ασ_k²Δt ≤ 1 at every step, 1/max τ_k: the paper's
// starting value. On an affine set h_{k+1} = (1 − ρ_k) h_k + ξ_k, so ρ = 1 also leaves the least variance, var
// ξ/(ρ(2−ρ)).
func (p *Process) MonotoneRate() float64 {
	τ := 0.0
	for k := range p.Steps() {
		τ = max(τ, p.Schedule.Tau(k))
	}
	return 1 / τ
}

// Rho returns ρ_k, the share of a violation that landing removes in forward
// step k; 1 for implicit landing and for projection.
func (p *Process) Rho(k int) float64 {
	if !p.Landing.Explicit || p.Method.Projected() {
		return 1
	}
	return p.Landing.Rate * p.Schedule.Tau(k)
}

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

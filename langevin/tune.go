package langevin

// MonotoneRate returns the largest α of explicit landing with ρ_k = ασ_k²Δt ≤ 1 at every step, 1/max τ_k: the paper's
// starting value. On an affine set h_{k+1} = (1 − ρ_k) h_k + ξ_k, so ρ = 1 also leaves the least variance, var
// ξ/(ρ(2−ρ)).
func (p *Process) MonotoneRate() float64 {
	τ := 0.0
	for k := range p.steps() {
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

// Steps returns how many of τ_0, τ_1, … the process uses, forward and backward.
func (p *Process) Steps() int { return p.steps() }

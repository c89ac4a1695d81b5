package check

import (
	"fmt"
	"math"
)

// landingRate looks at ρ_k = ασ_k²Δt, the share of a violation that explicit landing removes at step k: h_{k+1} = (1
// − ρ_k) h_k to leading order. It diverges at ρ ≥ 2 and overshoots above 1.
func landingRate(e *Evidence) []Finding {
	p := e.Process
	if p.Method.Projected() {
		return []Finding{{Message: fmt.Sprintf("%s projects at every step and has no landing rate", p.Method)}}
	}
	if !p.Landing.Explicit {
		return []Finding{{Message: "implicit landing: ρ_k = ασ_k²Δt = 1 at every step",
			Numbers: Numbers{"rho_max": 1, "rho_min": 1}}}
	}
	lo, hi, at, sum := p.Rho(0), 0.0, 0, 0.0
	for k := range p.Steps() {
		ρ := p.Rho(k)
		lo, sum = min(lo, ρ), sum+ρ
		if ρ > hi {
			hi, at = ρ, k
		}
	}
	α := p.MonotoneRate()
	f := Finding{Numbers: Numbers{"rho_min": lo, "rho_max": hi, "at_step": float64(at), "alpha": p.Landing.Rate,
		"alpha_recommended": α, "rho_sum": sum}}
	profile := fmt.Sprintf("ρ_k = ασ_k²Δt goes from %.3g to %.3g", lo, hi)
	advice := fmt.Sprintf("α = %.4g makes ρ at most 1", α)
	switch {
	case !(p.Landing.Rate > 0):
		f.say(Fail, "α is %v: nothing lands; %s", p.Landing.Rate, advice)
	case hi >= 2:
		f.say(Fail, "%s, at step %d: landing diverges at 2; %s", profile, at, advice)
	case hi > 1:
		f.say(Warn, "%s, at step %d: landing overshoots and oscillates above 1; %s", profile, at, advice)
	case sum < 3:
		f.say(Warn, "%s, and Σρ_k is %.2g: a violation only shrinks by the factor %.2g "+
			"over a whole path; %s", profile, sum, math.Exp(-sum), advice)
	default:
		f.Message = profile + ": violations decay monotonically"
		if hi < 0.5 {
			f.Message += fmt.Sprintf("; α up to %.4g stays monotone", α)
		}
	}
	return []Finding{f}
}

package langevin

import "math"

// ScoreCoefficient returns c_k of the backward step x_{k+1} → x_k: how far a
// unit score moves its mean, in units of its noise. It is √τ/2 for overdamped
// and −τ/√(1−a²) for underdamped methods, with τ of BackTau.
func (p *Process) ScoreCoefficient(k int) float64 {
	τ := p.BackTau(k)
	if !p.Method.Underdamped() {
		return math.Sqrt(τ) / 2
	}
	a := p.Decay(τ)
	return -τ / math.Sqrt(1-a*a)
}

// ScoreGains returns m(t), at t = t_{k+1} the factor √(max_j |c_j| / |c_k|).
// Scores grow where steps are small; a network whose output is multiplied by m
// has a smaller range to cover.
func (p *Process) ScoreGains() func(t float64) float64 {
	m, largest := make([]float64, p.Schedule.N), 0.0
	for k := range m {
		m[k] = math.Abs(p.ScoreCoefficient(k))
		largest = max(largest, m[k])
	}
	for k, c := range m {
		m[k] = math.Sqrt(largest / c)
	}
	return func(t float64) float64 {
		return m[min(max(int(math.Round(t/p.Schedule.Dt()))-1, 0), len(m)-1)]
	}
}

package langevin

import "math"

// ScoreCoefficient returns c_k of the backward step x_{k+1} → x_k: how far a unit score moves its mean, in units of its
// noise. It is √τ/2 for overdamped and −τ/√(1−a²) for underdamped methods, with τ of BackTau.
func (p *Process) ScoreCoefficient(k int) float64 {
	τ := p.BackTau(k)
	if !p.Method.Underdamped() {
		return math.Sqrt(τ) / 2
	}
	a := p.Decay(τ)
	return -τ / math.Sqrt(1-a*a)
}

// ScoreGains returns m(t), at t = t_{k+1} the factor √(max_j |c_j| / |c_k|). Scores grow where steps are small; a
// network whose output is multiplied by m has a smaller range to cover.
func (p *Process) ScoreGains() func(t float64) float64 {
	m, largest := make([]float64, p.Schedule.N), 0.0
	for k := range m {
		m[k] = math.Abs(p.ScoreCoefficient(k))
		largest = max(largest, m[k])
	}
	for k, c := range m {
		m[k] = math.Sqrt(largest / c)
	}
	return p.atStep(m)
}

// TargetSize returns r_k: the standard deviation, in each direction of a flat Σ, of what is known of the noise u of the
// backward step x_{k+1} → x_k (package cwpm) from the whole displacement x_{k+1} − x_0 and p̃. It is the size of what a
// network has to learn of that step, whatever the data.
func (p *Process) TargetSize(k int) float64 {
	back := p.BackTau(k)
	if !p.Method.Underdamped() {
		return p.Schedule.Tau(k) / math.Sqrt(p.past(k).vv*back)
	}
	m := p.past(k)
	vv, vm, vq, mq, qq := m.vv, m.vm, m.vq, m.mq, m.qq
	// E[m | v, q] = f v + g q, and u = (a q − m τ_k/τ)/√(1−a²).
	det := vv*qq - vq*vq
	f, g := (vm*qq-mq*vq)/det, (mq*vv-vm*vq)/det
	a, ratio := p.Decay(back), p.Schedule.Tau(k)/back
	f, g = -ratio*f, a-ratio*g
	return math.Sqrt((f*f*vv + 2*f*g*vq + g*g*qq) / (1 - a*a))
}

// LookAhead returns b and c of the backward step x_{k+1} → x_k, which say where its path began by what the network says
// of it: x̂_0 = x_{k+1} + b p̃ + cΠs, the mean of x_0 given x_{k+1} and p̃ on a flat Σ without force. It follows from
// E[m | v, q] = f v + g q (TargetSize), whose mean over x_0 the score tells.
func (p *Process) LookAhead(k int) (b, c float64) {
	m, back := p.past(k), p.BackTau(k)
	if !p.Method.Underdamped() {
		return 0, m.vv / 2
	}
	det := m.vv*m.qq - m.vq*m.vq
	f, g := (m.vm*m.qq-m.mq*m.vq)/det, (m.mq*m.vv-m.vm*m.vq)/det
	ratio := back / p.Schedule.Tau(k) // the step's move is −τ(aq + τs) = −τ_k m
	return (g - ratio*p.Decay(back)) / f, -ratio * back / f
}

// Ahead returns LookAhead as a function of t = t_{k+1}.
func (p *Process) Ahead() func(t float64) (b, c float64) {
	bs, cs := make([]float64, p.Schedule.N), make([]float64, p.Schedule.N)
	for k := range bs {
		bs[k], cs[k] = p.LookAhead(k)
	}
	b, c := p.atStep(bs), p.atStep(cs)
	return func(t float64) (float64, float64) { return b(t), c(t) }
}

// moments are those of v = x_{k+1} − x_0, m = p_{k+1} and q = p̃ in one direction of a flat Σ.
type moments struct{ vv, vm, vq, mq, qq float64 }

// past returns the moments of the backward step x_{k+1} → x_k. Overdamped methods have no m, and q is noise.
func (p *Process) past(k int) moments {
	o := moments{qq: 1}
	for i := range k + 1 {
		τ := p.Schedule.Tau(i)
		if !p.Method.Underdamped() {
			o.vv += τ
			continue
		}
		a := p.Decay(τ)
		o.vv, o.vm = o.vv+2*τ*a*o.vm+τ*τ, a*o.vm+τ
	}
	if p.Method.Underdamped() && k+2 <= p.Schedule.N { // beyond the last step p̃ is only noise
		τ := p.Schedule.Tau(k + 1)
		a, r := p.Decay(τ), τ/p.MomentumTau(k)
		o.vq, o.mq, o.qq = r*a*o.vm, r*a, r*r
	}
	return o
}

// BalancedGains returns m(t), at t = t_{k+1} the factor r_k/|c_k| of TargetSize and
// ScoreCoefficient: with it a network's outputs are of size 1 at all times.
func (p *Process) BalancedGains() func(t float64) float64 {
	m := make([]float64, p.Schedule.N)
	for k := range m {
		m[k] = p.TargetSize(k) / math.Abs(p.ScoreCoefficient(k))
	}
	return p.atStep(m)
}

// atStep returns the function of t that is m[k] at t_{k+1}, linear between, and constant beyond the ends.
func (p *Process) atStep(m []float64) func(t float64) float64 {
	last := float64(len(m) - 1)
	return func(t float64) float64 {
		u := min(max(t/p.Schedule.Dt()-1, 0), last)
		k := math.Round(u)
		if math.Abs(u-k) < 1e-6 { // a step's own time, but for round-off
			return m[int(k)]
		}
		k = math.Floor(u)
		w := u - k
		return (1-w)*m[int(k)] + w*m[int(k)+1]
	}
}

package langevin

// Start returns, as a function of t = t_{k+1}, where the path of a backward step
// x_{k+1} → x_k began, as far as x_{k+1} and p̃ tell. On a flat Σ
//
//	x_{k+1} − b p̃ = x_0 + √v ξ,   ξ standard normal and independent of p̃,
//
// so the law of x_0 given (x_{k+1}, p̃) depends on them by y = x_{k+1} − b p̃ alone. The noise u
// of the step is a linear function of (x_{k+1} − x_0, p̃), and what is left; so E[u | x_{k+1}, p̃] is a
// function of y, plus a linear one of p̃. Overdamped methods have b = 0.
func (p *Process) Start() func(t float64) (b, v float64) {
	n := p.Schedule.N
	bs, vs := make([]float64, n), make([]float64, n)
	for k := range n {
		m := p.past(k)
		bs[k], vs[k] = m.vq/m.qq, m.vv-m.vq*m.vq/m.qq
	}
	b, v := p.atStep(bs), p.atStep(vs)
	return func(t float64) (float64, float64) { return b(t), v(t) }
}

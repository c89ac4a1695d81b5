package langevin

import "fmt"

// CanDraw returns a *ConfigError unless a score that was learned for p serves the backward process of by, which must be
// valid and have p's set, σ(t), friction, potential and convention: what it may change is how a step returns to Σ, what
// walls do to it, and the grid of times.
//
// A coarser grid asks the score at its own t_{k+1} and takes the answer as it is: s is 2∇ln q for overdamped methods on
// any grid, and 2γ(∇_p ln q + p̃) to leading order in γτ for underdamped ones. There the best s of a step of size τ
// depends on τ, but no factor brings one to the other for all data: of those tried each made the variance of Gaussian
// samples worse (redraw_test.go has the figures of s as it is). A finer grid would ask below t_1 = T/N, which no score
// has learned and where it changes fastest.
func (p *Process) CanDraw(by *Process) error {
	if p.Method.Underdamped() != by.Method.Underdamped() {
		want := "OLLA or OLLA-P"
		if p.Method.Underdamped() {
			want = "ULLA or ULLA-P"
		}
		return &ConfigError{"Method", by.Method.String(),
			fmt.Sprintf("%s: the score of %s was learned, and with momentum it is another", want, p.Method)}
	}
	if n := p.Schedule.N; by.Schedule.N > n {
		return &ConfigError{"Schedule.N", by.Schedule.N, fmt.Sprintf("at most the %d steps of training: more "+
			"would ask the score at times below T/%d, which it has not learned", n, n)}
	}
	return nil
}

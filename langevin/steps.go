package langevin

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/ranks"
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

// Spread returns s_k: the standard deviation of x_k − x_0, in each direction of a flat Σ without force, for 1 ≤ k ≤ N.
func (p *Process) Spread(k int) float64 { return math.Sqrt(p.past(k - 1).vv) }

// Partway simulates one forward path from each of the points x0 (n×d) and keeps of it the states x_k of the steps ks
// alone, ascending and each from 1 to N: dst is n×len(ks)×d. Row i is sample first + i of the streams: its ζ_k is that
// of step k, its p̃_0 that of step 0. failed (n) is set for paths that lost a projection or broke down; their rows hold
// what they reached, or x0. Nothing beyond the last of ks is simulated. Errors are those of Forward.
func (s *Simulator) Partway(ctx context.Context, dst []float64, failed []bool, x0 []float64, ks []int, first uint64,
	noise, momentum keyed.Stream) (Report, error) {
	d, L, end := s.proc.Set.Dim(), len(ks), ks[len(ks)-1]
	clear(failed)
	simulate := func(w *simWorker, lo, hi int) error {
		level := 0
		return w.forward(x0[lo*d:hi*d], failed[lo:hi], int(first)+lo, noise, momentum, end,
			func(k int, x []float64, _ *Folds) {
				if k != ks[level] {
					return
				}
				for i := range hi - lo {
					copy(dst[((lo+i)*L+level)*d:((lo+i)*L+level+1)*d], x[i*d:(i+1)*d])
				}
				level++
			})
	}
	report, err := s.run(ctx, len(failed), task{simulate, func(lo, hi int) { clear(failed[lo:hi]) }, func(i int) {
		failed[i] = true
		for l := range L {
			copy(dst[(i*L+l)*d:(i*L+l+1)*d], x0[i*d:(i+1)*d])
		}
	}, func(g ranks.Group, from, lo, hi int) {
		g.Broadcast(from, ranks.View(dst[lo*L*d:hi*L*d]))
		g.Broadcast(from, ranks.View(failed[lo:hi]))
	}})
	report.Failed = lost(failed)
	return report, err
}

// Breakdowns are rows of a simulation that left the finite numbers or lost their rank.
type Breakdowns struct {
	Broken int            // how many; they count as failed
	Break  *DivergedError // that of the first; nil if there is none
}

func (b *Breakdowns) add(o Breakdowns) {
	if b.Broken += o.Broken; b.Break == nil {
		b.Break = o.Break
	}
}

// Tolerate has Forward and Backward count a row that breaks down as failed, and go on with the others, which are as
// they would be without it: Report.Breakdowns tells. Without it such a row ends the simulation. It returns s.
func (s *Simulator) Tolerate() *Simulator {
	s.tolerant = true
	return s
}

// A task simulates rows of a block; again makes what it left of rows ready to be simulated
// again, and lose marks a row as failed and leaves finite numbers there. give gives the rows
// lo … hi−1 of a rank to all others; nil: they are not divided.
type task struct {
	simulate func(w *simWorker, lo, hi int) error
	again    func(lo, hi int)
	lose     func(row int)
	give     func(g ranks.Group, from, lo, hi int)
}

// bear simulates the rows lo … hi−1, and where some of them break down the halves of these:
// rows do not depend on each other. What a row did before it broke down is not reported.
func (w *simWorker) bear(ctx context.Context, t task, lo, hi int) (b Breakdowns, err error) {
	if err := ctx.Err(); err != nil {
		return b, err
	}
	before, trace := w.report, w.trace.clone()
	before.Worst = slices.Clone(before.Worst)
	err = t.simulate(w, lo, hi)
	var e *DivergedError
	if !errors.As(err, &e) {
		return b, err
	}
	w.report, w.trace = before, trace
	t.again(lo, hi)
	if hi-lo == 1 {
		t.lose(lo)
		return Breakdowns{1, e}, nil
	}
	for _, half := range [2][2]int{{lo, (lo + hi) / 2}, {(lo + hi) / 2, hi}} {
		c, err := w.bear(ctx, t, half[0], half[1])
		if b.add(c); err != nil {
			return b, err
		}
	}
	return b, nil
}

// clone returns a copy of t, nil of nil.
func (t *Trace) clone() *Trace {
	if t == nil {
		return nil
	}
	c := *t
	c.count, c.sums, c.worst = slices.Clone(t.count), slices.Clone(t.sums), slices.Clone(t.worst)
	return &c
}

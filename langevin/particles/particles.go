// Package particles draws from the law of a backward process under constraints and observations that its network never
// saw, by sequential Monte Carlo. docs/given.md has the equations.
//
// A backward step is a map of the state and of standard normal noise, x_k = F(x_{k+1}, ξ). The noise may be shifted,
// ξ = z + δ with z standard normal, whatever F does: the weight exp(−δ·z − |δ|²/2) corrects the law exactly. So the
// program guides particles, and their law is that of the process under the constraints, to Monte Carlo error.
//
// It is not for methods other than those of package langevin: weights need the noise of the chain.
package particles

import (
	"context"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/langevin"
)

// Cut is constraints and observations beside those of Σ.
type Cut struct {
	// Set has the equalities k(x) = 0, after them expr − value of each observation, and the inequalities g(x) ≤ 0.
	Set constraint.Set
	SD  []float64 // of each observation
	// Surface says that the density on {k = 0} is by area. Otherwise the law is that given k = 0, which weighs points
	// by 1/|∇_Σ k|.
	Surface bool
}

// equalities is how many there are, without the observations.
func (c *Cut) equalities() int { return len(c.Set.Equalities()) - len(c.SD) }

// Equal reports whether the cut has equalities.
func (c *Cut) Equal() bool { return c.equalities() > 0 }

// Hard returns the set without the observations; nil if nothing is left.
func (c *Cut) Hard() constraint.Set {
	var index []int
	for i := range constraint.Components(c.Set) {
		if i < c.equalities() || i >= len(c.Set.Equalities()) {
			index = append(index, i)
		}
	}
	if index == nil {
		return nil
	}
	return constraint.View(c.Set, index, c.equalities())
}

// Likelihood returns a function of a point: ln of the likelihood of the observations, at most 0, and −∞ where an
// inequality does not hold. One goroutine calls it.
func (c *Cut) Likelihood() func(x []float64) float64 {
	e, values, m := c.Set.NewEvaluator(1), make([]float64, len(constraint.Components(c.Set))), c.equalities()
	return func(x []float64) (out float64) {
		e.Values(values, x, 1)
		for i, v := range values[m:] {
			if i < len(c.SD) {
				out -= v / c.SD[i] * (v / c.SD[i]) / 2
			} else if !(v <= 0) {
				return math.Inf(-1)
			}
		}
		if out != out {
			return math.Inf(-1)
		}
		return out
	}
}

// Options of a drawing.
type Options struct {
	Process *langevin.Process // that generates
	Cut     *Cut
	Whole   constraint.Set // Σ under the cut's constraints
	Pool    *parallel.Pool
	Scores  func(worker int) langevin.Score
	// Begin returns the law of the states that the samples first … first+n−1 of a seed begin with, and marks those that
	// cannot begin.
	Begin       func(seed, first uint64, failed []bool) langevin.Prior
	Seed, First uint64
	Tick        func(done, of int) // gets how many particles are done, from any goroutine; may be nil
}

// Report says how good a drawing is.
type Report struct {
	Populations int     `json:"populations"`
	Particles   int     `json:"particles"` // of each population
	LogShare    float64 `json:"log_share"` // estimated ln of the mass that passes; of equalities, the density
	Weights     float64 `json:"ess_weights"`
	Effective   float64 `json:"effective_samples"` // by the spread of the populations' means
	Ancestors   int     `json:"ancestors"`         // start noises that the samples descend from
	Distinct    int     `json:"distinct"`          // different samples
	Term        []Seen  `json:"terms"`
	Low         string  `json:"low,omitempty"` // why the samples are few in effect
}

// Seen is the range of a constraint or observation among plain samples.
type Seen struct {
	Name  string  `json:"name"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Mean  float64 `json:"mean"`
	SD    float64 `json:"sd"`
	Width float64 `json:"width,omitempty"` // of an equality, before the last projection
}

const (
	rows        = 64   // of a block
	pilots      = 256  // paths of each of the two drawings that the guide is measured on
	populations = 16   // independent ones at first: their spread tells how good samples are
	most        = 128  // populations in the end
	plenty      = 0.6  // effective samples for each sample; with fewer, populations are added
	uneven      = 0.8  // effective share of a population's weights below which its particles resample
	fewest      = 64   // particles of a population
	spare       = 1.25 // particles for each sample
	defensive   = 0.01 // least value of a guide, in its mean on plain paths: it bounds weights
	longest     = 3    // shift of a step's noise, in its own units
	narrow      = 0.01 // least width of an equality, in the standard deviation of its value at plain samples
	wider       = 1.2  // σ of a guide, by what is left of a value
	local       = 1.25 // σ about the boundary within which pilots count most
	fewLocal    = 100  // pilots that count in effect, at least
	mostTerms   = 8    // inequalities that are terms of their own; of more, the largest at a point counts
	tolerance   = 1e-9 // of equalities, and of Σ's own inequalities after the last projection
	constant    = 1e-9 // share of its size below which a number is the same at all points
	// Numbers of a record, of plain pilots; guided ones are as many.
	mostRecord = 1 << 26
	pilotRound = 1 << 10 // of keyed.Round
	numbers    = 1 << 19 // of starts for each sample, so that calls that go on have others
	startsEach = 2       // in effect, of each particle
	mostTries  = 32      // starts for each particle: the first two steps alone are done for all
	mostStarts = 1 << 20 // numbers of the starts of a population
	// The fewest effective samples of a good drawing. A drawing of more than 160 needs a tenth of them.
	leastEffective = 16
	leastAncestors = 32 // start noises that samples descend from; half of the samples if these are fewer
)

// A term is a number of a point that is to be ≤ 0, or nearly 0.
type term struct {
	name     string
	index    []int // components, where the largest counts
	equality bool
	sd       float64 // of an observation; 0 of others
}

func (c *Cut) terms() (out []term) {
	names, m, h := constraint.Components(c.Set), c.equalities(), len(c.Set.Equalities())
	for i, name := range names {
		switch {
		case i >= m && i < h:
			out = append(out, term{name: name, index: []int{i}, sd: c.SD[i-m]})
		case i < m || len(names)-h <= mostTerms:
			out = append(out, term{name: name, index: []int{i}, equality: i < m})
		case i == h:
			out = append(out, term{name: "the largest inequality", index: []int{i}})
		default:
			last := &out[len(out)-1]
			last.index = append(last.index, i)
		}
	}
	return out
}

// A guess says of a term what its value at x_0 will be, by its value v and gradient u at x̂_0 of a step: α + βv ± σ.
// σ² = a + b|u|²: noise moves it along its gradient. Noise ξ of the step moves it by κ u·ξ. All are measured on pilots,
// so they are right for any Σ and step. λ is κ of the noise that the next step draws before its score (Process.Split).
// w is how near to 0 the value is to be: of an observation its standard deviation, of an equality its width. ε is the
// least q.
type guess struct{ α, β, a, b, κ, λ, w, ε float64 }

// A record is what pilots tell, the plain ones first, by step and term: v, u·z, u·δ and |u|² of each, u·z and u·δ of
// noise that is drawn before the score, and by term the value at the end.
type record struct {
	terms, plain                            int
	v, dot, moved, size, early, pushed, end [][]float64
	failed                                  []bool
}

// guided is the first step with a guide. In the one before, if there is one, momentum is noise that tells nothing.
func guided(p *langevin.Process) int { return max(0, p.Schedule.N-2) }

// A worker moves populations: scratch of one goroutine, and the Score that its steps ask.
type worker struct {
	*Options
	terms  []term
	d, m   int // coordinates, equalities of the cut
	step   *langevin.Stepper
	look   geometry.Geometry
	solver *geometry.Solver // onto {h = 0, k = 0}; nil without new equalities
	net    langevin.Score

	cut, whole      constraint.Evaluator
	likelihood      func(x []float64) float64
	values, jac, wv []float64
	ahead, land, ζ  []float64   // rows×d; ζ twice that where noise is split
	v               [][]float64 // of each term, at x̂_0
	u               [][]float64 // of each term: Π∇, rows×d

	k        int
	plan     [][]guess // by step and term; nil: paths are plain
	logψ, lr []float64 // of the block: of the state, and of the shift of its noise
	δ        []float64
	push     []float64 // rows×d: the shift of the next step's noise before the score
	pushed   []float64 // the same of this step
	pilots   *record   // nil of others
	from     int       // the number of the block's first one
}

func newWorker(o *Options, net langevin.Score) *worker {
	p := o.Process
	w := &worker{Options: o, terms: o.Cut.terms(), d: p.Set.Dim(), step: p.NewStepper(rows), look: p.Geometry(rows),
		net: net, likelihood: o.Cut.Likelihood(), whole: o.Whole.NewEvaluator(1),
		wv: make([]float64, len(constraint.Components(o.Whole)))}
	vec := func(n int) []float64 { return make([]float64, n) }
	c := len(constraint.Components(o.Cut.Set))
	w.m, w.cut, w.values, w.jac = o.Cut.equalities(), o.Cut.Set.NewEvaluator(rows), vec(rows*c), vec(rows*c*w.d)
	if w.m > 0 {
		w.solver = geometry.NewSolver(constraint.EqualitiesOf(o.Whole), 0)
	}
	w.ahead, w.land, w.ζ, w.δ = vec(rows*w.d), vec(rows*w.d), vec(2*rows*w.d), vec(w.d)
	w.logψ, w.lr, w.push = vec(rows), vec(rows), vec(rows*w.d)
	for range w.terms {
		w.v, w.u = append(w.v, vec(rows)), append(w.u, vec(rows*w.d))
	}
	return w
}

// Eval implements langevin.Score: it asks the network, and shifts the noise of the step in progress.
func (w *worker) Eval(dst, x, p []float64, n int, t float64) {
	w.net.Eval(dst, x, p, n, t)
	if w.k > guided(w.Process) {
		return
	}
	w.foresee(x, p, dst, n)
	w.measure(w.ahead, n)
	for t := range w.terms {
		w.step.Tangent(w.u[t][:n*w.d], w.u[t][:n*w.d])
	}
	for i := range n {
		ξ := w.ζ[i*w.d : (i+1)*w.d]
		clear(w.δ)
		clear(w.push[i*w.d : (i+1)*w.d])
		if w.plan != nil {
			w.guide(i, ξ)
		}
		for t := range w.terms {
			if at, i, u := w.k*len(w.terms)+t, w.from+i, w.u[t][i*w.d:(i+1)*w.d]; w.pilots != nil {
				p := w.pilots
				p.v[at][i], p.dot[at][i] = w.v[t][i-w.from], dense.Dot(u, ξ)
				p.moved[at][i], p.size[at][i] = dense.Dot(u, w.δ), dense.Dot(u, u)
				if j := i - w.from; w.Process.Split {
					p.pushed[at][i] = dense.Dot(u, w.pushed[j*w.d:(j+1)*w.d])
					p.early[at][i] = dense.Dot(u, w.ζ[(n+j)*w.d:(n+j+1)*w.d]) - p.pushed[at][i]
				}
			}
		}
		dense.Axpy(ξ, 1, w.δ)
	}
}

// foresee writes x̂_0, landed on Σ by one step, to ahead.
func (w *worker) foresee(x, p, s []float64, n int) {
	nd, y := n*w.d, w.ahead
	b, c := w.Process.LookAhead(w.k)
	for i, v := range s[:nd] {
		y[i] = c * v
	}
	w.step.Tangent(y[:nd], y[:nd])
	for i := range y[:nd] {
		if y[i] += x[i]; b != 0 {
			y[i] += b * p[i]
		}
	}
	if w.look.At(y[:nd], n) == nil {
		w.look.Landing(w.land[:nd])
		dense.Axpy(y[:nd], -1, w.land[:nd])
		return
	}
	for i := range n { // one of them cannot land: it stays
		if row := y[i*w.d : (i+1)*w.d]; w.look.At(row, 1) == nil {
			w.look.Landing(w.land[:w.d])
			dense.Axpy(row, -1, w.land[:w.d])
		}
	}
}

// measure writes the terms' values at n points to v, and their gradients to u.
func (w *worker) measure(x []float64, n int) {
	w.cut.Jacobians(w.values, w.jac, x[:n*w.d], n)
	c := len(w.values) / rows
	for t := range w.terms {
		for i := range n {
			values, best := w.values[i*c:(i+1)*c], w.terms[t].index[0]
			for _, a := range w.terms[t].index {
				if !(values[a] <= values[best]) {
					best = a
				}
			}
			w.v[t][i] = values[best]
			copy(w.u[t][i*w.d:(i+1)*w.d], w.jac[(i*c+best)*w.d:])
		}
	}
}

// guide writes ln ψ of a state, the shift δ of its noise z along the gradient, and ln of the weight of that:
//
//	ψ = Π over terms of ε + (1−ε) q,   q = Φ(−μ/σ) or exp(−μ²/2(σ² + w²)),   μ = α + βv,   σ² = a + b|u|²
//	δ = Σ κ u ∂_μ ln ψ, and λ in the place of κ
func (w *worker) guide(i int, z []float64) {
	δ, push, logψ := w.δ, w.push[i*w.d:(i+1)*w.d], 0.0
	for t, g := range w.plan[w.k] {
		u := w.u[t][i*w.d : (i+1)*w.d]
		q, slope := g.near(w.v[t][i], dense.Dot(u, u))
		if q-slope-(q-slope) != 0 { // the look-ahead is where the formula has no value: it says nothing
			continue
		}
		ψ := g.ε + (1-g.ε)*q
		logψ += math.Log(ψ)
		dense.Axpy(δ, g.κ*(1-g.ε)*slope/ψ, u)
		dense.Axpy(push, g.λ*(1-g.ε)*slope/ψ, u)
	}
	for _, δ := range [][]float64{δ, push} {
		if r := dense.Norm(δ); r-r != 0 { // numbers that overflow guide nothing
			clear(δ)
		} else if r > longest {
			dense.Scaled(δ, longest/r, δ)
		}
	}
	w.logψ[i], w.lr[i] = logψ, -dense.Dot(δ, z)-dense.Dot(δ, δ)/2
}

// near returns q, and its derivative along μ.
func (g *guess) near(v, size float64) (q, slope float64) {
	μ, s2 := g.α+g.β*v, g.a+g.b*size+g.w*g.w
	if g.w == 0 {
		z := μ / math.Sqrt(s2)
		return math.Erfc(z/math.Sqrt2) / 2, -math.Exp(-z*z/2) / math.Sqrt(2*math.Pi*s2)
	}
	q = math.Exp(-μ * μ / (2 * s2))
	return q, -q * μ / s2
}

// A population is particles on their way: their states and weights.
type population struct {
	x, next, out []float64
	push         []float64 // shifts of the noise before the next score
	logw, logψ   []float64
	lr           []float64
	failed       []bool
	eve          []int // the start noise that each descends from
	logZ         float64
}

func newPopulation(n, d int) *population {
	vec := func(n int) []float64 { return make([]float64, n) }
	p := &population{x: vec(n * d), next: vec(n * d), out: vec(n * d), push: vec(n * d), logw: vec(n), logψ: vec(n),
		lr: vec(n), failed: make([]bool, n), eve: make([]int, n)}
	for i := range p.eve {
		p.eve[i] = i
	}
	return p
}

// walk takes particles, whose numbers begin at first, from x_N to x_0; after is called after each step, and ends the
// walk where it returns false.
func (w *worker) walk(ctx context.Context, p *population, prior langevin.Prior, seed, first uint64,
	after func(k int) bool) error {
	n, d, N := len(p.logw), w.d, w.Process.Schedule.N // n may become less
	start, noise := keyed.GeneratedStart.Stream(seed, 0), keyed.GeneratedNoise.Stream(seed, 0)
	momentum, early := keyed.GeneratedMomentum.Stream(seed, 0), keyed.GeneratedEarly.Stream(seed, 0)
	draw := func(dst []float64, s keyed.Stream, lo, hi, k int) {
		for i := lo; i < hi; i++ {
			s.Normals(dst[(i-lo)*d:(i-lo+1)*d], first+uint64(i), k)
		}
	}
	for i := range n {
		prior.Sample(p.x[i*d:(i+1)*d], start, first+uint64(i))
	}
	blocks := func(f func(lo, hi int) error) error {
		for lo := 0; lo < n; lo += rows {
			if err := f(lo, min(n, lo+rows)); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	if w.Process.Method.Underdamped() {
		c := w.Process.MomentumTau(N - 1)
		if err := blocks(func(lo, hi int) error {
			return w.healed(p, lo, hi, func() error {
				if err := w.look.At(p.x[lo*d:hi*d], hi-lo); err != nil {
					return err
				}
				draw(w.ζ, momentum, lo, hi, 0)
				w.look.Tangent(w.ζ[:(hi-lo)*d], w.ζ[:(hi-lo)*d])
				dense.AddScaled(p.next[lo*d:hi*d], p.x[lo*d:hi*d], c, w.ζ[:(hi-lo)*d])
				return nil
			})
		}); err != nil {
			return err
		}
	}
	for k := N - 1; k >= 0; k-- {
		w.k = k
		if err := blocks(func(lo, hi int) error {
			var info langevin.Info
			err := w.healed(p, lo, hi, func() (err error) {
				draw(w.ζ, noise, lo, hi, k)
				if w.Process.Split {
					draw(w.ζ[(hi-lo)*d:], early, lo, hi, k)
					w.pushed = p.push[lo*d : hi*d]
					dense.Axpy(w.ζ[(hi-lo)*d:2*(hi-lo)*d], 1, w.pushed)
				}
				info, err = w.step.Backward(p.out[lo*d:hi*d], p.x[lo*d:hi*d], p.next[lo*d:hi*d], w.ζ, p.failed[lo:hi],
					hi-lo, k, w)
				return err
			})
			if err != nil {
				return err
			}
			info.Folds.Carry(p.x[lo*d : hi*d])
			if w.plan != nil && k <= guided(w.Process) {
				for i := lo; i < hi; i++ {
					p.logw[i] += w.logψ[i-lo] - p.logψ[i]
					p.logψ[i], p.lr[i] = w.logψ[i-lo], w.lr[i-lo]
					if δ := p.push[i*d : (i+1)*d]; w.Process.Split {
						p.logw[i] += dense.Dot(δ, δ)/2 - dense.Dot(δ, w.ζ[(hi-2*lo+i)*d:(hi-2*lo+i+1)*d])
					}
				}
				copy(p.push[lo*d:], w.push[:(hi-lo)*d])
			}
			if w.Tick != nil {
				w.Tick(hi-lo, 0)
			}
			return nil
		}); err != nil {
			return err
		}
		p.x, p.next, p.out = p.out, p.x, p.next
		if !after(k) {
			return nil
		}
		n = len(p.logw)
	}
	if w.Process.NoTerminal || w.Process.Method.Projected() {
		return nil
	}
	return blocks(func(lo, hi int) error {
		return w.healed(p, lo, hi, func() error {
			_, err := w.step.Terminal(p.x[lo*d:hi*d], p.failed[lo:hi], hi-lo)
			return err
		})
	})
}

// healed calls f of a block until no row breaks down: one that does has failed, and goes on as another.
func (w *worker) healed(p *population, lo, hi int, f func() error) error {
	for tries := 0; ; tries++ {
		err := f()
		i, ok := geometry.Row(err)
		if err == nil || !ok {
			return err
		}
		i += lo
		p.failed[i] = true
		j := lo
		for j < hi && p.failed[j] {
			j++
		}
		if j == hi || tries > 2*rows {
			return fault.Errorf(fault.Diverged, "", "all paths of a block broke down at step %d: %w", w.k, err)
		}
		copy(p.x[i*w.d:(i+1)*w.d], p.x[j*w.d:(j+1)*w.d])
		copy(p.next[i*w.d:(i+1)*w.d], p.next[j*w.d:(j+1)*w.d])
	}
}

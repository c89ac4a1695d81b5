package particles

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync/atomic"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/langevin"
)

// Draw returns n samples (n×d). They are a function of the options and n: not of the number of workers. A LowError
// comes with the samples; other errors are the context's, and of kind fault.Check where nothing was found.
func Draw(ctx context.Context, o Options, n int) ([]float64, *Report, error) {
	size := max(fewest, int(math.Ceil(spare*float64(n)/populations)))
	steps := o.Process.Schedule.N
	var done atomic.Int64
	if tick := o.Tick; tick != nil {
		o.Tick = func(rows, _ int) {
			tick(int(done.Add(int64(rows))/int64(steps)), populations*size+pilots)
		}
	}
	workers := make([]*worker, o.Pool.Workers())
	for i := range workers {
		workers[i] = newWorker(&o, o.Scores(i))
	}
	plan, seen, err := measured(ctx, &o, workers)
	if err != nil {
		return nil, nil, err
	}
	r := &Report{Populations: populations, Particles: size, Term: seen}
	if err := barren(seen); err != nil {
		return nil, r, err
	}
	all, d := make([]*population, populations), o.Process.Set.Dim()
	seed, first := keyed.Round(o.Seed, pilotRound+1), o.First*2000 // numbers of a call that goes on are others
	for b := range all {
		all[b] = newPopulation(size, d)
	}
	starts := make([]langevin.Prior, populations)
	for b := range all {
		starts[b] = o.Begin(seed, first+uint64(b*size), all[b].failed)
	}
	errs := make([]error, populations)
	o.Pool.Do(populations, func(worker, b int) {
		w, p := workers[worker], all[b]
		w.plan = plan
		pick := keyed.GivenPicks.Stream(seed, 0)
		errs[b] = w.walk(ctx, p, starts[b], seed, first+uint64(b*size), func(k int) bool {
			for i, not := range p.failed {
				if not {
					p.logw[i] = math.Inf(-1)
				}
			}
			var u [1]float64
			pick.Uniforms(u[:], first+uint64(b*size), k)
			return p.resample(u[0], k > 0)
		})
		if errs[b] == nil && !math.IsInf(p.logZ, -1) {
			w.judge(p)
		}
		p.next, p.out = nil, nil
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, r, err
	}
	return r.choose(all, n, d, seed, first)
}

// resample has the particles after a step go on by their weights, if these are uneven, and adds what the shift of that
// step weighs. It reports whether any is left.
func (p *population) resample(u float64, may bool) bool {
	n := len(p.logw)
	w, total, squares := p.weights()
	if !(total > 0) {
		p.logZ = math.Inf(-1)
		return false
	}
	if may && total*total < squares*float64(n)/2 {
		p.logZ += slices.Max(p.logw) + math.Log(total/float64(n))
		p.resampled++
		from, d := systematic(w, n, u), len(p.x)/n
		for i, j := range from {
			copy(p.out[i*d:(i+1)*d], p.x[j*d:(j+1)*d])
		}
		p.x, p.out = p.out, p.x
		for i, j := range from {
			copy(p.out[i*d:(i+1)*d], p.next[j*d:(j+1)*d])
		}
		p.next, p.out = p.out, p.next
		p.logψ, p.lr = taken(p.logψ, from), taken(p.lr, from)
		p.eve, p.failed = taken(p.eve, from), taken(p.failed, from)
		clear(p.logw)
	}
	dense.Axpy(p.logw, 1, p.lr)
	return true
}

// weights returns the weights of particles, scaled so that the largest is 1, their sum, and the sum of their squares.
func (p *population) weights() (w []float64, total, squares float64) {
	w, top := make([]float64, len(p.logw)), slices.Max(p.logw)
	for i, v := range p.logw {
		if v > math.Inf(-1) {
			w[i] = math.Exp(v - top)
		}
		total, squares = total+w[i], squares+w[i]*w[i]
	}
	return w, total, squares
}

func taken[T any](v []T, from []int) []T {
	out := make([]T, len(from))
	for i, j := range from {
		out[i] = v[j]
	}
	return out
}

// systematic returns n indices in ascending order: each is there n w/Σw times, up or down to the next integer, by u
// uniform in [0, 1).
func systematic(w []float64, n int, u float64) []int {
	total := 0.0
	for _, v := range w {
		total += v
	}
	out, sum, last := make([]int, 0, n), 0.0, 0
	for i, v := range w {
		if v > 0 {
			last = i
		}
		for sum += v; len(out) < n && (float64(len(out))+u)*total < sum*float64(n); {
			out = append(out, i)
		}
	}
	for len(out) < n { // round-off
		out = append(out, last)
	}
	return out
}

// judge replaces ψ of the last state by the constraints and likelihoods, and projects the points onto new equalities.
func (w *worker) judge(p *population) {
	last := w.plan[0]
	m := len(w.Process.Set.Equalities())
	selects := w.Process.Set.Capabilities().Selects
	for lo := 0; lo < len(p.logw); lo += rows {
		hi := min(len(p.logw), lo+rows)
		w.measure(p.x[lo*w.d:hi*w.d], hi-lo)
		for i := lo; i < hi; i++ {
			x := p.x[i*w.d : (i+1)*w.d]
			p.logw[i] -= p.logψ[i]
			for t := range w.terms {
				if v := w.v[t][i-lo] / last[t].w; w.terms[t].equality {
					p.logw[i] -= v * v / 2
				}
			}
			switch {
			case p.failed[i], selects != nil && !selects(x):
				p.logw[i] = math.Inf(-1)
			case w.solver != nil && !w.solver.Project(x, 0) && !w.solver.Descend(x, 1e-13):
				p.logw[i] = math.Inf(-1)
			default:
				p.logw[i] += w.exact(x, m)
			}
			if p.logw[i] != p.logw[i] {
				p.logw[i] = math.Inf(-1)
			}
		}
	}
}

// exact is ln of the likelihood of a final point, and of the area element of new equalities; −∞ where a constraint does
// not hold.
func (w *worker) exact(x []float64, m int) (out float64) {
	if w.solver != nil {
		w.whole.Values(w.wv, x, 1)
		for a, v := range w.wv {
			if !(constraint.Excess(v, a < m+w.m) <= tolerance) {
				return math.Inf(-1)
			}
		}
	}
	if out = w.likelihood(x); w.m == 0 || !w.Cut.Surface {
		return out
	}
	if w.look.At(x, 1) != nil {
		return math.Inf(-1)
	}
	w.measure(x, 1)
	for t := range w.terms[:w.m] { // √det of the Gram matrix of Π∇k
		u := w.u[t][:w.d]
		w.look.Tangent(u, u)
		for s := range t {
			dense.Axpy(u, -dense.Dot(u, w.u[s][:w.d]), w.u[s][:w.d])
		}
		r := dense.Norm(u)
		out += math.Log(r)
		for j := range u {
			u[j] /= r
		}
	}
	return out
}

// choose takes n samples from populations by their weights, and says how good they are.
func (r *Report) choose(all []*population, n, d int, seed, first uint64) ([]float64, *Report, error) {
	logZ, w := make([]float64, len(all)), make([][]float64, len(all))
	for b, p := range all {
		var total float64
		logZ[b] = math.Inf(-1)
		if !math.IsInf(p.logZ, -1) {
			if w[b], total, _ = p.weights(); total > 0 {
				logZ[b] = p.logZ + slices.Max(p.logw) + math.Log(total/float64(len(p.logw)))
				dense.Scaled(w[b], 1/total, w[b])
			}
		}
		r.Resampled += float64(p.resampled) / float64(len(all))
	}
	top := slices.Max(logZ)
	if math.IsInf(top, -1) {
		return nil, r, fault.Errorf(fault.Check, "", "no sample keeps what is given: of %d particles in %d "+
			"populations none is left. %s", len(all)*r.Particles, len(all), nearest(r.Term))
	}
	Z := make([]float64, len(all))
	total := 0.0
	for b := range Z {
		Z[b] = math.Exp(logZ[b] - top)
		total += Z[b]
	}
	r.LogShare = top + math.Log(total/float64(len(all)))
	var flat []float64
	mean, square, means := make([]float64, d), make([]float64, d), make([][]float64, len(all))
	for b, p := range all {
		means[b] = make([]float64, d)
		share := Z[b] / total
		if !(share > 0) {
			flat = append(flat, make([]float64, len(p.logw))...)
			continue
		}
		for i, v := range w[b] {
			flat = append(flat, share*v)
			r.Weights += share * v * share * v
			x := p.x[i*d : (i+1)*d]
			dense.Axpy(means[b], v, x)
			for j := range x {
				square[j] += share * v * x[j] * x[j]
			}
		}
		dense.Axpy(mean, share, means[b])
	}
	r.Weights = 1 / r.Weights
	var spread, varied float64
	for j := range d {
		spread += max(0, square[j]-mean[j]*mean[j])
		for b := range all {
			v := Z[b] / total * (means[b][j] - mean[j])
			varied += v * v * float64(len(all)) / float64(len(all)-1)
		}
	}
	r.Effective = math.Min(r.Weights, spread/varied)
	if !(varied > 0) {
		r.Effective = r.Weights
	}
	pick := keyed.GivenPicks.Stream(seed, 0)
	var u [1]float64
	pick.Uniforms(u[:], first, 1<<30)
	from, order := systematic(flat, n, u[0]), make([]int, n)
	pick.Permutation(order, first, 1<<30+1)
	x, eves := make([]float64, n*d), map[int]bool{}
	for i, at := range order {
		b, k := from[i]/r.Particles, from[i]%r.Particles
		copy(x[at*d:(at+1)*d], all[b].x[k*d:(k+1)*d])
		eves[b*r.Particles+all[b].eve[k]] = true
	}
	r.Ancestors, r.Distinct = len(eves), len(slices.Compact(from))
	if least := max(leastEffective, float64(n)/10); r.Effective < least || r.Ancestors < 2*len(all) {
		return x, r, &LowError{r, n, least}
	}
	return x, r, nil
}

// leastEffective is the fewest effective samples of a good drawing. A drawing of more than 160 needs a tenth of them.
const leastEffective = 16

// A LowError says that samples under what is given are few in effect.
type LowError struct {
	Report  *Report
	Samples int
	Least   float64
}

func (e *LowError) Error() string {
	return fault.Errorf(fault.Check, "", "the samples under what is given are not good: %d samples are worth %.0f "+
		"independent ones (expected at least %.0f) and descend from %d start noises (expected at least %d). %s",
		e.Samples, e.Report.Effective, e.Least, e.Report.Ancestors, 2*e.Report.Populations,
		nearest(e.Report.Term)).Error()
}

// Place makes it a failed check.
func (*LowError) Place() fault.Place { return fault.Place{Kind: fault.Check} }

// measured runs plain paths, and returns what they tell of the terms at each step, and at the end.
func measured(ctx context.Context, o *Options, workers []*worker) ([][]guess, []Seen, error) {
	N, T := o.Process.Schedule.N, len(workers[0].terms)
	n := min(pilots, mostRecord/(2*N*T)/rows*rows)
	if n < 2*rows {
		return nil, nil, fault.Errorf(fault.Config, "", "%d steps and %d numbers that are asked about are too many to "+
			"guide samples; expected at most %d in their product (--set process.steps helps)", N, T, mostRecord/4/rows)
	}
	seed, first := keyed.Round(o.Seed, pilotRound), o.First*2000
	failed := make([]bool, n)
	prior := o.Begin(seed, first, failed)
	v, dot, end := table(N*T, n), table(N*T, n), table(T, n)
	blocks := n / rows
	errs := make([]error, blocks)
	o.Pool.Do(blocks, func(worker, b int) {
		w, lo := workers[worker], b*rows
		w.plan, w.seen, w.dot = nil, make([][]float64, N*T), make([][]float64, N*T)
		for at := range w.seen {
			w.seen[at], w.dot[at] = v[at][lo:lo+rows], dot[at][lo:lo+rows]
		}
		p := newPopulation(rows, w.d)
		copy(p.failed, failed[lo:])
		if errs[b] = w.walk(ctx, p, prior, seed, first+uint64(lo), func(int) bool { return true }); errs[b] != nil {
			return
		}
		w.measure(p.x, rows)
		for t := range T {
			copy(end[t][lo:], w.v[t])
		}
		copy(failed[lo:], p.failed)
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, nil, err
	}
	plan, seen := make([][]guess, N), make([]Seen, T)
	for k := range plan {
		plan[k] = make([]guess, T)
		for t := range T {
			plan[k][t] = fitted(v[k*T+t], dot[k*T+t], end[t], failed)
		}
	}
	for t := range T {
		s := &seen[t]
		s.Name, s.Low, s.High = workers[0].terms[t].name, math.Inf(1), math.Inf(-1)
		m := moments{}
		for i, y := range end[t] {
			if !failed[i] && y-y == 0 {
				s.Low, s.High = min(s.Low, y), max(s.High, y)
				m.add(0, y)
			}
		}
		s.Mean, s.SD = m.y/m.n, math.Sqrt(max(0, m.yy/m.n-m.y/m.n*m.y/m.n))
		w := workers[0].terms[t].sd
		if s.equality = workers[0].terms[t].equality; s.equality {
			s.Width = max(plan[0][t].σ, narrow*s.SD)
			w = s.Width
		}
		for k := range plan { // responses are noisy: neighbours are nearly alike
			const near = 2
			sum := 0.0
			for i := max(0, k-near); i <= min(N-1, k+near); i++ {
				sum += fitted(v[i*T+t], dot[i*T+t], end[t], failed).κ
			}
			plan[k][t].w = w
			plan[k][t].κ = sum / float64(min(N-1, k+near)-max(0, k-near)+1)
		}
	}
	return plan, seen, nil
}

func table(n, width int) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, width)
	}
	return out
}

type moments struct{ n, x, y, xx, xy, yy float64 }

func (m *moments) add(x, y float64) {
	m.n, m.x, m.y, m.xx, m.xy, m.yy = m.n+1, m.x+x, m.y+y, m.xx+x*x, m.xy+x*y, m.yy+y*y
}

// fitted is least squares of the value at the end on that at x̂_0, and of what is left on the noise of the step. σ is a
// fifth larger than what is left: a guide that is too narrow costs more than one that is too wide.
func fitted(v, dot, end []float64, failed []bool) (g guess) {
	const wider = 1.2
	var m moments
	for i, y := range end {
		if x := v[i]; !failed[i] && x-x == 0 && y-y == 0 {
			m.add(x, y)
		}
	}
	if m.n == 0 {
		return guess{σ: 1}
	}
	x, y := m.x/m.n, m.y/m.n
	if vx := m.xx/m.n - x*x; vx > 1e-18*(x*x+1e-300) {
		g.β = (m.xy/m.n - x*y) / vx
	}
	g.α = y - g.β*x
	var left, both float64
	for i, y := range end {
		if x := v[i]; !failed[i] && x-x == 0 && y-y == 0 {
			e := y - g.α - g.β*x
			left, both = left+e*e, both+e*dot[i]
		}
	}
	g.σ = max(wider*math.Sqrt(left/m.n), 1e-9*(math.Abs(y)+math.Sqrt(m.yy/m.n)), 1e-300)
	g.κ = both / m.n
	return g
}

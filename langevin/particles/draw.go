package particles

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/langevin"
)

// Draw returns n samples (n×d). They are a function of the options and n: not of the number of workers. Report.Low says
// of samples that they are few in effect. Errors are the context's, and of kind fault.Check where nothing was found.
func Draw(ctx context.Context, o Options, n int) ([]float64, *Report, error) {
	size, steps := max(fewest, int(math.Ceil(spare*float64(n)/populations))), o.Process.Schedule.N
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
	seed, first := keyed.Round(o.Seed, pilotRound+1), o.First*numbers
	pick := keyed.GivenPicks.Stream(seed, 0)
	var all []*population
	for round := 0; ; round++ {
		from, more := len(all), max(populations, len(all))
		starts, errs := make([]langevin.Prior, more), make([]error, more)
		for b := range more {
			all = append(all, newPopulation(size, o.Process.Set.Dim()))
			starts[b] = o.Begin(seed, first+uint64((from+b)*size), all[from+b].failed)
		}
		o.Pool.Do(more, func(worker, b int) {
			w, p, number := workers[worker], all[from+b], first+uint64((from+b)*size)
			w.plan = plan
			errs[b] = w.walk(ctx, p, starts[b], seed, number, func(k int) bool {
				for i, not := range p.failed {
					if not {
						p.logw[i] = math.Inf(-1)
					}
				}
				u := [1]float64{}
				pick.Uniforms(u[:], number, k)
				return p.resample(u[0], k > 0)
			})
			if errs[b] == nil && !math.IsInf(p.logZ, -1) {
				w.judge(p)
			}
			p.next, p.out = nil, nil
		})
		if err := cmp.Or(errs...); err != nil {
			return nil, nil, err
		}
		r := &Report{Populations: len(all), Particles: size, Term: seen}
		x, err := r.choose(all, n, pick, first)
		if round == rounds || err == nil && r.Effective >= plenty*float64(n) && r.Low == "" {
			return x, r, err
		}
	}
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
	total, out, sum, last := 0.0, make([]int, 0, n), 0.0, 0
	for _, v := range w {
		total += v
	}
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
	m, selects := len(w.Process.Set.Equalities()), w.Process.Set.Capabilities().Selects
	for lo := 0; lo < len(p.logw); lo += rows {
		hi := min(len(p.logw), lo+rows)
		w.measure(p.x[lo*w.d:hi*w.d], hi-lo)
		for i := lo; i < hi; i++ {
			x := p.x[i*w.d : (i+1)*w.d]
			p.logw[i] -= p.logψ[i]
			for t := range w.terms[:w.m] {
				v := w.v[t][i-lo] / w.plan[0][t].w
				p.logw[i] -= v * v / 2
			}
			if p.failed[i] || selects != nil && !selects(x) ||
				w.solver != nil && !w.solver.Project(x, 0) && !w.solver.Descend(x, 1e-13) {
				p.logw[i] = math.Inf(-1)
			}
		}
		for i := lo; i < hi; i++ {
			if p.logw[i] += w.exact(p.x[i*w.d:(i+1)*w.d], m); p.logw[i] != p.logw[i] {
				p.logw[i] = math.Inf(-1)
			}
		}
	}
}

// exact is ln of the likelihood of a final point, and of the area element of new equalities; −∞ where a constraint does
// not hold.
func (w *worker) exact(x []float64, m int) float64 {
	if w.m > 0 {
		w.whole.Values(w.wv, x, 1)
	}
	for a, v := range w.wv {
		if w.m > 0 && !(constraint.Excess(v, a < m+w.m) <= tolerance) {
			return math.Inf(-1)
		}
	}
	out := w.likelihood(x)
	if w.m == 0 || !w.Cut.Surface {
		return out
	}
	if w.look.At(x, 1) != nil {
		return math.Inf(-1)
	}
	w.measure(x, 1)
	for t := range w.m { // √det of the Gram matrix of Π∇k
		u := w.u[t][:w.d]
		w.look.Tangent(u, u)
		for s := range t {
			dense.Axpy(u, -dense.Dot(u, w.u[s][:w.d]), w.u[s][:w.d])
		}
		r := dense.Norm(u)
		out += math.Log(r)
		dense.Scaled(u, 1/r, u)
	}
	return out
}

// choose takes n samples from populations by their weights, and says how good they are.
func (r *Report) choose(all []*population, n int, pick keyed.Stream, first uint64) ([]float64, error) {
	logZ, flat, d := make([]float64, len(all)), []float64{}, len(all[0].x)/r.Particles
	for b, p := range all {
		w, total, _ := p.weights()
		logZ[b] = p.logZ + slices.Max(p.logw) + math.Log(total/float64(r.Particles))
		if !(total > 0) || math.IsInf(p.logZ, -1) {
			logZ[b], total = math.Inf(-1), 1
			clear(w)
		}
		dense.Scaled(w, 1/total, w)
		flat = append(flat, w...)
	}
	top, total := slices.Max(logZ), 0.0
	if math.IsInf(top, -1) {
		return nil, fault.Errorf(fault.Check, "", "no sample keeps what is given: of %d particles in %d populations "+
			"none is left. %s", len(flat), len(all), r.near())
	}
	for _, z := range logZ {
		total += math.Exp(z - top)
	}
	r.LogShare = top + math.Log(total/float64(len(all)))
	mean, square, means := make([]float64, d), make([]float64, d), make([]float64, len(all)*d)
	for b, p := range all {
		share, own := math.Exp(logZ[b]-top)/total, means[b*d:(b+1)*d]
		for i := range p.logw {
			v, x := flat[b*r.Particles+i], p.x[i*d:(i+1)*d]
			if v == 0 { // its point may be anywhere
				continue
			}
			for j := range x {
				own[j], square[j] = own[j]+v*x[j], square[j]+share*v*x[j]*x[j]
			}
			flat[b*r.Particles+i] = share * v
			r.Weights += share * v * share * v
		}
		dense.Axpy(mean, share, own)
	}
	var spread, varied float64
	for j := range d {
		spread += max(0, square[j]-mean[j]*mean[j])
		for b := range all {
			v := math.Exp(logZ[b]-top) / total * (means[b*d+j] - mean[j])
			varied += v * v * float64(len(all)) / float64(len(all)-1)
		}
	}
	r.Weights = 1 / r.Weights
	if r.Effective = r.Weights; varied > 0 {
		r.Effective = min(r.Weights, spread/varied)
	}
	u := [1]float64{}
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
	starts := min(leastAncestors, (n+1)/2)
	if least := max(leastEffective, float64(n)/10); r.Effective < least || r.Ancestors < starts {
		r.Low = fmt.Sprintf("%d samples are worth %.0f independent ones (expected at least %.0f) and descend from %d "+
			"start noises (expected at least %d). %s", n, r.Effective, least, r.Ancestors, starts, r.near())
	}
	return x, nil
}

// near says how near plain samples come to the constraints.
func (r *Report) near() string {
	var out []string
	for _, s := range r.Term {
		out = append(out, fmt.Sprintf("%s is %.4g to %.4g", s.Name, s.Low, s.High))
	}
	return "At samples of the run " + strings.Join(out, ", ") + " (expected 0, or at most 0 of an inequality)"
}

// measured runs plain paths, and returns what they tell of the terms at each step, and at the end.
func measured(ctx context.Context, o *Options, workers []*worker) ([][]guess, []Seen, error) {
	N, T := o.Process.Schedule.N, len(workers[0].terms)
	n := min(pilots, mostRecord/(2*N*T)/rows*rows)
	if n < 2*rows {
		return nil, nil, fault.Errorf(fault.Config, "", "%d steps and %d numbers of constraints are too many to guide "+
			"samples; expected at most %d in their product (--set process.steps helps)", N, T, mostRecord/4/rows)
	}
	seed, first, failed := keyed.Round(o.Seed, pilotRound), o.First*numbers, make([]bool, n)
	prior := o.Begin(seed, first, failed)
	v, dot, end := table(N*T, n), table(N*T, n), table(T, n)
	errs := make([]error, n/rows)
	o.Pool.Do(n/rows, func(worker, b int) {
		w, lo := workers[worker], b*rows
		w.plan, w.seen, w.dot = nil, make([][]float64, N*T), make([][]float64, N*T)
		for at := range w.seen {
			w.seen[at], w.dot[at] = v[at][lo:lo+rows], dot[at][lo:lo+rows]
		}
		p := newPopulation(rows, w.d)
		copy(p.failed, failed[lo:])
		errs[b] = w.walk(ctx, p, prior, seed, first+uint64(lo), func(int) bool { return true })
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
	for t, term := range workers[0].terms {
		g := fitted(make([]float64, n), dot[t], end[t], failed) // the mean, and the deviation from it
		s := Seen{Name: term.name, Low: math.Inf(1), High: math.Inf(-1), Mean: g.α, SD: g.σ / wider}
		for i, y := range end[t] {
			if !failed[i] {
				s.Low, s.High = min(s.Low, y), max(s.High, y)
			}
		}
		w := term.sd
		if term.equality {
			w = max(plan[0][t].σ, narrow*s.SD)
			s.Width = w
			size := max(s.High, -s.Low)
			switch {
			case s.High-s.Low > constant*(size+1):
			case size <= tolerance:
				return nil, nil, fault.Errorf(fault.Problem, "", "the equality %q holds at all points of the set "+
					"already; expected one that leaves some out", s.Name)
			default:
				return nil, nil, fault.Errorf(fault.Check, "", "the equality %q holds nowhere: its sides differ by "+
					"%.4g at all samples of the run", s.Name, s.Mean)
			}
		}
		seen[t] = s
		raw := make([]float64, N)
		for k := range plan {
			raw[k] = plan[k][t].κ
		}
		for k := range plan { // responses are noisy: neighbours are nearly alike
			lo, hi, sum := max(0, k-near), min(N, k+near+1), 0.0
			for _, κ := range raw[lo:hi] {
				sum += κ
			}
			plan[k][t].κ, plan[k][t].w = sum/float64(hi-lo), w
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

// fitted is least squares of the value at the end on that at x̂_0, and of what is left on the noise of the step. σ is a
// fifth larger than what is left: a guide that is too narrow costs more than one that is too wide.
func fitted(v, dot, end []float64, failed []bool) guess {
	var n, x, y, xx, xy, left, both float64
	each := func(f func(i int)) {
		for i := range end {
			if !failed[i] && v[i]-v[i] == 0 && end[i]-end[i] == 0 {
				f(i)
			}
		}
	}
	each(func(i int) { n, x, y = n+1, x+v[i], y+end[i] })
	if n == 0 {
		return guess{σ: 1}
	}
	x, y = x/n, y/n
	each(func(i int) { xx, xy = xx+(v[i]-x)*(v[i]-x), xy+(v[i]-x)*(end[i]-y) })
	g := guess{α: y}
	if xx > 0 {
		g.β = xy / xx
		g.α -= g.β * x
	}
	each(func(i int) {
		e := end[i] - g.α - g.β*v[i]
		left, both = left+e*e, both+e*dot[i]
	})
	g.σ, g.κ = max(wider*math.Sqrt(left/n), 1e-9*math.Abs(y), 1e-300), both/n
	return g
}

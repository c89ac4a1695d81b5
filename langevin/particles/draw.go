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
	steps, d := o.Process.Schedule.N, o.Process.Set.Dim()
	if last := uint64(math.MaxUint64 / numbers); o.First > last-uint64(n) {
		return nil, nil, fault.Errorf(fault.Usage, "", "%d samples by particles from number %d on; expected numbers "+
			"up to %d", n, o.First, last)
	}
	size := max(fewest, int(math.Ceil(spare*float64(n)/populations)))
	var done atomic.Int64
	total := populations*size + 2*pilots
	if tick := o.Tick; tick != nil {
		o.Tick = func(rows, _ int) { tick(int(done.Add(int64(rows))/int64(steps)), total) }
	}
	workers := make([]*worker, o.Pool.Workers())
	for i := range workers {
		workers[i] = newWorker(&o, o.Scores(i))
	}
	plan, seen, tries, err := guesses(ctx, &o, workers)
	if err != nil {
		return nil, nil, err
	}
	tries = max(1, min(tries, mostTries, mostStarts/(size*d))) // starts for each particle
	total += populations * size * 2 * tries / steps
	seed, first := keyed.Round(o.Seed, pilotRound+1), o.First*numbers
	pick := keyed.GivenPicks.Stream(seed, 0)
	var all []*population
	for more := populations; ; {
		from := len(all)
		starts, errs := make([]langevin.Prior, more), make([]error, more)
		lost := make([][]bool, more)
		for b := range more {
			all, lost[b] = append(all, nil), make([]bool, tries*size)
			starts[b] = o.Begin(seed, first+uint64((from+b)*len(lost[b])), lost[b])
		}
		o.Pool.Do(more, func(worker, b int) {
			w, p, number := workers[worker], newPopulation(len(lost[b]), d), first+uint64((from+b)*len(lost[b]))
			p.failed, all[from+b] = lost[b], p
			w.plan = plan
			errs[b] = w.walk(ctx, p, starts[b], seed, number, func(k int) bool {
				for i, not := range p.failed {
					if not {
						p.logw[i] = math.Inf(-1)
					}
				}
				u := [1]float64{}
				pick.Uniforms(u[:], number, k)
				return k > guided(o.Process) || p.resample(u[0], size, k > 0)
			})
			if errs[b] == nil && !math.IsInf(p.logZ, -1) {
				w.judge(p)
			}
			p.next, p.out, starts[b] = nil, nil, nil
		})
		if err := cmp.Or(errs...); err != nil {
			return nil, nil, err
		}
		r := &Report{Populations: len(all), Particles: size, Term: seen}
		x, err := r.choose(all, n, pick, first)
		if len(all) == most || err == nil && r.Effective >= plenty*float64(n) && r.Low == "" {
			return x, r, err
		}
		more = len(all)
		if r.Effective > 0 { // it grows with the populations
			more = int(math.Ceil(float64(more) * max(0.25, plenty*float64(n)/r.Effective-1)))
		}
		more = min(more, most-len(all))
	}
}

// resample has `size` particles go on after a step by their weights, if these are uneven or those are more, and adds
// what the shift of that step weighs. It reports whether any is left.
func (p *population) resample(u float64, size int, may bool) bool {
	n := len(p.logw)
	w, total, squares := p.weights()
	if !(total > 0) {
		p.logZ = math.Inf(-1)
		p.keep(make([]int, size))
		return false
	}
	if may && total*total < squares*float64(n)*uneven || size < n {
		p.logZ += slices.Max(p.logw) + math.Log(total/float64(n))
		p.keep(systematic(w, size, u))
		clear(p.logw)
	}
	dense.Axpy(p.logw, 1, p.lr)
	return true
}

// keep replaces the particles by copies of some of them.
func (p *population) keep(from []int) {
	d := len(p.x) / len(p.logw)
	p.x, p.next, p.push = taken(p.x, from, d), taken(p.next, from, d), taken(p.push, from, d)
	p.out = p.out[:len(from)*d]
	p.logw, p.logψ, p.lr = taken(p.logw, from, 1), taken(p.logψ, from, 1), taken(p.lr, from, 1)
	p.eve, p.failed = taken(p.eve, from, 1), taken(p.failed, from, 1)
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

// taken returns copies of rows of d numbers.
func taken[T any](v []T, from []int, d int) []T {
	out := make([]T, 0, len(from)*d)
	for _, i := range from {
		out = append(out, v[i*d:(i+1)*d]...)
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
		eves[b<<32+all[b].eve[k]] = true
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

// guesses measures a guide on plain paths, and another on paths that the first one leads to where the constraints hold.
// tries is how many starts it takes that a few are in effect likely to end there.
func guesses(ctx context.Context, o *Options, workers []*worker) (plan [][]guess, seen []Seen, tries int, err error) {
	plan, seen, p, err := measured(ctx, o, workers, nil, nil, pilotRound)
	if err == nil {
		defend(o, plan, p)
		plan, _, _, err = measured(ctx, o, workers, plan, p, pilotRound+2)
	}
	if err != nil {
		return nil, nil, 0, err
	}
	for t, term := range workers[0].terms {
		if term.equality {
			seen[t].Width = plan[0][t].w
		}
	}
	return plan, seen, defend(o, plan, p), nil
}

// defend writes ε, a share of the mean of q at plain starts, and returns tries. What is to be 0 is so in a share of
// paths that shrinks with the width: there, the mean is that at each step.
func defend(o *Options, plan [][]guess, p *record) int {
	T, start, sum, squares := len(plan[0]), guided(o.Process), 0.0, 0.0
	ψ, ε := slices.Repeat([]float64{1}, p.plain), make([]float64, T)
	for k := start; k >= 0; k-- {
		for t := range T {
			g, q, mean := &plan[k][t], make([]float64, p.plain), 0.0
			if k == start || g.w > 0 {
				for i := range q {
					if one, _ := g.near(p.v[k*T+t][i], p.size[k*T+t][i]); one == one {
						q[i] = one
					}
					mean += q[i] / float64(len(q))
				}
				ε[t] = max(defensive*mean, 1e-9)
			}
			g.ε = ε[t]
			for i := 0; i < len(ψ) && k == start; i++ {
				ψ[i] *= g.ε + (1-g.ε)*q[i]
			}
		}
	}
	for _, one := range ψ {
		sum, squares = sum+one, squares+one*one
	}
	return int(math.Ceil(startsEach * squares * float64(len(ψ)) / (sum * sum)))
}

// measured runs paths under a plan, without weights, and returns what they and those before tell of the terms at each
// step, and at the end.
func measured(ctx context.Context, o *Options, workers []*worker, by [][]guess, p *record, round int) (plan [][]guess,
	seen []Seen, _ *record, err error) {
	N, T, from := o.Process.Schedule.N, len(workers[0].terms), 0
	tables := 4
	if o.Process.Split {
		tables = 6
	}
	n := min(pilots, mostRecord/(tables*N*T)/rows*rows)
	if n < 2*rows {
		return nil, nil, nil, fault.Errorf(fault.Config, "", "%d steps and %d numbers of constraints are too many to "+
			"guide samples; expected at most %d in their product (--set process.steps helps)", N, T,
			mostRecord/(2*tables)/rows)
	}
	if p == nil {
		table := func(rows int) [][]float64 { return slices.Collect(slices.Chunk(make([]float64, rows*2*n), 2*n)) }
		p = &record{terms: T, plain: n, v: table(N * T), dot: table(N * T), moved: table(N * T), size: table(N * T),
			end: table(T), failed: slices.Repeat([]bool{true}, 2*n)}
		if o.Process.Split {
			p.pushed, p.early = table(N*T), table(N*T)
		}
	} else {
		from = n
	}
	seed, first, failed := keyed.Round(o.Seed, round), o.First*numbers, p.failed[from:from+n]
	clear(failed)
	prior := o.Begin(seed, first, failed)
	errs := make([]error, n/rows)
	o.Pool.Do(n/rows, func(worker, b int) {
		w, lo := workers[worker], b*rows
		w.plan, w.pilots, w.from = by, p, from+lo
		some := newPopulation(rows, w.d)
		copy(some.failed, failed[lo:])
		errs[b] = w.walk(ctx, some, prior, seed, first+uint64(lo), func(int) bool { return true })
		w.measure(some.x, rows)
		for t := range T {
			copy(p.end[t][w.from:], w.v[t])
		}
		copy(failed[lo:], some.failed)
		w.pilots, w.from = nil, 0
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, nil, nil, err
	}
	plan, seen = make([][]guess, N), make([]Seen, T)
	for k := range plan {
		plan[k] = make([]guess, T)
	}
	for t, term := range workers[0].terms {
		s := Seen{Name: term.name, Low: math.Inf(1), High: math.Inf(-1)}
		square, good := 0.0, 0.0
		for i, y := range p.end[t][:n] {
			if !p.failed[i] && y-y == 0 {
				s.Low, s.High = min(s.Low, y), max(s.High, y)
				s.Mean, square, good = s.Mean+y, square+y*y, good+1
			}
		}
		if good > 0 {
			s.Mean /= good
			s.SD = math.Sqrt(max(0, square/good-s.Mean*s.Mean))
		}
		ahead, end, width := p.end[t], slices.Clone(p.end[t]), 0.0
		for k := range plan {
			at := k*T + t
			r, _ := p.weighted(at, ahead, p.good(at, ahead))
			dense.Axpy(end, -r.κ, p.moved[at]) // where it would be without shifts from here on
			if k > 0 && p.pushed != nil {
				dense.Axpy(end, -r.λ, p.pushed[at-T])
			}
			g, σ := p.fitted(at, end)
			if g.κ, g.λ = r.κ, r.λ; k == 0 {
				ahead, width = slices.Clone(ahead), σ
			}
			for i, v := range p.v[at] {
				ahead[i] = g.α + g.β*v // what this step guesses
			}
			plan[k][t] = g
		}
		w := term.sd
		if term.equality {
			w = max(width, narrow*s.SD)
			s.Width = w
			size := max(s.High, -s.Low)
			switch {
			case by != nil || s.High-s.Low > constant*(size+1):
			case size <= tolerance:
				return nil, nil, nil, fault.Errorf(fault.Problem, "", "the equality %q holds at all points of the set "+
					"already; expected one that leaves some out", s.Name)
			default:
				return nil, nil, nil, fault.Errorf(fault.Check, "", "the equality %q holds nowhere: its sides differ "+
					"by %.4g at all samples of the run", s.Name, s.Mean)
			}
		}
		seen[t] = s
		for k := range plan {
			plan[k][t].w = w
		}
	}
	return plan, seen, p, nil
}

// fitted is least squares of pilots, which count less the further they are guessed from the boundary, and the more
// their ends had to be moved to where they would be without shifts. σ is that of a gradient of mean size.
func (p *record) fitted(at int, end []float64) (g guess, σ float64) {
	all := p.good(at, end)
	weight := slices.Clone(all)
	clear(weight[p.plain:])
	if g, σ = p.weighted(at, end, weight); g.β == 0 {
		return g, σ
	}
	for wide := local * σ; ; wide *= 1.5 {
		sum, squares := 0.0, 0.0
		for i, one := range all {
			if one > 0 {
				z, moved := (g.α+g.β*p.v[at][i])/wide, (p.end[at%p.terms][i]-end[i])/wide
				weight[i] = 1 / (1 + z*z*z*z + moved*moved*moved*moved)
			}
			sum, squares = sum+weight[i], squares+weight[i]*weight[i]
		}
		if sum*sum >= fewLocal*squares || wide > 100*σ {
			return p.weighted(at, end, weight)
		}
	}
}

// good returns weights: 1 of pilots that have a value.
func (p *record) good(at int, end []float64) []float64 {
	weight := make([]float64, len(end))
	for i, y := range end {
		if one := p.v[at][i] + p.size[at][i] + y; !p.failed[i] && one-one == 0 {
			weight[i] = 1
		}
	}
	return weight
}

// weighted is least squares of the value at the end on v, of what is left of it on u·z, and of the square of that on
// |u|². σ is a fifth larger than what is left: a guide that is too narrow costs more than one that is too wide.
func (p *record) weighted(at int, end, weight []float64) (g guess, σ float64) {
	v, size, n := p.v[at], p.size[at], 0.0
	for _, one := range weight {
		n += one
	}
	if n == 0 {
		return guess{a: 1}, 1
	}
	mean := func(f func(i int) float64) (m float64) {
		for i, one := range weight {
			if one > 0 {
				m += one * f(i) / n
			}
		}
		return m
	}
	x, y := mean(func(i int) float64 { return v[i] }), mean(func(i int) float64 { return end[i] })
	g.α = y
	if xx := mean(func(i int) float64 { return (v[i] - x) * (v[i] - x) }); xx > 0 {
		g.β = mean(func(i int) float64 { return (v[i] - x) * (end[i] - y) }) / xx
		g.α -= g.β * x
	}
	left := func(i int) float64 { return end[i] - g.α - g.β*v[i] }
	s := mean(func(i int) float64 { return size[i] })
	response := func(z []float64) float64 {
		all := mean(func(i int) float64 { return z[i] * z[i] })
		return mean(func(i int) float64 { return left(i) * z[i] }) / max(all, 1e-300)
	}
	if g.κ = response(p.dot[at]); at >= p.terms && p.early != nil {
		g.λ = response(p.early[at-p.terms])
	}
	all := max(mean(func(i int) float64 { return left(i) * left(i) }), y*y*1e-18, 1e-300)
	if ss := mean(func(i int) float64 { return (size[i] - s) * (size[i] - s) }); ss > 1e-4*s*s {
		g.b = mean(func(i int) float64 { return (size[i] - s) * left(i) * left(i) }) / ss
		g.b = max(0, min(g.b, 0.95*all/s))
	}
	g.a, g.b = wider*wider*(all-g.b*s), wider*wider*g.b
	return g, wider * math.Sqrt(all)
}

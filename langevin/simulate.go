package langevin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/ranks"
)

// Paths holds forward paths: path i is the (N+1)×d block at X[i(N+1)d:], its rows x_0 … x_N.
type Paths struct {
	Count, Steps, Dim int
	X                 []float64
	Failed            []bool // paths that lost a projection; not to be trained on

	folds []folds // of each path; nil unless walls are elastic
}

// folds are the states of a path that a wall sent back.
type folds struct {
	k       []int     // their steps, ascending
	ym      []float64 // y_k and M_k of each: 2d
	mirrors []int     // as in Folds
	n       []float64
}

// folded returns y_k and M_k of path i where a wall sent its step to x_k back.
func (p *Paths) folded(i, k int) (ym []float64, ok bool) {
	if p.folds == nil {
		return nil, false
	}
	f := &p.folds[i]
	e, ok := slices.BinarySearch(f.k, k)
	if !ok {
		return nil, false
	}
	return f.ym[2*e*p.Dim : 2*(e+1)*p.Dim], true
}

// Proposal returns y_k of path i: where its step from x_{k−1} would have ended without
// walls. It is x_k but where an elastic wall sent the step back.
func (p *Paths) Proposal(i, k int) []float64 {
	if ym, ok := p.folded(i, k); ok {
		return ym[:p.Dim]
	}
	return p.At(i, k)
}

// Origin returns M_k of path i: where its step to x_k would have come from without
// walls. It is x_{k−1} but where an elastic wall sent the step back.
func (p *Paths) Origin(i, k int) []float64 {
	if ym, ok := p.folded(i, k); ok {
		return ym[p.Dim:]
	}
	return p.At(i, k-1)
}

// keep notes the folds of the step to x_k of the paths lo, lo+1, ….
func (p *Paths) keep(f *Folds, lo, k int) {
	if f == nil {
		return
	}
	d, n := p.Dim, f.N
	for e, i := range f.Row {
		to := &p.folds[lo+i]
		to.k = append(to.k, k)
		to.ym = append(append(to.ym, f.Y[e*d:(e+1)*d]...), f.M[e*d:(e+1)*d]...)
		to.mirrors = append(to.mirrors, f.Mirrors[e])
		if c := f.Mirrors[e]; c > 0 {
			to.n = append(to.n, n[:c*d]...)
			n = n[c*d:]
		}
	}
}

// Unfold moves the point z of path i and the vectors v and w, seen from x_from, to where one who stands at x_to sees
// them in the mirrors of the walls that sent the path back in between: for every such step to x_k, in turn, z ← x_k +
// R(z − y_k), v ← Rv, w ← Rw. So x_{k−1} becomes M_k, and the path, unfolded, one that no wall has touched (walls.go).
// v and w may be nil.
func (p *Paths) Unfold(i, from, to int, z, v, w []float64) {
	if p.folds == nil {
		return
	}
	f, d, at := &p.folds[i], p.Dim, 0
	for e, k := range f.k {
		if k > to {
			return
		}
		c := f.mirrors[e]
		normals := f.n[at*d:]
		at += max(c, 0)
		if k <= from {
			continue
		}
		x, y := p.At(i, k), f.ym[2*e*d:(2*e+1)*d]
		dense.Axpy(z, -1, y)
		mirror(z, normals, c)
		mirror(v, normals, c)
		mirror(w, normals, c)
		dense.Axpy(z, 1, x)
	}
}

// mirror applies the first c of the unit normals to the vector v, or −I if they stand for a turn.
func mirror(v, normals []float64, c int) {
	if c == turnedBack {
		for j := range v {
			v[j] = -v[j]
		}
		return
	}
	for d := len(v); d > 0 && c > 0; c-- {
		n := normals[:d]
		dense.Axpy(v, -2*dense.Dot(n, v), n)
		normals = normals[d:]
	}
}

// At returns x_k of path i, backed by p.X.
func (p *Paths) At(i, k int) []float64 {
	o := (i*(p.Steps+1) + k) * p.Dim
	return p.X[o : o+p.Dim]
}

// resize gives p room for count paths, reusing its memory.
func (p *Paths) resize(count, steps, dim int, elastic bool) {
	p.Count, p.Steps, p.Dim = count, steps, dim
	if n := count * (steps + 1) * dim; cap(p.X) < n {
		p.X = make([]float64, n)
	} else {
		p.X = p.X[:n]
	}
	if cap(p.Failed) < count {
		p.Failed = make([]bool, count)
	}
	p.Failed = p.Failed[:count]
	clear(p.Failed)
	if !elastic {
		p.folds = nil
		return
	}
	p.folds = slices.Grow(p.folds[:0], count)[:count]
	p.restart(0, count)
}

// restart forgets what is noted of the paths lo … hi−1.
func (p *Paths) restart(lo, hi int) {
	clear(p.Failed[lo:hi])
	if p.folds == nil {
		return
	}
	for i := lo; i < hi; i++ {
		f := &p.folds[i]
		f.k, f.ym, f.mirrors, f.n = f.k[:0], f.ym[:0], f.mirrors[:0], f.n[:0]
	}
}

// A Report tells how a simulation went.
type Report struct {
	Failed           int       // rows that lost a projection
	NewtonIterations int       // in all: Projections.Iterations
	Worst            []float64 // the largest violation of each component on the way

	// Projections counts every call of Newton's method or a closed form, and
	// its failures by reason; a row may fail more than once.
	Projections geometry.Outcome
	Bounces     // off elastic walls
	Breakdowns  // of a simulator that tolerates them
}

// add adds what happened in a step.
func (r *Report) add(i Info) {
	for a, v := range i.Worst {
		r.Worst[a] = max(r.Worst[a], v)
	}
	r.Projections.Add(i.Projections)
	r.Bounces.Add(i.Bounces)
	r.NewtonIterations = r.Projections.Iterations
}

// A DivergedError says where a simulation left the finite numbers or lost its rank.
type DivergedError struct {
	Direction string // "forward", "backward" or "chain"
	Sample    int    // its number: of Backward, counted with first
	Step      int
	Component string // constraint's name, or "state" if no constraint saw it first
	Err       error
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("%s simulation broke down at sample %d, step %d, component %q: %v",
		e.Direction, e.Sample, e.Step, e.Component, e.Err)
}

func (*DivergedError) Place() fault.Place { return fault.Place{Kind: fault.Diverged} }

func (e *DivergedError) Unwrap() error { return e.Err }

// diverged wraps an error of package geometry at a row of the block whose first
// sample has the number given, and returns that of a context as it is.
func diverged(direction string, first, step int, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := &DivergedError{Direction: direction, Sample: first, Step: step, Component: "state", Err: err}
	var nf *geometry.NonFiniteError
	var re *geometry.RankError
	switch {
	case errors.As(err, &nf):
		e.Sample, e.Component = first+nf.Row, nf.Component
		e.Err = fmt.Errorf("the value is %v", nf.Value)
	case errors.As(err, &re):
		e.Sample, e.Component = first+re.Row, re.Component
		e.Err = fmt.Errorf("its gradient vanishes (norm %.3g), so the rank drops", re.Norm)
	}
	return e
}

// A Simulator runs whole paths on a pool of workers. Results do not depend on
// the number of workers or on the block size.
type Simulator struct {
	proc    *Process
	pool    *parallel.Pool
	rows    int
	workers []*simWorker
	trace   *Trace // of Watch

	tolerant bool        // of rows that break down
	group    ranks.Group // of Among; nil: all rows are simulated here
}

type simWorker struct {
	*Stepper
	ctx     context.Context // of the run in progress
	report  Report          // of the run in progress
	a, b, c []float64       // three positions: rows×d
	ζ       []float64       // the noise: rows×d, 2rows×d if it is split
	net     Score           // of the backward simulation in progress
	act     Act             // net, if it is one
	trace   *Trace          // of the backward simulation in progress; nil unless watched
}

// NewSimulator makes a simulator that works on blocks of rows points. The process must be valid.
func NewSimulator(p *Process, pool *parallel.Pool, rows int) *Simulator {
	s := &Simulator{proc: p, pool: pool, rows: rows}
	noises := 1
	if p.Split {
		noises = 2
	}
	for range pool.Workers() {
		vec := func() []float64 { return make([]float64, rows*p.Set.Dim()) }
		s.workers = append(s.workers, &simWorker{
			Stepper: p.NewStepper(rows), a: vec(), b: vec(), c: vec(), ζ: make([]float64, noises*rows*p.Set.Dim()),
		})
	}
	return s
}

// run calls f on every block of n rows, or where they are divided among ranks on those of this one,
// and gathers the report; of several errors it returns that of the first block.
func (s *Simulator) run(ctx context.Context, n int, t task) (Report, error) {
	c := len(constraint.Components(s.proc.Set))
	for _, w := range s.workers {
		w.report, w.ctx = Report{Worst: make([]float64, c)}, ctx
		w.until(ctx)
	}
	first, end, g := 0, n, s.divided(t)
	if g != nil {
		first, end = ranks.Cut(n, g.Rank(), g.Size())
	}
	blocks := parallel.Blocks(end-first, s.rows)
	errs, broken := make([]error, blocks), make([]Breakdowns, blocks)
	s.pool.Do(blocks, func(worker, b int) {
		if err := ctx.Err(); err != nil {
			errs[b] = err
			return
		}
		lo, hi := parallel.Block(b, end-first, s.rows)
		lo, hi = first+lo, first+hi
		if s.tolerant {
			broken[b], errs[b] = s.workers[worker].isolate(ctx, t, lo, hi)
		} else {
			errs[b] = t.simulate(s.workers[worker], lo, hi)
		}
		errs[b] = cmp.Or(ctx.Err(), errs[b]) // a step that the context ended is no result
	})
	r := Report{Worst: make([]float64, c)}
	for _, w := range s.workers {
		r.add(Info{Worst: w.report.Worst, Projections: w.report.Projections, Bounces: w.report.Bounces})
	}
	var err error
	for b := range errs {
		if r.Breakdowns.add(broken[b]); errs[b] != nil {
			err = errs[b]
			break
		}
	}
	if g != nil && ranks.Joined(g) {
		return s.among(g, n, t, r, err)
	}
	return r, err
}

// Forward simulates one path from each of the points x0 (n×d) into paths, with
// the noise of (seed, refresh, sample = row of x0, step). The error is a
// *DivergedError or the context's.
func (s *Simulator) Forward(ctx context.Context, paths *Paths, x0 []float64, seed, refresh uint64) (Report, error) {
	d, N := s.proc.Set.Dim(), s.proc.Schedule.N
	paths.resize(len(x0)/d, N, d, s.proc.Elastic())
	noise := keyed.PathNoise.Stream(seed, refresh)
	momentum := keyed.PathMomentum.Stream(seed, refresh)
	simulate := func(w *simWorker, lo, hi int) error {
		return w.forward(x0[lo*d:hi*d], paths.Failed[lo:hi], lo, noise, momentum, N,
			func(k int, x []float64, f *Folds) {
				for i := range hi - lo {
					copy(paths.At(lo+i, k), x[i*d:(i+1)*d])
				}
				paths.keep(f, lo, k)
			})
	}
	report, err := s.run(ctx, paths.Count, task{simulate, paths.restart, func(i int) {
		paths.Failed[i] = true
		for k := range N + 1 {
			copy(paths.At(i, k), x0[i*d:(i+1)*d])
		}
	}, paths.give})
	report.Failed = Lost(paths.Failed)
	return report, err
}

// forward simulates the steps 0 … end−1 of forward paths from the points x0. The first point has the number `first`.
// forward shows x_0 … x_end, with the folds of the step to each.
func (w *simWorker) forward(x0 []float64, failed []bool, first int, noise, momentum keyed.Stream, end int,
	see func(k int, x []float64, f *Folds)) error {
	n, x, prev, next := len(failed), w.a, w.b, w.c
	copy(x, x0)
	if w.proc.Method.Underdamped() {
		if err := w.pseudoPoint(prev, x, momentum, uint64(first), n, -w.proc.Schedule.Tau(0)); err != nil {
			return diverged("forward", first, 0, err)
		}
	}
	see(0, x, nil)
	for k := range end {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		w.draw(noise, uint64(first), n, k)
		info, err := w.Forward(next, x, prev, w.ζ, failed, n, k)
		if err != nil {
			return diverged("forward", first, k, err)
		}
		w.report.add(info)
		info.Folds.Carry(x)
		if k == w.proc.Schedule.N-1 {
			if err := w.last(next, failed, n, w.end); err != nil {
				return diverged("forward", first, k+1, err)
			}
		}
		see(k+1, next, info.Folds)
		x, prev, next = next, x, prev
	}
	return nil
}

// Lost counts rows that failed.
func Lost(failed []bool) (n int) {
	for _, f := range failed {
		if f {
			n++
		}
	}
	return n
}

// Starts returns n rows of x (rows of d numbers) for paths or chains to start from: rows at equal distances through x,
// or where it has fewer all of them, again and again from the first.
func Starts(x []float64, d, n int) []float64 {
	have := len(x) / d
	out := make([]float64, 0, n*d)
	for i := range n {
		row := i % have
		if n < have {
			row = i * have / n
		}
		out = append(out, x[row*d:(row+1)*d]...)
	}
	return out
}

// A Prior writes x_N of one generated sample: a function of (s, sample) alone.
type Prior interface {
	Sample(dst []float64, s keyed.Stream, sample uint64)
}

// Uniform is the prior of a compact Σ with f = 0: the set's SampleUniform.
type Uniform func(dst []float64, s keyed.Stream, sample uint64)

// Sample implements Prior.
func (u Uniform) Sample(dst []float64, s keyed.Stream, sample uint64) { u(dst, s, sample) }

// Empirical draws from a fixed set of terminal states, m×d.
type Empirical struct{ States []float64 }

// Sample implements Prior.
func (e Empirical) Sample(dst []float64, s keyed.Stream, sample uint64) {
	d := len(dst)
	i := s.Index(len(e.States)/d, sample, 0)
	copy(dst, e.States[i*d:(i+1)*d])
}

// EmpiricalPrior returns the terminal states of forward paths from the points x0 (n×d), those that did not fail, with
// the noise of (seed, refresh). The error is that of Forward, or a *PriorError if every path failed.
func (s *Simulator) EmpiricalPrior(ctx context.Context, x0 []float64, seed, refresh uint64) (Empirical, error) {
	d := s.proc.Set.Dim()
	x, failed := make([]float64, len(x0)), make([]bool, len(x0)/d)
	if _, err := s.Partway(ctx, x, failed, x0, []int{s.proc.Schedule.N}, 0, keyed.PathNoise.Stream(seed, refresh),
		keyed.PathMomentum.Stream(seed, refresh)); err != nil {
		return Empirical{}, err
	}
	var e Empirical
	for i, lost := range failed {
		if !lost {
			e.States = append(e.States, x[i*d:(i+1)*d]...)
		}
	}
	if len(e.States) == 0 {
		return e, &PriorError{len(failed)}
	}
	return e, nil
}

// A PriorError says that no forward path reached a terminal state on Σ.
type PriorError struct{ Paths int }

func (e *PriorError) Error() string {
	return fmt.Sprintf("all %d forward paths of the empirical prior failed a projection", e.Paths)
}

// Watch has Backward add how far its states are from Σ to t, a trace of s's process,
// until it is given another one, or nil: then nothing is gathered.
func (s *Simulator) Watch(t *Trace) { s.trace = t }

// An Act is a Score of a method that does more than the steps of the process, with a set that the process knows
// nothing of.
type Act interface {
	Score
	// At says that the next step is x_{k+1} → x_k.
	At(k int)
	// After does with x_k (n×d) what comes after a step, and with x_0 what comes at the end, k = −1.
	After(x []float64, n, k int, failed []bool) geometry.Outcome
	// Values are those of the set's components at x, for traces.
	Values(x []float64, n int) []float64
}

// Backward generates the samples first, first+1, … into dst (n×d): x_N from the prior, then the backward steps with the
// score of each worker. failed (n) is set for samples that lost a projection; their rows hold the last good state.
func (s *Simulator) Backward(ctx context.Context, dst []float64, failed []bool, first uint64, seed uint64, prior Prior,
	score func(worker int) Score) (Report, error) {
	d, N := s.proc.Set.Dim(), s.proc.Schedule.N
	count := len(dst) / d
	start, noise := keyed.GeneratedStart.Stream(seed, 0), keyed.GeneratedNoise.Stream(seed, 0)
	momentum, early := keyed.GeneratedMomentum.Stream(seed, 0), keyed.GeneratedEarly.Stream(seed, 0)
	for i, w := range s.workers {
		w.net, w.trace = score(i), s.trace.clone()
		if w.act, _ = w.net.(Act); w.trace != nil {
			w.trace.reset()
		}
	}
	clear(failed)
	simulate := func(w *simWorker, lo, hi int) error {
		n := hi - lo
		x, next, out := w.a, w.b, w.c
		for i := range n {
			prior.Sample(x[i*d:(i+1)*d], start, first+uint64(lo+i))
		}
		if s.proc.Method.Underdamped() {
			if err := w.pseudoPoint(next, x, momentum, first+uint64(lo), n, s.proc.MomentumTau(N-1)); err != nil {
				return diverged("backward", int(first)+lo, N, err)
			}
		}
		for k := N - 1; k >= 0; k-- {
			if err := w.ctx.Err(); err != nil {
				return err
			}
			w.draw(noise, first+uint64(lo), n, k)
			if s.proc.Split {
				w.drawInto(w.ζ[n*d:], early, first+uint64(lo), n, k)
			}
			if w.act != nil {
				w.act.At(k)
			}
			info, err := w.Backward(out, x, next, w.ζ, failed[lo:hi], n, k, w.net)
			if err != nil {
				return diverged("backward", int(first)+lo, k+1, err)
			}
			w.report.add(info)
			if w.trace != nil {
				if w.act != nil {
					info.Values = w.act.Values(x, n)
				}
				w.trace.See(k+1, info.Values, failed[lo:hi])
			}
			if err := w.acted(out, n, k, failed[lo:hi]); err != nil {
				return diverged("backward", int(first)+lo, k+1, err)
			}
			info.Folds.Carry(x)
			x, next, out = out, x, next
		}
		if err := w.look(x, failed[lo:hi], n, 0); err != nil {
			return diverged("backward", int(first)+lo, 0, err)
		}
		if err := cmp.Or(w.last(x, failed[lo:hi], n, w.Terminal), w.acted(x, n, -1, failed[lo:hi])); err != nil {
			return diverged("backward", int(first)+lo, 0, err)
		}
		if err := w.look(x, failed[lo:hi], n, N+1); err != nil {
			return diverged("backward", int(first)+lo, 0, err)
		}
		copy(dst[lo*d:hi*d], x)
		return nil
	}
	report, err := s.run(ctx, count, task{simulate: simulate, again: func(lo, hi int) { clear(failed[lo:hi]) },
		lose: func(i int) {
			failed[i] = true
			prior.Sample(dst[i*d:(i+1)*d], start, first+uint64(i))
		}})
	if s.trace != nil {
		for _, w := range s.workers {
			s.trace.Add(w.trace)
		}
	}
	report.Failed = Lost(failed)
	return report, err
}

// acted has an act do what comes after x_k, and checks that its points are finite.
func (w *simWorker) acted(x []float64, n, k int, failed []bool) error {
	if w.act == nil {
		return nil
	}
	w.report.add(Info{Projections: w.act.After(x, n, k, failed)})
	return finite("x", x[:n*w.d], w.d)
}

// look adds the states x_k to the trace, if there is one.
func (w *simWorker) look(x []float64, failed []bool, n, k int) error {
	if w.trace == nil {
		return nil
	}
	if w.act != nil {
		w.trace.See(k, w.act.Values(x, n), failed)
		return nil
	}
	values, err := w.values(x, n)
	if err == nil {
		w.trace.See(k, values, failed)
	}
	return err
}

// pseudoPoint writes x + c p̃ with p̃ = Π(x)·noise, the point that carries a path's first momentum.
func (w *simWorker) pseudoPoint(dst, x []float64, s keyed.Stream, first uint64, n int, c float64) error {
	if err := w.at.At(x, n); err != nil {
		return err
	}
	w.draw(s, first, n, 0)
	w.at.Tangent(w.ζ, w.ζ)
	for i, v := range w.ζ[:n*w.d] {
		dst[i] = x[i] + c*v
	}
	return nil
}

func (w *simWorker) draw(s keyed.Stream, first uint64, n, step int) {
	w.drawInto(w.ζ, s, first, n, step)
}

func (w *simWorker) drawInto(dst []float64, s keyed.Stream, first uint64, n, step int) {
	for i := range n {
		s.Normals(dst[i*w.d:(i+1)*w.d], first+uint64(i), step)
	}
}

// finite checks points, or momenta, that no constraint may look at; name is x or p. The error is
// a *geometry.NonFiniteError.
func finite(name string, x []float64, d int) error {
	for i, v := range x {
		if v-v != 0 {
			return &geometry.NonFiniteError{Row: i / d, Component: fmt.Sprintf("%s[%d]", name, i%d), Value: v}
		}
	}
	return nil
}

// last checks and projects the final state of a block.
func (w *simWorker) last(x []float64, failed []bool, n int,
	project func(x []float64, failed []bool, n int) (geometry.Outcome, error)) error {
	if err := finite("x", x[:n*w.d], w.d); err != nil {
		return err
	}
	if !w.proc.NoTerminal && !w.proc.Method.Projected() {
		o, err := project(x, failed, n)
		w.report.add(Info{Projections: o})
		return err
	}
	return nil
}

// UniformPrior returns the uniform prior of the process's set, or a
// *constraint.UnsupportedError.
func UniformPrior(p *Process) (Prior, error) {
	draw := p.Set.Capabilities().SampleUniform
	if draw == nil {
		return nil, &constraint.UnsupportedError{
			Set: constraint.Name(p.Set), Need: "a uniform sampler", For: "the uniform prior",
		}
	}
	return Uniform(draw), nil
}

// SamplePrior returns n draws of a prior of points of dimension d: those of the samples 0 … n−1 of a stream.
func SamplePrior(pool *parallel.Pool, prior Prior, d int, s keyed.Stream, n int) []float64 {
	const rows = 1024
	y := make([]float64, n*d)
	pool.Do(parallel.Blocks(n, rows), func(_, b int) {
		lo, hi := parallel.Block(b, n, rows)
		for i := lo; i < hi; i++ {
			prior.Sample(y[i*d:(i+1)*d], s, uint64(i))
		}
	})
	return y
}

package euclidean

import (
	"context"
	"fmt"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
)

// A sampler generates by the backward steps of the space around Σ, with what the variant does between them.
type sampler struct {
	m       *Method
	pool    *parallel.Pool
	rows    int
	ends    method.Sampler // of the space around, for Ends
	workers []*worker
	trace   *method.Trace
}

// A worker is the scratch space of one goroutine.
type worker struct {
	*langevin.Stepper
	d         int
	act       act
	x, out, ζ []float64 // rows×d
	report    method.Report

	set    constraint.Evaluator // of Σ
	values []float64            // rows×c
	trace  *method.Trace        // nil unless watched
}

func newSampler(m *Method, rows int, pool *parallel.Pool) *sampler {
	s := &sampler{m: m, pool: pool, rows: rows, ends: m.of.Sampler(rows, pool)}
	d, c := m.set.Dim(), len(constraint.Components(m.set))
	for range pool.Workers() {
		vec := func() []float64 { return make([]float64, rows*d) }
		s.workers = append(s.workers, &worker{Stepper: m.by.NewStepper(rows), d: d, act: m.newAct(rows),
			x: vec(), out: vec(), ζ: vec(), set: m.set.NewEvaluator(rows), values: make([]float64, rows*c)})
	}
	return s
}

// sigma is the process on Σ itself, for traces.
func (m *Method) sigma() *langevin.Process {
	p := *m.by
	p.Set = m.set
	return &p
}

// Watch implements method.Sampler.
func (s *sampler) Watch(t *method.Trace)   { s.trace = t }
func (s *sampler) NewTrace() *method.Trace { return langevin.NewTrace(s.m.sigma()) }

// Ends implements method.Sampler.
func (s *sampler) Ends(ctx context.Context, x0 []float64, seed, refresh uint64) ([]float64, error) {
	return s.ends.Ends(ctx, x0, seed, refresh)
}

// Generate implements method.Sampler. Noise is that of langevin.Simulator.Backward.
func (s *sampler) Generate(ctx context.Context, dst []float64, failed []bool, first, seed uint64, prior method.Prior,
	scores func(worker int) method.Score) (method.Report, error) {
	d, n := s.m.set.Dim(), len(failed)
	start, noise := keyed.GeneratedStart.Stream(seed, 0), keyed.GeneratedNoise.Stream(seed, 0)
	clear(failed)
	for i, w := range s.workers {
		w.report, w.trace = method.Report{}, nil
		if s.trace != nil {
			w.trace = s.NewTrace()
		}
		w.act.lead(scores(i))
	}
	blocks := parallel.Blocks(n, s.rows)
	errs, breaks := make([]error, blocks), make([]*langevin.DivergedError, blocks)
	s.pool.Do(blocks, func(i, b int) {
		lo, hi := parallel.Block(b, n, s.rows)
		w, number := s.workers[i], first+uint64(lo)
		for row := range hi - lo {
			prior.Sample(w.x[row*d:(row+1)*d], start, number+uint64(row))
		}
		if errs[b] = s.back(ctx, w, failed[lo:hi], number, noise, &breaks[b]); errs[b] == nil {
			copy(dst[lo*d:hi*d], w.x)
		}
	})
	var r method.Report
	for b, err := range errs {
		if err != nil {
			return r, err
		}
		if r.Break == nil && breaks[b] != nil {
			r.Break = breaks[b]
		}
	}
	for _, w := range s.workers {
		r.Programs.Add(w.report.Programs)
		r.Broken += w.report.Broken
		if s.trace != nil {
			s.trace.Add(w.trace)
		}
	}
	r.Iterations = r.Programs.Iterations
	for _, f := range failed {
		if f {
			r.Failed++
		}
	}
	return r, nil
}

// back takes the backward steps of a block from w.x.
func (s *sampler) back(ctx context.Context, w *worker, failed []bool, first uint64, noise keyed.Stream,
	broke **langevin.DivergedError) error {
	d, n, N := s.m.set.Dim(), len(failed), s.m.by.Schedule.N
	for k := N - 1; k >= 0; k-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.look(w.x, failed, n, k+1)
		for i := range n {
			noise.Normals(w.ζ[i*d:(i+1)*d], first+uint64(i), k)
		}
		w.act.at(k)
		if _, err := w.Backward(w.out, w.x, nil, w.ζ, failed, n, k, w.act); err != nil {
			return err // the space around has no components that could fail
		}
		w.act.after(w.out, n, k, failed, &w.report.Programs)
		w.hold(failed, first, n, k, broke)
		w.x, w.out = w.out, w.x
	}
	w.look(w.x, failed, n, 0)
	w.act.last(w.x, n, failed, &w.report.Programs)
	w.look(w.x, failed, n, N+1)
	return nil
}

// hold keeps the rows that a step to x_k would take out of the finite numbers where they were, lost.
func (w *worker) hold(failed []bool, first uint64, n, k int, broke **langevin.DivergedError) {
	d := w.d
	for i := range n {
		row := w.out[i*d : (i+1)*d]
		for j, v := range row {
			if v-v == 0 {
				continue
			}
			if number := int(first) + i; !failed[i] {
				failed[i] = true
				w.report.Broken++
				if *broke == nil || number < (*broke).Sample {
					*broke = &langevin.DivergedError{Direction: "backward", Sample: number, Step: k + 1,
						Component: "state", Err: fmt.Errorf("x[%d] is %v", j, v)}
				}
			}
			copy(row, w.x[i*d:(i+1)*d])
			break
		}
	}
}

// look adds the states x_k to the trace, if there is one.
func (w *worker) look(x []float64, failed []bool, n, k int) {
	if w.trace != nil {
		w.set.Values(w.values, x, n)
		w.trace.See(k, w.values, failed)
	}
}

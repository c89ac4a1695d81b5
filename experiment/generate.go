package experiment

import (
	"bytes"
	"context"
	"time"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/train"
)

// Generate makes the samples first … first+n−1 of the given seed. tick, if not nil, gets how many are done. Samples
// that fail are kept and marked; a share above generate.max_failed is a *FailedError, returned beside the samples.
func (l *Loaded) Generate(ctx context.Context, t *Trained, prior *Prior, n int, first, seed uint64,
	tick func(done int)) (*judge.Samples, error) {
	s, err := NewDrawer(l, t, n).Draw(ctx, prior, n, first, seed, tick)
	if err != nil {
		return nil, err
	}
	return s, s.CheckFailed(l.Problem.Generate.MaxFailed)
}

const (
	generateRows  = 128  // points in a block at most
	generateChunk = 4096 // samples between ticks
)

// blockRows returns how many of n samples to draw at a time: for every worker as many
// blocks, of about one size, so that none waits for the others.
func blockRows(l *Loaded, n int) int {
	n, workers := min(n, generateChunk), l.Pool.Workers()
	blocks := workers * parallel.Blocks(parallel.Blocks(n, generateRows), workers)
	return max(1, parallel.Blocks(n, blocks))
}

// Fields makes scores of a network as samples are drawn with it, for as many goroutines, in blocks of so many
// rows.
func Fields(l *Loaded, t *Trained, rows, goroutines int) []*score.Field[float32] {
	return score.NewGuided(t.Model, t.packed(), rows, goroutines, l.Problem.Generate.Guidance)
}

// A Drawer draws samples in blocks, and keeps the room for that between calls. One goroutine uses it at a time.
type Drawer struct {
	l       *Loaded
	sampler method.Sampler
	scores  func(worker int) method.Score
	fields  []*score.Field[float32] // behind scores; nil where they are the caller's
	trace   *method.Trace           // of Diagnose
}

// NewDrawer makes a Drawer by a trained network, for calls of about n samples.
func NewDrawer(l *Loaded, t *Trained, n int) *Drawer {
	rows := blockRows(l, n)
	fields := Fields(l, t, rows, l.Pool.Workers())
	d := NewDrawerBy(l, rows, func(worker int) method.Score { return fields[worker] })
	d.fields = fields
	return d
}

// NewDrawerBy makes a Drawer of so many rows a block that asks these scores, one for each worker of the pool.
func NewDrawerBy(l *Loaded, rows int, scores func(worker int) method.Score) *Drawer {
	return &Drawer{l: l, sampler: l.Method.Sampler(rows, l.Pool), scores: scores}
}

// Diagnose has samples that are drawn from now on come with Samples.Steps, of this and all earlier calls, of methods
// that tell of them.
func (dr *Drawer) Diagnose() {
	dr.trace = dr.sampler.NewTrace()
	dr.sampler.Watch(dr.trace)
}

// Draw makes the samples first … first+n−1 of the given seed, those that fail among them. tick, if not nil,
// hears how many are done.
func (dr *Drawer) Draw(ctx context.Context, prior *Prior, n int, first, seed uint64, tick func(done int)) (
	*judge.Samples, error) {
	start, l := time.Now(), dr.l
	d := l.Process.Set.Dim()
	s := &judge.Samples{X: make([]float64, n*d), Dim: d, Lost: make([]bool, n)}
	for _, f := range dr.fields {
		s.Evaluated -= f.Rows()
	}
	for lo := 0; lo < n; lo += generateChunk {
		hi := min(n, lo+generateChunk)
		begin, number := prior.Prior, first+uint64(lo)
		var unstarted []bool
		if l.Condition != nil {
			unstarted = make([]bool, hi-lo)
			states, lost := l.starts(prior, unstarted, number, seed)
			begin, s.Begun = numbered{states, number}, s.Begun+lost
		}
		report, err := dr.sampler.Generate(ctx, s.X[lo*d:hi*d], s.Lost[lo:hi], number, seed, begin, dr.scores)
		if err != nil {
			return nil, err
		}
		for i, lost := range unstarted {
			s.Lost[lo+i] = s.Lost[lo+i] || lost
		}
		if s.Broken += report.Broken; s.Break == nil {
			s.Break = report.Break
		}
		s.Newton += report.Iterations
		s.Bounces.Add(report.Bounces)
		s.Programs.Add(report.Programs)
		s.Reject(l.Process.Set, lo, hi)
		if tick != nil {
			tick(hi)
		}
	}
	s.Time = time.Since(start)
	for _, f := range dr.fields {
		s.Evaluated += f.Rows()
	}
	if dr.trace != nil {
		s.Steps = judge.StepsOf(l.Process, dr.trace)
	}
	return s, nil
}

// SaveSamples writes the samples 0, 1, … of a seed and of a network in a state, those
// that did not fail, to samples.npy in the run folder (Out), and their record beside it.
func (r *Run) SaveSamples(s *judge.Samples, state train.State, seed uint64) error {
	var b bytes.Buffer
	if err := r.Domain.Writer(".npy")(&b, arrayfile.RowsOf(s.Good(), s.Dim)); err != nil {
		return err
	}
	name := r.Out(run.SamplesFile)
	if err := r.Folder.Write(name, b.Bytes()); err != nil {
		return err
	}
	return r.Folder.WriteJSON(RecordName(name), r.Record(s, state, 0, seed, b.Bytes()))
}

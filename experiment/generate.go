package experiment

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/method"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/score"
	"github.com/landing-diffusion/landing/train"
)

// Samples are generated points, with those marked that lost a projection or
// ended on a component that the set does not select.
type Samples struct {
	X      []float64 // n×d, lost rows included
	Dim    int
	Lost   []bool
	Wrong  int   // of the lost, those that the set does not select (Capabilities.Selects)
	Begun  int   // of the lost, those whose beginning could not be brought onto Σ(c)
	Broken int   // of the lost, those whose simulation broke down
	Break  error // the first of them, and where; nil if there is none
	Time   time.Duration
	Newton int // iterations in all

	Evaluated int64 // rows that the network has seen, in all; 0: not known

	Bounces  method.Bounces  // off elastic walls
	Programs method.Programs // within steps
	Steps    *Steps          // of Diagnose; else nil

	Likelihood *Likelihood // under the network that drew them, if it was asked for
}

// N returns the number of samples asked for.
func (s *Samples) N() int { return len(s.Lost) }

// Failed returns how many samples are lost.
func (s *Samples) Failed() int {
	n := 0
	for _, l := range s.Lost {
		if l {
			n++
		}
	}
	return n
}

// Good returns the rows that did not fail.
func (s *Samples) Good() []float64 {
	if s.Failed() == 0 {
		return s.X
	}
	var out []float64
	for i, l := range s.Lost {
		if !l {
			out = append(out, s.X[i*s.Dim:(i+1)*s.Dim]...)
		}
	}
	return out
}

// A FailedError says that too many samples lost their projection.
type FailedError struct {
	Failed, Samples int
	Limit           float64
	Wrong           int   // of the failed, on a wrong component
	Begun           int   // of the failed, those that could not begin under their condition
	Broken          int   // of the failed, those whose simulation broke down
	Break           error // the first of them, and where
}

func (e *FailedError) Error() string {
	if e.Broken > 0 {
		return fmt.Sprintf("%d of %d samples failed, above the allowed share %g (generate.max_failed): of %d the "+
			"simulation broke down, the first: %v. landing check looks at steps and set; longer training or "+
			"train.clip help a network that sends samples away", e.Failed, e.Samples, e.Limit, e.Broken, e.Break)
	}
	if e.Begun > 0 {
		return fmt.Sprintf("%d of %d samples failed, above the allowed share %g (generate.max_failed): "+
			"of %d the solver found no point of the set under their condition to begin with. "+
			"It may have none there", e.Failed, e.Samples,
			e.Limit, e.Begun)
	}
	if e.Wrong > 0 {
		return fmt.Sprintf("%d of %d samples failed a projection and %d are on a wrong component, together above the "+
			"allowed share %g (generate.max_failed)",
			e.Failed-e.Wrong, e.Samples, e.Wrong, e.Limit)
	}
	return fmt.Sprintf("%d of %d samples failed a projection, above the allowed share %g (generate.max_failed)",
		e.Failed, e.Samples, e.Limit)
}

func (*FailedError) Place() fault.Place { return fault.Place{Kind: fault.Check} }

// A ViolationError says that samples are not feasible.
type ViolationError struct {
	Component    string
	Sample       uint64 // its number, from the first of those that were looked at
	Worst, Limit float64
	Key          string // of the limit
}

func (e *ViolationError) Error() string {
	return fmt.Sprintf("sample %d violates %q by %.3g, above %s = %g", e.Sample, e.Component, e.Worst, e.Key, e.Limit)
}

func (*ViolationError) Place() fault.Place { return fault.Place{Kind: fault.Check} }

// Generate makes the samples first … first+n−1 of the given seed. tick, if not nil, gets how many are done. Samples
// that fail are kept and marked; a share above generate.max_failed is a *FailedError, returned beside the samples.
func (l *Loaded) Generate(ctx context.Context, t *Trained, prior *Prior, n int, first, seed uint64,
	tick func(done int)) (*Samples, error) {
	return l.checked(NewDrawer(l, t, n).Draw(ctx, prior, n, first, seed, tick))
}

// Diagnose is Generate with Samples.Steps, of methods that tell of them.
func (l *Loaded) Diagnose(ctx context.Context, t *Trained, prior *Prior, n int, first, seed uint64,
	tick func(done int)) (*Samples, error) {
	d := NewDrawer(l, t, n)
	d.Diagnose()
	return l.checked(d.Draw(ctx, prior, n, first, seed, tick))
}

func (l *Loaded) checked(s *Samples, err error) (*Samples, error) {
	if err != nil {
		return nil, err
	}
	return s, l.CheckFailed(s)
}

// CheckFailed returns a *FailedError if more of the samples failed than generate.max_failed allows.
func (l *Loaded) CheckFailed(s *Samples) error {
	if f := s.Failed(); float64(f) > l.Problem.Generate.MaxFailed*float64(s.N()) {
		return &FailedError{f, s.N(), l.Problem.Generate.MaxFailed, s.Wrong, s.Begun, s.Broken, s.Break}
	}
	return nil
}

const (
	generateRows  = 128  // points in a block at most
	generateChunk = 4096 // samples between ticks
)

// blockRows returns how many of n samples to draw at a time: for every worker as many
// blocks, of about one size, so that none waits for the others.
func (l *Loaded) blockRows(n int) int {
	n, workers := min(n, generateChunk), l.Pool.Workers()
	blocks := workers * parallel.Blocks(parallel.Blocks(n, generateRows), workers)
	return max(1, parallel.Blocks(n, blocks))
}

// Fields makes scores of a network as samples are drawn with it, for as many goroutines, in blocks of so many
// rows.
func (l *Loaded) Fields(t *Trained, rows, goroutines int) []*score.Field[float32] {
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
	rows := l.blockRows(n)
	fields := l.Fields(t, rows, l.Pool.Workers())
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
	*Samples, error) {
	start, l := time.Now(), dr.l
	d := l.Process.Set.Dim()
	s := &Samples{X: make([]float64, n*d), Dim: d, Lost: make([]bool, n)}
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
		s.reject(l.Process.Set, lo, hi)
		if tick != nil {
			tick(hi)
		}
	}
	s.Time = time.Since(start)
	for _, f := range dr.fields {
		s.Evaluated += f.Rows()
	}
	if dr.trace != nil {
		s.Steps = steps(l.Process, dr.trace)
	}
	return s, nil
}

// reject marks the samples lo … hi−1 that the set does not select as lost, and
// counts them.
func (s *Samples) reject(set constraint.Set, lo, hi int) {
	selects := set.Capabilities().Selects
	if selects == nil {
		return
	}
	for i := lo; i < hi; i++ {
		if !s.Lost[i] && !selects(s.X[i*s.Dim:(i+1)*s.Dim]) {
			s.Lost[i] = true
			s.Wrong++
		}
	}
}

// SaveSamples writes the samples 0, 1, … of a seed and of a network in a state, those
// that did not fail, to samples.npy in the run folder (Out), and their record beside it.
func (r *Run) SaveSamples(s *Samples, state train.State, seed uint64) error {
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

package experiment

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/method"
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
	Wrong  int // of the lost, those that the set does not select (Capabilities.Selects)
	Time   time.Duration
	Newton int // iterations in all
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
	Wrong           int // of the failed, on a wrong component
}

func (e *FailedError) Error() string {
	if e.Wrong > 0 {
		return fmt.Sprintf("%d of %d samples failed a projection and %d are on a wrong component, together above the allowed share %g (generate.max_failed)",
			e.Failed-e.Wrong, e.Samples, e.Wrong, e.Limit)
	}
	return fmt.Sprintf("%d of %d samples failed a projection, above the allowed share %g (generate.max_failed)", e.Failed, e.Samples, e.Limit)
}

// A ViolationError says that samples are not feasible.
type ViolationError struct {
	Component    string
	Sample       int
	Worst, Limit float64
	Key          string // of the limit
}

func (e *ViolationError) Error() string {
	return fmt.Sprintf("sample %d violates %q by %.3g, above %s = %g", e.Sample, e.Component, e.Worst, e.Key, e.Limit)
}

// Load returns the network of the newest checkpoint (or the one named) and the
// state of training it is from.
func (e *Experiment) Load(checkpoint string) (score.Model[float32], train.State, error) {
	var state train.State
	arrays, err := e.Folder.LoadCheckpoint(checkpoint, e.config, &state)
	if err != nil {
		return nil, state, err
	}
	model, err := e.model()
	if err != nil {
		return nil, state, err
	}
	model, err = train.Load(model, arrays, state)
	return model, state, err
}

// Generate makes the samples first … first+n−1 of the given seed. tick, if not
// nil, hears how many are done. Samples that fail are kept and marked; a share
// above generate.max_failed is a *FailedError, returned beside the samples.
func (e *Experiment) Generate(ctx context.Context, net score.Model[float32], n int, first, seed uint64, tick func(done int)) (*Samples, error) {
	s, err := e.generate(ctx, net, n, first, seed, tick)
	if err != nil {
		return nil, err
	}
	if f := s.Failed(); float64(f) > e.Problem.Generate.MaxFailed*float64(n) {
		return s, &FailedError{f, n, e.Problem.Generate.MaxFailed, s.Wrong}
	}
	return s, nil
}

const (
	generateRows  = 128  // points in a block
	generateChunk = 4096 // samples between ticks
)

func (e *Experiment) generate(ctx context.Context, net score.Model[float32], n int, first, seed uint64, tick func(int)) (*Samples, error) {
	start := time.Now()
	d := e.Process.Set.Dim()
	prior, err := e.prior(ctx)
	if err != nil {
		return nil, err
	}
	s := &Samples{X: make([]float64, n*d), Dim: d, Lost: make([]bool, n)}
	sampler := e.method().Sampler(generateRows, e.Pool)
	fields := score.NewFields(net, generateRows, e.Pool.Workers())
	scores := func(worker int) method.Score { return fields[worker] }
	for lo := 0; lo < n; lo += generateChunk {
		hi := min(n, lo+generateChunk)
		report, err := sampler.Generate(ctx, s.X[lo*d:hi*d], s.Lost[lo:hi], first+uint64(lo), seed, prior, scores)
		if err != nil {
			return nil, err
		}
		s.Newton += report.Iterations
		e.reject(s, lo, hi)
		if tick != nil {
			tick(hi)
		}
	}
	s.Time = time.Since(start)
	return s, nil
}

// SaveSamples writes the samples that did not fail to samples.npy in the run
// folder.
func (e *Experiment) SaveSamples(s *Samples) error {
	var b bytes.Buffer
	if err := arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{s.N() - s.Failed(), s.Dim}, Float64: s.Good()}); err != nil {
		return err
	}
	return e.Folder.Write(run.SamplesFile, b.Bytes())
}

// Package judge says how good samples are: it holds them against the data, the set and the training, and makes an
// Evaluation of it. It looks at values alone, and knows no run folder and no command.
package judge

import (
	"fmt"
	"time"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/learn/method"
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

// CheckFailed returns a *FailedError if a larger share of the samples failed than limit.
func (s *Samples) CheckFailed(limit float64) error {
	if f := s.Failed(); float64(f) > limit*float64(s.N()) {
		return &FailedError{f, s.N(), limit, s.Wrong, s.Begun, s.Broken, s.Break}
	}
	return nil
}

// Reject marks the samples lo … hi−1 that the set does not select as lost, and
// counts them.
func (s *Samples) Reject(set constraint.Set, lo, hi int) {
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

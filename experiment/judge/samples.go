// Package judge says how good samples are: it holds them against the data, the set and the training, and makes an
// Evaluation of it. It looks at values alone, and knows no run folder and no command.
package judge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/langevin"
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

	Finished *Finished // of samples that were made such that they can be used; nil: they are as drawn

	Evaluated int64 // rows that the network has seen, in all; 0: not known

	Bounces  method.Bounces  // off elastic walls
	Programs method.Programs // within steps
	Steps    *Steps          // of Diagnose; else nil

}

// Finished says what samples needed in order to be used (domain.Finisher).
type Finished struct {
	Repaired int          `json:"repaired"`           // that had a fault, and have none after a repair
	Replaced []uint64     `json:"replaced_samples"`   // numbers of those that were drawn again
	Unfit    int          `json:"unfit,omitempty"`    // of the lost, those whose fault stayed
	Fault    string       `json:"fault,omitempty"`    // of the first of them
	Off      metric.Float `json:"off_between_points"` // how far constraints are off between waypoints
}

// Add joins f, which describes the first samples, and o, which describes the others; either may be nil.
func (f *Finished) Add(o *Finished) *Finished {
	if f == nil || o == nil {
		return cmp.Or(f, o)
	}
	return &Finished{f.Repaired + o.Repaired, slices.Concat(f.Replaced, o.Replaced), f.Unfit + o.Unfit,
		cmp.Or(f.Fault, o.Fault), max(f.Off, o.Off)}
}

// N returns the number of samples asked for.
func (s *Samples) N() int { return len(s.Lost) }

// Failed returns how many samples are lost.
func (s *Samples) Failed() int { return langevin.Lost(s.Lost) }

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
	Finished        *Finished
}

func (e *FailedError) Error() string {
	above := fmt.Sprintf("above the allowed share %g (generate.max_failed)", e.Limit)
	switch {
	case e.Finished != nil && e.Finished.Unfit > 0:
		return fmt.Sprintf("%d of %d samples failed, %s: %d motions cannot be run, and neither a repair nor other "+
			"draws helped, the first: %s. generate.repair=none returns what is drawn; longer training, more waypoints "+
			"or a larger set.margin help", e.Failed, e.Samples, above, e.Finished.Unfit, e.Finished.Fault)
	case e.Broken > 0:
		return fmt.Sprintf("%d of %d samples failed, %s: of %d the simulation broke down, the first: %v. landing "+
			"check looks at steps and set; longer training or train.clip help a network that sends samples away",
			e.Failed, e.Samples, above, e.Broken, e.Break)
	case e.Begun > 0:
		return fmt.Sprintf("%d of %d samples failed, %s: of %d the solver found no point of the set under their "+
			"condition to begin with. It may have none there", e.Failed, e.Samples, above, e.Begun)
	case e.Wrong > 0:
		return fmt.Sprintf("%d of %d samples failed a projection and %d are on a wrong component, together %s",
			e.Failed-e.Wrong, e.Samples, e.Wrong, above)
	}
	return fmt.Sprintf("%d of %d samples failed a projection, %s", e.Failed, e.Samples, above)
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
		return &FailedError{f, s.N(), limit, s.Wrong, s.Begun, s.Broken, s.Break, s.Finished}
	}
	return nil
}

// Reject marks the samples lo … hi−1 that the set does not select as lost, and counts them.
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

// Start compares where forward paths from the training rows end with the prior that backward paths start from. What is
// above the floor no network makes good: the paths have not forgotten the data.
type Start struct {
	Prior    string       `json:"prior"`    // Prior.Kind
	Metric   string       `json:"metric"`   // the histogram's, else the energy distance
	Distance metric.Float `json:"distance"` // null for an empirical prior: it is made of such ends
	Floor    metric.Float `json:"floor"`    // two sets of draws of one law: mean
	FloorSD  metric.Float `json:"floor_sd"`
	PValue   metric.Float `json:"p_value"`           // of the energy test, which sees what a histogram may not
	Apart    metric.Float `json:"apart"`             // largest distance of distribution functions along a direction
	Paths    int          `json:"paths"`             // that did not fail; the prior gives as many draws
	Warning  string       `json:"warning,omitempty"` // where the energy test rejects the prior, with the remedy
}

// startAlarm is the p-value up to which the prior is rejected, the least that the test
// can give: one false alarm in a thousand.
var startAlarm = metric.Float(verdict.Level(verdict.StartLaw))

// Judge sets the warning.
func (s *Start) Judge() {
	if !(s.PValue <= startAlarm) {
		return
	}
	s.Warning = "generation starts where forward paths do not end, so the network never learned from there"
	if s.Prior == "uniform" || s.Prior == "chains" {
		s.Warning += "; --set prior=empirical, which takes no training, or a longer process.horizon helps"
	}
}

// Steps says how far generated states are from Σ on the way, x_N first.
type Steps struct {
	Times     []float64       `json:"times"`      // t_N = T, …, t_0 = 0
	Component []StepViolation `json:"components"` // equalities first
	// Areas under the mean curves over t, all equalities' and all inequalities'.
	Equalities   metric.Float `json:"area_equalities"`
	Inequalities metric.Float `json:"area_inequalities"`
}

// String says the areas.
func (s *Steps) String() string {
	return fmt.Sprintf("area under the mean violation over t: equalities %.3g, inequalities %.3g", s.Equalities,
		s.Inequalities)
}

// A StepViolation is |h_i| or max(g_j, 0) of one component.
type StepViolation struct {
	Component string         `json:"component"`
	Mean      []metric.Float `json:"mean"`  // over samples that have not failed, at each of Times
	Worst     []metric.Float `json:"worst"` // of them
	Area      metric.Float   `json:"area"`  // under Mean over t, by trapezoids
	Final     metric.Float   `json:"final"` // mean in the samples: after terminal projection, if there is one
}

// StepsOf makes Steps of a trace.
func StepsOf(p *langevin.Process, t *method.Trace) *Steps {
	N, m := t.Steps(), len(p.Set.Equalities())
	s := &Steps{}
	for k := N; k >= 0; k-- {
		s.Times = append(s.Times, p.Schedule.Time(k))
	}
	for a, name := range constraint.Components(p.Set) {
		v := StepViolation{Component: name, Final: metric.Float(t.Mean(N+1, a))}
		for k := N; k >= 0; k-- {
			v.Mean, v.Worst = append(v.Mean, metric.Float(t.Mean(k, a))), append(v.Worst, metric.Float(t.Worst(k, a)))
		}
		for i := range N {
			v.Area += (v.Mean[i] + v.Mean[i+1]) / 2 * metric.Float(s.Times[i]-s.Times[i+1])
		}
		if s.Component = append(s.Component, v); a < m {
			s.Equalities += v.Area
		} else {
			s.Inequalities += v.Area
		}
	}
	return s
}

// Package settle works out what becomes of auto in a problem: schedule, network and training from lengths of the
// data, the landing rate, the repulsion of walls, what ends the training, the prior, and the step of chains.
package settle

import (
	"context"
	"fmt"
	"slices"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// Rows are what the choices look at, points of the set as rows.
type Rows struct {
	All        []float64
	Train      []float64
	Learned    []float64 // by the network: Train, or other points
	Validation int       // how many judge the training
}

// A Case is a problem that was built, and what is known with it.
type Case struct {
	Problem *problem.Problem
	Process *langevin.Process
	Rows    *Rows // nil: the data is not there, and nothing follows from it
	// Method makes the method of the settled problem; nil: problem.Problem.Method
	Method func(p *problem.Problem, proc *langevin.Process) (method.Method, error)
	// Lenient leaves open what cannot run: an invalid process has no method, and paths that break down say nothing
	// of a prior.
	Lenient bool
}

// Settled is a problem with numbers and words instead of auto.
type Settled struct {
	Problem *problem.Problem
	Process *langevin.Process
	Method  method.Method   // nil if the process is invalid, of a lenient case
	Chosen  []choose.Choice // what auto became
	Notes   []string        // what could not be measured, or contradicts the data
}

// Settle settles a case, and changes nothing of it. It calls report, if that is not nil, with what it does next, a
// participle such as "measuring the rows". The error is the context's, a *problem.KeyError, one of the data
// or that of forward paths.
func Settle(ctx context.Context, c Case, pool *parallel.Pool, report func(doing string)) (*Settled, error) {
	if report == nil {
		report = func(string) {}
	}
	s := &Settled{Problem: c.Problem, Process: c.Process}
	if c.Rows != nil {
		if err := s.tune(ctx, c.Rows, pool, report); err != nil {
			return nil, err
		}
	}
	var all []float64
	if c.Rows != nil {
		all = c.Rows.All
	}
	if err := s.resolve(ctx, all, pool, report); err != nil {
		return nil, err
	}
	invalid := c.Lenient && s.Process.Validate() != nil
	if c.Rows != nil && !invalid {
		s.stop(c.Rows.Validation)
	}
	if invalid {
		return s, nil
	}
	make := c.Method
	if make == nil {
		make = (*problem.Problem).Method
	}
	var err error
	if s.Method, err = make(s.Problem, s.Process); err != nil || c.Rows == nil {
		return s, err
	}
	if err = s.Problem.CheckPaths(s.Process, len(c.Rows.Learned)/s.Process.Set.Dim()); err == nil {
		err = s.start(ctx, c.Rows, pool, report)
	}
	if err != nil && (!c.Lenient || ctx.Err() != nil) {
		return nil, err
	}
	return s, nil
}

// resolve replaces the landing rate, the kind of walls and the repulsion, from data that may be nil.
func (s *Settled) resolve(ctx context.Context, data []float64, pool *parallel.Pool, report func(string)) error {
	s.Chosen = slices.Clone(s.Problem.Chosen())
	q, next, walls := *s.Problem, *s.Process, len(s.Process.Set.Inequalities()) > 0
	if q.Process.Landing.Rate.IsAuto() { // Assemble chose it
		α, reason := choose.Rate(&next)
		s.choose(problem.KeyProcessLandingRate, α, reason)
		q.Process.Landing.Rate = problem.Choice(α)
	}
	if q.Process.Walls == "" && walls {
		q.Process.Walls = next.Walls.String()
	}
	if q.RepulsionIsAuto(walls && !next.Elastic()) {
		report("choosing how strongly walls repel")
		ε, reason := choose.Repulsion(ctx, &next, data, q.Seed, pool)
		s.choose(problem.KeyProcessRepulsion, ε, reason)
		next.Repulsion, q.Process.Repulsion = ε, problem.Choice(ε)
	}
	s.Problem, s.Process = &q, &next
	return ctx.Err()
}

func (s *Settled) choose(key string, value any, reason string) {
	s.Chosen = append(s.Chosen, choose.Choice{Key: key, Value: value, Reason: reason})
}

// stop settles train.stop: held_out. Validation rows that are too few to judge by leave the epochs of the problem, or
// the default.
func (s *Settled) stop(held int) {
	t := &s.Problem.Train // of resolve's copy
	open := t.Epochs == 0 && t.MaxSeconds == 0
	switch {
	case !t.HeldOut():
	case held < train.FewestJudged:
		t.Stop = "epochs"
		if open {
			t.Epochs = problem.Defaults().Train.Epochs
		}
		s.choose(problem.KeyTrainStop, t.Stop, tooFew(held))
	case open:
		t.Epochs = train.MostJudged
		s.choose(problem.KeyTrainEpochs, t.Epochs, "held-out distances end the training; this bounds it")
	}
}

// tooFew says why `held` validation rows cannot end a training.
func tooFew(held int) string {
	return fmt.Sprintf("%s are too few to judge by, fewer than %d", text.Plural(held, "validation row"),
		train.FewestJudged)
}

// spreadPoints is from how many points the scale of a chain's step is taken.
const spreadPoints = 100

// Chains builds the chains that the problem describes, and settles their step and process.
func Chains(ctx context.Context, p *problem.Problem, pool *parallel.Pool) (*problem.Problem, *langevin.Chains, error) {
	c, err := p.BuildChains()
	if err != nil {
		return nil, nil, err
	}
	resolved := func() (*Settled, error) {
		s := &Settled{Problem: p, Process: c.Process}
		return s, s.resolve(ctx, nil, pool, func(string) {})
	}
	if p.StepIsAuto() { // from the spread of points on Σ, then tuned
		points, err := langevin.Start(ctx, c.Process, spreadPoints, p.Seed)
		if err != nil {
			return nil, nil, err
		}
		c.Process.Schedule.T = c.StepOf(points)
		s, err := resolved()
		if err != nil {
			return nil, nil, err
		}
		tuned := *c
		tuned.Process = s.Process
		x0, err := langevin.Start(ctx, tuned.Process, c.Count, p.Seed)
		if err != nil {
			return nil, nil, err
		}
		if c.Process.Schedule.T, err = tuned.Tune(ctx, pool, x0); err != nil {
			return nil, nil, err
		}
	}
	s, err := resolved()
	c.Process = s.Process
	return s.Problem, c, err
}

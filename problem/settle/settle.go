// Package settle works out what becomes of auto in a problem: schedule, network and training from lengths of the
// data, the landing rate, the repulsion of walls, what ends the training, the prior, and the step of chains.
package settle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
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
		α := next.MonotoneRate() // it lands fastest without overshoot
		s.choose(problem.KeyProcessLandingRate, α, "the largest α with ασ_k²Δt ≤ 1 at every step")
		q.Process.Landing.Rate = problem.Choice(α)
	}
	if q.Process.Walls == "" && walls {
		q.Process.Walls = next.Walls.String()
		if next.Walls == langevin.LateWalls {
			s.choose(problem.KeyProcessWalls, q.Process.Walls, "a ring is closed when a sample ends")
		}
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

// tune gives what the file leaves to the program the numbers that package choose says, from the training rows and
// the set. What the file says stays, and the rest follows from it.
func (s *Settled) tune(ctx context.Context, rows *Rows, pool *parallel.Pool, report func(string)) error {
	p := s.Problem
	kind := p.MethodKind
	ruled := slices.ContainsFunc(p.Chosen(), func(c choose.Choice) bool { return c.Key != problem.KeyNetworkKind })
	if kind.Forward == nil && !kind.Velocity || ruled || !p.Leaves() {
		return nil // another kind of process; motions of an arm, which have rules of their own; nothing is left
	}
	report("measuring the rows and the set")
	forward := *s.Process
	if kind.Forward != nil {
		forward = kind.Forward(forward)
	}
	m, err := choose.Measure(ctx, forward.Walked(), rows.Train, p.Seed, pool)
	if err != nil {
		return err
	}
	_, m.Torsions = constraint.As[*conformation.Internal](forward.Set)
	for _, note := range m.Notes {
		s.Notes = append(s.Notes, "what follows from the data: "+note)
	}
	if !(m.Spread > 0) { // one point has no lengths
		return nil
	}
	var chosen, learning []choose.Choice
	if kind.Velocity {
		learning = choose.Velocity(m, kind.Kept/2, forward.Set.NewEvaluator(1).Exp == nil)
	} else {
		open := problem.Noise(p, forward.Method.Underdamped())
		open.Far = p.Prior == "uniform" || len(forward.Set.Capabilities().Held) > 0
		open.Projected = forward.Method.Projected()
		var noise choose.Noise
		noise, chosen = choose.Schedule(m, open)
		s.Notes = append(s.Notes, choose.Strain(m, open, noise)...)
		if learning = choose.Learning(m, noise); kind.Draws {
			learning = choose.Draws(m, noise, int(p.Process.Options["levels"]))
		}
	}
	if m.Coordinates <= mostAxes && p.Condition.Free(m.Coordinates) == m.Coordinates &&
		len(s.Process.Set.Capabilities().Held) == 0 && slices.ContainsFunc(learning, uneven) && follows(p, s.Process) {
		learning = append(learning, choose.Choice{Key: problem.KeyNetworkKind, Value: "gaussian",
			Reason: "along narrow directions the score is nearly that of a Gaussian law"})
	}
	learning = slices.DeleteFunc(learning, func(c choose.Choice) bool { return !serves(p.NetworkKind, c.Key) })
	for i, c := range learning {
		if center, ok := c.Value.([]float64); ok {
			learning[i].Value = center[:p.Condition.Free(m.Coordinates)]
		}
	}
	budget := p.Train.MaxSeconds > 0
	open := (budget || p.Left(problem.KeyTrainEpochs)) && p.Left(problem.KeyTrainStop) // what ends the training
	s.Problem = p.With(slices.Concat(chosen, learning))
	if open {
		t := s.Problem.Train
		last, note := ends(t.Config(0, 0), m.Rows, t.Paths, rows.Validation, s.Problem.Process.Steps, budget)
		if note != "" {
			s.Notes = append(s.Notes, note)
		}
		s.Problem = s.Problem.With(last)
	}
	s.Process, err = s.Problem.On(s.Process.Set)
	return err
}

// follows reports whether the law of noised points is known where that of the rows is Gaussian.
func follows(p *problem.Problem, proc *langevin.Process) bool {
	m, err := p.Method(proc)
	return err == nil && m.Capabilities().Follows != nil
}

// mostAxes is up to how many coordinates the principal axes of the rows are computed, in time of their cube.
const mostAxes = 1000

// uneven reports whether a choice is of what spreads that differ much have.
func uneven(c choose.Choice) bool { return c.Key == "network.scales" }

// fewestUpdates is how many updates a training has at least that nothing judges, where neither epochs nor a time are
// said; of more rows than that it has one a row. Of longer ones samples kept to their rows (docs/auto.md).
const fewestUpdates = 50

// mostRows bounds the rows of the network that a training has where held-out losses end it, and neither epochs nor a
// time are said: as many as the longest of the recipes' trainings. What data tell is learned by then however many rows
// they have, and the rate falls to 0 by the end.
const mostRows = 50_000_000

// unjudged returns the number of epochs of a training that nothing judges.
func unjudged(rows, batch int) int {
	each := (rows + batch - 1) / batch // updates of an epoch
	return max(1, max(fewestUpdates, rows)/each)
}

// ends returns what ends a training on that many rows, which takes `paths` of them at a time, or all if that is 0:
// held-out losses, or a number of epochs if there are too few validation rows to judge by. steps is the number of steps
// of a path. The user alone sets a time (budget); the note says what it may do.
func ends(c train.Config, rows, paths, held, steps int, budget bool) (chosen []choose.Choice, note string) {
	if held >= train.FewestJudged {
		chosen = []choose.Choice{{Key: problem.KeyTrainStop, Value: "held_out_loss",
			Reason: "training stops when the held-out loss stops improving, to prevent overfitting"}}
		if !budget {
			chosen = append(chosen, mostEpochs(c, rows, paths, steps))
		}
		return chosen, ""
	}
	n := unjudged(rows, c.Batch)
	chosen = []choose.Choice{{Key: problem.KeyTrainStop, Value: "epochs", Reason: tooFew(held)}}
	if budget {
		return chosen, fmt.Sprintf("%s; a long training overfits %d rows. Without a time budget it has %d "+
			"epochs", tooFew(held), rows, n)
	}
	return append(chosen, choose.Choice{Key: problem.KeyTrainEpochs, Value: n,
		Reason: fmt.Sprintf("more epochs overfit %d rows, and no held-out loss would show it", rows)}), ""
}

// mostEpochs bounds the epochs of a training that held-out losses end.
func mostEpochs(c train.Config, rows, paths, steps int) choose.Choice {
	if paths == 0 || paths > rows {
		paths = rows
	}
	epoch := c.Resolved(paths, steps).Terms(paths)
	out := choose.Choice{Key: problem.KeyTrainEpochs, Value: train.MostJudged, Reason: "at most"}
	if n := max(1, mostRows/epoch); n < train.MostJudged {
		out.Value, out.Reason = n, fmt.Sprintf("at most, of %d rows of the network each", epoch)
	}
	return out
}

// serves reports whether what is chosen for an mlp serves a kind of network: aligned is one inside, which lays
// points on a reference before it reads them; others have numbers of their own.
func serves(kind score.Kind, key string) bool {
	switch {
	case kind.Name == "mlp" || kind.Name == "gaussian" || !strings.HasPrefix(key, "network."):
		return true
	case kind.Name == "temporal":
		return !slices.Contains([]string{problem.KeyNetworkWidth, problem.KeyNetworkLayers, "network.scales"}, key)
	case kind.Refers:
		return slices.Contains([]string{problem.KeyNetworkWidth, problem.KeyNetworkLayers, problem.KeyNetworkTime,
			problem.KeyNetworkTimeOctaves, problem.KeyNetworkOutput}, key)
	}
	return false
}

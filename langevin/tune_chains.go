package langevin

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
)

// Shares of moves that go wrong, which Tune aims at.
const (
	// Metropolis makes good what it refuses, and moves far: it may refuse a third, and is
	// worth a longer step below a tenth.
	manyRefused, fewRefused = 0.35, 0.1
	// Without it, what it would refuse is error of the law. A step changes the energy by a sum
	// over directions, which is √directions as wide as that of one, and refused that much
	// more; averages see the error of each direction alone. So this is for one.
	manyErrors = 0.02
	// Flights that turn back at inequalities cost time alone.
	manyTurned = 0.5
	// Projections that fail, at a step that is not checked for reversibility.
	manyFailed = 1e-3
	// Of either kind, by which chains were thrown far away: their way back, on which the energy
	// falls at any step, would look as if nothing went wrong.
	manyThrown = 0.5

	tuneRounds = 30
	tuneSteps  = 50 // of a round
)

// StepOf returns a step to begin with on a Σ with these points (n×d): a tenth of the
// spread of a coordinate (of 1, where all are one point), as far as a step of the method goes.
func (c *Chains) StepOf(points []float64) float64 {
	set := c.Process.Set
	mean, wide := metric.Spread(points, set.Dim())
	if wide <= 1e-9*math.Sqrt(dense.Dot(mean, mean)) { // one point, all of them (Beginner)
		wide = 1
	}
	step := 0.1 * wide / math.Sqrt(float64(c.directions()))
	if !c.Symmetric && c.Leaps == 0 && !c.Process.Method.Underdamped() {
		return step * step
	}
	return step
}

// directions are those of Σ, at least 1.
func (c *Chains) directions() int {
	return max(c.Process.Set.Dim()-len(c.Process.Set.Equalities()), 1)
}

// Tune returns a step for the chains, from that of the process: short rounds of them from x0, each from where the last
// one ended unless chains were thrown far away, halve it while too many moves go wrong or a simulation breaks down, and
// lengthen that of HMC where it can be. What it finds is a function of the seed. If no step is short enough the error
// is that of Run, or a *TuneError.
func (c *Chains) Tune(ctx context.Context, pool *parallel.Pool, x0 []float64) (float64, error) {
	τ, longest := c.Process.Schedule.T, 10*c.Process.Schedule.T
	x, d := append([]float64(nil), x0...), c.Process.Set.Dim()
	wrong := min(manyErrors*math.Sqrt(float64(c.directions())), manyRefused)
	best := 0.0 // of HMC, the longest step that did not refuse too much
	var last TuneError
	for round := range tuneRounds {
		p, run := *c.Process, *c
		p.Schedule.T = τ
		run.Process, run.watch, run.Progress = &p, c.Leaps == 0, nil
		run.Burn, run.Keep, run.Thin, run.Seed = 0, 1, tuneSteps, keyed.Round(c.Seed, round+1)
		if c.Leaps > 0 {
			run.Thin = tuneSteps / 5
		}
		draws, err := run.Run(ctx, pool, x)
		switch {
		case errors.As(err, new(*DivergedError)) && round < tuneRounds-1:
			τ /= 2
			copy(x, x0)
			continue
		case err != nil:
			return 0, err
		}
		failed := draws.FailedShare()
		last = TuneError{round + 1, τ, failed, draws.Turned, draws.Refused}
		if copy(x, draws.X[:c.Count*d]); !(draws.Refused <= manyThrown) || failed > manyThrown {
			copy(x, x0)
		}
		switch {
		case c.Leaps == 0 && failed <= manyFailed && draws.Refused <= wrong && draws.Turned <= manyTurned:
			return τ, nil
		case c.Leaps == 0:
			τ /= 2
		case max(draws.Refused, draws.Turned) > manyRefused && best > 0:
			return best, nil
		case max(draws.Refused, draws.Turned) > manyRefused:
			τ /= 2
		case max(draws.Refused, draws.Turned) < fewRefused && 1.5*τ <= longest:
			best, τ = τ, 1.5*τ
		default:
			return τ, nil
		}
	}
	return 0, &last
}

// A TuneError says that moves of chains go wrong too often at any step that Tune tried.
type TuneError struct {
	Rounds                  int
	Step                    float64 // the last and shortest
	Failed, Turned, Refused float64 // shares at that step; NaN where energies are no numbers
}

func (e *TuneError) Error() string {
	return fmt.Sprintf("no step of chains is short enough: at %.3g, after %d rounds, %.3g %% of projections failed, "+
		"%.3g %% of flights turned back and %.3g %% of moves would be refused; look at the potential and at Σ "+
		"where the chains begin, or give sample.step", e.Step, e.Rounds, 100*e.Failed, 100*e.Turned, 100*e.Refused)
}

func (*TuneError) Place() fault.Place { return fault.Place{Kind: fault.Check} }

// FailedShare returns the share of projections that failed, each of which left its chain
// where it was: without Metropolis that is an error of the law.
func (d *Draws) FailedShare() float64 {
	o := d.Report.Projections
	return float64(o.Failed()) / float64(max(o.Points, 1))
}

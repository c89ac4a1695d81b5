package check

import (
	"errors"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/langevin"
)

const (
	terminalPaths = 1000 // at most
	energyPoints  = 512
	relabellings  = 2999 // p-values of the energy test go down to 1/3000

	terminalAlpha = 1e-3 // false-alarm rate of the check
	// Sizes that matter. A tenth of the paths elsewhere along one direction is a quarter of a standard deviation of a
	// Gaussian law, and the square root of its Jensen–Shannon divergence is 0.09, as large as the floors of the
	// histogram distances that samples are judged by.
	misplaced  = 0.1
	remembered = 0.05 // of the data's energy distance
)

// terminalLaw compares where forward paths from the data end with the uniform prior that generation starts from.
// Where the two differ, backward paths start at states that the network was never trained on.
//
// The paths are its own: they start from rows of the data, as those of training do,
// while the others also start from elsewhere, and settle other numbers.
func terminalLaw(e *Evidence) []Finding {
	prior := e.Set.Capabilities().SampleUniform
	if e.stranger != nil && e.stranger.Prior() != nil {
		prior = e.stranger.Prior().Sample
	}
	skip := ""
	switch {
	case !e.in.Uniform && (e.stranger == nil || e.stranger.Prior() == nil):
		skip = "the prior is made of terminal states: nothing to compare"
	case len(e.Data) == 0:
		skip = "not compared with the prior: there is no data to start from"
	case e.stranger == nil && e.Running.Validate() != nil:
		skip = "not compared with the prior: the process cannot run"
	case prior == nil:
		skip = "not compared with the prior: its uniform law has no closed form here, and chains make it in training; " +
			"reports compare the two"
	}
	if skip != "" {
		return []Finding{{Status: Skip, Message: skip}}
	}
	x0, states, err := e.finish()
	switch {
	case err != nil:
		return []Finding{{Status: Warn, Message: fmt.Sprintf("not compared with the prior: a path from the data "+
			"breaks down: %v", err)}}
	case len(states) == 0:
		return []Finding{{Status: Warn, Message: fmt.Sprintf("not compared with the prior: all %d paths lose a "+
			"projection", len(x0)/e.D)}}
	}
	return []Finding{e.judgeEnd(compareEnd(x0, states, e.D, e.Seed, prior))}
}

// finish simulates paths from rows x0 of the data to their ends, projected as the process says; a method of its own
// says where training leaves points of the data. It returns x_N of those that lost no projection.
func (e *Evidence) finish() (x0, states []float64, err error) {
	n := min(terminalPaths, len(e.Data)/e.D)
	if e.stranger != nil {
		x0 = langevin.Starts(e.Data, e.D, n)
		states, err = e.stranger.Sampler(8, e.pool).Ends(e.ctx, x0, e.Seed, keyed.TerminalPaths.At(0))
		return x0, states, err
	}
	x0 = langevin.Starts(e.Data, e.D, e.Kept(e.Budget(float64(e.Running.Schedule.N*e.C*e.D)/2, terminalPaths)))
	proc := e.Running
	proc.NoTerminal = e.Process.NoTerminal
	end, err := langevin.NewSimulator(&proc, e.pool, 8).EmpiricalPrior(e.ctx, x0, e.Seed, keyed.TerminalPaths.At(0))
	if errors.As(err, new(*langevin.PriorError)) {
		err = nil
	}
	return x0, end.States, err
}

// ending is how terminal states differ from the prior.
type ending struct {
	paths int
	p     float64 // that they are one law
	share float64 // of the data's energy distance that remains; NaN if the data has none
	apart float64 // largest distance of distribution functions along a direction
}

// compareEnd compares terminal states with draws of the prior by the energy distance.
func compareEnd(x0, end []float64, d int, seed uint64, prior langevin.Uniform) ending {
	n := len(end) / d
	u := make([]float64, n*d)
	for i := range n {
		prior(u[i*d:(i+1)*d], keyed.TerminalPrior.Stream(seed, 0), uint64(i))
	}
	far := metric.EnergyTest(end, u, d, energyPoints, relabellings, seed)
	start := metric.EnergyTest(x0, u, d, energyPoints, 99, seed)
	e := ending{paths: n, p: float64(far.PValue), share: math.NaN(), apart: verdict.Apart(end, u, d)}
	if size := start.Statistic - start.Mean; size > 3*start.SD {
		e.share = float64(max(0, far.Statistic-far.Mean) / size)
	}
	return e
}

// judgeEnd words an ending.
func (s *Evidence) judgeEnd(e ending) Finding {
	f := Finding{Numbers: Numbers{"paths": float64(e.paths), "p": e.p, "share": e.share, "apart": e.apart}}
	size := fmt.Sprintf("in the worst direction the distributions are %.2g apart", e.apart)
	if finite(e.share) {
		size += fmt.Sprintf(", and %.2g %% of the data's energy distance to the prior is left", 100*e.share)
	}
	size += fmt.Sprintf("; p = %.1g, %d paths", e.p, e.paths)
	switch {
	case e.p >= terminalAlpha:
		f.Message = "paths end in the prior as far as can be seen: " + size
	case e.apart < misplaced && !(e.share >= remembered):
		f.Message = "paths end close to the prior: " + size
	default:
		help := "A longer horizon, a larger σ_max or less friction makes paths forget more"
		if s.stranger != nil {
			help = "A longer noising by " + s.strange() + " helps"
		}
		f.say(Warn, "paths do not end in the prior, from which generation starts: %s. With prior: empirical it starts "+
			"where they end. %s", size, help)
	}
	return f
}

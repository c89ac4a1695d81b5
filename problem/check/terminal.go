package check

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/langevin/uniform"
)

const (
	terminalPaths = 1000 // at most
	priorPerPath  = 4    // prior draws for each path: they cost little
	energyPoints  = 512
	relabellings  = 2999 // p-values of the energy test go down to 1/3000

	terminalAlpha = 1e-3 // false-alarm rate of the check
	// Sizes that matter. A tenth of the paths elsewhere along one direction is a quarter of a standard deviation of a
	// Gaussian law, and the square root of its Jensen–Shannon divergence is 0.09, as large as the floors of the
	// histogram distances that samples are judged by.
	misplaced  = 0.1
	remembered = 0.05 // of the data's energy distance

	flight = 3.0 // γt below: paths fly nearly free, and on a closed Σ they come back
)

// terminalLaw compares where forward paths from the data end with the uniform prior that generation starts from.
// Where the two differ, backward paths start at states that the network was never trained on.
//
// The paths are its own: they start from rows of the data, as those of training do,
// while the others also start from elsewhere, and settle other numbers.
func terminalLaw(e *Evidence) []Finding {
	if why := e.uncompared(); why != "" {
		return []Finding{{Status: Skip, Message: why}}
	}
	end := e.finish()
	switch {
	case end.err != nil:
		return []Finding{{Status: Warn, Message: fmt.Sprintf("not compared with the prior: a path from the data "+
			"breaks down: %v", end.err)}}
	case len(end.states) == 0:
		return []Finding{{Status: Warn, Message: fmt.Sprintf("not compared with the prior: all %d paths lose a "+
			"projection", len(end.x0)/e.D)}}
	}
	if end.prior == nil {
		return []Finding{{Status: Skip, Message: end.unmixed}}
	}
	f := e.judgeEnd(compareEnd(end.x0, end.states, e.D, e.Seed, end.prior))
	f.Message += end.how
	return []Finding{f}
}

// uncompared says why there is nothing to compare; empty if there is.
func (e *Evidence) uncompared() string {
	switch {
	case !e.in.Uniform && (e.stranger == nil || e.stranger.Prior() == nil):
		return "the prior is made of terminal states: nothing to compare"
	case len(e.Data) == 0:
		return "not compared with the prior: there is no data to start from"
	case e.stranger == nil && e.Running.Validate() != nil:
		return "not compared with the prior: the process cannot run"
	}
	return ""
}

// ends are of forward paths from the data.
type ends struct {
	x0, states []float64 // where they start, and x_N of those that lost no projection
	err        error     // why a path breaks down

	prior   langevin.Uniform // what they are held against, or nil
	how     string           // a word on it
	unmixed string           // why it is nil
}

// finish simulates paths from the data to their ends, projected as the process says; a method of its own says where
// training leaves points of the data.
func (e *Evidence) finish() ends {
	out, n := ends{prior: e.Set.Capabilities().SampleUniform}, min(terminalPaths, len(e.Data)/e.D)
	if e.stranger == nil {
		n = e.Kept(e.Budget(float64(e.Running.Schedule.N*e.C*e.D)/2, terminalPaths))
	} else if own := e.stranger.Prior(); own != nil {
		out.prior = own.Sample
	}
	if out.prior == nil {
		n = e.quickPrior(n, &out)
	}
	if out.prior == nil && e.stranger != nil {
		return out
	} else if out.prior == nil {
		n = min(n, fewEnds) // to see whether they arrive
	}
	out.x0 = langevin.Starts(e.Data, e.D, n)
	if e.stranger != nil {
		out.states, out.err = e.stranger.Sampler(8, e.pool).Ends(e.ctx, out.x0, e.Seed, keyed.TerminalPaths.At(0))
		return out
	}
	proc := e.Running
	proc.NoTerminal = e.Process.NoTerminal
	end, err := langevin.NewSimulator(&proc, e.pool, 8).EmpiricalPrior(e.ctx, out.x0, e.Seed, keyed.TerminalPaths.At(0))
	if !errors.As(err, new(*langevin.PriorError)) {
		out.err = err
	}
	out.states = end.States
	return out
}

const (
	quickSteps = 8192 // of the chains of quickPrior
	quickCost  = 1e3  // of Evidence.Factoring, beyond which they are not quick
	fewEnds    = 32   // paths that a comparison needs
)

// quickPrior makes the prior of a Σ without uniform law in closed form from short chains. It returns how many paths, of
// n, the test may compare with it: as many as leave enough effective draws for each. It draws from states at equal
// distances, one for each effective draw, and draws none twice.
func (e *Evidence) quickPrior(n int, to *ends) int {
	const closed = "its uniform law has no closed form here"
	to.unmixed = "not compared with the prior: " + closed + ", and chains make it in training"
	if len(e.On) == 0 || e.Factoring() > quickCost {
		return n
	}
	var on []float64
	for _, p := range e.On {
		on = append(on, p.X...)
	}
	d, err := uniform.Draw(e.ctx, uniform.Config{Set: e.Set, Starts: on, Seed: e.Seed, MaxSteps: quickSteps,
		Pool: e.pool})
	if err != nil || !d.Mixed() {
		to.unmixed = "not compared with the prior: " + closed + ", and short chains do not mix; those of training " +
			"are longer"
		return n
	}
	k := min(int(min(d.ESS, 1e9)), len(d.States)/e.D)
	n = min(n, k/(priorPerPath+1))
	if n < fewEnds {
		return n
	}
	states := langevin.Starts(d.States, e.D, k)
	directions := keyed.TerminalDirections.Stream(e.Seed, 0)
	to.how = ". " + strings.ToUpper(closed[:1]) + closed[1:] + ": the prior is that of short chains"
	to.prior = func(dst []float64, s keyed.Stream, sample uint64) {
		i := int(sample)
		if s == directions {
			i += priorPerPath * n
		}
		copy(dst, states[i*e.D:(i+1)*e.D])
	}
	return n
}

// ending is how terminal states differ from the prior.
type ending struct {
	paths       int
	p           float64 // that they are one law
	share       float64 // of the data's energy distance that remains; NaN if the data has none
	apart       float64 // largest distance of distribution functions along a direction
	shift, from float64 // of the mean along it, in the prior's standard deviations; and the data's
}

// compareEnd compares terminal states with the uniform law in two ways: by the energy distance, which sees any
// difference, and along the directions in which the data itself differs from that law (probes), which in many
// dimensions sees what paths still remember much sooner. The directions know nothing of the terminal states, so a
// test along one of them has its false-alarm rate, and each way gets half of p.
func compareEnd(x0, end []float64, d int, seed uint64, prior langevin.Uniform) ending {
	n := len(end) / d
	u := uniformDraws(prior, d, priorPerPath*n, keyed.TerminalPrior.Stream(seed, 0))
	e := ending{paths: n, share: math.NaN()}

	far := metric.EnergyTest(end, u, d, energyPoints, relabellings, seed)
	start := metric.EnergyTest(x0, u, d, energyPoints, 99, seed)
	if size := start.Statistic - start.Mean; size > 3*start.SD {
		e.share = float64(max(0, far.Statistic-far.Mean) / size)
	}

	probes := metric.Directions(x0, uniformDraws(prior, d, n, keyed.TerminalDirections.Stream(seed, 0)), d)
	least := 1.0
	for _, v := range probes {
		a, b := along(end, v), along(u, v)
		mean, sd := stat.MeanStdDev(b, nil)
		if !(sd > 1e-9*dense.Norm(u[:d])) { // Σ holds this coordinate
			continue
		}
		apart, p := metric.KolmogorovTest(a, b)
		least = min(least, p)
		if apart > e.apart {
			at, _ := stat.MeanStdDev(a, nil)
			was, _ := stat.MeanStdDev(along(x0, v), nil)
			e.apart, e.shift, e.from = apart, math.Abs(at-mean)/sd, math.Abs(was-mean)/sd
		}
	}
	e.p = min(1, 2*min(float64(far.PValue), float64(len(probes))*least))
	return e
}

// along returns the rows of x along v.
func along(x, v []float64) []float64 {
	out := make([]float64, 0, len(x)/len(v))
	for i := 0; i < len(x); i += len(v) {
		out = append(out, dense.Dot(x[i:i+len(v)], v))
	}
	return out
}

func uniformDraws(prior langevin.Uniform, d, n int, st keyed.Stream) []float64 {
	u := make([]float64, n*d)
	for i := range n {
		prior(u[i*d:(i+1)*d], st, uint64(i))
	}
	return u
}

// judgeEnd words an ending.
func (s *Evidence) judgeEnd(e ending) Finding {
	f := Finding{Numbers: Numbers{"paths": float64(e.paths), "p": e.p, "share": e.share, "apart": e.apart,
		"shift": e.shift, "shift_of_data": e.from}}
	size := fmt.Sprintf("in the worst direction the distributions are %.2g apart and the means %.2g standard "+
		"deviations (the data's: %.2g)", e.apart, e.shift, e.from)
	if finite(e.share) {
		size += fmt.Sprintf(", and %.2g %% of the data's energy distance to the prior is left", 100*e.share)
	}
	p := fmt.Sprintf("p = %.1g", e.p)
	if e.p < 1e-16 {
		p = "p < 1e-16"
	}
	size += fmt.Sprintf("; %s, %d paths", p, e.paths)
	switch {
	case e.p >= terminalAlpha:
		f.Message = "paths end in the prior as far as can be seen: " + size
	case e.apart < misplaced && !(e.share >= remembered):
		f.Message = "paths end close to the prior: " + size
	default:
		f.Status = Warn
		f.Message = "paths do not end in the prior, from which generation starts: " + size +
			". With prior: empirical it starts where they end. " + s.farther()
	}
	return f
}

// farther says what makes paths forget more. In its own time t = Σσ_k²Δt an underdamped path covers 2t/γ along a flat
// direction for γt ≫ 1 and at most t², in free flight; an overdamped one covers t.
func (s *Evidence) farther() string {
	if s.stranger != nil {
		return fmt.Sprintf("A longer noising by %s helps", s.strange())
	}
	t := 0.0
	for k := range s.Running.Schedule.N {
		t += s.Running.Schedule.Tau(k)
	}
	γ := s.Running.Friction
	switch underdamped := s.Running.Method.Underdamped(); {
	case underdamped && γ*t < flight:
		return fmt.Sprintf("Paths fly nearly free and come back: γ = %.2g instead of %.3g helps (t = Σσ_k²Δt = "+
			"%.3g), or a longer horizon", flight/t, γ, t)
	case underdamped && γ*t > 2*flight && s.C == s.M: // where there are walls, paths with less friction stick to them
		return fmt.Sprintf("Less friction helps, down to γ = %.2g, and so does a longer horizon or a larger σ_max",
			flight/t)
	}
	return "A longer horizon or a larger σ_max helps"
}

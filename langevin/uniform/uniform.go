// Package uniform draws from the uniform law on Σ by chains, where it has no
// closed form, and says how far they have mixed.
//
// Chains stay on the components of Σ that they start from. What is done with draws
// that have not mixed is the caller's affair.
package uniform

import (
	"context"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
)

const (
	chains = 32
	keep   = 128 // draws of each chain

	// Chains have mixed with split-R̂ below mixedRhat and more effective draws than mixedESS, in every coordinate.
	mixedRhat = 1.01
	mixedESS  = 400

	mostTurned = 0.5 // of the flights of a round that turn back at inequalities
)

// Config says what to draw from.
type Config struct {
	Set      constraint.Set
	Starts   []float64 // points on Σ, n×d: chains start from some at equal distances
	Seed     uint64    // of all random numbers
	MaxRhat  float64   // a split-R̂ that will do; 0 means 1.01
	MaxSteps int       // of each chain
	Pool     *parallel.Pool
	Progress func(steps int) // called with the number of steps done; may be nil
}

// Draws are the states that chains ended with.
type Draws struct {
	States []float64 // on Σ, d numbers each: Kept − Lost of them
	Chains int
	Kept   int     // of all chains, before the projection
	Lost   int     // of them, that could not be projected onto Σ
	Steps  int     // of each chain, in all
	Step   float64 // τ of the last round
	Rhat   float64 // split-R̂ of the coordinate that has mixed worst
	ESS    float64 // the fewest effective draws of a coordinate; +Inf if none varies
	Worst  int     // the coordinate of Rhat
}

// Mixed reports whether every coordinate has split-R̂ below 1.01 and 400 effective draws.
func (d *Draws) Mixed() bool { return d.Rhat < mixedRhat && d.ESS > mixedESS }

// Draw runs long unlearned chains by the symmetric splitting, which turns back at inequalities and so has no layer at
// the walls; what it draws is then projected. Rounds of doubled length, each from where the last one ended, go on until
// the chains have mixed or the steps allowed are done. Starts often lie close together on a wide Σ, far from its edges:
// the draws of a round choose the step of the next, and it is halved after a round with inequalities in which most
// flights turned back. The draws of the last round are returned. Errors are those of langevin.Chains.
func Draw(ctx context.Context, c Config) (*Draws, error) {
	d := c.Set.Dim()
	wide, x0 := spread(c.Starts, d), langevin.Starts(c.Starts, d, chains)
	halvings := 0 // of the step
	run := c.chains(wide, halvings)
	out := &Draws{Chains: chains, Kept: chains * keep}
	target := mixedRhat
	if c.MaxRhat > 0 {
		target = min(target, c.MaxRhat)
	}
	for round := 0; ; round++ {
		run.Seed, run.Thin = keyed.Round(c.Seed, round), 2<<round
		if c.Progress != nil {
			run.Progress = func(step int) { c.Progress(out.Steps + step) }
		}
		draws, err := run.Run(ctx, c.Pool, x0)
		if err != nil {
			return nil, err
		}
		out.Steps, out.Step = out.Steps+run.Keep*run.Thin, run.Process.Schedule.T
		out.judge(draws)
		if out.Rhat < target && out.ESS > mixedESS || out.Steps+2*run.Keep*run.Thin > c.MaxSteps {
			out.States, out.Lost = projected(ctx, c.Set, draws.X)
			return out, ctx.Err()
		}
		for k := range chains {
			last := ((k+1)*keep - 1) * d
			copy(x0[k*d:(k+1)*d], draws.X[last:last+d])
		}
		wide = max(wide, spread(draws.X, d))
		if draws.Turned > mostTurned && len(c.Set.Inequalities()) > 0 {
			halvings++
		}
		run = c.chains(wide, halvings)
	}
}

// chains returns chains for a Σ that is at least so wide: steps of a tenth of the
// spread of a coordinate, halved so often.
func (c *Config) chains(wide float64, halvings int) *langevin.Chains {
	set := c.Set
	scale := wide / math.Sqrt(float64(max(set.Dim()-len(set.Equalities()), 1)))
	τ := math.Ldexp(0.1*scale, -halvings)
	p := &langevin.Process{
		Set: set, Method: langevin.ULLAP, Friction: 1 / scale,
		Schedule: langevin.Schedule{N: 1, T: τ, SigmaMin: 1, SigmaMax: 1},
	}
	return &langevin.Chains{Process: p, Symmetric: true, Count: chains, Keep: keep}
}

// judge finds the coordinate that has mixed worst.
func (d *Draws) judge(draws *langevin.Draws) {
	d.Rhat, d.ESS = 0, math.Inf(1)
	size := 0.0
	for _, v := range draws.X {
		size = max(size, math.Abs(v))
	}
	for j := range draws.Dim {
		series := draws.Series(j)
		r, ess := metric.SplitRhat(series), metric.ESS(series)
		if math.IsNaN(r) || constant(series, min(1, size)) {
			continue
		}
		if r > d.Rhat {
			d.Rhat, d.Worst = r, j
		}
		d.ESS = min(d.ESS, ess)
	}
}

// constant reports whether a coordinate is the same in all draws, to the round-off of points of a size: Σ may hold it.
func constant(series [][]float64, size float64) bool {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range series {
		lo, hi = min(lo, slices.Min(s)), max(hi, slices.Max(s))
	}
	return hi-lo <= 1e-9*(size+max(math.Abs(lo), math.Abs(hi)))
}

// projected returns the rows of x brought onto Σ, and how many could not be.
func projected(ctx context.Context, set constraint.Set, x []float64) (states []float64, lost int) {
	solver, d := geometry.NewSolver(set, 0).Until(ctx), set.Dim()
	for i := 0; i < len(x) && ctx.Err() == nil; i += d {
		if row := x[i : i+d]; solver.Project(row, 0) {
			states = append(states, row...)
		} else {
			lost++
		}
	}
	return states, lost
}

// spread returns the root mean square distance of rows from their mean, or 1 if they are one point.
func spread(x []float64, d int) float64 {
	_, distance := metric.Spread(x, d)
	if distance == 0 {
		return 1
	}
	return distance
}

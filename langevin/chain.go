package langevin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
)

// Chains samples exp(−f) on Σ by parallel chains of forward steps with constant noise level: no learning. Use a Process
// with Schedule.SigmaMin = SigmaMax, so that every step has the same τ.
//
// The first-order steps draw from a law that is off by O(τ): on f = ‖x‖²/2 without constraints the variance is 1/(1 −
// τ/4) for OLLA and (1+a)/2 / (1 − τ²/(2(1+a))) for ULLA, a = exp(−γτ), instead of 1. Symmetric is of second order, and
// exact there. With Leaps the law is exact for any step and f.
//
// Draws of landing methods are projected onto Σ, unless Process.NoTerminal; their
// chains go on from where they were. Those of the others are on Σ.
type Chains struct {
	Process   *Process
	Symmetric bool // the B-A-O-A-B splitting; Process.Method is then ignored
	Leaps     int  // > 0: constrained HMC with Leaps leaps a step; Symmetric is then ignored
	Count     int  // chains
	Burn      int  // steps to discard
	Keep      int  // draws to keep of each chain
	Thin      int  // steps between draws kept; ≤ 0 means 1
	Seed      uint64
	Progress  func(step int) // called now and then by one worker; may be nil

	watch bool // how many moves Metropolis would refuse
}

// Draws are the kept states: draw t of chain c is at X[(c·Keep+t)·d:].
type Draws struct {
	Count, Keep, Dim int
	X                []float64
	Report           Report
	// Turned is the share of the splitting's flights that turned back, at an inequality
	// or because their projection failed; 0 of other methods.
	Turned float64
	// Unprojected is how many draws of a landing method stay where their chain was, as their projection failed.
	Unprojected int
	// Refused is the share of moves that Metropolis refused.
	Refused float64
}

// Series returns coordinate j of every chain.
func (d *Draws) Series(j int) [][]float64 {
	out := make([][]float64, d.Count)
	for c := range out {
		out[c] = make([]float64, d.Keep)
		for t := range out[c] {
			out[c][t] = d.X[(c*d.Keep+t)*d.Dim+j]
		}
	}
	return out
}

// Run starts chain c at row c of x0 (Count×d, on or near Σ) and runs all chains.
// The error is a *DivergedError, a *ConfigError or the context's.
func (c *Chains) Run(ctx context.Context, pool *parallel.Pool, x0 []float64) (*Draws, error) {
	p := c.Process
	if s := p.Schedule; s.SigmaMin != s.SigmaMax {
		return nil, &ConfigError{"Schedule.SigmaMax", fmt.Sprintf("%v … %v", s.SigmaMin, s.SigmaMax),
			"σ_min = σ_max for chains"}
	}
	d := p.Set.Dim()
	draws := &Draws{Count: c.Count, Keep: c.Keep, Dim: d, X: make([]float64, c.Count*c.Keep*d)}
	sim := NewSimulator(p, pool, chainBlock)
	failed := make([]bool, c.Count)
	if _, known := p.Potential.(Energy); c.Leaps > 0 && p.Potential != nil && !known {
		return nil, &ConfigError{"Potential", fmt.Sprintf("%T", p.Potential), "one whose values are known, for HMC"}
	}
	ends := make([]moves, parallel.Blocks(c.Count, chainBlock))
	report, err := sim.run(ctx, c.Count, task{simulate: func(w *simWorker, lo, hi int) error {
		k := c.kernel(w, lo, hi-lo)
		err := c.walk(w, k, draws, x0[lo*d:hi*d], failed[lo:hi], lo)
		ends[lo/chainBlock] = k.moved()
		return err
	}})
	report.Failed = Lost(failed)
	draws.Report = report
	var flights, turned int
	for b, m := range ends {
		flights, turned, draws.Unprojected = flights+m.flights, turned+m.turned, draws.Unprojected+m.unprojected
		lo, hi := parallel.Block(b, c.Count, chainBlock)
		draws.Refused += m.refused * float64(hi-lo) / float64(c.Count)
	}
	draws.Turned = float64(turned) / float64(max(flights, 1))
	return draws, err
}

// A chainKernel moves a block of chains: a plain step (stepping), B-A-O-A-B (splitChains) or HMC (hmcChains).
type chainKernel interface {
	// start puts the chains at the points x, n×d.
	start(x []float64, momenta keyed.Stream) error
	// step moves them with the noise ζ, n×d; failed is set as by Stepper.Forward.
	step(step int, ζ []float64, failed []bool) (Info, error)
	// points returns where the chains are, and draws what is kept of that, until the next step.
	points() []float64
	draws() ([]float64, error)
	moved() moves
}

// moves counts what became of the moves of a block of chains.
type moves struct {
	flights, turned, unprojected int
	refused                      float64 // share
}

// kernel returns that of the n chains from the one numbered lo.
func (c *Chains) kernel(w *simWorker, lo, n int) chainKernel {
	f, known := c.Process.Potential.(Energy)
	watches := c.watch && (known || c.Process.Potential == nil)
	watched := energies{watches, f, make([]float64, n), make([]float64, n), 0, 0}
	switch {
	case c.Leaps > 0:
		k := &hmcChains{newHMC(c.Process, c.Leaps, chainBlock), inPlace{w, lo, n, w.a, make([]float64, n*w.d)},
			keyed.ChainMomenta.Stream(c.Seed, 0)}
		k.watched = watched
		k.until(w.ctx)
		return k
	case c.Symmetric:
		k := &splitChains{newSplitting(c.Process, chainBlock), inPlace{w, lo, n, w.a, make([]float64, n*w.d)}}
		k.watched = watched
		k.until(w.ctx)
		return k
	}
	return &stepping{w: w, lo: lo, n: n, x: w.a, prev: w.b, next: w.c}
}

// walk runs the chains from lo on, which start at x0, and keeps their draws.
func (c *Chains) walk(w *simWorker, k chainKernel, draws *Draws, x0 []float64, failed []bool, lo int) error {
	noise, n, d, thin := keyed.ChainSteps.Stream(c.Seed, 0), len(failed), w.d, max(c.Thin, 1)
	if err := k.start(x0, keyed.ChainMomenta.Stream(c.Seed, 0)); err != nil {
		return diverged("chain", lo, 0, err)
	}
	for step := 1; step <= c.Burn+c.Keep*thin; step++ {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if step%256 == 0 && c.Progress != nil && lo == 0 {
			c.Progress(step)
		}
		w.draw(noise, uint64(lo), n, step)
		info, err := k.step(step, w.ζ, failed)
		if err != nil {
			return diverged("chain", lo, step, err)
		}
		w.report.add(info)
		t := step - c.Burn
		if t <= 0 || t%thin != 0 {
			continue
		}
		if err := finite("x", k.points()[:n*d], d); err != nil {
			return diverged("chain", lo, step, err)
		}
		kept, err := k.draws()
		if err != nil {
			return diverged("chain", lo, step, err)
		}
		for i := range n {
			copy(draws.X[((lo+i)*c.Keep+t/thin-1)*d:], kept[i*d:(i+1)*d])
		}
	}
	return nil
}

// stepping is the kernel of the process's own forward step.
type stepping struct {
	w             *simWorker
	lo, n         int
	x, prev, next []float64
	kept          []float64 // draws, projected: rows×d; nil before they are
	unkept        []bool    // those that could not be
	unprojected   int
}

func (k *stepping) start(x []float64, momenta keyed.Stream) error {
	copy(k.x, x)
	if p := k.w.proc; p.Method.Underdamped() {
		return k.w.pseudoPoint(k.prev, k.x, momenta, uint64(k.lo), k.n, -p.Schedule.Tau(0))
	}
	return nil
}

func (k *stepping) step(_ int, ζ []float64, failed []bool) (Info, error) {
	info, err := k.w.Forward(k.next, k.x, k.prev, ζ, failed, k.n, 0)
	info.Folds.Carry(k.x)
	k.x, k.prev, k.next = k.next, k.x, k.prev
	return info, err
}

func (k *stepping) points() []float64 { return k.x }

// draws returns the points of landing methods projected onto Σ, unless the process has it otherwise.
func (k *stepping) draws() ([]float64, error) {
	if p := k.w.proc; p.NoTerminal || p.Method.Projected() {
		return k.x, nil
	}
	if k.kept == nil {
		k.kept, k.unkept = make([]float64, len(k.x)), make([]bool, chainBlock)
	}
	copy(k.kept, k.x)
	clear(k.unkept)
	o, err := k.w.Terminal(k.kept, k.unkept, k.n)
	k.w.report.add(Info{Projections: o})
	k.unprojected += Lost(k.unkept[:k.n])
	return k.kept, err
}

func (k *stepping) moved() moves { return moves{unprojected: k.unprojected} }

// inPlace are chains whose points and momenta x and p, n×d, a kernel moves in place.
type inPlace struct {
	w     *simWorker
	lo, n int
	x, p  []float64
}

func (k *inPlace) points() []float64         { return k.x }
func (k *inPlace) draws() ([]float64, error) { return k.x, nil }

const (
	chainBlock = 16
	maxStarts  = 100

	startTolerance = 1e-13 // of landing, in the size of a constraint's terms
)

// NoStart says that no point of Σ was found for chains to start from, in words that say what was tried, where the last
// try ended at x: Σ may be empty, or far from the origin.
func NoStart(set constraint.Set, x []float64, tried string, v ...any) error {
	name := ""
	violation, component := constraint.Worst(constraint.Values(set, x), len(set.Equalities()))
	if component >= 0 {
		name = constraint.Components(set)[component]
	}
	return fault.Errorf(fault.Check, "", "no start for chains: %s. The last point violates %q by %.3g; landing "+
		"check looks at the set", fmt.Sprintf(tried, v...), name, violation)
}

// NoGivenStart is NoStart of the conformation that a potential begins with.
const NoGivenStart = "the conformation that the potential begins with cannot be brought onto Σ; begin with one that " +
	"is nearer"

// Start writes a point on Σ for each of n chains: uniform where the set can draw so, else a point of the set's own
// choice beside Σ (Capabilities.Start), or a Gaussian one, projected by Newton's method, ε inside of the inequalities
// that it violates: on the boundary itself round-off would decide what is active. Starts that fail are tried again with
// fresh noise, up to 100 times; then the same points are brought to Σ by repeated landing, which follows its normals.
// If that fails too, the error is NoStart's. Where the potential knows a point to begin with (Beginner), all chains
// begin there, projected. A context that is done ends it with its error.
func Start(ctx context.Context, p *Process, n int, seed uint64) ([]float64, error) {
	d := p.Set.Dim()
	x := make([]float64, n*d)
	s := keyed.ChainPoints.Stream(seed, 0)
	given := begin(p.Potential)
	if u, err := UniformPrior(p); err == nil && given == nil {
		for i := range n {
			u.Sample(x[i*d:(i+1)*d], s, uint64(i))
		}
		return x, nil
	}
	solver := geometry.NewSolver(p.Set, p.Repulsion).Until(ctx)
	newton := func(x []float64) bool { return solver.Project(x, p.Repulsion) }
	landing := func(x []float64) bool { return solver.Descend(x, startTolerance) }
	if given != nil && n > 0 {
		first := x[:d]
		if copy(first, given); !newton(first) && !landing(first) {
			return nil, cmp.Or(ctx.Err(), NoStart(p.Set, first, NoGivenStart))
		}
		for i := 1; i < n; i++ {
			copy(x[i*d:], first)
		}
		return x, nil
	}
	draw := p.Set.Capabilities().Start
	if draw == nil {
		draw = func(dst []float64, s keyed.Stream, chain uint64, try int) { s.Normals(dst, chain, try) }
	}
	for i := range n {
		xi := x[i*d : (i+1)*d]
		start := func(bring func(x []float64) bool) bool {
			for try := 0; try < maxStarts && ctx.Err() == nil; try++ {
				if draw(xi, s, uint64(i), try); bring(xi) {
					return true
				}
			}
			return false
		}
		if !start(newton) && !start(landing) {
			return nil, cmp.Or(ctx.Err(), NoStart(p.Set, xi, "for chain %d none of %d points could be projected onto "+
				"Σ by Newton's method, or brought there by landing. Σ may be empty", i, maxStarts))
		}
	}
	return x, nil
}

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
func (c *Chains) directions() int { return max(c.Process.Set.Dim()-len(c.Process.Set.Equalities()), 1) }

// Tune returns a step for the chains, from that of the process: short rounds of them from x0, each from where the last
// one ended unless chains were thrown far away, halve it while too many moves go wrong or a simulation breaks down, and
// lengthen that of HMC where it can be. What it finds is a function of the seed. If no step is short enough the error
// is that of Run, or one of kind fault.Check.
func (c *Chains) Tune(ctx context.Context, pool *parallel.Pool, x0 []float64) (float64, error) {
	τ, longest := c.Process.Schedule.T, 10*c.Process.Schedule.T
	x, d := append([]float64(nil), x0...), c.Process.Set.Dim()
	wrong := min(manyErrors*math.Sqrt(float64(c.directions())), manyRefused)
	best := 0.0 // of HMC, the longest step that did not refuse too much
	var last error
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
		last = fault.Errorf(fault.Check, "", "no step of chains is short enough: at %.3g, after %d rounds, %.3g %% of "+
			"projections failed, %.3g %% of flights turned back and %.3g %% of moves would be refused; look at the "+
			"potential and at Σ where the chains begin (landing check), or give sample.step", τ, round+1, 100*failed,
			100*draws.Turned, 100*draws.Refused)
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
	return 0, last
}

// FailedShare returns the share of projections that failed. Each left its chain where it was; without Metropolis this
// is an error of the law.
func (d *Draws) FailedShare() float64 {
	o := d.Report.Projections
	return float64(o.Failed()) / float64(max(o.Points, 1))
}

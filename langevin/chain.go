package langevin

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/geometry"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/keyed"
	"github.com/landing-diffusion/landing/parallel"
)

// Chains samples exp(−f) on Σ by parallel chains of forward steps with constant
// noise level: no learning. Use a Process with Schedule.SigmaMin = SigmaMax, so
// that every step has the same τ.
//
// The first-order steps draw from a law that is off by O(τ): on f = ‖x‖²/2
// without constraints the variance is 1/(1 − τ/4) for OLLA and
// (1+a)/2 / (1 − τ²/(2(1+a))) for ULLA, a = exp(−γτ), instead of 1. Symmetric is
// of second order, and exact there. With Leaps the law is exact for any step and f.
//
// Draws of landing methods are projected onto Σ, unless Process.NoTerminal; their
// chains go on from where they were. Those of the others are on Σ.
type Chains struct {
	Process   *Process
	Symmetric bool // the B-A-O-A-B splitting; Process.Method is then ignored
	Leaps     int  // > 0: constrained HMC of so many leaps a step; Symmetric is then ignored
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
	// Unprojected is how many draws of a landing method stay where their chain was, as
	// their projection failed.
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
	d, thin := p.Set.Dim(), max(c.Thin, 1)
	draws := &Draws{Count: c.Count, Keep: c.Keep, Dim: d, X: make([]float64, c.Count*c.Keep*d)}
	noise, start := keyed.ChainSteps.Stream(c.Seed, 0), keyed.ChainMomenta.Stream(c.Seed, 0)
	sim := NewSimulator(p, pool, chainBlock)
	failed := make([]bool, c.Count)
	energy, known := p.Potential.(Energy)
	if c.Leaps > 0 && p.Potential != nil && !known {
		return nil, &ConfigError{"Potential", fmt.Sprintf("%T", p.Potential), "one whose values are known, for HMC"}
	}
	var flights, turned, unprojected atomic.Int64
	refused := make([]float64, parallel.Blocks(c.Count, chainBlock)) // of each block
	report, err := sim.run(ctx, c.Count, task{simulate: func(w *simWorker, lo, hi int) error {
		n := hi - lo
		x, prev, next := w.a, w.b, w.c
		copy(x, x0[lo*d:hi*d])
		var split *splitting
		var metropolis *hmc
		var p0 []float64
		if c.Leaps > 0 {
			metropolis = newHMC(p, c.Leaps, chainBlock)
			split, p0 = metropolis.splitting, make([]float64, n*d)
		} else if c.Symmetric {
			split, p0 = newSplitting(p, chainBlock), make([]float64, n*d)
		}
		if split != nil {
			split.watched = energies{c.watch && (known || p.Potential == nil), energy,
				make([]float64, n), make([]float64, n), 0, 0}
			defer func() {
				flights.Add(int64(split.flights))
				turned.Add(int64(split.turned))
				share := &refused[lo/chainBlock]
				if *share = split.watched.refused / float64(max(split.watched.steps, 1)); metropolis != nil {
					*share = float64(metropolis.refused) / float64(max(metropolis.moves, 1))
				}
			}()
		}
		switch {
		case metropolis != nil:
		case c.Symmetric:
			if err := w.pseudoPoint(prev, x, start, uint64(lo), n, 1); err != nil {
				return diverged("chain", lo, 0, err)
			}
			for i := range p0 {
				p0[i] = prev[i] - x[i]
			}
		case p.Method.Underdamped():
			if err := w.pseudoPoint(prev, x, start, uint64(lo), n, -p.Schedule.Tau(0)); err != nil {
				return diverged("chain", lo, 0, err)
			}
		}
		for step := 1; step <= c.Burn+c.Keep*thin; step++ {
			if step%256 == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
				if c.Progress != nil && lo == 0 {
					c.Progress(step)
				}
			}
			w.draw(noise, uint64(lo), n, step)
			var info Info
			var err error
			switch {
			case metropolis != nil:
				info.Projections, err = metropolis.step(x, p0, w.ζ, func(i int) float64 {
					start.Uniforms(metropolis.u[:1], uint64(lo+i), step)
					return metropolis.u[0]
				}, failed[lo:hi], n)
				if err == nil {
					info.Worst = w.excess(split.components(x, n), n)
				}
			case c.Symmetric:
				info.Projections, err = split.step(x, p0, w.ζ, failed[lo:hi], n)
				if err == nil {
					info.Worst = w.excess(split.components(x, n), n)
				}
			default:
				info, err = w.Forward(next, x, prev, w.ζ, failed[lo:hi], n, 0)
				info.Folds.Carry(x)
				x, prev, next = next, x, prev
			}
			if err != nil {
				return diverged("chain", lo, step, err)
			}
			w.report.add(info)
			if t := step - c.Burn; t > 0 && t%thin == 0 {
				if err := finite("x", x[:n*d], d); err != nil {
					return diverged("chain", lo, step, err)
				}
				kept := x
				if split == nil && !p.NoTerminal && !p.Method.Projected() {
					if kept = w.kept; kept == nil {
						w.kept, w.unkept = make([]float64, len(x)), make([]bool, chainBlock)
						kept = w.kept
					}
					copy(kept, x)
					clear(w.unkept)
					o, err := w.Terminal(kept, w.unkept, n)
					if err != nil {
						return diverged("chain", lo, step, err)
					}
					w.report.add(Info{Projections: o})
					for _, lost := range w.unkept[:n] {
						if lost {
							unprojected.Add(1)
						}
					}
				}
				for i := range n {
					copy(draws.X[((lo+i)*c.Keep+t/thin-1)*d:], kept[i*d:(i+1)*d])
				}
			}
		}
		return nil
	}})
	for _, f := range failed {
		if f {
			report.Failed++
		}
	}
	draws.Report = report
	draws.Unprojected = int(unprojected.Load())
	draws.Turned = float64(turned.Load()) / float64(max(flights.Load(), 1))
	for b, r := range refused {
		lo, hi := parallel.Block(b, c.Count, chainBlock)
		draws.Refused += r * float64(hi-lo) / float64(c.Count)
	}
	return draws, err
}

const (
	chainBlock = 16
	maxStarts  = 100

	startTolerance = 1e-13 // of landing, in the size of a constraint's terms
)

// A StartError says that no point of Σ was found for a chain to start from: Σ
// may be empty, or far from the origin.
type StartError struct {
	Chain     int
	Component string  // the one that the last point tried violates most
	Violation float64 // of it there
	Given     bool    // the point tried is that of the potential
}

func (e *StartError) Error() string {
	if e.Given {
		return fmt.Sprintf("no start for chains: the conformation that the potential begins with cannot be brought "+
			"onto Σ, and violates %q by %.3g; begin with one that is nearer", e.Component, e.Violation)
	}
	return fmt.Sprintf("no start for chain %d: none of %d points could be projected onto Σ by Newton's "+
		"method, or brought there by landing. Σ may be empty; the last point violates %q by %.3g",
		e.Chain, maxStarts, e.Component, e.Violation)
}

func (*StartError) Place() fault.Place { return fault.Place{Kind: fault.Check} }

// noStart is the error of a chain whose last try ended at x.
func noStart(set constraint.Set, x []float64, chain int) *StartError {
	e := &StartError{Chain: chain}
	var component int
	e.Violation, component = constraint.Worst(constraint.Values(set, x), len(set.Equalities()))
	if component >= 0 {
		e.Component = constraint.Components(set)[component]
	}
	return e
}

// Start writes a point on Σ for each of n chains: uniform where the set can
// draw so, else a point of the set's own choice beside Σ (Capabilities.Start), or a
// Gaussian one, projected by Newton's method, ε inside of the inequalities that it
// violates: on the boundary itself round-off would decide what is active. Starts that
// fail are tried again with fresh noise, up to 100 times; then the same points are brought
// to Σ by repeated landing, which follows its normals. If that fails too, the error is a
// *StartError. Where the potential knows a point to begin with (Beginner), all chains
// begin there, projected.
func Start(p *Process, n int, seed uint64) ([]float64, error) {
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
	solver := geometry.NewSolver(p.Set, p.Repulsion)
	newton := func(x []float64) bool { return solver.Project(x, p.Repulsion) }
	landing := func(x []float64) bool { return solver.Descend(x, startTolerance) }
	if given != nil && n > 0 {
		first := x[:d]
		if copy(first, given); !newton(first) && !landing(first) {
			err := noStart(p.Set, first, 0)
			err.Given = true
			return nil, err
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
			for try := range maxStarts {
				if draw(xi, s, uint64(i), try); bring(xi) {
					return true
				}
			}
			return false
		}
		if !start(newton) && !start(landing) {
			return nil, noStart(p.Set, xi, i)
		}
	}
	return x, nil
}

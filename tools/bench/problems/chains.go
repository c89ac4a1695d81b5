package problems

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem"
)

// Chains of constrained Hamiltonian Monte Carlo, which draw a law ∝ exp(−f) by area of the set.
type chains struct {
	f          string // a formula, in units of kT
	step       float64
	thin, burn int

	// turn moves a draw by a random symmetry of set and f, so that chains need not meet those
	// by themselves. It leaves the law as it is, or gives one angle another law.
	turn func(x []float64, d *dice)
}

const (
	chainCount  = 50
	fewestDraws = 20   // of a chain, for a split-R̂ that says something
	mixed       = 1.05 // the largest
	rounds      = 3
)

// errUnmixed says that chains have not arrived at their law.
var errUnmixed = errors.New("have not mixed")

// draw returns n draws of the law: chains that have not mixed run again, twice as long, a few
// times. Errors are errUnmixed and those of langevin.Chains.
func (c *chains) draw(ctx context.Context, pool *parallel.Pool, p *Problem, seed, batch uint64, n int) (x []float64,
	err error) {
	for round := range rounds {
		longer := *c
		longer.thin <<= round
		keep := max((n+chainCount-1)/chainCount, fewestDraws)
		draws, err := longer.run(ctx, pool, p, keyed.Round(seed, int(batch)), keep)
		if err != nil {
			return nil, err
		}
		x = c.turned(draws, p.stream(seed, batch))
		err = settled(p, pool, x)
		if err == nil {
			return x[:n*p.Dim], nil
		}
		if !errors.Is(err, errUnmixed) || round == rounds-1 {
			return nil, err
		}
	}
	return x, err
}

// turned returns the draws, each moved by its dice. Row i is of chain i modulo their number: the
// first rows are of all chains.
func (c *chains) turned(draws *langevin.Draws, s keyed.Stream) []float64 {
	d := draws.Dim
	x := make([]float64, 0, len(draws.X))
	for i := range draws.Count * draws.Keep {
		at := (i%draws.Count*draws.Keep + i/draws.Count) * d
		x = append(x, draws.X[at:at+d]...)
		c.turn(x[i*d:], &dice{stream: s, sample: uint64(i)})
	}
	return x
}

// run runs the chains, from points of the set that landing finds.
func (c *chains) run(ctx context.Context, pool *parallel.Pool, p *Problem, seed uint64, keep int) (*langevin.Draws,
	error) {
	source := fmt.Appendf(p.Source(), "seed: %d\npotential: {kind: formula, expr: %q}\n"+
		"sample: {method: chmc, step: %v, chains: %d, draws: %d, burn: %d, thin: %d}\n", seed, c.f, c.step, chainCount,
		keep, c.burn, c.thin)
	loaded, err := problem.Load(source, p.Name, "", nil)
	if err != nil {
		return nil, err
	}
	run, err := loaded.BuildChains()
	if err != nil {
		return nil, err
	}
	x0, err := langevin.Start(ctx, run.Process, run.Count, run.Seed)
	if err != nil {
		return nil, err
	}
	return run.Run(ctx, pool, x0)
}

// settled returns errUnmixed where an observable differs among chains, whose rows take
// turns: of one on the circle, its cosine and its sine.
func settled(p *Problem, pool *parallel.Pool, x []float64) error {
	o, err := p.Observables()
	if err != nil {
		return err
	}
	marks := o.Distance(p.Dim, pool).Marks(x)
	same := func(v float64) float64 { return v }
	for k, v := range o.List {
		of := []func(float64) float64{same}
		if v.Circular {
			of = []func(float64) float64{math.Cos, math.Sin}
		}
		for _, f := range of {
			series := make([][]float64, chainCount)
			for i := range len(x) / p.Dim {
				series[i%chainCount] = append(series[i%chainCount], f(marks[i*len(o.List)+k]))
			}
			if r := metric.SplitRhat(series); !(r <= mixed) {
				return fmt.Errorf("the chains behind the data of %s %w: split-R̂ of %q is %.3f, above %g", p.Name,
					errUnmixed, v.Name, r, mixed)
			}
		}
	}
	return nil
}

// The sides that a chain passes the ball on, by the angle of its middle around the x axis: set
// and pull know none, so a draw is turned there.
var sides = []struct{ weight, at, κ float64 }{{0.5, 1.5, 20}, {0.3, -0.6, 40}, {0.2, -2.6, 10}}

// aside turns a chain about the x axis such that the angle of its middle has the law of sides.
func aside(x []float64, d *dice) {
	s := sides[d.of(sides[0].weight, sides[1].weight, sides[2].weight)]
	var y, z float64
	for i := 1; i <= 3; i++ {
		y, z = y+x[3*i+1], z+x[3*i+2]
	}
	sin, cos := math.Sincos(d.vonMises(s.at, s.κ) - math.Atan2(z, y))
	for i := range 6 {
		y, z := x[3*i+1], x[3*i+2]
		x[3*i+1], x[3*i+2] = cos*y-sin*z, sin*y+cos*z
	}
}

// ring returns the chains of n atoms in a ring: the potential prefers staggered torsions.
func ring(n int, stiff float64) *chains {
	torsion := fmt.Sprintf("dihedral(b[i], b[(i+1)%%%d], b[(i+2)%%%[1]d], b[(i+3)%%%[1]d])", n)
	return &chains{f: fmt.Sprintf("%v*sum(i in 0..%d, cos(3*%s))", stiff, n-1, torsion), step: 0.08, burn: 200, thin: 8,
		turn: anyhow}
}

// anyhow turns a ring in space by Haar measure, mirrors it or not, and begins to count its
// atoms anywhere.
func anyhow(x []float64, d *dice) {
	var axis [4]float64 // a quaternion, uniform on S³
	d.normals(axis[:])
	scale(axis[:], 1/dense.Norm(axis[:]))
	half, v := dense.Norm(axis[1:]), [3]float64{}
	if half > 0 {
		angle := 2 * math.Atan2(half, axis[0])
		for k := range 3 {
			v[k] = axis[1+k] / half * angle
		}
	}
	turn := rotation(v)
	if d.accepts(0.5) {
		scale(turn[:], -1)
	}
	n := len(x) / 3
	first, ring := int(d.uniform()*float64(n)), append([]float64(nil), x...)
	for i := range n {
		b := ring[(i+first)%n*3:][:3]
		for k := range 3 {
			x[3*i+k] = dense.Dot(turn[3*k:3*k+3], b)
		}
	}
}

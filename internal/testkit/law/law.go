// Package law runs chains on sets with edges whose laws are known, for tests and
// for the tables of docs/benchmarks.md.
package law

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/parallel"
)

// A Bounded law is exp(−f) on a set with inequalities, with coordinates whose
// distribution functions are known. Each u is near 0 at an edge.
type Bounded struct {
	Name  string
	Set   constraint.Set
	F     langevin.Potential
	Start []float64
	CDF   func(u, x []float64) // one or more values
	N     int                  // how many
}

// normalBetween returns the distribution function of a normal law cut to
// [lo, hi].
func normalBetween(mean, sd, lo, hi float64) func(x float64) float64 {
	Φ := func(x float64) float64 { return math.Erfc(-(x-mean)/(sd*math.Sqrt2)) / 2 }
	return func(x float64) float64 { return (Φ(x) - Φ(lo)) / (Φ(hi) - Φ(lo)) }
}

// AllBounded are truncated Gaussians on a half line and a box, and uniform laws
// on a cap of S² (its height is uniform) and on a simplex (1 − (1 − x_j)³ is).
// The Gaussians have temperature T: exp(−f/T).
func AllBounded(T float64) []Bounded {
	inf := math.Inf(1)
	sd := math.Sqrt(T)
	line, x, y := normalBetween(0, sd, 0, inf), normalBetween(0.3, sd, -0.5, 1), normalBetween(0.5, sd/2, 0, 2)
	height := func(u, p []float64) {
		u[0] = (p[2]/math.Sqrt(p[0]*p[0]+p[1]*p[1]+p[2]*p[2]) - 0.2) / 0.8
	}
	return []Bounded{
		{"half line", made(zoo.NewBox([]float64{0}, nil)), langevin.Quadratic{}, []float64{0.5},
			func(u, p []float64) { u[0] = line(p[0]) }, 1},
		{"box", made(zoo.NewBox([]float64{-0.5, 0}, []float64{1, 2})),
			langevin.Quadratic{Center: []float64{0.3, 0.5}, Weight: []float64{1, 4}}, []float64{0.3, 0.5},
			func(u, p []float64) { u[0], u[1] = x(p[0]), y(p[1]) }, 2},
		{"cap", made(zoo.NewCap([]float64{0, 0, 1}, 0.2)), nil, []float64{0, 0, 1}, height, 1},
		{"simplex", made(zoo.NewSimplex(4)), nil, []float64{0.25, 0.25, 0.25, 0.25},
			func(u, p []float64) { u[0] = 1 - math.Pow(1-p[0], 3) }, 1},
	}
}

func made[S constraint.Set](set S, err error) constraint.Set {
	if err != nil {
		panic(err)
	}
	return set
}

// A Run is one chain of steps of a law, from one point, many times.
type Run struct {
	Method                   langevin.Method
	Explicit                 bool
	Walls                    langevin.Walls
	Tau, Friction, Repulsion float64
	Count, Step              int
	Seed                     uint64
}

// Length returns that of a step: √τ for OLLA, τ for ULLA.
func (r Run) Length() float64 { return length(r.Method, r.Tau) }

func length(m langevin.Method, τ float64) float64 {
	if m.Underdamped() {
		return τ
	}
	return math.Sqrt(τ)
}

// Last returns the values of the distribution functions of independent chains'
// last states, coordinate by coordinate.
func (r Run) Last(ctx context.Context, b Bounded, pool *parallel.Pool) ([][]float64, error) {
	p := &langevin.Process{
		Set: b.Set, Method: r.Method, Friction: r.Friction, Walls: r.Walls, Repulsion: r.Repulsion, Potential: b.F,
		Landing: langevin.Landing{Explicit: r.Explicit, Rate: 1 / r.Tau}, NoTerminal: true,
		Schedule: langevin.Schedule{N: 1, T: r.Tau, SigmaMin: 1, SigmaMax: 1},
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	x0 := make([]float64, 0, r.Count*len(b.Start))
	for range r.Count {
		x0 = append(x0, b.Start...)
	}
	c := langevin.Chains{Process: p, Count: r.Count, Burn: r.Step - 1, Keep: 1, Seed: r.Seed}
	draws, err := c.Run(ctx, pool, x0)
	if err != nil {
		return nil, err
	}
	if draws.Report.Failed > 0 {
		return nil, fmt.Errorf("%s, %v: %d chains failed", b.Name, r.Method, draws.Report.Failed)
	}
	out := make([][]float64, b.N)
	u, d := make([]float64, b.N), len(b.Start)
	for i := range r.Count {
		b.CDF(u, draws.X[i*d:(i+1)*d])
		for j, v := range u {
			out[j] = append(out[j], min(max(v, 0), 1))
		}
	}
	return out, nil
}

// Temperature returns T such that the method, without the bounds, samples
// exp(−f/T) of a quadratic f with its first-order steps of size τ
// (langevin's TestStationaryCovariance); with a = exp(−γτ) → 0 that is ½ for ULLA.
func (r Run) Temperature() float64 {
	if !r.Method.Underdamped() {
		return 1 / (1 - r.Tau/4)
	}
	a := math.Exp(-r.Friction * r.Tau)
	return (1 + a) / 2 / (1 - r.Tau*r.Tau/(2*(1+a)))
}

// Edge returns the share of samples in the 5 % of the law next to an edge.
func Edge(u []float64) float64 {
	n := 0
	for _, v := range u {
		if v < 0.05 {
			n++
		}
	}
	return float64(n) / float64(len(u))
}

// Kolmogorov returns the largest distance of the distribution function of u, which
// it sorts, to that of the uniform law on [0, 1].
func Kolmogorov(u []float64) float64 {
	slices.Sort(u)
	n, worst := float64(len(u)), 0.0
	for i, v := range u {
		worst = max(worst, v-float64(i)/n, float64(i+1)/n-v)
	}
	return worst
}

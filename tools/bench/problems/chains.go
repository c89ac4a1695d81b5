package problems

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

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
)

// draw returns n draws of the law. Errors are those of settled and of langevin.Chains.
func (c *chains) draw(ctx context.Context, pool *parallel.Pool, p *Problem, seed, batch uint64, n int) ([]float64,
	error) {
	keep := max((n+chainCount-1)/chainCount, fewestDraws)
	draws, err := c.run(ctx, pool, p, keyed.Round(seed, int(batch)), keep)
	if err != nil {
		return nil, err
	}
	x := c.turned(draws, p.stream(seed, batch))
	return x[:n*p.Dim], settled(p, pool, x)
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

// settled returns an error where an observable differs among chains, whose rows take
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
				return fmt.Errorf("the chains behind the data of %s have not mixed: split-R̂ of %q is %.3f, above %g",
					p.Name, v.Name, r, mixed)
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
	floats.Scale(1/dense.Norm(axis[:]), axis[:])
	half, v := dense.Norm(axis[1:]), [3]float64{}
	if half > 0 {
		angle := 2 * math.Atan2(half, axis[0])
		for k := range 3 {
			v[k] = axis[1+k] / half * angle
		}
	}
	turn := rotation(v)
	if d.accepts(0.5) {
		floats.Scale(-1, turn[:])
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

// dice are the random numbers of one row: each throw has an address of its own.
type dice struct {
	stream keyed.Stream
	sample uint64
	step   int
}

// uniform is on [0, 1).
func (d *dice) uniform() float64 {
	var u [1]float64
	d.stream.Uniforms(u[:], d.sample, d.step)
	d.step++
	return u[0]
}

func (d *dice) normal() float64 {
	var z [1]float64
	d.normals(z[:])
	return z[0]
}

func (d *dice) normals(dst []float64) {
	d.stream.Normals(dst, d.sample, d.step)
	d.step++
}

// accepts is true with probability p.
func (d *dice) accepts(p float64) bool { return d.uniform() < p }

// of returns k with probability weight[k]; weights add up to 1.
func (d *dice) of(weight ...float64) int {
	u := d.uniform()
	for k, w := range weight[:len(weight)-1] {
		if u -= w; u < 0 {
			return k
		}
	}
	return len(weight) - 1
}

// gamma draws from the density ∝ x^(a−1) e^(−x) (Marsaglia and Tsang, ACM Transactions on
// Mathematical Software 26, 2000).
func (d *dice) gamma(a float64) float64 {
	if a < 1 { // Γ(a) = Γ(a+1) U^(1/a)
		return d.gamma(a+1) * math.Pow(1-d.uniform(), 1/a)
	}
	b := a - 1.0/3
	c := 1 / math.Sqrt(9*b)
	for {
		z := d.normal()
		v := 1 + c*z
		if v = v * v * v; v > 0 && math.Log(1-d.uniform()) < z*z/2+b-b*v+b*math.Log(v) {
			return b * v
		}
	}
}

// dirichlet draws from the density ∝ Π x_j^(a_j − 1) on the simplex.
func (d *dice) dirichlet(x []float64, a ...float64) {
	sum := 0.0
	for j := range x {
		x[j] = d.gamma(a[j])
		sum += x[j]
	}
	for j := range x {
		x[j] /= sum
	}
}

// vonMises draws from the density ∝ exp(κ cos(θ − μ)), κ > 0, by rejection from a wrapped
// Cauchy law (Best and Fisher, Applied Statistics 28, 1979). The angle is within π of μ.
func (d *dice) vonMises(μ, κ float64) float64 {
	a := 1 + math.Sqrt(1+4*κ*κ)
	b := (a - math.Sqrt(2*a)) / (2 * κ)
	r := (1 + b*b) / (2 * b)
	for {
		z := math.Cos(math.Pi * d.uniform())
		f := (1 + r*z) / (r + z)
		c := κ * (r - f)
		if u := 1 - d.uniform(); math.Log(c/u)+1-c < 0 {
			continue
		}
		θ := math.Acos(max(-1, min(1, f)))
		if d.accepts(0.5) {
			θ = -θ
		}
		return μ + θ
	}
}

// fisher draws from the density ∝ exp(κ μ·x) on the unit sphere of R^n, n ≥ 3 (von
// Mises–Fisher). The cosine w = μ·x has the density ∝ exp(κw)(1−w²)^((n−3)/2): by
// inversion for n = 3, else by rejection (Wood, Communications in Statistics 23, 1994).
func (d *dice) fisher(x, μ []float64, κ float64) {
	n := len(x)
	m := float64(n - 1)
	var w float64
	if n == 3 {
		u := d.uniform()
		w = 1 + math.Log1p(-u*(1-math.Exp(-2*κ)))/κ
	} else {
		b := m / (2*κ + math.Sqrt(4*κ*κ+m*m))
		x0 := (1 - b) / (1 + b)
		c := κ*x0 + m*math.Log(1-x0*x0)
		for {
			g, h := d.gamma(m/2), d.gamma(m/2)
			z := g / (g + h)
			w = (1 - (1+b)*z) / (1 - (1-b)*z)
			if κ*w+m*math.Log(1-x0*w)-c >= math.Log(1-d.uniform()) {
				break
			}
		}
	}
	// Beside μ the direction is uniform.
	d.normals(x)
	along := dense.Dot(x, μ)
	for j := range x {
		x[j] -= along * μ[j]
	}
	side := math.Sqrt(max(0, 1-w*w)) / dense.Norm(x)
	for j := range x {
		x[j] = w*μ[j] + side*x[j]
	}
	floats.Scale(1/dense.Norm(x), x)
}

// unit returns v scaled to length 1.
func unit(v ...float64) []float64 {
	floats.Scale(1/dense.Norm(v), v)
	return v
}

package langevin_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Chains with elastic walls keep the law of half line, box, cap (uniform and with a density), half torus and simplex at
// γτ from 0.01 to 5: the mean of a number that is uniform on [0, 1], and the mass of the twentieth of the law next to
// the wall. 200 chains from exact draws; each of 60 numbers may be off by 5.5 standard errors (rate 4·10⁻⁸ each) and
// the bias of the scheme: nothing that 400 chains could see but on the cap with a density, where the gradient of f
// gives 0.03 at the first friction. The paper's walls are off by 0.05 to 0.4 in the mean for γτ ≤ 0.05.
func TestElasticLaws(t *testing.T) {
	pool := testkit.Pool(t, 0)
	all := allWalled()
	if testing.Short() {
		all = all[1:3]
	}
	for _, b := range all {
		bias := 0.004
		if b.Name == "cap, exp(−3z)" {
			bias = 0.035
		}
		for _, r := range []chainRun{
			{Method: langevin.ULLA, Tau: 0.05, Friction: 0.2}, {Method: langevin.ULLA, Tau: 0.05, Friction: 100},
			{Method: langevin.ULLAP, Tau: 0.05, Friction: 1}, {Method: langevin.OLLA, Tau: 0.005},
			{Method: langevin.OLLAP, Tau: 0.005},
		} {
			r.Count, r.Step, r.Seed = 200, 4, 7
			m := testkit.Must(wallChain{chainRun: r, Burn: 300, Keep: 100}.Stationary(t.Context(), b, pool))
			if math.Abs(m.Mean-0.5) > 5.5*m.MeanError+bias || math.Abs(m.Edge-0.05) > 5.5*m.EdgeError+bias/4 {
				t.Errorf("%s, %v τ=%v γ=%v: mean %.4f ± %.4f, %.4f ± %.4f at the wall", b.Name, r.Method, r.Tau,
					r.Friction, m.Mean, m.MeanError, m.Edge, m.EdgeError)
			}
			if m.Outside > 0 || m.Report.Failed > 0 || m.Report.Reflected == 0 {
				t.Errorf("%s, %v: %+v", b.Name, r.Method, m)
			}
		}
	}
}

// On the cap with a density the error of the first-order scheme halves with the step: 0.060, 0.030, 0.013 ± 0.004 with
// 400 chains. Each may be off by 5 standard errors (rate 6·10⁻⁷ each). The least must be at most half the largest; here
// it is a fifth.
func TestElasticErrorFalls(t *testing.T) {
	if testing.Short() {
		t.Skip("a law, for seconds")
	}
	pool := testkit.Pool(t, 0)
	b := allWalled()[3]
	var off []float64
	for i, τ := range []float64{0.1, 0.05, 0.025} {
		r := chainRun{Method: langevin.ULLA, Tau: τ, Friction: 0.2, Count: 400, Step: 4, Seed: 7}
		m := testkit.Must(wallChain{chainRun: r, Burn: 200 << i, Keep: 75 << i}.Stationary(t.Context(), b, pool))
		if e := math.Abs(m.Mean - 0.5 + 0.6*τ); e > 5*m.MeanError {
			t.Errorf("τ = %v: mean %.4f ± %.4f, expected %.4f", τ, m.Mean, m.MeanError, 0.5-0.6*τ)
		}
		off = append(off, 0.5-m.Mean)
	}
	t.Logf("errors %.4f", off)
	if off[2] > off[0]/2 {
		t.Errorf("errors of the mean %.4f do not fall with the step", off)
	}
}

// Backward steps with the score of the law that they start from keep it: with elastic
// walls on all sets, and on a torus, whose tube is not flat. 2000 samples of 80 steps; each
// of 86 numbers may be off by 5.5 standard errors (rate 4·10⁻⁸ each), 0.036 of a mean and
// 0.027 of an edge, and the bias of the scheme, as forward. The paper's walls have
// means below 0.45 and edges above 0.1 at the first friction; they run where they hold, with momenta that are forgotten
// in a step and ε half a step, and are off by what falls like √τ: up to 0.025 at the edge (history/benchmarks.md).
func TestBackwardKeepsTheLaw(t *testing.T) {
	pool := testkit.Pool(t, 0)
	elastic := []chainRun{
		{Method: langevin.ULLA, Tau: 0.05, Friction: 0.2}, {Method: langevin.ULLA, Tau: 0.05, Friction: 100},
		{Method: langevin.ULLAP, Tau: 0.05, Friction: 1}, {Method: langevin.OLLA, Tau: 0.005},
		{Method: langevin.OLLAP, Tau: 0.005},
	}
	var paper []chainRun
	for _, m := range []langevin.Method{langevin.ULLA, langevin.OLLA, langevin.ULLAP, langevin.OLLAP} {
		r := chainRun{Method: m, Walls: langevin.PaperWalls, Tau: 0.0025}
		if m.Underdamped() {
			r.Tau, r.Friction = 0.05, 200
		}
		r.Repulsion = r.Length() / 2
		paper = append(paper, r)
	}
	for i, b := range append(allWalled(), wholeTorus) {
		runs, mean, edge := elastic, 0.004, 0.001
		switch b.Name {
		case "cap, exp(−3z)":
			mean, edge = 0.035, 0.009
		case "half line, Gaussian", "cap":
			runs = append(runs, paper...)
		}
		if testing.Short() && i != 2 {
			continue
		}
		for _, r := range runs {
			r.Count, r.Step, r.Seed = 2000, 80, 7
			m := testkit.Must(wallChain{chainRun: r}.Backward(t.Context(), b, pool))
			mean, edge := mean, edge
			if r.Walls == langevin.PaperWalls {
				mean, edge = 0.02, 0.025
			}
			if math.Abs(m.Mean-0.5) > 5.5*m.MeanError+mean || math.Abs(m.Edge-0.05) > 5.5*m.EdgeError+edge {
				t.Errorf("%s, %v %v τ=%v γ=%v: mean %.4f ± %.4f, %.4f ± %.4f at the wall", b.Name, r.Walls, r.Method,
					r.Tau, r.Friction, m.Mean, m.MeanError, m.Edge, m.EdgeError)
			}
		}
	}
}

// The laws of OLLA, ULLA and their projected variants with inequalities: last states of 600 independent chains from
// one inner point, so the samples are independent. KS at level 1e-6 for each of 20 numbers (critical value
// 2.69/√600 = 0.11), plus 0.025 for the step: a step that leaves Σ comes back
// to ε inside, which with ε half a step's length leaves a bias that falls like √τ. It was measured with 20 000 chains
// before the steps were chosen: for OLLA with τ = 0.01 it is 0.019 on the half line and the box, 0.034 on the cap,
// 0.053 on the simplex, and half of that with τ/4. ULLA is run with γτ = 10, so its momentum is forgotten in a step;
// its positions then are OLLA's with τ².
//
// What the test can see: a law without bounds would score 0.5 on the half line, ε = 0 (chains stick at the edge, since
// g = 0 is active) 0.96, an edge shifted by three lengths of a step 0.17.
func TestBoundedLaws(t *testing.T) {
	if testing.Short() {
		t.Skip("a law, for seconds")
	}
	const chains = 600
	critical := 2.69/math.Sqrt(chains) + 0.025
	step := map[string]struct {
		τ     float64 // of OLLA
		count int
	}{"half line": {0.005, 1000}, "box": {0.005, 600}, "cap": {0.003, 600}, "simplex": {0.001, 1200}}
	pool := testkit.Pool(t, 0)
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA, langevin.OLLAP, langevin.ULLAP} {
		r := chainRun{Method: m, Walls: langevin.PaperWalls, Count: chains, Seed: 11}
		for i, b := range allBounded(1) {
			r.Tau, r.Step = step[b.Name].τ, step[b.Name].count
			if m.Underdamped() {
				r.Tau = math.Sqrt(r.Tau)
				r.Friction = 10 / r.Tau
			}
			r.Repulsion = r.Length() / 2
			b = allBounded(r.Temperature())[i]
			last := testkit.Must(r.Last(t.Context(), b, pool))
			for j, u := range last {
				if dist := kolmogorov(u); dist > critical {
					t.Errorf("%v on the %s, coordinate %d: KS distance %.3f, critical %.3f", m, b.Name, j, dist,
						critical)
				}
			}
		}
	}
}

// Chains on sets with edges whose laws are known.

// A bounded law is exp(−f) on a set with inequalities, with coordinates whose
// distribution functions are known. Each u is near 0 at an edge.
type bounded struct {
	Name  string
	Set   constraint.Set
	F     langevin.Potential
	Start []float64
	CDF   func(u, x []float64) // one or more values
	N     int                  // how many
}

// normalBetween returns the distribution function of a normal law cut to [lo, hi].
func normalBetween(mean, sd, lo, hi float64) func(x float64) float64 {
	Φ := func(x float64) float64 { return math.Erfc(-(x-mean)/(sd*math.Sqrt2)) / 2 }
	return func(x float64) float64 { return (Φ(x) - Φ(lo)) / (Φ(hi) - Φ(lo)) }
}

// allBounded are truncated Gaussians on a half line and a box, and uniform laws on a cap of S² (its height is uniform)
// and on a simplex (1 − (1 − x_j)³ is). The Gaussians have temperature T: exp(−f/T).
func allBounded(T float64) []bounded {
	inf := math.Inf(1)
	sd := math.Sqrt(T)
	line, x, y := normalBetween(0, sd, 0, inf), normalBetween(0.3, sd, -0.5, 1), normalBetween(0.5, sd/2, 0, 2)
	height := func(u, p []float64) {
		u[0] = (p[2]/math.Sqrt(p[0]*p[0]+p[1]*p[1]+p[2]*p[2]) - 0.2) / 0.8
	}
	return []bounded{
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

// A chainRun is one chain of steps of a law, from one point, many times.
type chainRun struct {
	Method                   langevin.Method
	Explicit                 bool
	Walls                    langevin.Walls
	Tau, Friction, Repulsion float64
	Count, Step              int
	Seed                     uint64
}

// Length returns that of a step: √τ for OLLA, τ for ULLA.
func (r chainRun) Length() float64 { return length(r.Method, r.Tau) }

func length(m langevin.Method, τ float64) float64 {
	if m.Underdamped() {
		return τ
	}
	return math.Sqrt(τ)
}

// Last returns the values of the distribution functions of independent chains' last states, coordinate by coordinate.
func (r chainRun) Last(ctx context.Context, b bounded, pool *parallel.Pool) ([][]float64, error) {
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

// Temperature returns T such that the method, without the bounds, samples exp(−f/T) of a quadratic f with its
// first-order steps of size τ (langevin's TestStationaryCovariance); with a = exp(−γτ) → 0 that is ½ for ULLA.
func (r chainRun) Temperature() float64 {
	if !r.Method.Underdamped() {
		return 1 / (1 - r.Tau/4)
	}
	a := math.Exp(-r.Friction * r.Tau)
	return (1 + a) / 2 / (1 - r.Tau*r.Tau/(2*(1+a)))
}

// kolmogorov returns the largest distance of the distribution function of u, which
// it sorts, to that of the uniform law on [0, 1].
func kolmogorov(u []float64) float64 {
	slices.Sort(u)
	n, worst := float64(len(u)), 0.0
	for i, v := range u {
		worst = max(worst, v-float64(i)/n, float64(i+1)/n-v)
	}
	return worst
}

// A walled law is exp(−f/T) on a set with walls: U is a number of a point with
// the uniform law on [0, 1], small next to a wall. Draw writes a point of the law.
type walled struct {
	Name string
	Dim  int
	Make func(T float64) (p langevin.Process, u func(x []float64) float64, draw func(x []float64, v []float64))
}

// allWalled are laws on a half line (a Gaussian), a box, a cap without and with a density, a half torus and a simplex.
func allWalled() []walled {
	frame := func(z, φ float64, x []float64) {
		r := math.Sqrt(1 - z*z)
		x[0], x[1], x[2] = r*math.Cos(2*math.Pi*φ), r*math.Sin(2*math.Pi*φ), z
	}
	const low, b, major, minor = 0.2, 3.0, 2.0, 0.6
	return []walled{
		{"half line, Gaussian", 1, func(T float64) (langevin.Process, func([]float64) float64, func(x, v []float64)) {
			return langevin.Process{
					NoTerminal: true, Set: made(zoo.NewBox([]float64{0}, nil)), Potential: langevin.Quadratic{},
				},
				func(x []float64) float64 { return math.Erf(x[0] / math.Sqrt(2*T)) },
				func(x, v []float64) { x[0] = math.Sqrt(2*T) * math.Erfinv(v[0]) }
		}},
		{"box in R³", 3, func(float64) (langevin.Process, func([]float64) float64, func(x, v []float64)) {
			return langevin.Process{NoTerminal: true, Set: made(zoo.NewBox([]float64{0, 0, 0}, []float64{1, 1, 1}))},
				func(x []float64) float64 { return 2 * min(x[0], 1-x[0]) },
				func(x, v []float64) { copy(x, v[:3]) }
		}},
		{"cap", 3, func(float64) (langevin.Process, func([]float64) float64, func(x, v []float64)) {
			return langevin.Process{NoTerminal: true, Set: made(zoo.NewCap([]float64{0, 0, 1}, low))},
				func(x []float64) float64 { return (x[2] - low) / (1 - low) },
				func(x, v []float64) { frame(low+(1-low)*v[0], v[1], x) }
		}},
		{"cap, exp(−3z)", 3, func(T float64) (langevin.Process, func([]float64) float64, func(x, v []float64)) {
			lo, hi := math.Exp(-b*low/T), math.Exp(-b/T)
			return langevin.Process{
					NoTerminal: true, Set: made(zoo.NewCap([]float64{0, 0, 1}, low)),
					Potential: langevin.Linear{B: []float64{0, 0, -b}},
				}, func(x []float64) float64 { return (lo - math.Exp(-b*x[2]/T)) / (lo - hi) },
				func(x, v []float64) { frame(-math.Log(lo-v[0]*(lo-hi))*T/b, v[1], x) }
		}},
		{"half torus", 3, func(float64) (langevin.Process, func([]float64) float64, func(x, v []float64)) {
			set := made(formula.New(formula.Spec{
				Dim:        3,
				Equality:   []formula.Component{{Name: "tube", Expr: "norm([norm(x[0:2]) - 2, x[2]]) = 0.6"}},
				Inequality: []formula.Component{{Name: "half", Expr: "x[1] >= 0"}},
			}))
			cdf := func(θ float64) float64 { return (major*θ + minor*math.Sin(θ)) / (2 * math.Pi * major) }
			return langevin.Process{NoTerminal: true, Set: set}, func(x []float64) float64 {
					φ := math.Atan2(x[1], x[0]) / math.Pi
					return 2 * min(φ, 1-φ)
				},
				func(x, v []float64) {
					lo, hi := 0.0, 2*math.Pi
					for range 60 {
						if mid := (lo + hi) / 2; cdf(mid) < v[1] {
							lo = mid
						} else {
							hi = mid
						}
					}
					r, φ := major+minor*math.Cos(lo), math.Pi*v[0]
					x[0], x[1], x[2] = r*math.Cos(φ), r*math.Sin(φ), minor*math.Sin(lo)
				}
		}},
		{"simplex in R⁴", 4, func(float64) (langevin.Process, func([]float64) float64, func(x, v []float64)) {
			return langevin.Process{NoTerminal: true, Set: made(zoo.NewSimplex(4))},
				func(x []float64) float64 { return 1 - math.Pow(1-x[0], 3) },
				func(x, v []float64) {
					sum := 0.0
					for j := range 4 {
						x[j] = -math.Log(1 - v[j])
						sum += x[j]
					}
					for j := range 4 {
						x[j] /= sum
					}
				}
		}},
	}
}

// wholeTorus is the uniform law on a torus, which has no walls: U is the distribution
// function of the angle of the tube.
var wholeTorus = walled{"torus", 3, func(float64) (langevin.Process, func([]float64) float64, func(x, v []float64)) {
	set := zoo.Torus{Major: 1, Minor: 0.6}
	return langevin.Process{NoTerminal: true, Set: set}, func(x []float64) float64 {
			_, φ := set.Angles(x)
			return (φ + math.Pi + set.Minor/set.Major*math.Sin(φ)) / (2 * math.Pi)
		},
		func(x, v []float64) {
			lo, hi := -math.Pi, math.Pi
			for range 60 {
				if mid := (lo + hi) / 2; (mid+math.Pi+set.Minor/set.Major*math.Sin(mid))/(2*math.Pi) < v[0] {
					lo = mid
				} else {
					hi = mid
				}
			}
			ρ, sin, cos := set.Major+set.Minor*math.Cos(lo), math.Sin(2*math.Pi*v[1]), math.Cos(2*math.Pi*v[1])
			x[0], x[1], x[2] = ρ*cos, ρ*sin, set.Minor*math.Sin(lo)
		}
}}

// A wallChain is how chains of Stationary run.
type wallChain struct {
	chainRun
	Symmetric  bool
	Burn, Keep int
}

// wallMoments are the mean of U, which is ½, and the share of states with U below a
// twentieth, with their standard errors, and how many states a chain lost.
type wallMoments struct {
	Mean, MeanError, Edge, EdgeError float64
	Outside                          float64 // share of states with g > 0
	Report                           langevin.Report
}

// start returns the process of the chains without schedule, U, and exact draws.
func (c wallChain) start(b walled) (p langevin.Process, u func(x []float64) float64, x0 []float64) {
	T := c.Temperature()
	if c.Symmetric {
		T = 1
	}
	p, u, draw := b.Make(T)
	p.Method, p.Friction, p.Walls, p.Repulsion = c.Method, c.Friction, c.Walls, c.Repulsion
	p.Landing = langevin.Landing{Explicit: c.Explicit, Rate: 1 / c.Tau}
	p.Schedule = langevin.Schedule{N: 1, T: c.Tau, SigmaMin: 1, SigmaMax: 1}
	x0, v := make([]float64, c.Count*b.Dim), make([]float64, 4)
	s := keyed.OwnData.Stream(c.Seed, 0)
	for i := range c.Count {
		s.Uniforms(v, uint64(i), 0)
		draw(x0[i*b.Dim:(i+1)*b.Dim], v)
	}
	return p, u, x0
}

// moments are those of x. The states of each start are consecutive, and their number is the same for all starts.
func moments(x []float64, count, d int, u func(x []float64) float64) (m wallMoments) {
	n, keep := float64(count), len(x)/(count*d)
	for i := range count {
		mean, edge := 0.0, 0.0
		for t := range keep {
			w := u(x[(i*keep+t)*d:][:d])
			if w < 0 {
				m.Outside += 1 / n / float64(keep)
			}
			mean += w / float64(keep)
			if w < 0.05 {
				edge += 1 / float64(keep)
			}
		}
		m.Mean, m.MeanError = m.Mean+mean/n, m.MeanError+mean*mean/n
		m.Edge, m.EdgeError = m.Edge+edge/n, m.EdgeError+edge*edge/n
	}
	m.MeanError = math.Sqrt(max(m.MeanError-m.Mean*m.Mean, 0) / n)
	m.EdgeError = math.Sqrt(max(m.EdgeError-m.Edge*m.Edge, 0) / n)
	return m
}

// Stationary runs chains from exact draws, and returns the moments of what they keep.
func (c wallChain) Stationary(ctx context.Context, b walled, pool *parallel.Pool) (wallMoments, error) {
	p, u, x0 := c.start(b)
	run := langevin.Chains{
		Process: &p, Symmetric: c.Symmetric, Seed: c.Seed,
		Count: c.Count, Burn: c.Burn, Keep: c.Keep, Thin: max(1, c.Step),
	}
	d, err := run.Run(ctx, pool, x0)
	if err != nil {
		return wallMoments{}, err
	}
	m := moments(d.X, c.Count, b.Dim, u)
	m.Report = d.Report
	return m, nil
}

// Backward takes exact draws through c.Step backward steps with the score of the law itself, and returns the moments of
// where they end: those of the draws, but for the error of the steps.
func (c wallChain) Backward(ctx context.Context, b walled, pool *parallel.Pool) (wallMoments, error) {
	p, u, x0 := c.start(b)
	p.Schedule.N, p.Schedule.T = c.Step, float64(c.Step)*c.Tau
	score := stationary{p.Potential, p.Method.Underdamped(), c.Temperature()}
	x, failed := make([]float64, len(x0)), make([]bool, c.Count)
	report, err := langevin.NewSimulator(&p, pool, 64).Backward(ctx, x, failed, 0, c.Seed, inOrder(x0),
		func(int) langevin.Score { return score })
	if err != nil {
		return wallMoments{}, err
	}
	m := moments(x, c.Count, b.Dim, u)
	m.Report = report
	return m, nil
}

// stationary is the score of exp(−f/T): 2∇ln q = −2∇f/T, and for underdamped methods 2γ(∇_p ln q + p) = 0.
type stationary struct {
	f           langevin.Potential
	underdamped bool
	T           float64
}

func (s stationary) Eval(dst, x, _ []float64, n int, _ float64) {
	clear(dst)
	if s.f == nil || s.underdamped {
		return
	}
	s.f.Gradient(dst, x[:len(dst)], n)
	for i := range dst {
		dst[i] *= -2 / s.T
	}
}

// inOrder is the prior that gives sample i the row i.
type inOrder []float64

func (x inOrder) Sample(dst []float64, _ keyed.Stream, sample uint64) {
	copy(dst, x[int(sample)*len(dst):])
}

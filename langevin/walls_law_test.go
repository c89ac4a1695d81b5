package langevin_test

import (
	"context"
	"math"
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
// γτ from 0.01 to 5, and backward steps with the score of the law that they start from keep it, too on a torus, whose
// tube is not flat: the mean of a number that is uniform on [0, 1], and the mass of the twentieth of the law next to
// the wall. Forward 200 chains run from exact draws, backward 2000 samples take 80 steps. Each number may be off by 5.5
// standard errors (rate 4·10⁻⁸ each) and the bias of the scheme: nothing that 400 chains could see but on the cap with
// a density, where the gradient of f gives 0.03 at the first friction. The paper's walls are off by 0.05 to 0.4 in the
// mean for γτ ≤ 0.05; they run where they hold, with momenta that are forgotten in a step and ε half a step, and are
// off by what falls like √τ: up to 0.025 at the edge (history/benchmarks.md).
func TestWallsKeepTheLaw(t *testing.T) {
	pool := testkit.Pool(t, 0)
	elastic := []chainRun{
		{Method: langevin.ULLA, Tau: 0.05, Friction: 0.2}, {Method: langevin.ULLA, Tau: 0.05, Friction: 100},
		{Method: langevin.ULLAP, Tau: 0.05, Friction: 1}, {Method: langevin.OLLA, Tau: 0.005},
		{Method: langevin.OLLAP, Tau: 0.005},
	}
	paper := []chainRun{{Method: langevin.ULLA, Tau: 0.05}, {Method: langevin.OLLA, Tau: 0.0025},
		{Method: langevin.ULLAP, Tau: 0.05}, {Method: langevin.OLLAP, Tau: 0.0025}}
	for i := range paper {
		r := &paper[i]
		r.Walls, r.Friction, r.Repulsion = langevin.PaperWalls, 200, r.Tau/2
		if !r.Method.Underdamped() {
			r.Friction, r.Repulsion = 0, math.Sqrt(r.Tau)/2
		}
	}
	for i, b := range append(allWalled(), wholeTorus) {
		if testing.Short() && i != 2 {
			continue
		}
		runs, mean, edge := elastic, 0.004, 0.001
		switch b.Name {
		case "cap, exp(−3z)":
			mean, edge = 0.035, 0.009
		case "half line, Gaussian", "cap":
			runs = append(runs, paper...)
		}
		for _, r := range runs {
			mean, edge := mean, edge
			if r.Walls == langevin.PaperWalls {
				mean, edge = 0.02, 0.025
			}
			r.Count, r.Step, r.Seed = 2000, 80, 7
			laws := map[string]wallMoments{
				"backward": testkit.Must(wallChain{chainRun: r}.Backward(t.Context(), b, pool))}
			if r.Count, r.Step = 200, 4; b.Name != wholeTorus.Name {
				m := testkit.Must(wallChain{chainRun: r, Burn: 300, Keep: 100}.Stationary(t.Context(), b, pool))
				if laws["forward"] = m; r.Walls == langevin.ElasticWalls &&
					(m.Outside > 0 || m.Report.Failed > 0 || m.Report.Reflected == 0) {
					t.Errorf("%s, %v: %+v", b.Name, r.Method, m)
				}
			}
			for way, m := range laws {
				if math.Abs(m.Mean-0.5) > 5.5*m.MeanError+mean || math.Abs(m.Edge-0.05) > 5.5*m.EdgeError+edge {
					t.Errorf("%s %s, %v %v τ=%v γ=%v: mean %.4f ± %.4f, %.4f ± %.4f at the wall", b.Name, way, r.Walls,
						r.Method, r.Tau, r.Friction, m.Mean, m.MeanError, m.Edge, m.EdgeError)
				}
			}
		}
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
	Walls                    langevin.Walls
	Tau, Friction, Repulsion float64
	Count, Step              int
	Seed                     uint64
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
	p, u, draw := b.Make(T)
	p.Method, p.Friction, p.Walls, p.Repulsion = c.Method, c.Friction, c.Walls, c.Repulsion
	p.Landing = langevin.Landing{Rate: 1 / c.Tau}
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
		Process: &p, Seed: c.Seed,
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

package langevin

import (
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
)

var long = flag.Bool("long", false, "run the experiments behind the tables of docs/benchmarks.md")

// A bounded law is exp(−f) on a set with inequalities, with coordinates whose
// distribution functions are known. Each u is near 0 at an edge.
type boundedLaw struct {
	name  string
	set   constraint.Set
	f     Potential
	start []float64
	cdf   func(u, x []float64) // one or more values
	n     int                  // how many
}

func made[S constraint.Set](t *testing.T, set S, err error) constraint.Set {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// normalBetween returns the distribution function of a normal law cut to
// [lo, hi].
func normalBetween(mean, sd, lo, hi float64) func(x float64) float64 {
	Φ := func(x float64) float64 { return math.Erfc(-(x-mean)/(sd*math.Sqrt2)) / 2 }
	return func(x float64) float64 { return (Φ(x) - Φ(lo)) / (Φ(hi) - Φ(lo)) }
}

// boundedLaws are truncated Gaussians on a half line and a box, and uniform laws
// on a cap of S² (its height is uniform) and on a simplex (1 − (1 − x_j)³ is).
// The Gaussians have temperature T: exp(−f/T).
func boundedLaws(t *testing.T, T float64) []boundedLaw {
	half, err := zoo.NewBox([]float64{0}, nil)
	box, err2 := zoo.NewBox([]float64{-0.5, 0}, []float64{1, 2})
	cap, err3 := zoo.NewCap([]float64{0, 0, 1}, 0.2)
	simplex, err4 := zoo.NewSimplex(4)
	inf := math.Inf(1)
	sd := math.Sqrt(T)
	line, x, y := normalBetween(0, sd, 0, inf), normalBetween(0.3, sd, -0.5, 1), normalBetween(0.5, sd/2, 0, 2)
	return []boundedLaw{
		{"half line", made(t, half, err), Quadratic{}, []float64{0.5}, func(u, p []float64) { u[0] = line(p[0]) }, 1},
		{
			"box", made(t, box, err2), Quadratic{Center: []float64{0.3, 0.5}, Weight: []float64{1, 4}}, []float64{0.3, 0.5},
			func(u, p []float64) { u[0], u[1] = x(p[0]), y(p[1]) }, 2,
		},
		{"cap", made(t, cap, err3), nil, []float64{0, 0, 1}, func(u, p []float64) { u[0] = (p[2]/math.Sqrt(p[0]*p[0]+p[1]*p[1]+p[2]*p[2]) - 0.2) / 0.8 }, 1},
		{"simplex", made(t, simplex, err4), nil, []float64{0.25, 0.25, 0.25, 0.25}, func(u, p []float64) { u[0] = 1 - math.Pow(1-p[0], 3) }, 1},
	}
}

// A boundaryRun is one chain of steps of a law, from one point.
type boundaryRun struct {
	method      Method
	explicit    bool
	τ, γ, ε     float64
	count, step int
	seed        uint64
}

// run returns the values of the distribution functions of independent chains'
// last states, coordinate by coordinate.
func (r boundaryRun) run(t *testing.T, law boundedLaw) [][]float64 {
	t.Helper()
	p := &Process{
		Set: law.set, Method: r.method, Friction: r.γ, Repulsion: r.ε, Potential: law.f,
		Landing:  Landing{Implicit: !r.explicit, Rate: 1 / r.τ},
		Schedule: Schedule{N: 1, T: r.τ, SigmaMin: 1, SigmaMax: 1},
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	x0 := make([]float64, 0, r.count*len(law.start))
	for range r.count {
		x0 = append(x0, law.start...)
	}
	draws := chains(t, Chains{Process: p, Count: r.count, Burn: r.step - 1, Keep: 1, Seed: r.seed}, x0)
	if draws.Report.Failed > 0 {
		t.Fatalf("%s, %v: %d chains failed", law.name, r.method, draws.Report.Failed)
	}
	out := make([][]float64, law.n)
	u, d := make([]float64, law.n), len(law.start)
	for i := range r.count {
		law.cdf(u, draws.X[i*d:(i+1)*d])
		for j, v := range u {
			out[j] = append(out[j], min(max(v, 0), 1))
		}
	}
	return out
}

// edge returns the share of samples in the 5 % of the law next to an edge.
func edge(u []float64) float64 {
	n := 0
	for _, v := range u {
		if v < 0.05 {
			n++
		}
	}
	return float64(n) / float64(len(u))
}

// temperature returns T such that the method, without the bounds, samples
// exp(−f/T) of a quadratic f with its first-order steps of size τ
// (TestStationaryCovariance); with a = exp(−γτ) → 0 that is ½ for ULLA.
func (r boundaryRun) temperature() float64 {
	if !r.method.Underdamped() {
		return 1 / (1 - r.τ/4)
	}
	a := math.Exp(-r.γ * r.τ)
	return (1 + a) / 2 / (1 - r.τ*r.τ/(2*(1+a)))
}

// The laws of OLLA, ULLA and their projected variants with inequalities: last
// states of 1000 independent chains from one inner point, so the samples are
// independent. KS at level 1e-6 for each of 20 numbers (critical value
// 2.69/√1000 = 0.085), plus 0.025 for the step: a step that leaves Σ comes back
// to ε inside, which with ε half a step's length leaves a bias that falls like
// √τ. It was measured with 20 000 chains before the steps were chosen: for OLLA
// with τ = 0.01 it is 0.019 on the half line and the box, 0.034 on the cap, 0.053
// on the simplex, and half of that with τ/4. ULLA is run with γτ = 10, so its
// momentum is forgotten in a step; its positions then are OLLA's with τ².
//
// What the test can see: a law without bounds would score 0.5 on the half line,
// ε = 0 (chains stick at the edge, since g = 0 is active) 0.96, an edge shifted
// by three lengths of a step 0.17.
func TestBoundedLaws(t *testing.T) {
	critical := 2.69/math.Sqrt(1000) + 0.025
	step := map[string]struct {
		τ     float64 // of OLLA
		count int
	}{"half line": {0.005, 1000}, "box": {0.005, 600}, "cap": {0.003, 600}, "simplex": {0.001, 1200}}
	for _, m := range []Method{OLLA, ULLA, OLLAP, ULLAP} {
		r := boundaryRun{method: m, count: 1000, seed: 11}
		for i := range boundedLaws(t, 1) {
			law := boundedLaws(t, 1)[i]
			r.τ, r.step = step[law.name].τ, step[law.name].count
			if m.Underdamped() {
				r.τ = math.Sqrt(r.τ)
				r.γ, r.ε = 10/r.τ, r.τ/2
			} else {
				r.ε = math.Sqrt(r.τ) / 2
			}
			law = boundedLaws(t, r.temperature())[i]
			for j, u := range r.run(t, law) {
				if dist := ks(u); dist > critical {
					t.Errorf("%v on the %s, coordinate %d: KS distance %.3f, critical %.3f", m, law.name, j, dist, critical)
				}
			}
		}
	}
}

// The table "mass near the boundary against ε" of docs/benchmarks.md.
func TestMassNearBoundary(t *testing.T) {
	if !*long {
		t.Skip("an experiment: run it with -long -v")
	}
	for _, c := range []boundaryRun{
		{method: OLLA, τ: 0.005, step: 1000}, {method: OLLA, explicit: true, τ: 0.005, step: 1000}, {method: OLLAP, τ: 0.005, step: 1000},
		{method: ULLA, τ: 0.07, γ: 143, step: 600}, {method: ULLAP, τ: 0.07, γ: 143, step: 600}, {method: ULLA, τ: 0.07, γ: 1, step: 150},
	} {
		c.count, c.seed = 4000, 12
		length := c.τ // of a step
		if !c.method.Underdamped() {
			length = math.Sqrt(c.τ)
		}
		for _, share := range []float64{0, 0.1, 0.25, 0.5, 1, 2} {
			c.ε = share * length
			line := fmt.Sprintf("%v explicit=%v τ=%v γ=%v ε=%.2f steps:", c.method, c.explicit, c.τ, c.γ, share)
			for _, law := range boundedLaws(t, c.temperature())[:3] {
				u := c.run(t, law)[law.n-1]
				line += fmt.Sprintf("  %s %.3f (KS %.3f)", law.name, edge(u), ks(u))
			}
			t.Log(line)
		}
	}
}

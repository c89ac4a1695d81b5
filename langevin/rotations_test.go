package langevin

import (
	"context"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// From the identity, all methods reach Haar measure on SO(n): traces of the last states of independent chains on SO(5)
// against E tr X = 0, E(tr X)² = 1 and E tr X² = 1, with det > 0. The slowest of them, tr X, decays like exp(−t) in
// OLLA's time: ΔX = −(n−1)/2 X, and the process has half of that. 5 exp(−6) = 0.012 is left at t = 6; a step of ULLA
// with a = exp(−γτ) counts for τ²(1+a)/(1−a). Bounds of 5 standard errors (level 6e-7 each) plus 0.05 for what is left
// and for the step. A chain that never left the identity scores 5, one with half of OLLA's time 0.25, near the bound of
// 0.2.
func TestHaarFromAPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("a law, for seconds")
	}
	const n, count = 5, 1200
	group := testkit.Must(zoo.NewOrthogonal(n, zoo.OrthogonalOptions{Special: true}))
	x0 := make([]float64, count*n*n)
	for i := range count {
		for j := range n {
			x0[i*n*n+j*n+j] = 1
		}
	}
	for _, c := range []struct {
		method Method
		τ, γ   float64
		steps  int
	}{{OLLA, 0.04, 0, 150}, {ULLA, 0.2, 5, 75}, {OLLAP, 0.04, 0, 150}, {ULLAP, 0.2, 5, 75}} {
		p := &Process{
			Set: group, Method: c.method, Friction: c.γ, NoTerminal: true,
			Schedule: Schedule{N: 1, T: c.τ, SigmaMin: 1, SigmaMax: 1},
		}
		testkit.OK(t, p.Validate())
		draws := chains(t, Chains{Process: p, Count: count, Burn: c.steps - 1, Keep: 1, Seed: 21}, x0)
		if draws.Report.Failed > 0 {
			t.Errorf("%v: %d failed chains", c.method, draws.Report.Failed)
		}
		var sum, squares [3]float64
		for i := range count {
			x := draws.X[i*n*n : (i+1)*n*n]
			if !group.Selects(x) {
				t.Fatalf("%v: chain %d has crossed to det < 0", c.method, i)
			}
			tr, tr2 := 0.0, 0.0
			for j := range n {
				tr += x[j*n+j]
				for k := range n {
					tr2 += x[j*n+k] * x[k*n+j]
				}
			}
			for k, v := range []float64{tr, tr * tr, tr2} {
				sum[k] += v
				squares[k] += v * v
			}
		}
		for k, want := range []float64{0, 1, 1} {
			mean := sum[k] / count
			se := math.Sqrt((squares[k]/count - mean*mean) / count)
			if math.Abs(mean-want) > 5*se+0.05 {
				t.Errorf("%v: %s = %.3f ± %.3f, want %v", c.method, []string{"E tr X", "E(tr X)²", "E tr X²"}[k], mean,
					se, want)
			}
		}
	}
}

func BenchmarkSO10Forward(b *testing.B) {
	group := testkit.Must(zoo.NewOrthogonal(10, zoo.OrthogonalOptions{Special: true}))
	const count = 200
	p := &Process{
		Set: group, Method: ULLA, Friction: 10, Landing: Landing{Explicit: true, Rate: 10},
		Schedule: Schedule{N: 50, T: 2.5, SigmaMin: 0.2, SigmaMax: 2, Geometric: true},
	}
	x0 := testkit.Must(Start(b.Context(), p, count, 1))
	pool := testkit.Pool(b, 2)
	sim := NewSimulator(p, pool, 50)
	var paths Paths
	for b.Loop() {
		testkit.Must(sim.Forward(context.Background(), &paths, x0, 1, 0))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*count*p.Schedule.N), "ns/step")
}

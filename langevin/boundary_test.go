package langevin_test

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

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

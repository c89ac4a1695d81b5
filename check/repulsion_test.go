package check

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/parallel"
)

// interval is [0, 1].
func interval() *set {
	return equality(1).add("low", linear(0, -1)).add("high", linear(1, 1))
}

// kolmogorov returns the largest distance of the distribution function of long
// unlearned chains on [0, 1] to that of the uniform law, and the share of draws
// outside.
func kolmogorov(t testing.TB, p *langevin.Process, pool *parallel.Pool) (distance, outside float64) {
	t.Helper()
	const chains = 64
	c := &langevin.Chains{Process: p, Count: chains, Burn: 2000, Keep: 400, Thin: 20, Seed: 1}
	x0 := make([]float64, chains)
	for i := range x0 {
		x0[i] = (float64(i) + 0.5) / chains
	}
	draws, err := c.Run(context.Background(), pool, x0)
	if err != nil {
		t.Fatal(err)
	}
	x := slices.Clone(draws.X)
	slices.Sort(x)
	n := float64(len(x))
	for i, v := range x {
		if v < 0 || v > 1 {
			outside += 1 / n
		}
		u := min(max(v, 0), 1)
		distance = max(distance, math.Abs(u-float64(i)/n), math.Abs(u-float64(i+1)/n))
	}
	return distance, outside
}

func constant(method langevin.Method, τ, ρ, γ float64) *langevin.Process {
	return &langevin.Process{Set: interval(), Method: method, Friction: γ, Landing: langevin.Landing{Explicit: true, Rate: ρ / τ},
		Schedule: langevin.Schedule{N: 1, T: τ, SigmaMin: 1, SigmaMax: 1}}
}

// The ε that is recommended gives the uniform law on an interval to within 0.03;
// ten times less sticks and five times more leaves edges empty or throws points
// out, both by more than twice that distance. The chains have some 3000
// independent draws, so the noise of a distance is about 0.01; a false alarm needs
// five of those, a rate below 1e-6. The seeds are fixed.
func TestRecommendedRepulsion(t *testing.T) {
	pool := parallel.New(2)
	defer pool.Close()
	for _, c := range []struct {
		method  langevin.Method
		τ, ρ, γ float64
	}{{langevin.OLLA, 0.0025, 1, 1}, {langevin.OLLA, 0.0025, 0.3, 1}, {langevin.ULLA, 0.05, 1, 1}, {langevin.ULLA, 0.05, 0.3, 1}} {
		p := constant(c.method, c.τ, c.ρ, c.γ)
		ε, reason := ChooseRepulsion(p, nil, 1, pool)
		step := c.τ
		if !c.method.Underdamped() {
			step = math.Sqrt(c.τ)
		}
		if want := step / c.ρ; math.Abs(ε/want-1) > 1e-9 {
			t.Errorf("%v: ε = %v (%s), want s/ρ = %v", c.method, ε, reason, want)
		}
		var d [3]float64
		for i, f := range []float64{0.1, 1, 5} {
			p.Repulsion = f * ε
			d[i], _ = kolmogorov(t, p, pool)
		}
		if d[1] > 0.03 || d[0] < 2*d[1] || d[2] < 2*d[1] {
			t.Errorf("%v, ρ = %v: distances %.4f at ε/10, %.4f at ε, %.4f at 5ε", c.method, c.ρ, d[0], d[1], d[2])
		}
	}
}

package law

import (
	"context"

	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/parallel"
)

// An Interval is long unlearned chains on [0, 1] with steps of τ that land the
// share ρ.
type Interval struct {
	Method             langevin.Method
	Tau, Rho, Friction float64
}

// Process returns that of the chains, with ε = 0.
func (c Interval) Process() *langevin.Process {
	return &langevin.Process{
		Set: made(zoo.NewBox([]float64{0}, []float64{1})), Method: c.Method, Friction: c.Friction,
		Walls:   langevin.PaperWalls,
		Landing: langevin.Landing{Explicit: true, Rate: c.Rho / c.Tau}, NoTerminal: true,
		Schedule: langevin.Schedule{N: 1, T: c.Tau, SigmaMin: 1, SigmaMax: 1},
	}
}

// Best returns the ε with ρε = s, the length of a step.
func (c Interval) Best() float64 { return length(c.Method, c.Tau) / c.Rho }

// Distance returns the largest distance of the distribution function of the draws
// of 64 chains to that of the uniform law, and the share of draws outside.
func (c Interval) Distance(ctx context.Context, ε float64, draws int, pool *parallel.Pool) (distance,
	outside float64, err error) {
	const count = 64
	p := c.Process()
	p.Repulsion = ε
	chains := &langevin.Chains{Process: p, Count: count, Burn: 5 * draws, Keep: draws, Thin: 20, Seed: 1}
	x0 := make([]float64, count)
	for i := range x0 {
		x0[i] = (float64(i) + 0.5) / count
	}
	d, err := chains.Run(ctx, pool, x0)
	if err != nil {
		return 0, 0, err
	}
	u := make([]float64, len(d.X))
	for i, v := range d.X {
		if v < 0 || v > 1 {
			outside += 1 / float64(len(u))
		}
		u[i] = min(max(v, 0), 1)
	}
	return Kolmogorov(u), outside, nil
}

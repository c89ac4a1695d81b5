package experiment

import (
	"context"
	"slices"

	"github.com/landing-diffusion/landing/choose"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/problem"
)

// resolve returns the problem and its process with numbers in place of what is auto,
// and notes of them, as package choose says from data that may be nil. Walls are named
// where there are any.
func resolve(
	ctx context.Context, p *problem.Problem, proc *langevin.Process, data []float64, pool *parallel.Pool,
) (*problem.Problem, *langevin.Process, []choose.Choice) {
	chosen := slices.Clone(p.Chosen())
	q, next := *p, *proc
	if p.Process.Landing.Rate.IsAuto() { // Assemble chose it
		α, reason := choose.Rate(proc)
		chosen = append(chosen, choose.Choice{Key: problem.KeyProcessLandingRate, Value: α, Reason: reason})
		q.Process.Landing.Rate = problem.Choice(α)
	}
	if p.Process.Walls == "" && len(proc.Set.Inequalities()) > 0 {
		q.Process.Walls = proc.Walls.String()
	}
	if p.RepulsionIsAuto(len(proc.Set.Inequalities()) > 0 && !proc.Elastic()) {
		ε, reason := choose.Repulsion(ctx, proc, data, p.Seed, pool)
		chosen = append(chosen, choose.Choice{Key: problem.KeyProcessRepulsion, Value: ε, Reason: reason})
		next.Repulsion, q.Process.Repulsion = ε, problem.Choice(ε)
	}
	return &q, &next, chosen
}

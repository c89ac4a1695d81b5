package experiment

import (
	"github.com/landing-diffusion/landing/check"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/run"
)

// resolve returns the problem and its process with numbers in place of what is auto,
// and notes of them: the landing rate by langevin.Process.MonotoneRate, the repulsion
// by check.ChooseRepulsion, from data that may be nil.
func resolve(p *problem.Problem, proc *langevin.Process, data []float64, pool *parallel.Pool) (*problem.Problem, *langevin.Process, []run.Choice) {
	var chosen []run.Choice
	q, next := *p, *proc
	if p.Process.Landing.Rate.IsAuto() { // Assemble chose it
		chosen = append(chosen, run.Choice{Key: "process.landing.rate", Value: proc.Landing.Rate,
			Reason: "the largest α with ασ_k²Δt ≤ 1 at every step"})
		q.Process.Landing.Rate = problem.Choice(proc.Landing.Rate)
	}
	if p.Process.Repulsion.IsAuto() {
		ε, reason := check.ChooseRepulsion(proc, data, p.Seed, pool)
		chosen = append(chosen, run.Choice{Key: "process.repulsion", Value: ε, Reason: reason})
		next.Repulsion, q.Process.Repulsion = ε, problem.Choice(ε)
	}
	return &q, &next, chosen
}

package experiment

import (
	"context"
	"errors"
	"fmt"

	"github.com/landing-diffusion/landing/check"
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/run"
)

// A CheckError says that the doctor found something that cannot work.
type CheckError struct{ Failed int }

func (e *CheckError) Error() string {
	if e.Failed == 1 {
		return "1 check failed"
	}
	return fmt.Sprintf("%d checks failed", e.Failed)
}

// Examine has the doctor look at the problem: its set, its data if it names any,
// and its process, which need not be able to run. It writes nothing. A
// *CheckError, returned beside the report, says that something failed; other
// errors are those of New that leave nothing to look at.
func Examine(ctx context.Context, p *problem.Problem, pool *parallel.Pool) (*check.Report, error) {
	proc, err := p.Assemble()
	if err != nil {
		return nil, err
	}
	var config *langevin.ConfigError
	if invalid := proc.Validate(); errors.As(invalid, &config) && config.Field != "landing.rate" {
		_, err := p.Build()
		return nil, err
	}
	e := &Experiment{Problem: p, Process: proc, Pool: pool}
	if p.Data.Kind == "demo" || p.Data.Path != "" {
		if err := e.load(); err != nil {
			return nil, err
		}
	}
	in := check.Input{Process: proc, Tolerance: p.Data.Tolerance, Uniform: p.Prior == "uniform", Seed: p.Seed}
	if e.Data != nil {
		in.Data = e.Data.X
	}
	chosen := e.choose()
	if e.Data != nil && proc.Validate() == nil {
		if _, err := p.Build(); err != nil { // keys of training
			return nil, err
		}
		m := p.Method(proc)
		in.Training = &check.Training{
			Config: p.TrainConfig(), Rows: len(dataset.RandomSplit(e.Data.N, p.Data.SplitSeed).Train),
			Method: m, Network: p.NetworkConfig(m, proc.Set.Dim()),
		}
	}
	r, err := check.Run(ctx, in, pool)
	if err != nil {
		return nil, err
	}
	for _, c := range chosen {
		r.Findings = append(r.Findings, check.Finding{Check: "auto", Numbers: check.Numbers{"value": c.Value}, Message: fmt.Sprintf("%s: auto is %.4g: %s", c.Key, c.Value, c.Reason)})
	}
	if n := r.Count(check.Fail); n > 0 {
		return r, &CheckError{n}
	}
	return r, nil
}

// choose replaces what is auto in the problem and its process by numbers, and
// notes them: the landing rate by langevin.Process.MonotoneRate, the repulsion by
// check.ChooseRepulsion.
func (e *Experiment) choose() []run.Choice {
	p := &e.Problem.Process
	if p.Landing.Rate.IsAuto() {
		e.Chosen = append(e.Chosen, run.Choice{Key: "process.landing.rate", Value: e.Process.Landing.Rate, Reason: "the largest α with ασ_k²Δt ≤ 1 at every step"})
		p.Landing.Rate = problem.Choice(e.Process.Landing.Rate)
	}
	if p.Repulsion.IsAuto() {
		var data []float64
		if e.Data != nil {
			data = e.Data.X
		}
		ε, reason := check.ChooseRepulsion(e.Process, data, e.Problem.Seed, e.Pool)
		e.Chosen = append(e.Chosen, run.Choice{Key: "process.repulsion", Value: ε, Reason: reason})
		e.Process.Repulsion, p.Repulsion = ε, problem.Choice(ε)
	}
	return e.Chosen
}

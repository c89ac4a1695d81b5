package check

import (
	"context"
	"slices"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/langevin/evidence"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/learn/method"
)

// Evidence is what the checks look at. Nothing changes it once it is gathered.
type Evidence struct {
	*evidence.Evidence
	Tolerance float64
	Uniform   bool
	Training  *Training
	stranger  method.Method // which does not follow the process; nil if the method does

	ctx        context.Context       // ends the checks
	data       *evidence.Feasibility // how far it is from Σ; nil with a tolerance, or without data
	far        []float64             // of its rows from each component alone, n×C, in its unit
	approaches []approach            // how each component behaves where it holds
	flat       []bool                // components whose gradient vanishes there
	windows    []choose.Window       // of inequalities
	ends       ends                  // of paths from the data
	trial      trial                 // of training
}

// gather gathers the evidence of an input. The error is the context's.
func gather(ctx context.Context, in Input, pool *parallel.Pool) (*Evidence, error) {
	stranger := in.Method
	if stranger != nil && stranger.Capabilities().Follows != nil {
		stranger = nil
	}
	e := &Evidence{
		Evidence: evidence.Gather(ctx, evidence.Case{Process: in.Process, Data: in.Data, Still: stranger != nil,
			Seed: in.Seed}, pool),
		Tolerance: in.Tolerance, Uniform: in.Uniform, Training: in.Training, stranger: stranger,
	}
	e.ctx = ctx
	e.measure(pool)
	e.approaches = approaches(e.Evidence)
	for i, a := range e.approaches {
		e.flat = append(e.flat, a.fault(i < e.M) != "")
	}
	if e.judgesRepulsion() {
		e.windows = choose.Windows(e.Evidence)
	}
	if ctx.Err() == nil {
		e.ends = e.finish(ctx, pool)
		e.trial = e.try(ctx, pool)
	}
	return e, ctx.Err()
}

func (e *Evidence) anyFlat() bool { return slices.Contains(e.flat, true) }

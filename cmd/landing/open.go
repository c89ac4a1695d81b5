package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/experiment"
)

// open loads a run and says what the user should know of it.
func (a *app) open(ctx context.Context, dir, data string) (*experiment.Run, error) {
	report, done := a.out.preparing()
	r, err := experiment.Open(ctx, dir, data, a.workersPool(), report)
	done()
	if err != nil {
		return nil, err
	}
	if r.Warning != "" {
		a.out.say("note: %s", r.Warning)
	}
	warnOfFaults(&a.out, r.Loaded)
	return r, nil
}

// openToDraw is open for drawing samples, which may do without the data.
func (a *app) openToDraw(ctx context.Context, dir, data string) (*experiment.Run, error) {
	report, done := a.out.preparing()
	r, err := experiment.OpenToDraw(ctx, dir, data, a.workersPool(), report)
	done()
	if err != nil {
		return nil, err
	}
	if r.Warning != "" {
		a.out.say("note: %s", r.Warning)
	}
	if r.Bare {
		a.out.say("note: %s is not there: drawn from what the run folder keeps", r.Problem.Data.Path)
		return r, nil
	}
	warnOfFaults(&a.out, r.Loaded)
	return r, nil
}

// warnOfFaults says what is wrong with files that the domain reads, and that data is
// too little to tell samples from copies.
func warnOfFaults(out *console, l *experiment.Loaded) {
	if len(l.HeldOutRows) == 0 {
		out.say("warning: %d data points are too few to hold any out: nothing can tell whether samples are "+
			"copies of them", l.Data.N)
	}
	for _, fault := range l.Domain.Faults {
		out.say("warning: %s", fault)
	}
}

// movedFlag is that of verbs that open a run, whose data may be elsewhere now.
func movedFlag(f *pflag.FlagSet, data *string) {
	f.StringVar(data, "data", "", "the run's data file, if it has moved")
}

// checkpointFlag is that of verbs that draw by a run, or tell of what it learned.
func checkpointFlag(f *pflag.FlagSet, name *string) {
	f.StringVar(name, "checkpoint", "", "checkpoint to use (default: the best by held-out distances, or "+
		"the newest)")
}

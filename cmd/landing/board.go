package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/export"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/text"
)

// A board is --tensorboard of train, whose folder may be left out.
type board struct{ dir *string }

// inRun is what stands for a folder that is left out.
const inRun = "RUN/" + run.EventsDir

func (b *board) String() string { return "" }

func (b *board) Type() string { return "DIR" }

func (b *board) Set(dir string) error {
	if dir == inRun {
		dir = ""
	} else if dir == "" {
		return fmt.Errorf("expected a folder, or --tensorboard alone for %s", inRun)
	}
	b.dir = &dir
	return nil
}

func (b *board) flags(f *pflag.FlagSet) {
	f.Var(b, "tensorboard", "write events for TensorBoard into the run folder, or into a new folder in DIR "+
		"(default of a run folder: where they were written)")
	f.Lookup("tensorboard").NoOptDefVal = inRun
}

// hint adds to an error of arguments that a folder of events stands behind an equals sign, if that may be why.
func (b *board) hint(err error, given []string) error {
	if err != nil && b.dir != nil && *b.dir == "" && len(given) == 2 {
		return &usageError{fmt.Errorf("%w; a folder of events stands behind an equals sign: --tensorboard=%s", err,
			given[1])}
	}
	return err
}

// observe has a training write events, if it is to.
func (b board) observe(out *console, r *experiment.Run, o experiment.Observer) (experiment.Observer, func(), error) {
	to, err := export.NewBoard(r, b.dir, func(err error) {
		out.say("warning: no more events for TensorBoard are written: %v", err)
	})
	if err != nil || to == nil {
		return o, func() {}, err
	}
	out.say("events: tensorboard --logdir %s shows them", text.Shell(to.Dir))
	return to.Observer(o), to.Close, nil
}

package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// demoOptions are the flags of demo.
type demoOptions struct {
	source
	place
}

func (o *demoOptions) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.settings, "set", nil, "replace one key, as in train.epochs=50 (repeatable)")
	o.place.flags(f)
}

func demoVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "demo",
		Short: "Train, generate, evaluate and report on a week of earthquakes",
		Long: `demo trains ULLA on earthquakes that ship in the binary, generates as many samples, evaluates
them, and leaves a run folder with a map and a report. It takes half a minute on two cores.`,
		Example: "  landing demo",
	}, new(demoOptions), runDemo)
}

func runDemo(ctx context.Context, a *app, o *demoOptions, _ []string) (answer, error) {
	r, err := a.begin(ctx, "demo", &o.source, &o.place)
	if err != nil {
		return answer{}, err
	}
	if _, err := a.fit(ctx, r, "", board{}); err != nil {
		return answer{}, err
	}
	return a.judge(ctx, r, &judgement{report: true})
}

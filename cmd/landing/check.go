package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/problem/check"
)

// checkOptions are the flags of check.
type checkOptions struct {
	source
	why bool
}

func (o *checkOptions) flags(f *pflag.FlagSet) {
	o.source.flags(f)
	f.BoolVar(&o.why, "why", false, "say of each key that follows from the data why it is what it is")
}

func checkVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "check PROBLEM",
		Short: "Examine a problem's constraints, data and process before training",
		Long: `check examines the set, the data and the process of a problem. It prints PASS, WARN or FAIL for each
component, or SKIP where nothing could be compared. It finds infeasible data, redundant or conflicting
constraints, gradients that vanish on the set, and kinks. It finds unsuitable rates, steps that leave the set,
disconnected parts, and paths that end short of the prior. It forecasts the cost of training. It writes nothing.

The exit code is 4 if anything failed. PROBLEM is a recipe (landing recipes) or a YAML file. Without
data, points that random starts reach stand in for it.`,
		Example: "  landing check volcano --data volcano.csv\n  landing check problem.yaml --json",
	}, new(checkOptions), runCheck)
}

func runCheck(ctx context.Context, a *app, o *checkOptions, args []string) (answer, error) {
	p, _, err := o.load(args[0])
	if err != nil {
		return answer{}, err
	}
	report, done := a.out.preparing()
	r, failed := experiment.Examine(ctx, p, a.workersPool(), report)
	done()
	if r == nil {
		return answer{}, failed
	}
	r.Why = o.why
	if colored(a.out.stdout) && !a.out.json {
		var b bytes.Buffer
		legible(r).Write(&b, true) // into memory
		_, err := io.WriteString(a.out.stdout, text.Fold(b.String(), columns(a.out.stdout)))
		return answer{}, errors.Join(failed, unlessLeft(err))
	}
	return answer{examined{p.Name, r.Status(), r}, func(w io.Writer) { r.Write(w, false) }}, failed // into memory
}

// examined is what check prints.
type examined struct {
	Problem string       `json:"problem"`
	Status  check.Status `json:"status"`
	*check.Report
}

// legible returns a report whose text has no control characters, to be written with
// those of colours.
func legible(r *check.Report) *check.Report {
	out := *r
	out.Set, out.Findings = text.Line(r.Set), slices.Clone(r.Findings)
	for i := range out.Findings {
		f := &out.Findings[i]
		f.Component, f.Message = text.Line(f.Component), text.Line(f.Message)
	}
	return &out
}

package main

import (
	"errors"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/landing-diffusion/landing/check"
	"github.com/landing-diffusion/landing/experiment"
)

func (a *app) check() *cobra.Command {
	var src source
	var why bool
	cmd := &cobra.Command{
		Use:   "check PROBLEM",
		Short: "Examine a problem's constraints, data and process before training",
		Long: `check is the doctor for constraints. It looks at the set, the data and the
process of a problem and prints PASS, WARN or FAIL for each component (SKIP where nothing
could be compared): wrong
derivatives, infeasible data, redundant or conflicting constraints, gradients
that vanish on the set, kinks, landing and repulsion rates, the offset that steps
leave, disconnected parts, paths that end short of the prior, and what training
will cost. It writes nothing.

The exit code is 4 if anything failed. PROBLEM is a recipe (landing recipes) or a
YAML file; without data, points that random starts reach stand in for it.`,
		Example: "  landing check volcano --data volcano.csv\n  landing check problem.yaml --json",
		Args:    args(1, "a recipe or a problem file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, _, err := src.load(args[0])
			if err != nil {
				return err
			}
			r, failed := experiment.Examine(cmd.Context(), p, a.workersPool())
			if r == nil {
				return failed
			}
			r.Why = why
			if colored(a.stdout) && !a.json {
				return errors.Join(failed, legible(r).Write(a.stdout, true))
			}
			var written error
			printed := a.result(examined{p.Name, r.Status(), r}, func(w io.Writer) { written = r.Write(w, false) })
			return errors.Join(failed, printed, written)
		},
	}
	src.flags(cmd.Flags())
	cmd.Flags().BoolVar(&why, "why", false, "say of each key that follows from the data why it is what it is")
	return cmd
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
	out.Set, out.Findings = oneLine(r.Set), slices.Clone(r.Findings)
	for i := range out.Findings {
		f := &out.Findings[i]
		f.Component, f.Message = oneLine(f.Component), oneLine(f.Message)
	}
	return &out
}

// colored reports whether a stream is a terminal that takes colours.
func colored(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" && os.Getenv("NO_COLOR") == ""
}

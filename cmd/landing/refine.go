package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/experiment"
)

// refined is what refine prints.
type refined struct {
	*experiment.Refined
	File string `json:"file"`
}

// refineOptions are the flags of refine.
type refineOptions struct {
	source
	outFile
	within float64
	move   float64
}

func (o *refineOptions) flags(f *pflag.FlagSet) {
	o.source.flags(f)
	o.outFile.flags(f, "refined.npy", "file to write: .npy, .csv, or .pdb, .xyz, .sdf, .dcd")
	f.Float64Var(&o.within, "within", 0.1, "largest violation of an equality, in its unit (angles: radians)")
	f.Float64Var(&o.move, "move", 0.3, "of molecules: largest move, root mean square over atoms, Å; 0: any")
}

func refineVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "refine PROBLEM",
		Short: "Bring data that is near a set to it",
		Long: `refine moves each row of a problem's data to the set, by Newton steps along the normal directions. It
writes the rows to a file of any kind that generate writes. It leaves out, and counts, rows that violate an equality
by more than --within, or an inequality by more than data.tolerance.

A conformation whose torsion would turn by more than 60° is refused, as is one beyond --move.`,
		Example: "  landing refine alanine --data trajectory.pdb -o frames.npy",
	}, new(refineOptions), runRefine)
}

// check looks at the flags.
func (o *refineOptions) check(func(flag string) bool, []string) error {
	return bounds(bound{"within", o.within > 0 && !math.IsInf(o.within, 0), o.within, "a number above 0"},
		bound{"move", o.move >= 0, o.move, "a number of Å, 0 for any"})
}

func runRefine(ctx context.Context, a *app, o *refineOptions, args []string) (answer, error) {
	ext, err := o.ready(kinds.Extensions()...)
	if err != nil {
		return answer{}, err
	}
	p, _, err := o.load(args[0])
	if err != nil {
		return answer{}, err
	}
	r, err := experiment.Refine(ctx, p, o.within, o.move, a.workersPool())
	if err != nil {
		return answer{}, err
	}
	for _, fault := range r.Domain.Faults {
		a.out.say("warning: %s", fault)
	}
	write := r.Domain.Writer(ext)
	if write == nil {
		return answer{}, noWriter(o.path)
	}
	_, err = o.save(func(w io.Writer) error { return write(w, arrayfile.RowsOf(r.X, r.Dim)) })
	return answer{refined{r, o.path}, func(w io.Writer) {
		fmt.Fprintf(w, "%d of %d rows in %s: moved by %.3g (median), %.3g (worst, row %d)%s; worst violation "+
			"%.2g\n", r.Kept, r.Points, o.path, float64(r.Moved.Median), float64(r.Moved.Worst), r.Moved.Row,
			strings.TrimRight(" "+r.Moved.Unit, " "), float64(r.Violation))
		if r.Kept < r.Points {
			fmt.Fprintf(w, "left out: %s\n", r.Losses())
		}
	}}.unless(err)
}

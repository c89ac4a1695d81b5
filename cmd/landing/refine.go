package main

import (
	"context"
	"fmt"
	"io"
	"math"

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
	out    string
	within float64
	force  bool
}

func (o *refineOptions) flags(f *pflag.FlagSet) {
	o.source.flags(f)
	f.StringVarP(&o.out, "output", "o", "refined.npy", "file to write: .npy, .csv, or .pdb, .xyz, .sdf, .dcd")
	f.Float64Var(&o.within, "within", 0.1, "largest violation of an equality, in its unit (angles: radians)")
	f.BoolVar(&o.force, "force", false, "write over the file if it exists")
}

func refineVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "refine PROBLEM",
		Short: "Bring data that is near a set to it",
		Long: `refine moves each row of a problem's data to the set, by Newton steps along the normal directions,
and writes the rows to a file of any kind that generate writes. It leaves out, and counts, rows that
violate an equality by more than --within, or an inequality by more than data.tolerance: these would
all come to the edge.`,
		Example: "  landing refine alanine --data trajectory.pdb -o frames.npy",
		Args:    args(1, "a recipe or a problem file"),
	}, new(refineOptions), runRefine)
}

func runRefine(ctx context.Context, a *app, o *refineOptions, args []string) (answer, error) {
	if !(o.within > 0) || math.IsInf(o.within, 0) {
		return answer{}, badFlag("within", o.within, "a number above 0")
	}
	ext, err := extension("output", o.out, kinds.Extensions()...)
	if err != nil {
		return answer{}, err
	}
	p, _, err := o.load(args[0])
	if err != nil {
		return answer{}, err
	}
	if err := output(o.out, ext, o.force); err != nil {
		return answer{}, err
	}
	r, err := experiment.Refine(ctx, p, o.within, a.workersPool())
	if err != nil {
		return answer{}, err
	}
	for _, fault := range r.Domain.Faults {
		a.out.say("warning: %s", fault)
	}
	write := r.Domain.Writer(ext)
	if write == nil {
		return answer{}, noWriter(o.out)
	}
	if _, err := save(o.out, func(w io.Writer) error { return write(w, arrayfile.RowsOf(r.X, r.Dim)) },
		o.force); err != nil {
		return answer{}, err
	}
	return answer{refined{r, o.out}, func(w io.Writer) {
		fmt.Fprintf(w, "%d of %d rows in %s: moved by %.3g (median), %.3g (worst); worst violation %.2g\n", r.Kept,
			r.Points, o.out, float64(r.Moved.Median), float64(r.Moved.Worst), float64(r.Violation))
		fmt.Fprintf(w, "left out: %s\n", r.Losses())
	}}, nil
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/run"
)

// refined is what refine prints.
type refined struct {
	*experiment.Refined
	File string `json:"file"`
}

func (a *app) refine() *cobra.Command {
	var src source
	var out string
	var within float64
	var force bool
	cmd := &cobra.Command{
		Use:   "refine PROBLEM",
		Short: "Bring data that is near a set to it",
		Long: `refine moves each row of a problem's data to the set, by Newton steps along the normal
directions, and writes the rows to a file of any kind that generate writes. Rows that
violate an equality by more than --within, or an inequality by more than data.tolerance,
are left out and counted: they would all come to the edge.`,
		Example: "  landing refine alanine --data trajectory.pdb -o frames.npy",
		Args:    args(1, "a recipe or a problem file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(within > 0) || math.IsInf(within, 0) {
				return &usageError{fmt.Errorf("--within is %v; expected a number above 0", within)}
			}
			ext := strings.ToLower(filepath.Ext(out))
			if known := kinds.Extensions(); !slices.Contains(known, ext) {
				return &usageError{fmt.Errorf("-o is %q; expected a file that ends in %s", out,
					strings.Join(known, " or "))}
			}
			p, _, err := src.load(args[0])
			if err != nil {
				return err
			}
			if !force {
				if err := run.Free(out); err != nil {
					return err
				}
			}
			r, err := experiment.Refine(cmd.Context(), p, within, a.workersPool())
			if err != nil {
				return err
			}
			for _, fault := range r.Domain.Faults {
				a.say("warning: %s", fault)
			}
			write := r.Domain.Writer(ext)
			if write == nil {
				return &usageError{fmt.Errorf("-o is %q; this kind of data is not written to such files, but to .npy "+
					"or .csv", out)}
			}
			var b bytes.Buffer
			if err := write(&b, arrayfile.RowsOf(r.X, r.Dim)); err != nil {
				return err
			}
			if err := run.WriteFile(out, b.Bytes(), force); err != nil {
				return err
			}
			return a.result(refined{r, out}, func(w io.Writer) {
				fmt.Fprintf(w, "%d of %d rows in %s: moved by %.3g (median), %.3g (worst); worst violation %.2g\n",
					r.Kept,
					r.Points, out, float64(r.Moved.Median), float64(r.Moved.Worst), float64(r.Violation))
				fmt.Fprintf(w, "left out: %s\n", r.Losses())
			})
		},
	}
	src.flags(cmd.Flags())
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "refined.npy", "file to write: .npy, .csv, or .pdb, .xyz, .sdf, .dcd")
	f.Float64Var(&within, "within", 0.1, "largest violation of an equality, in its unit (angles: radians)")
	f.BoolVar(&force, "force", false, "write over the file if it exists")
	return cmd
}

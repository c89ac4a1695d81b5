package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/run"
)

func (a *app) mcmc() *cobra.Command {
	var src source
	var out string
	var force bool
	cmd := &cobra.Command{
		Use:   "mcmc PROBLEM",
		Short: "Sample exp(−f) on the set by Markov chains, without learning",
		Long: `mcmc runs chains on the problem's set with its potential and writes their draws
to an NPY file (chains × draws × dimension), those of molecules (data.kind) to PDB, XYZ,
SDF or DCD files too, with effective sample sizes and split-R̂ of every coordinate and of
what the problem observes. The keys are those under "sample:".`,
		Args: args(1, "a recipe or a problem file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, _, err := src.load(args[0])
			if err != nil {
				return err
			}
			if known := experiment.DrawFiles(p); !slices.Contains(known, strings.ToLower(filepath.Ext(out))) {
				return &usageError{fmt.Errorf("-o is %q; expected a file that ends in %s", out,
					strings.Join(known, " or "))}
			}
			if !force {
				if err := run.Free(out); err != nil {
					return err
				}
			}
			bar := a.progress()
			steps := p.Sample.Burn + p.Sample.Draws*p.Sample.Thin
			r, err := experiment.Sample(cmd.Context(), p, a.workersPool(), func(step int) {
				bar.count(step, steps, func() string { return fmt.Sprintf("step %d of %d", step, steps) })
			})
			bar.done()
			if r == nil {
				return err
			}
			if err := r.Write(out, force); err != nil {
				return err
			}
			r.File = out
			if off, rounds := r.Rounded(strings.ToLower(filepath.Ext(out))); rounds {
				a.sayRounded(out, off, float64(r.Violation.Worst))
			}
			return errors.Join(err, a.result(r, func(w io.Writer) {
				fmt.Fprintf(w, "%d chains of %d draws in %s (%.2f s); worst violation %.2g, %d chains with failed "+
					"projections\n",
					r.Chains, r.Draws, out, r.Seconds, r.Violation.Worst, r.Failed)
				told := []string{fmt.Sprintf("step %.3g", r.Step)}
				if r.Refused > 0 { // only chmc refuses any
					told = append(told, fmt.Sprintf("Metropolis refused %.1f %% of moves", 100*r.Refused))
				}
				if r.Turned > 0 {
					told = append(told, fmt.Sprintf("%.1f %% of flights turned back", 100*r.Turned))
				}
				fmt.Fprintln(w, strings.Join(told, "; "))
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(t, "\tmean\t± MC error\tsd\tESS\tsplit-R̂")
				row := func(name string, c experiment.Coordinate) {
					fmt.Fprintf(t, "%s\t%.4f\t%.4f\t%.4f\t%.0f\t%.3f\n", name, c.Mean, c.Error, c.SD, c.ESS, c.Rhat)
				}
				for _, c := range r.Observables {
					row(c.Name, c)
				}
				for j, c := range r.Coordinates {
					row(fmt.Sprintf("x[%d]", j), c)
				}
				t.Flush()
				printWalls(func(cells ...string) { fmt.Fprintln(w, strings.Join(cells, ": ")) }, r.Walls)
			}))
		},
	}
	src.flags(cmd.Flags())
	cmd.Flags().StringVarP(&out, "output", "o", "draws.npy", "file to write")
	cmd.Flags().BoolVar(&force, "force", false, "write over the file if it exists")
	return cmd
}

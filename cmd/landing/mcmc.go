package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/experiment"
)

// maxWalls is how many walls are listed with those that nothing is to be warned of.
const maxWalls = 8

// mcmcOptions are the flags of mcmc.
type mcmcOptions struct {
	source
	outFile
}

func (o *mcmcOptions) flags(f *pflag.FlagSet) {
	o.source.flags(f)
	o.outFile.flags(f, "draws.npy", "file to write")
}

func mcmcVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "mcmc PROBLEM",
		Short: "Sample exp(−f) on the set by Markov chains, without learning",
		Long: `mcmc runs chains on the problem's set with its potential, and writes their draws to an NPY file
(chains × draws × dimension). It prints effective sample sizes and split-R̂ of every coordinate and of
what the problem observes. Draws of molecules (data.kind) also go to PDB, XYZ, SDF or DCD files. The
keys are those under "sample:".`,
		Example: "  landing mcmc problem.yaml -o draws.npy",
	}, new(mcmcOptions), runMCMC)
}

func runMCMC(ctx context.Context, a *app, o *mcmcOptions, args []string) (answer, error) {
	p, _, err := o.load(args[0])
	if err != nil {
		return answer{}, err
	}
	ext, err := o.ready(experiment.DrawFiles(p)...)
	if err != nil {
		return answer{}, err
	}
	tick, end := counting[int](&a.out, "step")
	steps := p.Sample.Burn + p.Sample.Draws*p.Sample.Thin
	r, err := experiment.Sample(ctx, p, a.workersPool(), func(step int) { tick(step, steps) })
	end()
	if r == nil {
		return answer{}, err
	}
	if err := r.Write(o.path, o.force); err != nil {
		return answer{}, err
	}
	r.File = o.path
	if off, rounds := r.Rounded(ext); rounds && off.Worst > r.Violation.Worst {
		a.out.say("note: %s rounds coordinates: in it %q is violated by up to %.2g. A .npy file keeps all digits",
			o.path, off.Component, float64(off.Worst))
	}
	return answer{r, func(w io.Writer) { printDraws(w, r) }}, err
}

func printDraws(w io.Writer, r *experiment.SampleReport) {
	fmt.Fprintf(w, "%d chains of %d draws in %s (%.2f s); worst violation %.2g, %d chains with failed projections\n",
		r.Chains, r.Draws, r.File, r.Seconds, r.Violation.Worst, r.Failed)
	told := []string{fmt.Sprintf("step %.3g", r.Step)}
	if r.Refused > 0 { // only chmc refuses any
		told = append(told, fmt.Sprintf("Metropolis refused %.1f %% of moves", 100*r.Refused))
	}
	if r.Turned > 0 {
		told = append(told, fmt.Sprintf("%.1f %% of flights turned back", 100*r.Turned))
	}
	fmt.Fprintln(w, strings.Join(told, "; "))
	fmt.Fprintln(w, "\tmean\t± MC error\tsd\tESS\tsplit-R̂")
	row := func(name string, c experiment.Coordinate) {
		fmt.Fprintf(w, "%s\t%.4f\t%.4f\t%.4f\t%.0f\t%.3f\n", name, c.Mean, c.Error, c.SD, c.ESS, c.Rhat)
	}
	for _, c := range r.Observables {
		row(c.Name, c)
	}
	for j, c := range r.Coordinates {
		row(fmt.Sprintf("x[%d]", j), c)
	}
	for _, wall := range r.Walls {
		if wall.Warning != "" || len(r.Walls) <= maxWalls {
			fmt.Fprintf(w, "wall of %s: %v\n", wall.Component, wall)
		}
	}
}

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment"
)

// forwardOptions are the flags of dev forward.
type forwardOptions struct {
	outFile
	n, step int
	data    string
	seed    int64
}

func (o *forwardOptions) flags(f *pflag.FlagSet) {
	o.outFile.flags(f, "paths.npy", "file to write: .npy")
	f.IntVarP(&o.n, "number", "n", 1000, "number of paths")
	f.IntVar(&o.step, "step", -1, "k of the states x_k, 0 being the data (default: the last)")
	movedFlag(f, &o.data)
	f.Int64Var(&o.seed, "seed", -1, "seed (default: the problem's)")
}

func (o *forwardOptions) check(given func(flag string) bool, _ []string) error {
	if err := bounds(positive("number", o.n), bound{"step", o.step >= 0 || !given("step"), o.step, "0 or more"},
		bound{"seed", o.seed >= 0 || !given("seed"), o.seed, "0 or more"}); err != nil {
		return err
	}
	_, err := o.ready(".npy")
	return err
}

// simulated is what dev forward prints.
type simulated struct {
	File   string   `json:"file"`
	Paths  int      `json:"paths"` // asked for
	Step   int      `json:"step"`
	Seed   uint64   `json:"seed"`
	Failed []uint64 `json:"failed"` // their numbers
}

func forwardVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "forward RUN",
		Short: "Simulate forward paths of a run's process, from data to noise",
		Long: `forward simulates paths of the process that a run was trained on, from its training rows. It writes
the states x_k of all paths to an NPY file (n×d, float64): the last states, or those of --step. Fewer
paths than rows begin at rows at equal distances; more begin at all rows again and again. With the run's
seed the ends of the paths are those of an empirical prior of that size. Paths that fail a projection are
not in the file; their numbers are printed.`,
		Example: "  landing dev forward runs/volcano-001 -n 10000 -o ends.npy",
	}, new(forwardOptions), runForward)
}

func runForward(ctx context.Context, a *app, o *forwardOptions, args []string) (answer, error) {
	r, err := a.open(ctx, args[0], o.data, experiment.Open)
	if err != nil {
		return answer{}, err
	}
	d, steps := r.Data.D, r.Process.Schedule.N
	made := simulated{File: o.path, Paths: o.n, Step: o.step, Seed: r.Problem.Seed}
	if made.Step < 0 {
		made.Step = steps
	}
	if o.seed >= 0 {
		made.Seed = uint64(o.seed)
	}
	if err := bounds(bound{"number", o.n <= dataset.MaxNumbers/d, o.n, fmt.Sprintf("at most %d paths of %d coordinates",
		dataset.MaxNumbers/d, d)}, bound{"step", made.Step <= steps, made.Step,
		fmt.Sprintf("at most %d, the last of a path", steps)}); err != nil {
		return answer{}, err
	}
	tick, end := counting[int](&a.out, "simulated")
	x, failed, err := r.Forward(ctx, o.n, made.Step, made.Seed, tick)
	end()
	if err != nil {
		return answer{}, err
	}
	made.Failed = append([]uint64{}, failed...)
	if len(failed) > 0 {
		a.out.say("%d of %d paths failed and are not in %s: %s", len(failed), o.n, o.path, numbers(failed))
	}
	_, err = o.saveNPY(x, len(x)/d, d)
	return answer{made, func(w io.Writer) {
		fmt.Fprintf(w, "states x_%d of %s in %s\n", made.Step, plural(o.n-len(failed), "path"), o.path)
	}}.unless(err)
}

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/experiment"
)

// forwardOptions are the flags of dev forward.
type forwardOptions struct {
	n, step   int
	out, data string
	seed      uint64
	force     bool
	given     func(flag string) bool
}

func (o *forwardOptions) flags(f *pflag.FlagSet) {
	o.given = f.Changed
	f.IntVarP(&o.n, "number", "n", 1000, "number of paths")
	f.IntVar(&o.step, "step", -1, "k of the states x_k, 0 being the data (default: the last)")
	f.StringVarP(&o.out, "output", "o", "paths.npy", "file to write: .npy")
	movedFlag(f, &o.data)
	f.Uint64Var(&o.seed, "seed", 0, "seed (default: the problem's)")
	f.BoolVar(&o.force, "force", false, "write over the file if it exists")
}

func (o *forwardOptions) check() error {
	if err := output(o.out, ".npy", o.force); err != nil {
		return err
	}
	return bounds(bound{"number", o.n > 0, o.n, "a number of paths above 0"},
		bound{"step", o.step >= 0 || !o.given("step"), o.step, "0 or more"})
}

// forwardPaths is what dev forward prints.
type forwardPaths struct {
	File   string `json:"file"`
	Rows   int    `json:"rows"`   // paths that were simulated
	Failed []int  `json:"failed"` // numbers of those that are not in the file
}

func forwardVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "forward RUN",
		Short: "Simulate forward paths of a run's process, from data to noise",
		Long: `forward simulates paths of the process that a run was trained on, from its training rows. It writes
the states x_k of all paths to an NPY file (n×d, float64): the last states, or those of --step. If there
are fewer paths than rows, they begin at rows at equal distances; if there are more, the rows are used
again. Path number i is a function of the seed, -n and i alone. With the run's seed, the ends of the
paths are those that its empirical prior is made of (ends.npy of the run folder).
Paths that fail a projection are not in the file; their numbers are printed.`,
		Example: "  landing dev forward runs/volcano-001 -n 10000 -o ends.npy\n" +
			"  landing dev forward runs/volcano-001 -n 10000 --step 10 -o tenth.npy",
		Args: args(1, "a run folder"),
	}, new(forwardOptions), runForward)
}

func runForward(ctx context.Context, a *app, o *forwardOptions, args []string) (answer, error) {
	if err := o.check(); err != nil {
		return answer{}, err
	}
	r, err := a.open(ctx, args[0], o.data)
	if err != nil {
		return answer{}, err
	}
	paths, err := experiment.NewAhead(r.Loaded, uint64(o.n))
	if err != nil {
		return answer{}, err
	}
	step, seed := paths.Steps(), r.Problem.Seed
	if o.given("step") {
		step = o.step
	}
	if step > paths.Steps() {
		return answer{}, &usageError{fmt.Errorf("--step is %d; expected 0 to %d, the last of a path", step, paths.Steps())}
	}
	if o.given("seed") {
		seed = o.seed
	}
	d := paths.Dim()
	x := make([]float64, o.n*d)
	bar := a.out.progress()
	for done := 0; done < o.n; done += forwardAtOnce {
		bar.count(done, o.n, func() string { return fmt.Sprintf("simulated %d of %d", done, o.n) })
		block := x[done*d : min(done+forwardAtOnce, o.n)*d]
		if _, err := paths.States(ctx, block, uint64(done), step, seed); err != nil {
			bar.done()
			return answer{}, err
		}
	}
	bar.done()
	got := forwardPaths{o.out, o.n, []int{}}
	good := x[:0]
	for i := range o.n {
		if row := x[i*d : (i+1)*d]; row[0] == row[0] {
			good = append(good, row...)
		} else {
			got.Failed = append(got.Failed, i)
		}
	}
	if n := len(got.Failed); n > 0 {
		a.out.say("%d of %d paths failed and are not in %s: %s", n, o.n, o.out, numbers(got.Failed))
	}
	if _, err := saveNPY(o.out, []int{len(good) / d, d}, good, o.force); err != nil {
		return answer{}, err
	}
	return answer{got, func(w io.Writer) {
		fmt.Fprintf(w, "states of %s in %s\n", plural(len(good)/d, "path"), o.out)
	}}, nil
}

// forwardAtOnce is how many paths are simulated before the progress is told.
const forwardAtOnce = 10_000

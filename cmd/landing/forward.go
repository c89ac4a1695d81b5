package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/study/tasks"
	"github.com/landing-diffusion/landing/study/work"
)

// forwardOptions are the flags of dev forward.
type forwardOptions struct {
	n, step          int
	out, data, share string
	seed             uint64
	force            bool
	given            func(flag string) bool
	part             work.Shard
}

func (o *forwardOptions) flags(f *pflag.FlagSet) {
	o.given = f.Changed
	f.IntVarP(&o.n, "number", "n", 1000, "number of paths")
	f.IntVar(&o.step, "step", -1, "k of the states x_k, 0 being the data (default: the last)")
	f.StringVarP(&o.out, "output", "o", "paths.npy", "file to write: .npy")
	movedFlag(f, &o.data)
	f.Uint64Var(&o.seed, "seed", 0, "seed (default: the problem's)")
	f.BoolVar(&o.force, "force", false, "write over the file if it exists")
	shardFlag(f, &o.share, "make part i of n of the paths")
}

// check looks at the flags, and completes them.
func (o *forwardOptions) check() (err error) {
	if _, err := extension("output", o.out, ".npy"); err != nil {
		return err
	}
	if o.part, err = shard(o.share); err != nil {
		return err
	}
	if o.part != (work.Shard{}) {
		err = noPart(o.given, "force")
	}
	return cmp.Or(err, bounds(bound{"number", o.n > 0, o.n, "a number of paths above 0"},
		bound{"step", o.step >= 0 || !o.given("step"), o.step, "0 or more"}))
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

--shard 2/8 makes the second of eight parts, in FILE.parts; landing merge joins them to the bytes of
one call. Paths that fail a projection are in no file; their numbers are printed.`,
		Example: "  landing dev forward runs/volcano-001 -n 10000 -o ends.npy\n" +
			"  landing dev forward runs/volcano-001 -n 1000000 --step 10 --shard auto -o tenth.npy",
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
	paths := tasks.ForwardOptions{Count: uint64(o.n), Step: o.step}
	if o.given("seed") {
		paths.Seed = &o.seed
	}
	l, err := tasks.Forward(r, paths)
	if errors.As(err, new(*tasks.TaskError)) {
		return answer{}, &usageError{err}
	}
	if err != nil {
		return answer{}, err
	}
	if o.part != (work.Shard{}) {
		return makePart(ctx, &a.out, l, o.part, o.out, nil)
	}
	bar := a.out.progress()
	m, err := tasks.Once(ctx, l, o.out, tasks.MergeOptions{Force: o.force, Pool: a.workersPool(),
		Tick: func(done, of uint64) {
			bar.count(int(done), int(of), func() string { return fmt.Sprintf("simulated %d of %d", done, of) })
		}})
	bar.done()
	if err != nil {
		return answer{}, err
	}
	if len(m.Failed) > 0 {
		a.out.say("%d of %d paths failed and are not in %s: %s", len(m.Failed), m.Rows, o.out, numbers(m.Failed))
	}
	return answer{m, func(w io.Writer) {
		fmt.Fprintf(w, "states of %s in %s\n", plural(int(m.Rows)-len(m.Failed), "path"), o.out)
	}}, nil
}

package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/tasks"
	"github.com/landing-diffusion/landing/work"
)

func (a *app) forward() *cobra.Command {
	var n, step int
	var out, data, share string
	var seed uint64
	var force bool
	cmd := &cobra.Command{
		Use:   "forward RUN",
		Short: "Simulate forward paths of a run's process, from data to noise",
		Long: `forward simulates paths of the process that a run was trained on, from its training rows, and
writes the states x_k of all paths to an NPY file (n×d, float64): the last ones, or those of --step.
Of fewer paths than rows, they begin at rows at equal distances; of more, at all rows again and
again. Path number i is a function of the seed, -n and i alone. With the run's seed their ends are
those that its empirical prior is made of (ends.npy of the run folder).

--shard 2/8 makes the second of eight parts, in FILE.parts; landing merge joins them to the bytes of
one call. Paths that fail a projection are in no file, and are named.`,
		Example: "  landing dev forward runs/volcano-001 -n 10000 -o ends.npy\n" +
			"  landing dev forward runs/volcano-001 -n 1000000 --step 10 --shard auto -o tenth.npy",
		Args: args(1, "a run folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n <= 0 {
				return &usageError{fmt.Errorf("-n is %d; expected a number of paths above 0", n)}
			}
			if strings.ToLower(filepath.Ext(out)) != ".npy" {
				return &usageError{fmt.Errorf("-o is %q; expected a file that ends in .npy", out)}
			}
			if cmd.Flags().Changed("step") && step < 0 {
				return &usageError{fmt.Errorf("--step is %d; expected 0 or more", step)}
			}
			part, err := shard(share)
			if err != nil {
				return err
			}
			r, err := a.open(args[0], data)
			if err != nil {
				return err
			}
			o := tasks.ForwardOptions{Count: uint64(n), Step: step}
			if cmd.Flags().Changed("seed") {
				o.Seed = &seed
			}
			l, err := tasks.Forward(r, o)
			if errors.As(err, new(*tasks.TaskError)) {
				return &usageError{err}
			}
			if err != nil {
				return err
			}
			if part != (work.Shard{}) {
				if err := noPart(cmd.Flags().Changed, "force"); err != nil {
					return err
				}
				return a.tell(a.makePart(cmd.Context(), l, part, out, nil))
			}
			bar := a.progress()
			m, err := tasks.Once(cmd.Context(), l, out, tasks.MergeOptions{Force: force, Pool: a.workersPool(),
				Tick: func(done, of uint64) {
					bar.count(int(done), int(of), func() string { return fmt.Sprintf("simulated %d of %d", done, of) })
				}})
			bar.done()
			if err != nil {
				return err
			}
			if len(m.Failed) > 0 {
				a.say("%d of %d paths failed and are not in %s: %s", len(m.Failed), m.Rows, out, numbers(m.Failed))
			}
			return a.result(m, func(w io.Writer) {
				fmt.Fprintf(w, "states of %s in %s\n", plural(int(m.Rows)-len(m.Failed), "path"), out)
			})
		},
	}
	cmd.Flags().IntVarP(&n, "number", "n", 1000, "number of paths")
	cmd.Flags().IntVar(&step, "step", -1, "k of the states x_k, 0 being the data (default: the last)")
	cmd.Flags().StringVarP(&out, "output", "o", "paths.npy", "file to write: .npy")
	movedFlag(cmd.Flags(), &data)
	cmd.Flags().Uint64Var(&seed, "seed", 0, "seed (default: the problem's)")
	cmd.Flags().BoolVar(&force, "force", false, "write over the file if it exists")
	shardFlag(cmd.Flags(), &share, "make part i of n of the paths")
	return cmd
}

package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/study/tasks"
)

// partsDir is what a folder of parts is called behind the name of their file.
const partsDir = ".parts"

// mergeOptions are the flags of merge.
type mergeOptions struct {
	tasks.MergeOptions
	outFile
}

func (o *mergeOptions) flags(f *pflag.FlagSet) {
	o.outFile.flags(f, "", "file to write (default: FILE of FILE"+partsDir+")")
	f.StringVar(&o.Run, "run", "", "folder of the run, if it is not where the parts were made")
	movedFlag(f, &o.Data)
	f.BoolVar(&o.SameBits, "same-bits", false, "refuse parts of several kinds of kernels or processors")
}

// check looks at the flags, and completes the name of the file.
func (o *mergeOptions) check(_ func(flag string) bool, dirs []string) error {
	own, ok := strings.CutSuffix(filepath.Clean(dirs[0]), partsDir)
	if o.path == "" && len(dirs) == 1 && ok {
		o.path = own
	}
	if o.path == "" {
		return usage("expected -o with the file to write")
	}
	_, err := o.extension(kinds.Extensions()...)
	return err
}

func mergeVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "merge PART...",
		Short: "Join the parts that --shard made: the bytes of one process",
		Long: `merge joins parts of rows into one file. PART is a folder that --shard wrote, or a folder of such
folders. The command checks first that the parts are of the same run, checkpoint, seed, settings and
version, and that each row is there exactly once. While it writes it checks that every part is as it
was made. The file has the bytes that one process would have written, in any format of the verb. It
appears whole or not at all, and memory does not grow with it.

Parts made with several kinds of kernels or architectures (landing version: avx2 on amd64, neon on arm64)
may differ from one machine's in the last bits; --same-bits refuses them. A program that "go install" built
for arm64 has an architecture of its own, "arm64, fused".`,
		Example: "  landing generate runs/volcano-001 -n 10000000 --shard 1/2 -o samples.npy\n" +
			"  landing generate runs/volcano-001 -n 10000000 --shard 2/2 -o samples.npy\n" +
			"  landing merge samples.npy.parts",
	}, new(mergeOptions), runMerge)
}

func runMerge(ctx context.Context, a *app, o *mergeOptions, dirs []string) (answer, error) {
	parts, err := tasks.Parts(dirs)
	if err != nil {
		return answer{}, err
	}
	tick, end := counting[uint64](&a.out, "joined")
	o.Pool, o.Tick, o.Force = a.workersPool(), tick, o.force
	m, verdict := tasks.Merge(ctx, parts, o.path, o.MergeOptions)
	end()
	if m == nil {
		return answer{}, verdict
	}
	a.out.notes(m.Notes)
	if len(m.Failed) > 0 {
		a.out.say("%d of %d rows failed and are not in %s: %s", len(m.Failed), m.Rows, o.path, numbers(m.Failed))
	}
	return answer{m, func(w io.Writer) {
		fmt.Fprintf(w, "%d rows of %s in %s, SHA-256 %.16s…\n", m.Rows-uint64(len(m.Failed)),
			plural(m.Parts, "part"), o.path, m.SHA256)
	}}, verdict
}

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
	out string
}

func (o *mergeOptions) flags(f *pflag.FlagSet) {
	f.StringVarP(&o.out, "output", "o", "", "file to write (default: FILE of FILE"+partsDir+")")
	f.StringVar(&o.Run, "run", "", "folder of the run, if it is not where the parts were made")
	movedFlag(f, &o.Data)
	f.BoolVar(&o.SameBits, "same-bits", false, "refuse parts of several kinds of kernels")
	f.BoolVar(&o.Force, "force", false, "write over the file if it exists")
}

// check looks at the flags, and completes the name of the file.
func (o *mergeOptions) check(dirs []string) error {
	if own, ok := strings.CutSuffix(filepath.Clean(dirs[0]), partsDir); o.out == "" && len(dirs) == 1 && ok {
		o.out = own
	}
	if o.out == "" {
		return &usageError{fmt.Errorf("expected -o with the file to write")}
	}
	_, err := extension("output", o.out, kinds.Extensions()...)
	return err
}

func mergeVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "merge PART…",
		Short: "Join the parts that --shard made: the bytes of one process",
		Long: `merge joins parts of rows into one file. PART is a folder that --shard wrote, or a folder of such
folders. The command checks first that the parts are of the same run, checkpoint, seed, settings and
version, and that each row is there exactly once. While it writes it checks that every part is as it
was made. The file has the bytes that one process would have written, in any format of the verb. It
appears whole or not at all, and memory does not grow with it.

Parts made with several kinds of kernels (landing version) may differ from one machine's in the last
bits; --same-bits refuses them.`,
		Example: "  landing generate runs/volcano-001 -n 10000000 --shard 1/2 -o samples.npy\n" +
			"  landing generate runs/volcano-001 -n 10000000 --shard 2/2 -o samples.npy\n" +
			"  landing merge samples.npy.parts",
		Args: atLeastOne("folders of parts, got none"),
	}, new(mergeOptions), runMerge)
}

func runMerge(ctx context.Context, a *app, o *mergeOptions, dirs []string) (answer, error) {
	if err := o.check(dirs); err != nil {
		return answer{}, err
	}
	parts, err := tasks.Parts(dirs)
	if err != nil {
		return answer{}, err
	}
	bar := a.out.progress()
	o.Pool, o.Tick = a.workersPool(), func(done, of uint64) {
		bar.count(int(done), int(of), func() string { return fmt.Sprintf("joined %d of %d", done, of) })
	}
	m, verdict := tasks.Merge(ctx, parts, o.out, o.MergeOptions)
	bar.done()
	if m == nil {
		return answer{}, verdict
	}
	for _, note := range m.Notes {
		a.out.say("note: %s", note)
	}
	if len(m.Failed) > 0 {
		a.out.say("%d of %d rows failed and are not in %s: %s", len(m.Failed), m.Rows, o.out, numbers(m.Failed))
	}
	return answer{m, func(w io.Writer) {
		fmt.Fprintf(w, "%d rows of %s in %s, SHA-256 %.16s…\n", m.Rows-uint64(len(m.Failed)),
			plural(m.Parts, "part"), o.out, m.SHA256)
	}}, verdict
}

package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/tasks"
)

// partsDir is what a folder of parts is called behind the name of their file.
const partsDir = ".parts"

func (a *app) merge() *cobra.Command {
	var o tasks.MergeOptions
	var out string
	cmd := &cobra.Command{
		Use:   "merge PART…",
		Short: "Join the parts that --shard made: the bytes of one process",
		Long: `merge joins parts of rows, folders that --shard wrote or folders of such folders, into one file. It
checks first that they are of the same run, checkpoint, seed, settings and version, that no row is
missing and none is there twice, and on the way that every part is as it was made. The file is the
bytes that one process would have written, in any format of the verb; it appears whole or not at
all, and memory does not grow with it.

Parts made with several kinds of kernels (landing version) may differ from one machine's in the last
bits; --same-bits refuses them.`,
		Example: "  landing generate runs/volcano-001 -n 10000000 --shard 1/2 -o samples.npy\n" +
			"  landing generate runs/volcano-001 -n 10000000 --shard 2/2 -o samples.npy\n" +
			"  landing merge samples.npy.parts",
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) == 0 {
				return &usageError{fmt.Errorf("expected folders of parts, got none")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if own, ok := strings.CutSuffix(filepath.Clean(args[0]), partsDir); out == "" && len(args) == 1 && ok {
				out = own
			}
			if out == "" {
				return &usageError{fmt.Errorf("expected -o with the file to write")}
			}
			if known := kinds.Extensions(); !slices.Contains(known, strings.ToLower(filepath.Ext(out))) {
				return &usageError{fmt.Errorf("-o is %q; expected a file that ends in %s", out,
					strings.Join(known, " or "))}
			}
			return a.join(cmd, args, out, o)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write (default: FILE of FILE"+partsDir+")")
	cmd.Flags().StringVar(&o.Run, "run", "", "folder of the run, if it is not where the parts were made")
	movedFlag(cmd.Flags(), &o.Data)
	cmd.Flags().BoolVar(&o.SameBits, "same-bits", false, "refuse parts of several kinds of kernels")
	cmd.Flags().BoolVar(&o.Force, "force", false, "write over the file if it exists")
	return cmd
}

// join joins the parts in folders and tells what it made.
func (a *app) join(cmd *cobra.Command, dirs []string, out string, o tasks.MergeOptions) error {
	parts, err := tasks.Parts(dirs)
	if err != nil {
		return err
	}
	bar := a.progress()
	o.Pool, o.Tick = a.workersPool(), func(done, of uint64) {
		bar.count(int(done), int(of), func() string { return fmt.Sprintf("joined %d of %d", done, of) })
	}
	m, verdict := tasks.Merge(cmd.Context(), parts, out, o)
	bar.done()
	if m == nil {
		return verdict
	}
	for _, note := range m.Notes {
		a.say("note: %s", note)
	}
	if len(m.Failed) > 0 {
		a.say("%d of %d rows failed and are not in %s: %s", len(m.Failed), m.Rows, out, numbers(m.Failed))
	}
	if err := a.result(m, func(w io.Writer) {
		fmt.Fprintf(w, "%d rows of %s in %s, SHA-256 %.16s…\n", m.Rows-uint64(len(m.Failed)),
			plural(m.Parts, "part"), out, m.SHA256)
	}); err != nil {
		return err
	}
	return verdict
}

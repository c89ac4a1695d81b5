package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/study/sweep"
	"github.com/landing-diffusion/landing/study/work"
)

// sweepOptions are the flags of sweep.
type sweepOptions struct {
	sweep.Options
	out        string
	part       work.Shard
	retry, dry bool
}

func (o *sweepOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.out, "out", "", "folder of the sweep, new or to continue in (default: sweeps/NAME)")
	f.StringVar(&o.Dir, "data-dir", "", "folder that paths of data start from (default: that of the sweep file)")
	f.StringArrayVar(&o.Set, "set", nil, "replace one key in all cells, as in network.width=64 (repeatable)")
	shardFlag(f, &o.part, "run part i of n of the cells")
	f.BoolVar(&o.retry, "retry", false, "run cells again that failed")
	f.BoolVar(&o.dry, "dry-run", false, "list the cells and what keeps them from being run, and run nothing")
}

func sweepVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "sweep FILE",
		Short: "Train a grid of problems, methods, settings, budgets and seeds, and make a row of each",
		Long: `sweep trains the cells of the grid in a sweep file (docs/sweeps.md), draws and judges samples, and
records a row of each. The folder (--out) has run folders in runs/, units/CELL with result.json or
failed.json, and rows.json when all cells have ended. FILE may name a sweep of the binary:
` + strings.Join(sweep.Shipped(), " or ") + `.

The same command continues where it was stopped, also by kill -9, and ends in the same bytes of
rows.json, but for budgets in seconds. A cell that fails is recorded with its reason, and the other
cells run; --retry runs failed cells again. Several processes may share a folder.

landing compare shows the folder as a table and a page.`,
		Example: "  landing sweep rivals-demo --dry-run\n  landing sweep table.yaml --data-dir ~/data\n" +
			"  landing sweep table.yaml --shard 2/4 --out sweeps/table",
	}, new(sweepOptions), runSweep)
}

func runSweep(ctx context.Context, a *app, o *sweepOptions, args []string) (answer, error) {
	f, err := sweep.Read(args[0])
	if err != nil {
		return answer{}, err
	}
	dir := cmp.Or(o.out, filepath.Join("sweeps", f.Name))
	plan, preview, err := o.plan(f, dir)
	if preview != nil {
		return answer{preview, func(w io.Writer) { printPreview(w, preview) }}, err
	}
	if err != nil {
		return answer{}, err
	}
	a.out.say("sweep: %s", dir)
	got, err := plan.Run(ctx, a.runner(o, dir))
	if got == nil {
		return answer{}, err
	}
	failed := 0
	for _, c := range got.Cells {
		if c.State == work.Failed {
			failed++
		}
	}
	if failed > 0 && err == nil {
		err = fmt.Errorf("%s failed; landing sweep %s --retry runs what failed again", plural(failed, "cell"),
			text.Shell(args[0]))
	}
	return answer{got, func(w io.Writer) { printSwept(w, got) }}, err
}

// plan plans a sweep that has its folder in dir, and with --dry-run says what it would do, beside why it cannot.
func (o *sweepOptions) plan(f *sweep.File, dir string) (*sweep.Plan, *sweep.Preview, error) {
	plan, err := f.Plan(o.Options)
	var refused *sweep.RefusedError
	if !o.dry || plan == nil || err != nil && !errors.As(err, &refused) {
		return plan, nil, err
	}
	preview, e := plan.Preview(dir, o.part, refused)
	return plan, preview, errors.Join(err, e)
}

// runner runs sweeps as the flags say.
func (a *app) runner(o *sweepOptions, dir string) sweep.Runner {
	r := sweep.Runner{Dir: dir, Pool: a.workersPool(), Line: commandLine, Shard: o.part, Retry: o.retry,
		Command: a.commandLine()}
	watch(&a.out, &r)
	return r
}

// printPreview lists what a sweep would do.
func printPreview(w io.Writer, p *sweep.Preview) {
	for _, c := range p.Cells {
		said := text.Line(c.Reason)
		if c.State == sweep.Refused { // the error says why
			said = ""
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.Name, c.State, said)
	}
	fmt.Fprint(w, plural(len(p.Cells), "cell"))
	if !p.Seconds.IsNaN() {
		fmt.Fprintf(w, ", about %s to run", text.Clock(float64(p.Seconds)))
	}
	fmt.Fprintln(w)
}

// watch has a sweep tell how it goes.
func watch(out *console, r *sweep.Runner) {
	bar := out.progress()
	at, epochs := "", 0
	left := func(p sweep.Progress) string {
		if p.Left.IsNaN() || p.Left == 0 {
			return ""
		}
		return fmt.Sprintf(", about %s left", text.Clock(float64(p.Left)))
	}
	r.Begin = func(c *sweep.Cell, p sweep.Progress) {
		at, epochs = fmt.Sprintf("[%d of %d] %s", p.Cell, p.Of, c), 0
		if p.Failed > 0 {
			at += fmt.Sprintf("  (%d failed)", p.Failed)
		}
		bar.line(at + left(p))
	}
	r.Train = experiment.Observer{
		Begin: func(n int) { epochs = n },
		Clock: func(d train.Decision) { epochs = d.Plan.Epochs },
		Epoch: func(e train.Epoch) {
			bar.update(false, func() string {
				of := "…"
				if epochs > 0 {
					of = fmt.Sprint(epochs)
				}
				return fmt.Sprintf("%s  epoch %d of %s, %s, loss %.4g", at, e.Epoch, of, text.Clock(e.Seconds), e.Loss)
			})
		},
	}
	r.Drawn = func(_ *sweep.Cell, done, of int) {
		bar.update(false, func() string { return fmt.Sprintf("%s  generated %d of %d", at, done, of) })
	}
	r.End = func(c *sweep.Cell, s sweep.CellStatus, p sweep.Progress) {
		said := string(s.State)
		switch {
		case s.State == work.Done && s.Row.Distance != nil:
			said = fmt.Sprintf("%s %.4f, floor %.4f ± %.4f, %.0f s", s.Row.Distance.Metric, s.Row.Distance.Full,
				s.Row.Distance.Mean, s.Row.Distance.SD, float64(s.Cost.Cell))
		case s.Reason != "":
			said += ": " + s.Reason
		}
		bar.line(fmt.Sprintf("%s: %s%s", c, said, left(p)))
	}
}

// printSwept tells what a sweep's folder holds, and which command shows the rows.
func printSwept(w io.Writer, o *sweep.Outcome) {
	count := map[work.State]int{}
	for _, c := range o.Cells {
		count[c.State]++
		said := text.Line(c.Reason)
		if c.Entry != nil && c.State == work.Done {
			said, _, _ = strings.Cut(c.Row.Verdict, ":") // the grade: compare and report tell the rest
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.Name, c.State, said)
	}
	fmt.Fprintf(w, "%d of %s done", count[work.Done], plural(len(o.Cells)-count[sweep.Skipped], "cell"))
	if n := count[work.Failed]; n > 0 {
		fmt.Fprintf(w, ", %d failed", n)
	}
	if o.SHA256 != "" {
		fmt.Fprintf(w, "; rows.json has SHA-256 %.16s…", o.SHA256)
	}
	fmt.Fprintln(w)
	if !o.Complete {
		fmt.Fprintln(w, "go on: the same command, from where this one stopped")
	}
	if count[work.Done] > 0 {
		fmt.Fprintf(w, "next:  landing compare %s\n", text.Shell(o.Dir))
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/study/inventory"
)

// runsDir is where commands make runs, and look for them, unless the user names another folder.
const runsDir = "runs"

// lsOptions are the flags of ls.
type lsOptions struct {
	depth int
	sort  string
}

func (o *lsOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.sort, "sort", "name", "order: "+strings.Join(inventory.Orders(), ", "))
	f.IntVar(&o.depth, "depth", inventory.DefaultDepth, "how far below a folder runs are looked for")
}

func (o *lsOptions) check(func(flag string) bool, []string) error {
	return bounds(oneOfWords("sort", o.sort, inventory.Orders()...), bound{"depth",
		o.depth >= 1 && o.depth <= inventory.MostDepth, o.depth, fmt.Sprintf("1 to %d", inventory.MostDepth)})
}

func lsVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "ls [DIR...]",
		Short: "List runs with their state, distance, age and size",
		Long: `ls lists the runs at and below folders, runs/ by default. It shows whether they are training,
finished, stopped (landing train RUN continues), failed or damaged. It shows the distance of their
samples to the data, with the verdict of landing report or landing compare. A run without a verdict shows the
distance of the last evaluation during training. It shows the time since their state was written, and
their size. It reads no data and no weights, and changes nothing.`,
		Example: "  landing ls\n  landing ls runs sweeps/table1 --sort distance\n  landing ls --json",
	}, new(lsOptions), runLs)
}

func runLs(_ context.Context, a *app, o *lsOptions, dirs []string) (answer, error) {
	if len(dirs) == 0 {
		dirs = []string{runsDir}
		if _, err := os.Stat(runsDir); errors.Is(err, fs.ErrNotExist) {
			a.out.say("note: there is no folder %s here, where landing train makes runs", runsDir)
			dirs = nil
		}
	}
	list, err := inventory.Find(dirs, o.depth)
	if err != nil {
		return answer{}, err
	}
	inventory.Sort(list.Runs, o.sort)
	a.out.notes(list.Notes)
	return answer{list, func(w io.Writer) { printRuns(w, list.Runs, time.Now()) }}, nil
}

// printRuns writes a table with a line a run, and below it what there is to say of some.
func printRuns(w io.Writer, runs []inventory.Entry, now time.Time) {
	if len(runs) == 0 {
		fmt.Fprintln(w, "no runs")
		return
	}
	fmt.Fprintln(w, "run\tstate\tepochs\ttrained\tdistance\tverdict\tage\tsize\tproblem")
	for _, e := range runs {
		epochs, age, trained := "–", "–", "–"
		if e.Epochs > 0 {
			epochs = fmt.Sprintf("%d/%d", e.Epoch, e.Epochs)
		} else if e.Epoch > 0 {
			epochs = fmt.Sprintf("%d/…", e.Epoch)
		}
		if e.Trained != nil {
			trained = e.Trained.Text()
		}
		if !e.Updated.IsZero() {
			age = text.Age(now.Sub(e.Updated))
		}
		about := e.Problem
		if e.Method != "" {
			about += ", " + e.Method
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", text.Line(text.Shell(e.Run)), e.State, epochs, trained,
			far(e.Distance), judged(e.Distance), age, text.SI(float64(e.Bytes))+"B", text.Line(about))
	}
	for _, e := range runs {
		if e.State == inventory.Finished {
			e.Why = ""
		}
		for _, says := range []string{e.Why, e.Note} {
			if says != "" {
				fmt.Fprintf(w, "%s: %s\n", text.Shell(e.Run), text.Line(says))
			}
		}
	}
}

func far(d *inventory.Distance) string {
	switch {
	case d == nil || d.Value.IsNaN():
		return "–"
	case d.Floor.IsNaN():
		return fmt.Sprintf("%.4f", float64(d.Value))
	}
	return fmt.Sprintf("%.4f (floor %.4f)", float64(d.Value), float64(d.Floor))
}

func judged(d *inventory.Distance) string {
	switch {
	case d == nil:
		return "–"
	case d.From == inventory.InCourse:
		return fmt.Sprintf("not judged; of epoch %d", d.Epoch)
	case d.From == inventory.Stale:
		return fmt.Sprintf("of other weights, epoch %d", d.Epoch)
	}
	title, _, _ := strings.Cut(d.Verdict, ":")
	return title
}

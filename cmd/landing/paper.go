package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/study/paper"
	"github.com/landing-diffusion/landing/study/sweep"
)

// paperOptions are the options of paper.
type paperOptions struct {
	paper.Config
	list, dry, show, markdown bool
}

func paperVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "paper [TABLE-OR-FIGURE...]",
		Short: "Run the paper's tables and figures, and print ours beside the paper's numbers",
		Long: `paper runs the cells behind tables and figures of the paper, one after the other, and prints the
tables with the paper's numbers in the same places. A dash stands for a cell that was not run. "all"
are all exhibits of the paper; "demo" is like figure 1 and needs no data.

The cells are those of the sweeps paper-… in the binary; landing sweep runs these too. Each cell trains
as long as --for says. A finished cell is a row of a file (--rows): a later call continues with the
cells that have no row. The folder (--out) keeps a folder for each sweep, of which landing compare makes
a page with pictures.

--data-dir names a folder with the paper's data files, in folders as published or side by side;
docs/data.md says where they are.`,
		Example: "  landing paper --list\n  landing paper demo --for 20s\n" +
			"  landing paper table1 --only volcano/ULLA --for 5m --data-dir data",
	}, new(paperOptions), runPaper)
}

func (o *paperOptions) flags(f *pflag.FlagSet) {
	f.DurationVar(&o.Budget, "for", 15*time.Minute, "training of each cell; 0: the recipes' own epochs")
	f.BoolVar(&o.Processor, "processor", false, "the budget is of processor time over workers, train.clock: "+
		"processor, as other programs use the machine too")
	f.StringVar(&o.Data, "data-dir", "", "folder with the paper's data files")
	f.StringVar(&o.Out, "out", filepath.Join("runs", "paper"), "folder of sweeps and rows, new or to go on in")
	f.StringVar(&o.File, "rows", "", "file of finished cells, read and written (default: rows.json in --out)")
	f.StringSliceVar(&o.Only, "only", nil, "cells to run, by beginnings of names, as in "+
		"volcano/ULLA or flood, or by whole names, with a $ at the end: 'volcano/ULLA$'")
	f.IntVar(&o.Seeds, "seeds", 0, "trainings of each cell, with seeds 1, 2, … (default: what --list says)")
	f.StringArrayVar(&o.Set, "set", nil, "replace one key in all trainings, as in network.width=64 (repeatable)")
	f.StringVar(&o.Note, "note", "", "what to keep in the rows, such as: beside other work")
	shardFlag(f, &o.Shard, "run part i of n of the trainings, as another process or machine runs the others")
	f.BoolVar(&o.Retry, "retry", false, "run cells that failed again")
	f.BoolVar(&o.list, "list", false, "list tables and figures with what they cost, and do nothing else")
	f.BoolVar(&o.dry, "dry-run", false, "list the cells that would be run, and why some cannot be, and run nothing")
	f.BoolVar(&o.show, "show", false, "print tables of what is finished, and run nothing")
	f.BoolVar(&o.markdown, "markdown", false, "print tables as Markdown")
}

const mostSeeds = 1000

// check looks at flags, and completes them.
func (o *paperOptions) check(_ func(flag string) bool, _ []string) error {
	for _, s := range o.Set {
		if key, _, _ := strings.Cut(s, "="); key == "seed" {
			return usage("--set %s: rows tell cells by their seed; expected --seeds N for seeds 1 to N", s)
		}
	}
	o.File = cmp.Or(o.File, filepath.Join(o.Out, "rows.json"))
	return bounds(bound{"for", o.Budget == 0 || o.Budget >= leastBudget && o.Budget <= mostBudget, o.Budget,
		fmt.Sprintf("0 or a time from %v to %v", leastBudget, mostBudget)},
		bound{"out", o.Out != "", o.Out, "a folder"},
		bound{"seeds", o.Seeds >= 0 && o.Seeds <= mostSeeds, o.Seeds, fmt.Sprintf("1 to %d", mostSeeds)})
}

func runPaper(ctx context.Context, a *app, o *paperOptions, names []string) (answer, error) {
	if o.list {
		names, o.Only = append(names, "all", "demo"), nil
	}
	if len(names) == 0 {
		return answer{}, usage("expected a table or a figure, such as table1, figure-5, demo or all; landing paper " +
			"--list lists them")
	}
	exhibits, err := paper.Named(names)
	if err != nil {
		return answer{}, err
	}
	rows, err := paper.ReadRows(o.File)
	if err != nil {
		return answer{}, err
	}
	_, left, err := o.Cells(exhibits, rows)
	if err != nil {
		return answer{}, err
	}
	switch {
	case o.list:
		return o.exhibits(exhibits, rows)
	case o.dry:
		return o.planned(ctx, exhibits, rows, left)
	case !o.show:
		if err := a.runCells(ctx, o, exhibits, rows); err != nil {
			return answer{}, err
		}
		if rows, err = paper.ReadRows(o.File); err != nil {
			return answer{}, err
		}
	}
	of, err := o.Tables(exhibits, rows)
	tables := slices.Concat(of...)
	return answer{paperTables{o.File, tables, paper.Legend}, func(w io.Writer) {
		for i := range tables {
			if i > 0 {
				fmt.Fprintln(w)
			}
			t := tables[i].Written()
			if o.markdown {
				t.WriteMarkdown(w)
			} else {
				t.WriteText(w, columns(a.out.stdout))
			}
		}
		if !o.markdown {
			fmt.Fprintf(w, "\n%s\n", paper.Legend)
		}
	}}.unless(err)
}

// runCells runs what is left, after everything that can be refused has been.
func (a *app) runCells(ctx context.Context, o *paperOptions, exhibits []*paper.Exhibit, rows []paper.Row) error {
	plans, err := o.Plans(ctx, exhibits, rows, filepath.Join(o.Out, "data"))
	if err != nil {
		return err
	}
	if len(plans) == 0 {
		a.out.say("all cells are finished: %s", o.File)
		return nil
	}
	for _, dir := range []string{o.Out, filepath.Dir(o.File)} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	by := sweep.Runner{Pool: a.workersPool(), Line: commandLine, Retry: o.Retry, Command: a.commandLine()}
	watch(&a.out, &by)
	if err = o.Run(ctx, plans, by); err != nil && ctx.Err() != nil {
		a.out.say("interrupted; finished cells are kept in %s. Go on with the same command", o.File)
		return &said{err}
	}
	return err
}

// What paper prints: of tables, of --list and of --dry-run.
type (
	paperTables struct {
		Rows   string        `json:"rows"` // the file that holds them
		Tables []paper.Table `json:"tables"`
		Legend string        `json:"legend"`
	}
	exhibitList struct {
		Exhibits []listedExhibit `json:"exhibits"`
		Budget   float64         `json:"budget_seconds"`
	}
	listedExhibit struct {
		Name    string  `json:"name"`
		Alias   string  `json:"alias,omitempty"`
		Title   string  `json:"title"`
		Runs    int     `json:"runs"` // cells, with seeds
		Nets    int     `json:"trainings"`
		Left    int     `json:"left"`
		Seconds float64 `json:"seconds_left"`
	}
	plannedPaper struct {
		Cells []plannedPaperCell `json:"cells"`
	}
	plannedPaperCell struct {
		Cell       string `json:"cell"`
		Seed       uint64 `json:"seed"`
		Definition string `json:"definition"` // variants and keys of training; keys of generation
		Run        string `json:"run"`        // name of the run folder
	}
)

// exhibits lists exhibits with what is left of them.
func (o *paperOptions) exhibits(exhibits []*paper.Exhibit, rows []paper.Row) (answer, error) {
	list := []listedExhibit{}
	for _, e := range exhibits {
		all, left, err := o.Cells([]*paper.Exhibit{e}, rows)
		if err != nil {
			return answer{}, err
		}
		list = append(list, listedExhibit{e.Name, e.Alias, e.Title, len(all), trainings(all), len(left),
			float64(trainings(left)) * o.Budget.Seconds()})
	}
	return answer{exhibitList{list, o.Budget.Seconds()}, func(w io.Writer) {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "name\talso\tcells with seeds\tto run\ttrainings\ttraining left at %v each\t\n", o.Budget)
		for _, e := range list {
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%s\t%s\n", e.Name, e.Alias, e.Runs, e.Left, e.Nets,
				text.Clock(e.Seconds), e.Title)
		}
		t.Flush()
		fmt.Fprintln(w, "\nTables and figures that share a training run it once.")
	}}, nil
}

// trainings returns how many trainings cells have.
func trainings(cells []*sweep.Cell) int {
	names := map[string]bool{}
	for _, c := range cells {
		names[c.Training] = true
	}
	return len(names)
}

// planned lists the cells that are left. The error beside it says why some cannot be run.
func (o *paperOptions) planned(ctx context.Context, exhibits []*paper.Exhibit, rows []paper.Row, left []*sweep.Cell) (
	answer, error) {
	scratch, err := os.MkdirTemp("", "landing-paper-") // for data that nobody published
	if err != nil {
		return answer{}, err
	}
	defer os.RemoveAll(scratch)
	list := []plannedPaperCell{}
	for _, c := range left {
		list = append(list, plannedPaperCell{paper.Name(c.Label), c.Label.Seed, c.Definition(), c.Training})
	}
	_, err = o.Plans(ctx, exhibits, rows, scratch)
	return answer{plannedPaper{list}, func(w io.Writer) {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, e := range list {
			fmt.Fprintf(t, "%s\tseed %d\t%s\n", e.Cell, e.Seed, e.Definition)
		}
		t.Flush()
		fmt.Fprintf(w, "%s to run\n", plural(len(list), "cell"))
	}}, err
}

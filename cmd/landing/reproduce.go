package main

import (
	"context"
	"errors"
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

	"github.com/landing-diffusion/landing/paper"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/sweep"
	"github.com/landing-diffusion/landing/work"
)

// reproduction is what the verb reproduce is asked for.
type reproduction struct {
	paper.Config
	rows                  string // file
	shard                 string
	part                  work.Shard
	only                  []string
	seeds                 int
	list, dry, show, mark bool
	retry                 bool
}

func (a *app) reproduce() *cobra.Command {
	var r reproduction
	cmd := &cobra.Command{
		Use:   "reproduce TABLE-OR-FIGURE...",
		Short: "Run the paper's tables and figures, and print ours beside the paper's numbers",
		Long: `reproduce runs the cells behind tables and figures of the paper, one after the other, each
trained as long as --budget says, and prints the tables with the paper's numbers in the same
places. What was not run is a dash. Each finished cell is a row of a file (--rows): a later call, or
one after a kill, goes on where that ended. all are all of the paper; demo is like figure 1 and needs
no data.

The folder (--out) keeps runs, reports and a page for each table and figure. --data names a folder that
has the paper's data files, in folders as it was published or side by side; docs/data.md says where
they are.`,
		Example: "  landing reproduce --list\n  landing reproduce demo --budget 20s\n" +
			"  landing reproduce table1 --only volcano/ULLA --budget 5m --data data",
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.list {
				args = append(args, "all", "demo")
			}
			exhibits, err := exhibitsOf(args)
			if err != nil {
				return err
			}
			return a.reproduceExhibits(cmd.Context(), &r, exhibits)
		},
	}
	f := cmd.Flags()
	r.flags(f)
	shardFlag(cmd.Flags(), &r.shard, "run part i of n of the trainings, as another process or machine runs the others")
	f.BoolVar(&r.retry, "retry", false, "run cells that failed again")
	f.BoolVar(&r.list, "list", false, "list tables and figures with what they cost, and do nothing else")
	f.BoolVar(&r.dry, "dry-run", false, "say which cells would be run, and what keeps them, and do nothing else")
	f.BoolVar(&r.show, "show", false, "print tables of what is finished, and run nothing")
	f.BoolVar(&r.mark, "markdown", false, "print tables as Markdown")
	return cmd
}

// exhibitsOf returns the exhibits of arguments.
func exhibitsOf(args []string) ([]*paper.Exhibit, error) {
	if len(args) == 0 {
		return nil, &usageError{errors.New("expected a table or a figure, such as table1, figure-5, demo or all; " +
			"landing reproduce --list lists them")}
	}
	exhibits, err := paper.Named(args)
	if err != nil {
		return nil, &usageError{err}
	}
	return exhibits, nil
}

// flags are those that say which cells are run, and how.
func (r *reproduction) flags(f *pflag.FlagSet) {
	f.DurationVar(&r.Budget, "budget", 15*time.Minute, "training of each cell; 0: the recipes' own epochs")
	f.BoolVar(&r.Processor, "processor", false, "the budget is of processor time over workers, train.clock: "+
		"processor, as other programs use the machine too")
	f.StringVar(&r.Data, "data", "", "folder with the paper's data files")
	f.StringVar(&r.Out, "out", filepath.Join("runs", "paper"), "folder of runs, rows and pages; made, or gone on with")
	f.StringVar(&r.rows, "rows", "", "file of finished cells, read and written (default: cells.csv in --out)")
	f.StringSliceVar(&r.only, "only", nil, "cells to run, by beginnings of names, as in "+
		"volcano/ULLA or flood, or by whole names, with a $ at the end: 'volcano/ULLA$'")
	f.IntVar(&r.seeds, "seeds", 0, "trainings of each cell, with seeds 1, 2, … (default: what --list says)")
	f.StringArrayVar(&r.Settings, "set", nil, "replace one key in all trainings, as in network.width=64 (repeatable)")
	f.StringVar(&r.Note, "note", "", "what to keep in the rows, such as: beside other work")
}

const mostSeeds = 1000

// check looks at flags.
func (r *reproduction) check() error {
	if r.Budget < 0 || r.Budget > mostBudget || r.Budget > 0 && r.Budget < leastBudget {
		return &usageError{fmt.Errorf("--budget is %v; expected 0 or a time from %v to %v", r.Budget, leastBudget,
			mostBudget)}
	}
	if r.Out == "" {
		return &usageError{errors.New("--out is empty; expected a folder")}
	}
	if r.seeds < 0 || r.seeds > mostSeeds {
		return &usageError{fmt.Errorf("--seeds is %d; expected 1 to %d", r.seeds, mostSeeds)}
	}
	for _, s := range r.Settings {
		if key, _, _ := strings.Cut(s, "="); key == "seed" {
			return &usageError{fmt.Errorf("--set %s: rows tell cells by their seed; expected --seeds N for "+
				"seeds 1 to N", s)}
		}
	}
	if r.rows == "" {
		r.rows = filepath.Join(r.Out, "cells.csv")
	}
	return nil
}

func (a *app) reproduceExhibits(ctx context.Context, r *reproduction, exhibits []*paper.Exhibit) error {
	err := r.check()
	if err != nil {
		return err
	}
	if r.part, err = shard(r.shard); err != nil {
		return err
	}
	rows, err := paper.ReadRows(r.rows)
	if err != nil {
		return err
	}
	all, err := r.some(paper.CellsOf(exhibits))
	if err != nil {
		return err
	}
	if r.list {
		return a.listExhibits(r, exhibits, rows)
	}
	if r.dry {
		return a.dryReproduce(r, all, rows)
	}
	if !r.show {
		if rows, err = a.runCells(ctx, r, all, rows); err != nil {
			return err
		}
	}
	return a.showExhibits(r, exhibits, rows)
}

// some returns the cells that --only names.
func (r *reproduction) some(all []*paper.Cell) ([]*paper.Cell, error) {
	if len(r.only) == 0 {
		return all, nil
	}
	for _, name := range r.only {
		if !slices.ContainsFunc(all, func(c *paper.Cell) bool { return begins(c.Name, name) }) {
			return nil, &usageError{fmt.Errorf("--only: no cell of these tables and figures is called %q; "+
				"--dry-run lists them", name)}
		}
	}
	return slices.DeleteFunc(all, func(c *paper.Cell) bool {
		return !slices.ContainsFunc(r.only, func(name string) bool { return begins(c.Name, name) })
	}), nil
}

// begins reports whether a cell's name is the given one or goes on below it; name$ is the one alone.
func begins(cell, name string) bool {
	if whole, ok := strings.CutSuffix(name, "$"); ok {
		return cell == whole
	}
	rest, ok := strings.CutPrefix(cell, name)
	return ok && (rest == "" || rest[0] == '/')
}

// due returns what is left to run.
func (r *reproduction) due(all []*paper.Cell, rows []paper.Row) []paper.Due {
	var out []paper.Due
	for _, c := range all {
		seeds := r.seeds
		if seeds == 0 {
			seeds = max(1, c.Seeds)
		}
		for s := range seeds {
			if !paper.Done(rows, c, r.Settings, r.Budget.Seconds(), uint64(1+s), r.retry) {
				out = append(out, paper.Due{Cell: c, Seed: uint64(1 + s)})
			}
		}
	}
	return out
}

// share returns what is left of the part that --shard names: cells of one training are in one part, whatever is
// finished.
func (r *reproduction) share(all []*paper.Cell, rows []paper.Row) []paper.Due {
	takes := r.part.ByName()
	for _, d := range r.due(all, nil) {
		takes(r.Folder(d))
	}
	return slices.DeleteFunc(r.due(all, rows), func(d paper.Due) bool { return !takes(r.Folder(d)) })
}

// runCells runs what is left, after everything that can be refused has been.
func (a *app) runCells(ctx context.Context, r *reproduction, all []*paper.Cell, rows []paper.Row) ([]paper.Row, error) {
	left := r.share(all, rows)
	if _, err := r.Plan(left, false); err != nil {
		return nil, err
	}
	if len(left) == 0 {
		a.say("all cells are finished: %s", r.rows)
		return rows, nil
	}
	for _, dir := range []string{r.Out, filepath.Dir(r.rows)} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
	}
	by := sweep.Runner{Pool: a.workersPool(), Line: commandLine, Retry: r.retry,
		Command: append([]string{"landing"}, a.args...)}
	a.watch(&by)
	rows, err := r.Run(ctx, left, r.rows, by)
	if err != nil && ctx.Err() != nil {
		a.say("interrupted; finished cells are kept in %s. Go on with the same command", r.rows)
		return nil, &said{err}
	}
	return rows, err
}

// What reproduce prints: of tables, of --list and of --dry-run.
type (
	reproduced struct {
		Rows   string        `json:"rows"` // the file that holds them
		Tables []paper.Table `json:"tables"`
		Pages  []string      `json:"pages"`
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
		Cells   int     `json:"cells"`
		Runs    int     `json:"runs"` // with seeds
		Nets    int     `json:"trainings"`
		Left    int     `json:"left"`
		Seconds float64 `json:"seconds_left"`
	}
	plannedPaper struct {
		Cells []plannedPaperCell `json:"cells"`
	}
	plannedPaperCell struct {
		Cell     string `json:"cell"`
		Seed     uint64 `json:"seed"`
		Recipe   string `json:"recipe"`
		Variants string `json:"variants,omitempty"`
		Settings string `json:"settings,omitempty"`
		Draw     string `json:"draw,omitempty"`
		Run      string `json:"run"` // folder
	}
)

func (a *app) showExhibits(r *reproduction, exhibits []*paper.Exhibit, rows []paper.Row) error {
	var tables []paper.Table
	pages := []string{}
	for _, e := range exhibits {
		tables = append(tables, e.Tables(rows, r.Settings)...)
		if r.show {
			continue
		}
		page, err := r.Page(e, rows)
		if err != nil {
			return err
		}
		file := filepath.Join(r.Out, e.Name+".html")
		if err := run.WriteFile(file, page, true); err != nil {
			return err
		}
		pages = append(pages, file)
	}
	return a.result(reproduced{r.rows, tables, pages, paper.Legend},
		func(w io.Writer) {
			for i := range tables {
				if i > 0 {
					fmt.Fprintln(w)
				}
				if r.mark {
					tables[i].Markdown(w)
				} else {
					tables[i].Terminal(w)
				}
			}
			if !r.mark {
				fmt.Fprintf(w, "\n%s\n", paper.Legend)
			}
			for _, p := range pages {
				fmt.Fprintf(w, "page: %s\n", p)
			}
		})
}

func (a *app) listExhibits(r *reproduction, exhibits []*paper.Exhibit, rows []paper.Row) error {
	list := []listedExhibit{}
	for _, e := range exhibits {
		cells := paper.CellsOf([]*paper.Exhibit{e})
		left := r.due(cells, rows)
		nets, open := map[string]bool{}, map[string]bool{}
		runs := r.due(cells, nil)
		for _, d := range runs {
			nets[r.Folder(d)] = true
		}
		for _, d := range left {
			open[r.Folder(d)] = true
		}
		list = append(list, listedExhibit{e.Name, e.Alias, e.Title, len(cells), len(runs), len(nets), len(left),
			float64(len(open)) * r.Budget.Seconds()})
	}
	return a.result(exhibitList{list, r.Budget.Seconds()}, func(w io.Writer) {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "name\talso\tcells with seeds\tto run\ttrainings\ttraining left at %v each\t\n", r.Budget)
		for _, e := range list {
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%s\t%s\n", e.Name, e.Alias, e.Runs, e.Left, e.Nets,
				clock(e.Seconds), e.Title)
		}
		t.Flush()
		fmt.Fprintln(w, "\nTables and figures that share a training run it once.")
	})
}

func (a *app) dryReproduce(r *reproduction, all []*paper.Cell, rows []paper.Row) error {
	left := r.share(all, rows)
	list := []plannedPaperCell{}
	for _, d := range left {
		list = append(list, plannedPaperCell{d.Cell.Name, d.Seed, d.Cell.Recipe, d.Cell.Variants,
			strings.Join(d.Cell.Settings, " "), strings.Join(d.Cell.Draw, " "), r.Folder(d)})
	}
	_, refused := r.Plan(left, false)
	err := a.result(plannedPaper{list}, func(w io.Writer) {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, e := range list {
			fmt.Fprintf(t, "%s\tseed %d\t%s\t%s\t%s\t%s\n", e.Cell, e.Seed, e.Recipe, e.Variants, e.Settings, e.Draw)
		}
		t.Flush()
		fmt.Fprintf(w, "%s to run\n", plural(len(list), "cell"))
	})
	return errors.Join(refused, err)
}

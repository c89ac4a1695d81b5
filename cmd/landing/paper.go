package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/paper"
	"github.com/landing-diffusion/landing/study/sweep"
)

// paperOptions are the flags of paper: those of sweep and its own.
type paperOptions struct {
	sweepOptions
	budget               time.Duration // of each training
	rows                 string        // file
	only                 []string
	seeds                int
	list, show, markdown bool
}

func paperVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "paper [TABLE-OR-FIGURE...]",
		Short: "Run the paper's tables and figures, and print ours beside the paper's numbers",
		Long: `paper runs the cells behind tables and figures of the paper, one after the other, and prints the
tables with the paper's numbers in the same places. A dash stands for a cell that was not run. "all"
are all exhibits of the paper; "demo" is like figure 1 and needs no data.

The cells are those of the sweeps paper-… in the binary; landing sweep runs these too. Each cell trains
as long as --for says. The folder (--out) keeps a folder for each sweep; landing compare makes a page with pictures of
it. A later call runs the cells that have not ended there.

--data-dir names a folder with the paper's data files, in folders as published; docs/data.md says where
they are.`,
		Example: "  landing paper --list\n  landing paper demo --for 20s\n" +
			"  landing paper table1 --only volcano/ULLA --for 5m --data-dir data",
	}, new(paperOptions), runPaper)
}

func (o *paperOptions) flags(f *pflag.FlagSet) {
	o.sweepOptions.flags(f)
	f.Lookup("out").Usage = "folder of sweeps, new or to go on in (default: runs/paper)"
	f.Lookup("data-dir").Usage = "folder with the paper's data files"
	f.DurationVar(&o.budget, "for", 15*time.Minute, "training of each cell; 0: the recipes' own epochs")
	f.StringVar(&o.rows, "rows", "", "file of cells that are finished elsewhere, as docs/paper-rows.json")
	f.StringSliceVar(&o.only, "only", nil, "cells to run, by beginnings of names, as in "+
		"volcano/ULLA or flood, or by whole names, with a $ at the end: 'volcano/ULLA$'")
	f.IntVar(&o.seeds, "seeds", 0, "trainings of each cell, with seeds 1, 2, … (default: what --list says)")
	f.BoolVar(&o.list, "list", false, "list tables and figures with what they cost, and do nothing else")
	f.BoolVar(&o.show, "show", false, "print tables of what is finished, and run nothing")
	f.BoolVar(&o.markdown, "markdown", false, "print tables as Markdown")
}

const mostSeeds = 1000

// check looks at flags, and completes them.
func (o *paperOptions) check(_ func(flag string) bool, _ []string) error {
	o.out = cmp.Or(o.out, filepath.Join("runs", "paper"))
	o.Budgets = []sweep.Budget{{Seconds: o.budget.Seconds()}}
	for s := range min(o.seeds, mostSeeds) { // more are refused below
		o.Seeds = append(o.Seeds, uint64(1+s))
	}
	return bounds(bound{"for", o.budget == 0 || o.budget >= leastBudget && o.budget <= mostBudget, o.budget,
		fmt.Sprintf("0 or a time from %v to %v", leastBudget, mostBudget)},
		bound{"seeds", o.seeds >= 0 && o.seeds <= mostSeeds, o.seeds, fmt.Sprintf("1 to %d", mostSeeds)})
}

// What paper prints: of tables, of --list and of --dry-run.
type (
	paperTables struct {
		Folder string        `json:"folder"`
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
		Runs    int     `json:"runs"` // cells, with seeds, that are not finished
		Nets    int     `json:"trainings"`
		Seconds float64 `json:"seconds"`
	}
	plannedPaper struct {
		Sweeps []*sweep.Preview `json:"sweeps"`
	}
)

func runPaper(ctx context.Context, a *app, o *paperOptions, names []string) (answer, error) {
	if o.list {
		names, o.only = append(names, "all", "demo"), nil
	}
	if len(names) == 0 {
		return answer{}, usage("expected a table or a figure, such as table1, figure-5, demo or all; landing paper " +
			"--list lists them")
	}
	exhibits, err := paper.Named(names)
	if err != nil {
		return answer{}, err
	}
	var rows []compare.Entry
	if o.rows != "" {
		if rows, err = paper.ReadRows(o.rows); err != nil {
			return answer{}, err
		}
	}
	files, err := paper.Files()
	if err != nil {
		return answer{}, err
	}
	if o.list {
		return o.exhibits(exhibits, files, rows)
	}
	if o.Keep, err = paper.Wanted(exhibits, o.only, rows); err != nil {
		return answer{}, err
	}
	if !o.show {
		previews, err := a.runSweeps(ctx, o, files)
		if o.dry {
			return answer{plannedPaper{previews}, func(w io.Writer) {
				for _, p := range previews {
					printPreview(w, p)
				}
			}}, err
		}
		if err != nil {
			return answer{}, err
		}
	}
	ours, err := paper.Finished(o.out)
	if err != nil {
		return answer{}, err
	}
	tables := paper.Tables(exhibits, append(ours, rows...))
	return answer{paperTables{o.out, tables, paper.Legend}, func(w io.Writer) {
		for i := range tables {
			if i > 0 {
				fmt.Fprintln(w)
			}
			t := tables[i].Written()
			if o.markdown {
				t.WriteMarkdown(w)
			} else {
				t.WriteText(w)
			}
		}
		if !o.markdown {
			fmt.Fprintf(w, "\n%s\n", paper.Legend)
		}
	}}, nil
}

// runSweeps runs the cells of sweeps that are wanted, each sweep in its folder, after everything that can be refused
// has been. With --dry-run it says what it would do.
func (a *app) runSweeps(ctx context.Context, o *paperOptions, files []*sweep.File) ([]*sweep.Preview, error) {
	previews := []*sweep.Preview{}
	var plans []*sweep.Plan
	var refused error
	for _, f := range files {
		plan, preview, err := o.plan(f, filepath.Join(o.out, f.Name))
		refused = errors.Join(refused, err)
		if plan == nil || !slices.ContainsFunc(plan.Cells, o.Keep) {
			continue
		}
		plans = append(plans, plan)
		if preview != nil {
			previews = append(previews, preview)
		}
	}
	if refused != nil || o.dry {
		return previews, refused
	}
	for _, plan := range plans {
		if _, err := plan.Run(ctx, a.runner(&o.sweepOptions, filepath.Join(o.out, plan.File.Name))); err != nil {
			if ctx.Err() != nil {
				a.out.say("interrupted; finished cells are kept in %s. Go on with the same command", o.out)
				return nil, &said{err}
			}
			return nil, err
		}
	}
	return nil, nil
}

// exhibits lists exhibits with what they cost.
func (o *paperOptions) exhibits(exhibits []*paper.Exhibit, files []*sweep.File, rows []compare.Entry) (answer, error) {
	list := []listedExhibit{}
	for _, e := range exhibits {
		wanted, err := paper.Wanted([]*paper.Exhibit{e}, nil, rows)
		if err != nil {
			return answer{}, err
		}
		runs, trainings := 0, map[string]bool{}
		for _, f := range files {
			cells, err := f.Cells(o.Options)
			if err != nil {
				return answer{}, err
			}
			for _, c := range cells {
				if wanted(c) {
					runs, trainings[c.Training] = runs+1, true
				}
			}
		}
		list = append(list, listedExhibit{e.Name, e.Alias, e.Title, runs, len(trainings),
			float64(len(trainings)) * o.budget.Seconds()})
	}
	return answer{exhibitList{list, o.budget.Seconds()}, func(w io.Writer) {
		fmt.Fprintf(w, "name\talso\tcells with seeds\ttrainings\ttraining at %v each\t\n", o.budget)
		for _, e := range list {
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n", e.Name, e.Alias, e.Runs, e.Nets, text.Clock(e.Seconds), e.Title)
		}
		fmt.Fprintln(w, "\nTables and figures that share a training run it once.")
	}}, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/bench/problems"
	"github.com/landing-diffusion/landing/bench/suite"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/run"
)

// Times that a problem of the suite may train for.
const (
	shortestProblem = time.Second
	longestProblem  = 24 * time.Hour
)

func (a *app) benchProblems() *cobra.Command {
	var c suite.Config
	var only, seen []string
	var list, filesOnly bool
	cmd := &cobra.Command{
		Use:   "problems",
		Short: "Train a suite of problems with known laws by data and set alone, and judge the samples",
		Long: `problems makes the data of each problem, trains it for the time that --for says with
data and set alone, and prints a row: energy distance to held-out rows and distance
of the observables, each over its floor and beside what new draws of the law itself
score; where generation begins; failed samples; how near to training rows samples
are; and a verdict in words.

The folder (--out) has one for each problem: problem.yaml, observed.yaml (the same with
observables), the data and the run. Nothing is written over.

--seen writes problems down in other ways, each a problem of its own: larger and smaller
(lengths a thousand times so), turned (by a rotation of all coordinates), shuffled (rows
in another order); itself stands for the problem as it is. A model should be as good.`,
		Example: "  landing dev bench problems --list\n  landing dev bench problems --only torus,arm5 --for 1m\n" +
			"  landing dev bench problems --only box --seen itself,turned,larger",
		Args: args(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			some, err := problems.Named(only)
			if err != nil {
				return &usageError{fmt.Errorf("--only: %w", err)}
			}
			if some, err = problems.Seen(some, seen); err != nil {
				return &usageError{fmt.Errorf("--seen: %w", err)}
			}
			if list {
				return a.listProblems(some)
			}
			if c.For < shortestProblem || c.For > longestProblem {
				return &usageError{fmt.Errorf("--for is %v; expected %v to %v", c.For, shortestProblem, longestProblem)}
			}
			if c.Seed == 0 {
				return &usageError{errors.New("--seed is 0; expected a number above 0")}
			}
			f, err := problemsFolder(c.Out)
			if err != nil {
				return err
			}
			c.Out, c.Pool, c.Command = f.Dir, a.workersPool(), append([]string{"landing"}, a.args...)
			a.say("problems: %s", f.Dir)
			if filesOnly {
				return a.writeProblems(cmd.Context(), &c, some)
			}
			return a.measureProblems(cmd.Context(), &c, some)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&only, "only", nil, "names of the problems to take (default: all)")
	f.StringSliceVar(&seen, "seen", nil, "ways to write each of them down: itself, larger, smaller, turned, shuffled")
	f.DurationVar(&c.For, "for", 3*time.Minute, "training of each problem")
	f.Uint64Var(&c.Seed, "seed", 1, "of data and training")
	f.StringArrayVar(&c.Settings, "set", nil, "replace one key in all problems, as in process.friction=2 (repeatable)")
	f.StringVar(&c.Out, "out", "", "folder to make (default: the first free runs/problems-001 …)")
	f.BoolVar(&list, "list", false, "list the problems, and do nothing else")
	f.BoolVar(&filesOnly, "files-only", false, "write data and problem files, and train nothing")
	return cmd
}

// problemsFolder makes the folder of a suite, a new or an empty one.
func problemsFolder(out string) (*run.Folder, error) {
	if out == "" {
		return run.CreateNumbered("runs", "problems")
	}
	f, err := run.Create(out, false)
	if errors.As(err, new(*run.ExistsError)) {
		return nil, &run.FolderError{Dir: out,
			Problem: "exists already and holds files; expected a new or an empty folder"}
	}
	return f, err
}

// What bench problems prints: of --list, of --write, and of problems that it measured.
type (
	problemList struct {
		Problems []listedProblem `json:"problems"`
	}
	listedProblem struct {
		Name  string `json:"name"`
		Rows  int    `json:"rows"`
		Dim   int    `json:"dim"`
		About string `json:"about"`
	}
	writtenProblems struct {
		Folder  string   `json:"folder"`
		Folders []string `json:"folders"`
	}
	measuredProblems struct {
		Machine  run.Machine     `json:"machine"`
		Folder   string          `json:"folder"`
		For      float64         `json:"for_seconds"`
		Seed     uint64          `json:"seed"`
		Settings []string        `json:"settings"`
		Problems []*suite.Result `json:"problems"`
		Bars     []suite.Bar     `json:"bars"`
		Complete bool            `json:"complete"`
	}
)

func (a *app) listProblems(some []problems.Problem) error {
	all := []listedProblem{}
	for _, p := range some {
		all = append(all, listedProblem{p.Name, p.Rows, p.Dim, p.About})
	}
	return a.result(problemList{all}, func(w io.Writer) {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "problem\trows\td\tdata and set")
		for _, e := range all {
			fmt.Fprintf(t, "%s\t%d\t%d\t%s\n", e.Name, e.Rows, e.Dim, e.About)
		}
		t.Flush()
	})
}

// writeProblems makes the folders of problems without training.
func (a *app) writeProblems(ctx context.Context, c *suite.Config, some []problems.Problem) error {
	dirs := []string{}
	for i := range some {
		dir, _, err := c.Write(ctx, &some[i])
		if err != nil {
			return err
		}
		dirs = append(dirs, dir)
	}
	return a.result(writtenProblems{c.Out, dirs}, func(w io.Writer) {
		for _, dir := range dirs {
			fmt.Fprintln(w, dir)
		}
	})
}

// measureProblems measures problems one by one, and prints the table; if it is interrupted,
// that of those that are done.
func (a *app) measureProblems(ctx context.Context, c *suite.Config, some []problems.Problem) error {
	bar := a.progress()
	results := []*suite.Result{}
	var stopped error
	for i := range some {
		p := &some[i]
		r, err := c.Measure(ctx, p, func(said string) {
			bar.update(false, func() string { return fmt.Sprintf("%s (%d of %d): %s", p.Name, i+1, len(some), said) })
		})
		if err != nil {
			stopped = err
			break
		}
		results = append(results, r)
		bar.line(p.Name + ": " + r.Verdict)
	}
	bar.done()
	if len(results) == 0 {
		return stopped
	}
	bars := suite.Bars(results)
	settings := append([]string{}, c.Settings...)
	err := a.result(measuredProblems{Machine: run.ThisMachine(), Folder: c.Out, For: c.For.Seconds(), Seed: c.Seed,
		Settings: settings, Problems: results, Bars: bars, Complete: stopped == nil},
		func(w io.Writer) { printProblems(w, c, results, bars) })
	return errors.Join(stopped, err)
}

func printProblems(w io.Writer, c *suite.Config, results []*suite.Result, bars []suite.Bar) {
	m := run.ThisMachine()
	fmt.Fprintf(w, "%s, %s, %s kernels; %v of training each, seed %d", m.CPU, plural(m.Cores, "core"), m.Kernel, c.For,
		c.Seed)
	if len(c.Settings) > 0 {
		fmt.Fprintf(w, ", with %s", strings.Join(c.Settings, ", "))
	}
	fmt.Fprint(w, "\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "problem\td\trows\tenergy/floor\tsd\tlaw\tobserved/floor\tsd\tlaw\tstart\tfailed\tnearest\t"+
		"epochs\tseconds\tof CPU\tverdict")
	for _, r := range results {
		e, o := r.Energy, r.Observed
		start := r.Start
		if !r.StartP.IsNaN() {
			start += fmt.Sprintf(" p = %.3f", r.StartP)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d of %d\t%s\t%d\t%.0f\t%.0f\t%s\n", r.Problem,
			r.Dim, r.Rows, over(e.Statistic, e.Mean), over(e.SD, e.Mean), over(r.EnergyLaw.Statistic, r.EnergyLaw.Mean),
			over(o.Value, o.Mean), over(o.SD, o.Mean), over(o.Law, o.Mean), dash(start), r.Failed, r.Samples,
			over(r.Nearest.Ratio, 1), r.Epochs, r.Seconds.Train, r.Seconds.CPU, r.Verdict)
	}
	t.Flush()
	fmt.Fprintln(w)
	for _, b := range bars {
		met := "met"
		if !b.Met {
			met = "not met"
		}
		fmt.Fprintf(w, "%s: %d of %d", b.What, b.Passed, b.Of)
		if b.Law != nil {
			fmt.Fprintf(w, ", new draws of the law %d", *b.Law)
		}
		fmt.Fprintf(w, "; wanted %.0f %%: %s\n", 100*b.Wanted, met)
	}
	fmt.Fprintln(w, "\nEnergy: samples to held-out rows, over the mean of its floor, whose sd stands beside it; law: "+
		"what new draws of the law itself score.\nObserved: mean over the observables, samples to all data. Nearest: "+
		"distance of samples to training rows over that of held-out rows.")
}

// over writes v/floor with three digits.
func over(v, floor metric.Float) string {
	q := float64(v / floor)
	if math.IsNaN(q) {
		return "–"
	}
	return fmt.Sprintf("%.3g", q)
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

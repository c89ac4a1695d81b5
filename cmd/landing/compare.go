package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/study/compare"
)

// compareOptions are the flags of compare.
type compareOptions struct {
	files   []string
	against string
	force   bool
}

func (o *compareOptions) flags(f *pflag.FlagSet) {
	f.StringArrayVarP(&o.files, "output", "o", nil, "file to write: .md, .csv, .json or .html (repeatable)")
	f.StringVar(&o.against, "against", "", "line that the others are tested against (default: the best)")
	f.BoolVar(&o.force, "force", false, "write over files that exist")
}

func (o *compareOptions) check(func(flag string) bool, []string) error {
	if o.force && len(o.files) == 0 {
		return usage("--force changes nothing here; expected it with --output FILE")
	}
	for _, file := range o.files {
		if _, err := (&outFile{file, o.force}).ready(".md", ".csv", ".json", ".html"); err != nil {
			return err
		}
	}
	return nil
}

func compareVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "compare RUN|SWEEP|FILE...",
		Short: "Compare runs and sweeps: distances with floors, violations, copies, seconds, significance",
		Long: `compare shows runs side by side. Runs that differ only in their seed form a line. Lines of the same data
and distance form a group. Each line is tested against the best of its group, or against the line that --against
names, by a permutation test over seeds.

A file of samples (NPY, CSV or Parquet) of any program, given after a run, is a line too. It is compared with
the data of that run by the same measures. NAME=FILE names the line.

compare draws samples of a run that has no evaluation, judges them, and keeps the result as evaluation.json in
its folder. It overwrites nothing. --output writes the tables as Markdown (.md), CSV (.csv, a
row a run), JSON (.json) or a page with curves and pictures (.html). It may be given several times.`,
		Example: "  landing compare runs/volcano-001 runs/volcano-002\n" +
			"  landing compare runs/volcano-001 baseline=other.csv\n" +
			"  landing compare sweeps/table1 -o table1.html -o table1.csv",
	}, new(compareOptions), runCompare)
}

func runCompare(ctx context.Context, a *app, o *compareOptions, args []string) (answer, error) {
	bar := a.out.progress()
	r := &compare.Reader{Pool: a.workersPool(), Line: commandLine,
		Say: func(s string) { bar.clear(); a.out.say("note: %s", s) },
		Drawn: func(dir string, done, n int) {
			bar.count(done, n, func() string { return fmt.Sprintf("%s: generated %d of %d", dir, done, n) })
		}}
	entries, err := r.Read(ctx, args)
	bar.done()
	if err != nil {
		return answer{}, err
	}
	c, err := compare.New(entries, o.against)
	if err != nil {
		return answer{}, err
	}
	for _, file := range o.files {
		if _, err := (&outFile{file, o.force}).save(o.writer(c, file, args)); err != nil {
			return answer{}, err
		}
	}
	return answer{c, func(w io.Writer) { c.WriteText(w) }}, nil // into memory
}

// writer returns what writes a comparison of runs to a file, by how its name ends.
func (o *compareOptions) writer(c *compare.Comparison, file string, dirs []string) func(w io.Writer) error {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".md":
		return c.WriteMarkdown
	case ".csv":
		return c.WriteCSV
	case ".json":
		return c.WriteJSON
	}
	title, command := "Comparison of "+filepath.Base(filepath.Clean(dirs[0])), "landing compare"
	if n := len(dirs) - 1; n > 0 {
		title += fmt.Sprintf(" and %d more", n)
	}
	for _, dir := range dirs {
		command += " " + text.Shell(dir)
	}
	return func(w io.Writer) error {
		return c.WriteHTML(w, title, []string{command + " -o " + text.Shell(file)})
	}
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/compare"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/run"
)

func (a *app) compare() *cobra.Command {
	var files []string
	var against, title string
	var force bool
	cmd := &cobra.Command{
		Use:   "compare RUN|SWEEP...",
		Short: "Compare runs and sweeps: distances with floors, violations, copies, seconds, significance",
		Long: `compare puts runs side by side: a line for runs that differ in their seed alone, a group for lines
of the same data and distance. Lines are tested against the best of their group, or against the one
that --against names, by a permutation test over seeds.

A run that was not judged yet is drawn from and judged; its folder keeps that as evaluation.json, and
nothing that is there is written over. --output writes the tables as Markdown (.md), CSV (.csv, a row a run),
JSON (.json) or a page with curves and pictures (.html); it may be given several times.`,
		Example: "  landing compare runs/volcano-001 runs/volcano-002\n" +
			"  landing compare sweeps/table1 -o table1.html -o table1.csv",
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) == 0 {
				return &usageError{errors.New("expected run folders, or folders of sweeps")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, file := range files {
				switch ext := strings.ToLower(filepath.Ext(file)); ext {
				case ".md", ".csv", ".json", ".html":
				default:
					return &usageError{fmt.Errorf("-o is %q; expected a file that ends in .md, .csv, .json or .html",
						file)}
				}
				if !force {
					if err := run.Free(file); err != nil {
						return err
					}
				}
			}
			bar := a.progress()
			r := &compare.Reader{Pool: a.workersPool(), Line: commandLine,
				Say: func(s string) { bar.clear(); a.say("note: %s", s) },
				Drawn: func(dir string, done, n int) {
					bar.count(done, n, func() string { return fmt.Sprintf("%s: generated %d of %d", dir, done, n) })
				}}
			entries, err := r.Read(cmd.Context(), args)
			bar.done()
			if err != nil {
				return err
			}
			c, err := compare.New(entries, against)
			if err != nil {
				return &usageError{fmt.Errorf("--against: %w", err)}
			}
			if title == "" {
				title = "Comparison of " + filepath.Base(filepath.Clean(args[0]))
				if n := len(args) - 1; n > 0 {
					title += fmt.Sprintf(" and %d more", n)
				}
			}
			command := "landing compare"
			for _, dir := range args {
				command += " " + text.Shell(dir)
			}
			for _, file := range files {
				var b bytes.Buffer
				switch strings.ToLower(filepath.Ext(file)) {
				case ".md":
					err = c.WriteMarkdown(&b)
				case ".csv":
					err = c.WriteCSV(&b)
				case ".json":
					err = c.WriteJSON(&b)
				default:
					err = c.WriteHTML(&b, title, []string{command + " -o " + text.Shell(file)})
				}
				if err == nil {
					err = run.WriteFile(file, b.Bytes(), force)
				}
				if err != nil {
					return err
				}
			}
			return a.result(c, func(w io.Writer) { c.WriteText(w, a.columns()) }) // into memory
		},
	}
	cmd.Flags().StringArrayVarP(&files, "output", "o", nil, "file to write: .md, .csv, .json or .html (repeatable)")
	cmd.Flags().StringVar(&against, "against", "", "line that the others are tested against (default: the best)")
	cmd.Flags().StringVar(&title, "title", "", "title of the page")
	cmd.Flags().BoolVar(&force, "force", false, "write over files that exist")
	return cmd
}

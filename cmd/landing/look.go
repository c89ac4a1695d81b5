package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/run"
)

func (a *app) recipes() *cobra.Command {
	return &cobra.Command{
		Use:   "recipes [NAME]",
		Short: "List the recipes in the binary, or print one",
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) > 1 {
				return &usageError{fmt.Errorf("expected at most one recipe, got %d arguments", len(given))}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, given []string) error {
			type recipe struct {
				Name     string   `json:"name"`
				Title    string   `json:"title"`
				Data     string   `json:"data"`
				Method   string   `json:"method"`
				Variants []string `json:"variants"`
				YAML     string   `json:"yaml,omitempty"`
			}
			describe := func(name string) (recipe, error) {
				data, origin, err := problem.Source(name)
				if err != nil {
					return recipe{}, err
				}
				p, err := problem.Load(data, origin, "", nil)
				if err != nil {
					return recipe{}, err
				}
				variants, err := problem.Variants(data, origin)
				return recipe{Name: name, Title: p.Title, Data: p.Data.Kind, Method: p.Process.Method, Variants: variants}, err
			}
			if len(given) == 1 {
				r, err := describe(given[0])
				if err != nil {
					return err
				}
				data, _, err := problem.Source(given[0])
				if err != nil {
					return err
				}
				r.YAML = string(data)
				return a.result(r, func(w io.Writer) { fmt.Fprint(w, r.YAML) })
			}
			all := []recipe{}
			for _, name := range problem.Recipes() {
				r, err := describe(name)
				if err != nil {
					return err
				}
				all = append(all, r)
			}
			return a.result(map[string]any{"recipes": all}, func(w io.Writer) {
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				for _, r := range all {
					data := "needs --data FILE"
					if r.Data == "demo" {
						data = "data in the binary"
					}
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\tvariants %v\n", r.Name, r.Title, r.Method, data, r.Variants)
				}
				t.Flush()
			})
		},
	}
}

func (a *app) show() *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN",
		Short: "Show what a run folder holds",
		Args:  args(1, "a run folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := run.Open(args[0])
			if err != nil {
				return err
			}
			var out struct {
				Run         string          `json:"run"`
				Manifest    run.Manifest    `json:"manifest"`
				Status      run.Status      `json:"status"`
				Checkpoints []string        `json:"checkpoints"`
				Last        json.RawMessage `json:"last_epoch"`
				Config      string          `json:"config"`
			}
			out.Run = f.Dir
			if err := f.ReadJSON(run.ManifestFile, &out.Manifest); err != nil {
				return err
			}
			if err := f.ReadJSON(run.StatusFile, &out.Status); err != nil {
				return err
			}
			if out.Checkpoints, err = f.Checkpoints(); err != nil {
				return err
			}
			config, err := f.Read(run.ConfigFile)
			if err != nil {
				return err
			}
			out.Config = string(config)
			records, err := f.Metrics()
			if err != nil {
				return err
			}
			for _, r := range records {
				if r.Kind == "epoch" {
					out.Last = r.Data
				}
			}
			return a.result(out, func(w io.Writer) {
				m, s := out.Manifest, out.Status
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintf(t, "run\t%s\nstate\t%s, epoch %d of %d\n", f.Dir, s.State, s.Epoch, s.Epochs)
				if s.Message != "" {
					fmt.Fprintf(t, "message\t%s\n", s.Message)
				}
				fmt.Fprintf(t, "created\t%s by version %s\n", m.Created.Format(time.RFC3339), m.Version)
				fmt.Fprintf(t, "data\t%s, %d points in R^%d, SHA-256 %.12s…\n", m.Data.Name, m.Data.Points, m.Data.Dim, m.Data.SHA256)
				fmt.Fprintf(t, "machine\t%s, %d cores, %s/%s\n", m.Machine.CPU, m.Machine.Cores, m.Machine.OS, m.Machine.Arch)
				fmt.Fprintf(t, "checkpoints\t%v\n", out.Checkpoints)
				if out.Last != nil {
					var last struct {
						Loss    float64
						Rate    float64
						Seconds float64
					}
					if json.Unmarshal(out.Last, &last) == nil {
						fmt.Fprintf(t, "last epoch\tloss %.4g, learning rate %.3g, %s of training\n", last.Loss, last.Rate, clock(last.Seconds))
					}
				}
				t.Flush()
				fmt.Fprintf(w, "\n%s", out.Config)
			})
		},
	}
}

func (a *app) env() *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Show version and machine, for bug reports",
		Args:  args(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			out := struct {
				Version string      `json:"version"`
				Go      string      `json:"go"`
				Machine run.Machine `json:"machine"`
				Workers int         `json:"workers"`
			}{run.Version(), runtime.Version(), run.ThisMachine(), a.workersPool().Workers()}
			return a.result(out, func(w io.Writer) {
				m := out.Machine
				fmt.Fprintf(w, "landing %s, %s %s/%s\n%s, %d cores, %d workers, %s kernels\n", out.Version, out.Go, m.OS, m.Arch, m.CPU, m.Cores, out.Workers, m.Kernel)
				for _, p := range slices.Sorted(maps.Keys(m.Products)) {
					fmt.Fprintf(w, "products in %s run in %s\n", p, m.Products[p])
				}
			})
		},
	}
}

func (a *app) sample() *cobra.Command {
	var src source
	var out string
	var force bool
	cmd := &cobra.Command{
		Use:   "sample PROBLEM",
		Short: "Sample exp(−f) on the set by Markov chains, without learning",
		Long: `sample runs chains on the problem's set with its potential and writes their draws
to an NPY file (chains × draws × dimension), with effective sample sizes and
split-R̂ of every coordinate. The keys are those under "sample:".`,
		Args: args(1, "a recipe or a problem file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !strings.EqualFold(filepath.Ext(out), ".npy") {
				return &usageError{fmt.Errorf("-o is %q; expected a file that ends in .npy", out)}
			}
			p, _, err := src.load(args[0])
			if err != nil {
				return err
			}
			if !force {
				if err := run.Free(out); err != nil {
					return err
				}
			}
			bar := a.progress()
			steps := p.Sample.Burn + p.Sample.Draws*p.Sample.Thin
			r, err := experiment.Sample(cmd.Context(), p, a.workersPool(), func(step int) {
				bar.update(step >= steps, func() string { return fmt.Sprintf("step %d of %d", step, steps) })
			})
			bar.done()
			if r == nil {
				return err
			}
			if err := r.Write(out, force); err != nil {
				return err
			}
			r.File = out
			return errors.Join(err, a.result(r, func(w io.Writer) {
				fmt.Fprintf(w, "%d chains of %d draws in %s (%.2f s); worst violation %.2g, %d chains with failed projections\n",
					r.Chains, r.Draws, out, r.Seconds, r.Violation.Worst, r.Failed)
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(t, "\tmean\t± MC error\tsd\tESS\tsplit-R̂")
				for j, c := range r.Coordinates {
					fmt.Fprintf(t, "x[%d]\t%.4f\t%.4f\t%.4f\t%.0f\t%.3f\n", j, c.Mean, c.Error, c.SD, c.ESS, c.Rhat)
				}
				t.Flush()
			}))
		},
	}
	src.flags(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "draws.npy", "file to write")
	cmd.Flags().BoolVar(&force, "force", false, "write over the file if it exists")
	return cmd
}

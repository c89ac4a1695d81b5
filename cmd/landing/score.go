package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/kernel"
	"github.com/landing-diffusion/landing/run"
)

// scored is what score --at prints.
type scored struct {
	Run       string           `json:"run"`
	File      string           `json:"file"`
	Rows      int              `json:"rows"`
	Dim       int              `json:"dim"`
	Epoch     int              `json:"epoch"`
	Precision kernel.Precision `json:"precision"`
	RunsIn    kernel.Precision `json:"runs_in"` // on this machine
	Seconds   float64          `json:"seconds"`
}

func (a *app) scoreAt() *cobra.Command {
	var at, out, checkpoint, data, precision string
	var hidden, force bool
	cmd := &cobra.Command{
		Use:   "score RUN",
		Short: "Evaluate a run's score network, or describe it to another program",
		Long: `score says what network a run has trained, how it is read as a score s(x, p, t), and which
arrays of which safetensors file are its weights: all that another program needs to evaluate it.

--at evaluates it at the rows of an NPY, CSV or Parquet file: a point, its momentum if the process has one
(underdamped), the condition being part of the point, and the time; and writes an NPY file with a
row of as many numbers as the point has for each. Nothing is guided.`,
		Example: "  landing score runs/volcano-001 --json\n" +
			"  landing score runs/volcano-001 --at rows.npy -o scores.npy --precision float32",
		Args: args(1, "a run folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if at == "" {
				for _, flag := range []string{"output", "precision", "hide-condition", "force"} {
					if cmd.Flags().Changed(flag) {
						return &usageError{fmt.Errorf("--%s says how to evaluate; expected --at FILE with it", flag)}
					}
				}
			} else if ext := strings.ToLower(filepath.Ext(out)); ext != ".npy" {
				return &usageError{fmt.Errorf("-o is %q; expected a file that ends in .npy", out)}
			} else if !force {
				if err := run.Free(out); err != nil {
					return err
				}
			}
			r, err := a.openToDraw(args[0], data)
			if err != nil {
				return err
			}
			n, err := experiment.Describe(r, checkpoint)
			if err != nil {
				return err
			}
			if at == "" {
				return a.result(n, func(w io.Writer) { printNetwork(w, n) })
			}
			p := n.Precision
			if precision != "" {
				if p, err = kernel.ParsePrecision(precision); err != nil {
					return &usageError{fmt.Errorf("--precision is %q; expected float32, bfloat16x3 or bfloat16",
						precision)}
				}
			}
			rows, err := dataset.ReadPoints(at)
			if err != nil {
				return err
			}
			t, err := r.Trained(checkpoint)
			if err != nil {
				return err
			}
			begun := time.Now()
			scores, err := experiment.Scores(cmd.Context(), r, t, p, rows.X, rows.D, hidden)
			if fault := new(experiment.RowsError); errors.As(err, &fault) {
				return &experiment.DataError{Path: at, Problem: err.Error()}
			}
			if err != nil {
				return err
			}
			seconds := time.Since(begun).Seconds()
			var b bytes.Buffer
			if err := arrayfile.EncodeNPY(&b, arrayfile.Of(scores, rows.N, n.Dim)); err != nil {
				return err
			}
			if err := run.WriteFile(out, b.Bytes(), force); err != nil {
				return err
			}
			result := scored{Run: r.Folder.Dir, File: out, Rows: rows.N, Dim: n.Dim, Epoch: n.Epoch, Precision: p,
				RunsIn: kernel.Effective(p), Seconds: seconds}
			return a.result(result, func(w io.Writer) {
				fmt.Fprintf(w, "scores at %s in %s (%.2f s, %v)\n", plural(rows.N, "row"), out, seconds, p)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&at, "at", "", "file with rows to evaluate the score at: .npy, .npz, .csv or .parquet")
	f.StringVarP(&out, "output", "o", "scores.npy", "file to write")
	checkpointFlag(cmd, &checkpoint)
	movedFlag(cmd, &data)
	f.StringVar(&precision, "precision", "", "of the network's products: float32, bfloat16x3 or bfloat16 (default: "+
		"the run's)")
	f.BoolVar(&hidden, "hide-condition", false, "what the network says without its condition, if it can do without")
	f.BoolVar(&force, "force", false, "write over the file if it exists")
	return cmd
}

// printNetwork describes a network in a few lines; --json has all.
func printNetwork(w io.Writer, n *experiment.Network) {
	rows := "x, t"
	if n.Momentum {
		rows = "x, p, t"
	}
	fmt.Fprintf(w, "%s of epoch %d, rows (%s), points of %d numbers\n", n.Kind, n.Epoch, rows, n.Dim)
	fmt.Fprintf(w, "arrays %s… of %s\n", n.Prefix, n.File)
	fmt.Fprintf(w, "times %.6g to %.6g in %d steps\n", n.Times[0], n.Times[len(n.Times)-1], len(n.Times))
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/export"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/text"
)

// exportOptions are the flags of export.
type exportOptions struct {
	export.Source
	outFile                  // of scores
	onnx, torch, hub         string
	scores, precision        string
	checkpoint, data         string
	network, reference, hide bool
	scored                   *scored // once scores are made
}

func (o *exportOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.onnx, "onnx", "", "file to write the score to as an ONNX model")
	f.StringVar(&o.torch, "torch", "", "folder to make for PyTorch; prints the module that reads it")
	f.StringVar(&o.hub, "hub", "", "folder to make for a model hub")
	f.StringVar(&o.scores, "scores", "", "file with rows to evaluate the score at: .npy, .npz, .csv or .parquet")
	o.outFile.flags(f, "scores.npy", "file to write the scores to")
	f.BoolVar(&o.network, "network", false, "describe the network to other programs, and write nothing")
	checkpointFlag(f, &o.checkpoint)
	movedFlag(f, &o.data)
	f.StringVar(&o.Licence, "license", "", "licence of the weights, as an SPDX identifier such as apache-2.0; none is "+
		"given by default")
	f.BoolVar(&o.Narrow, "float32", false, "inputs, reading and score in float32, not float64")
	f.StringVar(&o.precision, "precision", "", "of the network's products for --scores: float32, bfloat16x3 or "+
		"bfloat16 (default: the run's)")
	f.BoolVar(&o.hide, "hide-condition", false, "for --scores: evaluate the network without its condition, if it "+
		"can do without")
	f.BoolVar(&o.reference, "with-reference", false, "of a hub folder: publish the conformation that the network lays "+
		"others on, though it is a row of the data")
}

// A target is a file or folder that export writes.
type target struct {
	kind, path string
	folder     bool
	make       func() (export.Files, error) // a file: alone, under any name
}

// targets are those that flags name. What they make is of the run and the network of the source, once it has these.
func (o *exportOptions) targets(ctx context.Context) []target {
	onnx := func() (export.Files, error) {
		file, err := o.ONNX()
		return export.Files{"": file}, err
	}
	all := []target{{"onnx", o.onnx, false, onnx}, {"torch", o.torch, true, o.Torch},
		{"hub", o.hub, true, func() (export.Files, error) { return o.Hub(o.reference) }}}
	if o.scores != "" {
		all = append(all, target{"scores", o.path, false, func() (export.Files, error) { return o.score(ctx) }})
	}
	return slices.DeleteFunc(all, func(t target) bool { return t.path == "" })
}

// check looks at the flags, and at what is there of that which is to be written.
func (o *exportOptions) check(given func(flag string) bool, _ []string) error {
	for _, flag := range []string{"output", "precision", "hide-condition"} {
		if o.scores == "" && given(flag) {
			return usage("--%s says how scores are written; expected --scores ROWS with it", flag)
		}
	}
	for _, c := range []struct {
		flag, with string
		idle       bool
	}{{"license", "--onnx FILE, --torch DIR or --hub DIR", o.onnx+o.torch+o.hub == ""},
		{"with-reference", "--hub DIR", o.hub == ""},
		{"float32", "--onnx FILE, --torch DIR or --hub DIR", o.onnx+o.torch+o.hub == ""},
		{"force", "a file to write", o.network}} {
		if c.idle && given(c.flag) {
			return usage("--%s changes nothing here; expected it with %s", c.flag, c.with)
		}
	}
	targets := o.targets(context.Background())
	switch {
	case o.network && len(targets) > 0:
		return usage("--network describes the network alone; expected it without other outputs")
	case !o.network && len(targets) == 0:
		return usage("nothing to write; expected --onnx FILE, --torch DIR, --hub DIR or --scores ROWS")
	case o.onnx != "" && !strings.EqualFold(filepath.Ext(o.onnx), ".onnx"):
		return badFlag("onnx", o.onnx, "a file that ends in .onnx")
	}
	if _, err := kernel.ParsePrecision(o.precision); o.precision != "" && err != nil {
		return badFlag("precision", o.precision, "float32, bfloat16x3 or bfloat16")
	}
	if _, err := o.extension(".npy"); err != nil {
		return err
	}
	for _, t := range targets {
		if !t.folder && o.force {
			continue
		}
		if err := run.Free(t.path); err != nil && t.folder {
			return keeps("export", "", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// exported is a file or folder that export wrote, as --json prints it.
type exported struct {
	Kind  string `json:"kind"` // onnx, torch, hub or scores
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
}

// exports is what export prints with --json.
type exports struct {
	Run     string     `json:"run"`
	Epoch   int        `json:"epoch"` // of the weights
	Written []exported `json:"written"`
	Scores  *scored    `json:"scores,omitempty"`
}

// scored says how scores were evaluated.
type scored struct {
	File      string           `json:"file"`
	Rows      int              `json:"rows"`
	Dim       int              `json:"dim"`
	Precision kernel.Precision `json:"precision"`
	RunsIn    kernel.Precision `json:"runs_in"` // on this machine
	Seconds   float64          `json:"seconds"`
}

func exportVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "export RUN",
		Short: "Write a run for other programs: ONNX, PyTorch, a model hub, scores of rows",
		Long: `export writes the averaged score network of a run: score(x, t), or score(x, p, t) with a momentum, for
rows of points with a time each. docs/exports.md says how closely the programs agree.

An ONNX file has operator set 17. A folder for PyTorch has a safetensors file, a graph and a module that
reads them. A folder for a model hub has both, the settings, and a model card. The card has the figures of the
run's evaluation, its licence and its limits. No row of data is written.

--scores evaluates the score at the rows of a file and writes an NPY file. A row is a point with its
condition, its momentum if the process has one (underdamped), and the time. Nothing is guided.
--network describes the network, how to compute the score s(x, p, t) from it, and which arrays of a
safetensors file are its weights.

A folder that exists is left as it is.`,
		Example: "  landing export runs/volcano-001 --onnx volcano.onnx\n" +
			"  landing export runs/volcano-001 --hub volcano --license apache-2.0\n" +
			"  landing export runs/volcano-001 --scores rows.npy -o scores.npy --precision float32\n" +
			"  landing export runs/volcano-001 --network --json",
	}, new(exportOptions), runExport)
}

func runExport(ctx context.Context, a *app, o *exportOptions, args []string) (answer, error) {
	r, err := a.open(ctx, args[0], o.data, experiment.OpenToDraw)
	if err != nil {
		return answer{}, err
	}
	if o.network {
		n, err := experiment.Describe(r, o.checkpoint)
		return answer{n, func(w io.Writer) { printNetwork(w, n) }}.unless(err)
	}
	if o.checkpoint == "" && o.onnx+o.torch+o.hub != "" && r.Folder.Busy() == run.Held {
		return answer{}, fault.Errorf(fault.Run, r.Folder.Dir, "another process is working on this run, which "+
			"changes its weights; wait for its end, or name a checkpoint that stays (--checkpoint)")
	}
	t, err := r.Trained(o.checkpoint)
	if err != nil {
		return answer{}, err
	}
	o.Run, o.Trained = r, t
	targets, files := o.targets(ctx), []export.Files{}
	for _, t := range targets { // before anything is written
		made, err := t.make()
		if err != nil {
			return answer{}, err
		}
		files = append(files, made)
	}
	out := exports{Run: r.Folder.Dir, Epoch: t.State.Epoch, Written: []exported{}, Scores: o.scored}
	for i, t := range targets {
		e := exported{Kind: t.kind, Path: t.path}
		for _, b := range files[i] {
			e.Bytes += len(b)
		}
		if t.folder {
			err = run.WriteFolder(t.path, files[i])
		} else {
			err = run.WriteFile(t.path, files[i][""], o.force)
		}
		if err != nil {
			return answer{}, err
		}
		out.Written = append(out.Written, e)
	}
	return answer{out, func(w io.Writer) {
		for _, e := range out.Written {
			fmt.Fprintf(w, "%-13s%s (%s bytes), by the weights of epoch %d\n", e.Kind, e.Path,
				text.SI(float64(e.Bytes)), out.Epoch)
		}
		if s := out.Scores; s != nil {
			fmt.Fprintf(w, "scores at %s in %s (%.2f s, %v)\n", plural(s.Rows, "row"), s.File, s.Seconds, s.Precision)
		}
		if o.torch != "" {
			fmt.Fprintf(w, "\n%s\n", export.Loader())
		}
	}}, nil
}

// score evaluates the network at the rows of a file and returns an NPY file.
func (o *exportOptions) score(ctx context.Context) (export.Files, error) {
	n, err := experiment.Describe(o.Run, o.checkpoint)
	if err != nil {
		return nil, err
	}
	if o.hide && o.Run.Condition == nil {
		return nil, usage("--hide-condition is of a run with a condition; this run has none")
	}
	p := n.Precision
	if o.precision != "" {
		if p, err = kernel.ParsePrecision(o.precision); err != nil {
			return nil, err
		}
	}
	rows, err := parallel.Until(ctx, func() (*dataset.Points, error) { return dataset.ReadPoints(o.scores) })
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	scores, err := experiment.Scores(ctx, o.Run, o.Trained, p, o.scores, rows.X, rows.D, o.hide)
	if err != nil {
		return nil, err
	}
	o.scored = &scored{File: o.path, Rows: rows.N, Dim: n.Dim, Precision: p, RunsIn: kernel.Effective(p),
		Seconds: time.Since(begun).Seconds()}
	var b bytes.Buffer
	err = arrayfile.EncodeNPY(&b, arrayfile.Of(scores, rows.N, n.Dim))
	return export.Files{"": b.Bytes()}, err
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

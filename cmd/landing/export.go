package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/export"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
)

// exportOptions are the flags of export.
type exportOptions struct {
	onnx, torch, hub, board                   string
	scores, out, precision                    string
	checkpoint, data, licence                 string
	network, narrow, reference, hidden, force bool
	given                                     func(flag string) bool
}

func (o *exportOptions) flags(f *pflag.FlagSet) {
	o.given = f.Changed
	f.StringVar(&o.onnx, "onnx", "", "file to write the score to as an ONNX model")
	f.StringVar(&o.torch, "torch", "", "folder to make for PyTorch; prints the module that reads it")
	f.StringVar(&o.hub, "hub", "", "folder to make for a model hub")
	f.StringVar(&o.board, "tensorboard", "", "folder to make for TensorBoard: metrics, violations, figures")
	f.StringVar(&o.scores, "scores", "", "file with rows to evaluate the score at: .npy, .npz, .csv or .parquet")
	f.StringVarP(&o.out, "output", "o", "scores.npy", "file to write the scores to")
	f.BoolVar(&o.network, "network", false, "describe the network to other programs, and write nothing")
	checkpointFlag(f, &o.checkpoint)
	movedFlag(f, &o.data)
	f.StringVar(&o.licence, "license", "", "licence of the weights, as an SPDX identifier such as apache-2.0; none is "+
		"given by default")
	f.BoolVar(&o.narrow, "float32", false, "inputs, reading and score in float32, not float64")
	f.StringVar(&o.precision, "precision", "", "of the network's products for --scores: float32, bfloat16x3 or "+
		"bfloat16 (default: the run's)")
	f.BoolVar(&o.hidden, "hide-condition", false, "for --scores: evaluate the network without its condition, if it "+
		"can do without")
	f.BoolVar(&o.reference, "with-reference", false, "of a hub folder: publish the conformation that the network lays "+
		"others on, though it is a row of the data")
	f.BoolVar(&o.force, "force", false, "write over ONNX file and scores if they exist")
}

// check looks at the flags.
func (o *exportOptions) check() error {
	for _, flag := range []string{"output", "precision", "hide-condition"} {
		if o.scores == "" && o.given(flag) {
			return &usageError{fmt.Errorf("--%s says how scores are written; expected --scores ROWS with it", flag)}
		}
	}
	files := []string{o.onnx, o.torch, o.hub, o.board, o.scores}
	switch wanted := strings.Join(files, "") != ""; {
	case o.network && wanted:
		return &usageError{errors.New("--network describes the network alone; expected it without other outputs")}
	case !o.network && !wanted:
		return &usageError{errors.New("nothing to write; expected --onnx FILE, --torch DIR, --hub DIR, --tensorboard " +
			"DIR or --scores ROWS")}
	case o.onnx != "" && !strings.EqualFold(filepath.Ext(o.onnx), ".onnx"):
		return &usageError{fmt.Errorf("--onnx is %q; expected a file that ends in .onnx", o.onnx)}
	case o.scores != "" && !strings.EqualFold(filepath.Ext(o.out), ".npy"):
		return &usageError{fmt.Errorf("-o is %q; expected a file that ends in .npy", o.out)}
	case o.reference && o.hub == "":
		return &usageError{errors.New("--with-reference says what --hub may hold; expected --hub DIR with it")}
	}
	if o.precision != "" {
		if _, err := kernel.ParsePrecision(o.precision); err != nil {
			return &usageError{fmt.Errorf("--precision is %q; expected float32, bfloat16x3 or bfloat16", o.precision)}
		}
	}
	return nil
}

// free returns an error if something that is to be written is there.
func (o *exportOptions) free() error {
	files := []string{o.onnx}
	if o.scores != "" {
		files = append(files, o.out)
	}
	for _, file := range files {
		if file != "" && !o.force {
			if err := run.Free(file); err != nil {
				return err
			}
		}
	}
	for _, dir := range []string{o.torch, o.hub, o.board} {
		if dir == "" {
			continue
		}
		if err := run.Free(dir); errors.As(err, new(*run.ExistsError)) {
			return keptFolder{&run.ExistsError{Path: dir}}
		} else if err != nil {
			return err
		}
	}
	return nil
}

// exported is a file or folder that export wrote, as --json prints it.
type exported struct {
	Kind  string `json:"kind"` // onnx, torch, hub, tensorboard or scores
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`

	files export.Files // nil: one file
	file  []byte
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
		Short: "Write a run for other programs: ONNX, PyTorch, a model hub, TensorBoard, scores of rows",
		Long: `export writes the averaged score network of a run with its reading of inputs: score(x, t), or
score(x, p, t) with a momentum, for rows of points and a time each. docs/exports.md says how closely
the programs agree.

--onnx writes an ONNX file (operator set 17). Its inputs are float64, or float32 with --float32; the
network is float32.
--torch makes a folder with a safetensors file, a graph and a PyTorch module that reads them.
--hub makes a folder for a model hub: both, the settings, and a card with the figures of the run's
own evaluation, its licence and its limits; never a row of data.
--tensorboard makes a folder with an event file: metrics by epoch, and violations and figures of the
report. landing train --tensorboard writes such events during training.
--scores evaluates the score at the rows of a file and writes an NPY file. A row is a point with its
condition, its momentum if the process has one (underdamped), and the time. Nothing is guided.
--network describes the network, how it is read as a score s(x, p, t), and which arrays of which
safetensors file are its weights.

A folder that exists is left as it is.`,
		Example: "  landing export runs/volcano-001 --onnx volcano.onnx\n" +
			"  landing export runs/volcano-001 --hub volcano --license apache-2.0\n" +
			"  landing export runs/volcano-001 --scores rows.npy -o scores.npy --precision float32\n" +
			"  landing export runs/volcano-001 --network --json",
		Args: args(1, "a run folder"),
	}, new(exportOptions), runExport)
}

func runExport(ctx context.Context, a *app, o *exportOptions, args []string) (answer, error) {
	if err := cmp.Or(o.check(), o.free()); err != nil {
		return answer{}, err
	}
	r, err := a.openToDraw(ctx, args[0], o.data)
	if err != nil {
		return answer{}, err
	}
	if o.network {
		n, err := experiment.Describe(r, o.checkpoint)
		if err != nil {
			return answer{}, err
		}
		return answer{n, func(w io.Writer) { printNetwork(w, n) }}, nil
	}
	if o.checkpoint == "" && o.onnx+o.torch+o.hub+o.board != "" && r.Folder.Busy() == run.Held {
		return answer{}, fault.Errorf(fault.Run, r.Folder.Dir, "another process is working on this run, which "+
			"changes its weights; wait for its end, or name a checkpoint that stays (--checkpoint)")
	}
	t, err := r.Trained(o.checkpoint)
	if err != nil {
		return answer{}, err
	}
	out := exports{Run: r.Folder.Dir, Epoch: t.State.Epoch}
	if out.Written, err = o.make(&export.Source{Run: r, Trained: t, Licence: o.licence, Narrow: o.narrow}); err != nil {
		return answer{}, err
	}
	if o.scores != "" {
		file, s, err := o.score(ctx, r, t)
		if err != nil {
			return answer{}, err
		}
		out.Written, out.Scores = append(out.Written, exported{Kind: "scores", Path: o.out, file: file}), s
	}
	for i := range out.Written { // all could be made
		if err := out.Written[i].write(o.force); err != nil {
			return answer{}, err
		}
	}
	return answer{out, func(w io.Writer) {
		for _, e := range out.Written {
			fmt.Fprintf(w, "%-13s%s (%s bytes), by the weights of epoch %d\n", e.Kind, e.Path, si(float64(e.Bytes)),
				out.Epoch)
		}
		if s := out.Scores; s != nil {
			fmt.Fprintf(w, "scores at %s in %s (%.2f s, %v)\n", plural(s.Rows, "row"), s.File, s.Seconds, s.Precision)
		}
		if o.torch != "" {
			fmt.Fprintf(w, "\n%s\n", export.Loader())
		}
	}}, nil
}

// make makes the bytes of files and folders that are no scores.
func (o *exportOptions) make(s *export.Source) ([]exported, error) {
	all := []exported{}
	folder := func(kind, path string, files func() (export.Files, error)) error {
		if path == "" {
			return nil
		}
		made, err := files()
		all = append(all, exported{Kind: kind, Path: path, files: made})
		return err
	}
	if o.onnx != "" {
		file, err := s.ONNX()
		if err != nil {
			return nil, err
		}
		all = append(all, exported{Kind: "onnx", Path: o.onnx, file: file})
	}
	if err := folder("torch", o.torch, s.Torch); err != nil {
		return nil, err
	}
	if err := folder("hub", o.hub, func() (export.Files, error) { return s.Hub(o.reference) }); err != nil {
		return nil, err
	}
	return all, folder("tensorboard", o.board, s.TensorBoard)
}

// score evaluates the network at the rows of a file and returns the bytes of an NPY file.
func (o *exportOptions) score(ctx context.Context, r *experiment.Run, t *experiment.Trained) ([]byte, *scored, error) {
	n, err := experiment.Describe(r, o.checkpoint)
	if err != nil {
		return nil, nil, err
	}
	p := n.Precision
	if o.precision != "" {
		if p, err = kernel.ParsePrecision(o.precision); err != nil {
			return nil, nil, err
		}
	}
	rows, err := dataset.ReadPoints(o.scores)
	if err != nil {
		return nil, nil, err
	}
	begun := time.Now()
	scores, err := experiment.Scores(ctx, r, t, p, o.scores, rows.X, rows.D, o.hidden)
	if err != nil {
		return nil, nil, err
	}
	seconds := time.Since(begun).Seconds()
	var b bytes.Buffer
	err = arrayfile.EncodeNPY(&b, arrayfile.Of(scores, rows.N, n.Dim))
	return b.Bytes(), &scored{File: o.out, Rows: rows.N, Dim: n.Dim, Precision: p, RunsIn: kernel.Effective(p),
		Seconds: seconds}, err
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

// write makes the file or folder, and counts its bytes.
func (e *exported) write(force bool) error {
	if e.files == nil {
		e.Bytes = len(e.file)
		return run.WriteFile(e.Path, e.file, force)
	}
	for _, b := range e.files {
		e.Bytes += len(b)
	}
	return run.WriteFolder(e.Path, e.files)
}

// A keptFolder is the error of a folder that is there, which no flag writes over.
type keptFolder struct{ *run.ExistsError }

func (e keptFolder) Error() string {
	return e.Path + " exists already; export writes into no folder that is there: name another"
}

func (e keptFolder) Unwrap() error { return e.ExistsError }

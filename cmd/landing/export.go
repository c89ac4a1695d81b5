package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/export"
	"github.com/landing-diffusion/landing/run"
)

// exported is a file or folder that export wrote, as --json prints it.
type exported struct {
	Kind  string `json:"kind"` // onnx, torch, hub or tensorboard
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
}

func (a *app) export() *cobra.Command {
	var onnxFile, torch, hub, board, checkpoint, data, licence string
	var narrow, reference, force bool
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write a run for other programs: ONNX, PyTorch, a model hub, TensorBoard",
		Long: `export writes the averaged score network of a run with its reading of inputs: score(x, t), or
score(x, p, t) with a momentum, for rows of points and a time each. docs/exports.md says what agrees to what.

--onnx writes an ONNX file (operator set 17). Its inputs are float64, or float32 with --float32; the
network is float32. --torch makes a folder of a safetensors file, a graph and a PyTorch module that reads
them. --hub makes one for a model hub: both, the settings, and a card with the figures of the run's own
evaluation, its licence and its limits; never a row of data. --tensorboard makes one of an event file:
metrics by epoch, and violations and figures of the report (landing train --tensorboard writes such
events while it trains). What is there already is left as it is.`,
		Example: "  landing export runs/volcano-001 --onnx volcano.onnx\n" +
			"  landing export runs/volcano-001 --hub volcano --license apache-2.0",
		Args: args(1, "a run folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if onnxFile == "" && torch == "" && hub == "" && board == "" {
				return &usageError{errors.New("nothing to write; expected --onnx FILE, --torch DIR, --hub DIR or " +
					"--tensorboard DIR")}
			}
			if ext := strings.ToLower(filepath.Ext(onnxFile)); onnxFile != "" && ext != ".onnx" {
				return &usageError{fmt.Errorf("--onnx is %q; expected a file that ends in .onnx", onnxFile)}
			}
			if reference && hub == "" {
				return &usageError{errors.New("--with-reference says what --hub may hold; expected --hub DIR with it")}
			}
			for _, path := range []string{onnxFile, torch, hub, board} {
				if path == "" || force && path == onnxFile {
					continue
				}
				if err := run.Free(path); errors.As(err, new(*run.ExistsError)) && path != onnxFile {
					return keptFolder{&run.ExistsError{Path: path}}
				} else if err != nil {
					return err
				}
			}
			r, err := a.openToDraw(cmd.Context(), args[0], data)
			if err != nil {
				return err
			}
			if checkpoint == "" && r.Folder.Busy() == run.Held {
				return &run.FolderError{Dir: r.Folder.Dir, Problem: "another process is working on this run, which " +
					"changes its weights; wait for its end, or name a checkpoint that stays (--checkpoint)"}
			}
			t, err := r.Trained(checkpoint)
			if err != nil {
				return err
			}
			s := &export.Source{Run: r, Trained: t, Licence: licence, Narrow: narrow}
			var all []exported
			if onnxFile != "" {
				file, err := s.ONNX()
				if err != nil {
					return err
				}
				all = append(all, exported{Kind: "onnx", Path: onnxFile, file: file})
			}
			if torch != "" {
				files, err := s.Torch()
				if err != nil {
					return err
				}
				all = append(all, exported{Kind: "torch", Path: torch, files: files})
			}
			if hub != "" {
				files, err := s.Hub(reference)
				if err != nil {
					return err
				}
				all = append(all, exported{Kind: "hub", Path: hub, files: files})
			}
			if board != "" {
				files, err := s.TensorBoard()
				if err != nil {
					return err
				}
				all = append(all, exported{Kind: "tensorboard", Path: board, files: files})
			}
			for i := range all { // all could be made
				if err := all[i].write(force); err != nil {
					return err
				}
			}
			return a.result(exports{r.Folder.Dir, t.State.Epoch, all}, func(w io.Writer) {
				for _, e := range all {
					fmt.Fprintf(w, "%-13s%s (%s bytes), by the weights of epoch %d\n", e.Kind, e.Path,
						si(float64(e.Bytes)), t.State.Epoch)
				}
				if torch != "" {
					fmt.Fprintf(w, "\n%s\n", export.Loader())
				}
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&onnxFile, "onnx", "", "file to write the score to as an ONNX model")
	f.StringVar(&torch, "torch", "", "folder to make for PyTorch; prints the module that reads it")
	f.StringVar(&hub, "hub", "", "folder to make for a model hub")
	f.StringVar(&board, "tensorboard", "", "folder to make for TensorBoard: metrics, violations, figures")
	checkpointFlag(cmd, &checkpoint)
	movedFlag(cmd, &data)
	f.StringVar(&licence, "license", "", "licence of the weights, as an SPDX identifier such as apache-2.0; none is "+
		"given by default")
	f.BoolVar(&narrow, "float32", false, "inputs, reading and score in float32, not float64")
	f.BoolVar(&reference, "with-reference", false, "of a hub folder: publish the conformation that the network lays "+
		"others on, though it is a row of the data")
	f.BoolVar(&force, "force", false, "write over the ONNX file if it exists")
	return cmd
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

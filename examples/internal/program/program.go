// Package program is the command line of an example that makes its data: it writes
// them, or draws the samples of a run beside them.
package program

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/judge/figure"
)

// An Example makes data and draws them.
type Example struct {
	Name   string // of the folder under examples
	Points int    // how many, unless told
	Dim    int
	Make   func(n int, seed uint64) ([]float64, error) // n×Dim
	Draw   func(data, samples []float64) (*figure.Chart, error)
}

// Main runs the example as a command.
func (e Example) Main() {
	n := flag.Int("n", e.Points, "points of data")
	seed := flag.Uint64("seed", 1, "seed")
	dir := flag.String("o", filepath.Join("examples", e.Name), "folder to write to")
	samples := flag.String("draw", "", "samples to draw beside the data")
	flag.Parse()
	if err := e.Run(*dir, *samples, max(*n, 0), *seed); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", e.Name, err)
		os.Exit(1)
	}
}

// Run writes n points to data.npy of a folder or, with a file of samples, their picture beside the data to picture.png.
func (e Example) Run(dir, samples string, n int, seed uint64) error {
	x, err := e.Make(n, seed)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if samples == "" {
		if err := arrayfile.EncodeNPY(&out, arrayfile.Array{Shape: []int{n, e.Dim}, Float64: x}); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "data.npy"), out.Bytes(), 0o644)
	}
	s, err := dataset.ReadPoints(samples)
	if err != nil {
		return err
	}
	if s.D != e.Dim {
		return fmt.Errorf("%s: points have %d coordinates; expected %d", samples, s.D, e.Dim)
	}
	picture, err := e.Draw(x, s.X)
	if err != nil {
		return err
	}
	if err := picture.WritePNG(&out, 960); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "picture.png"), out.Bytes(), 0o644)
}

package newdata

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

const text = `
name: rush
data: {kind: clock, path: PATH}
set: {kind: sphere, dim: 2}
process: {steps: 20}
network: {width: 16, layers: 1}
train: {epochs: 4, evaluate_every: 2}
`

// With its row in the registry the kind trains, is scored, drawn and written like any other.
func TestClock(t *testing.T) {
	kinds.All = append(kinds.All, Kind)
	var file strings.Builder
	for i := range 300 { // most about eight and five o'clock
		fmt.Fprintf(&file, "%.3f\n", 8+9*float64(i%2)+math.Sin(float64(i)))
	}
	path := filepath.Join(t.TempDir(), "times.csv")
	testkit.OK(t, os.WriteFile(path, []byte(file.String()), 0o600))
	r := job.New[*experiment.Run](t, experiment.Load, []byte(strings.Replace(text, "PATH", path, 1)), "rush.yaml")
	ctx := context.Background()
	var heard []judge.Progress
	testkit.OK(t, r.Train(ctx, "", experiment.Observer{Evaluation: func(p judge.Progress) {
		heard = append(heard, p)
	}}))
	if len(heard) != 2 || heard[1].JSD.IsNaN() || len(heard[1].Observables) != 1 ||
		heard[1].Observables[0].Name != "hour" {
		t.Errorf("training's evaluations are %+v", heard)
	}
	trained := testkit.Must(r.Trained(""))
	prior := testkit.Must(r.Prior(ctx, nil))
	samples := testkit.Must(r.Generate(ctx, trained, prior, r.SampleCount(), 0, r.Problem.Seed, nil))
	v := testkit.Must(r.Evaluate(t.Context(), samples, trained.State, nil))
	if v.JSD == nil || len(v.JSD.Parts) != 1 || v.JSD.Full != v.JSD.Parts[0].Full || v.JSD.Mean <= 0 ||
		len(v.JSD.Parts[0].Histogram.Samples) != 24 {
		t.Errorf("scored by %+v", v.JSD)
	}
	page := testkit.Must(r.Report(samples, v, nil))
	html := testkit.Must(os.ReadFile(page))
	for _, want := range []string{"<h2>On the dial</h2>", "<h2>hour</h2>", "Circular: 0 and 24 are one place."} {
		if !bytes.Contains(html, []byte(want)) {
			t.Errorf("the report lacks %q", want)
		}
	}
	var csv bytes.Buffer
	if err := r.Domain.Writer(".csv")(&csv, arrayfile.RowsOf([]float64{0, 1, 0, -1}, 2)); err != nil ||
		csv.String() != "hour\n6.0000\n18.0000\n" {
		t.Errorf("%q, %v", csv.String(), err)
	}
	// A set in space is none for it.
	p, err := problem.Load([]byte(text), "rush.yaml", "", problem.ParseSettings("set.dim=3"))
	testkit.OK(t, err)
	if _, err = p.Build(); err == nil || !strings.Contains(err.Error(), "data.kind") ||
		!strings.Contains(err.Error(), "not in R²") {
		t.Errorf("on the sphere: %v", err)
	}
}

package experiment

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A report of samples that are all lost claims no violation.
func TestReportOfNothing(t *testing.T) {
	e := begin(t)
	s := &judge.Samples{X: make([]float64, 6), Dim: 3, Lost: []bool{true, true}}
	v, err := e.Evaluate(t.Context(), s, train.State{}, nil)
	if err != nil || !math.IsNaN(float64(v.Violation.Worst)) || !math.IsNaN(float64(v.Violation.Mean)) {
		t.Fatalf("%+v, %v", v, err)
	}
	page := reportOf(t, e, s, v)
	for _, want := range []string{"None of 2 samples is left: 2 lost to a projection.", `<dd class="value">–</dd>`} {
		testkit.Contains(t, page, want, "the report")
	}
	for _, claim := range []string{"round-off", "The worst violation of a sample is"} {
		if strings.Contains(page, claim) {
			t.Errorf("the report claims %q", claim)
		}
	}
}

// The report gives the violation that was measured.
func TestReportOfViolation(t *testing.T) {
	e := begin(t, "process.terminal_projection=false")
	s := &judge.Samples{X: []float64{0, 0, 1, 0, 0, 1.25}, Dim: 3, Lost: make([]bool, 2)}
	v := testkit.Must(e.Evaluate(t.Context(), s, train.State{}, nil))
	if page := reportOf(t, e, s, v); !strings.Contains(page, "The worst violation of a sample is 0.25.") ||
		strings.Contains(page, "round-off") {
		t.Error("the measured violation is not in the report")
	}
}

func reportOf(t *testing.T, e *Run, s *judge.Samples, v *judge.Evaluation) string {
	t.Helper()
	path := testkit.Must(e.Report(s, v, nil))
	page := testkit.Must(os.ReadFile(path))
	return string(page)
}

// Rotations are shown by their power traces, each with its distance and floor.
func TestReportOfRotations(t *testing.T) {
	pool := testkit.Pool(t, 1)
	l := testkit.Must(rotations(t, pool, func([]float64) {}))
	e := &Run{Loaded: l, Folder: begin(t).Folder}
	s := &judge.Samples{X: slices.Clone(e.Data.X), Dim: 9, Lost: make([]bool, 40)}
	v := testkit.Must(e.Evaluate(t.Context(), s, train.State{}, nil))
	page := reportOf(t, e, s, v)
	testkit.Contains(t, page, "ULLA on SO(3), 0 epochs", "the subtitle does not name the set")
	for _, p := range v.JSD.Parts {
		if want := "Distance to all data " + text.Fixed(p.Full) + ", floor " + text.Fixed(p.Mean) + " ± " +
			text.Fixed(p.SD) + "."; !strings.Contains(page, want) || !strings.Contains(page, "<h2>"+p.Name+"</h2>") {
			t.Errorf("the report lacks %q of %s", want, p.Name)
		}
	}
	for _, name := range []string{"trace-1.png", "trace-2.png", "trace-4.png", "trace-5.svg"} {
		if _, err := os.Stat(e.Folder.Path("figures/" + name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(e.Folder.Path("figures/points.png")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("three of the coordinates are drawn: %v", err)
	}
}

// Up to eight components have a column each; of more, the largest equality and the

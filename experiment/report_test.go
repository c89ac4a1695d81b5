package experiment

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/train"
)

// Both ways to lose a sample are told apart; of nothing, nothing is claimed.
func TestSentence(t *testing.T) {
	v := &Evaluation{Samples: 1000, Failed: 5, Wrong: 2, Violation: Worst{2.2e-16, 1e-17},
		JSD: &JSD{Metric: "distance", Score: metric.Score{Full: 0.25, Floor: metric.Floor{Mean: 0.125}},
			Uniform: metric.NaN}}
	const losses = "3 lost to a projection, 2 on a wrong component"
	if got, want := sentence(v), "1\u202f000 samples, worst violation 2.2×10⁻¹⁶, "+losses+". Distance to the data "+
		"0.250; perfect copies of the training rows would score 0.125."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if f := facts(v); f[1].Note != losses || f[0].Value != "2.2×10⁻¹⁶" {
		t.Errorf("%+v", f)
	}
	v.JSD.Law = 0.25
	if got := sentence(v); !strings.HasSuffix(got, "would score 0.125, new draws of their law about 0.250.") {
		t.Errorf("%q", got)
	}
	v.JSD.Uniform, v.JSD.Law, v.Wrong = 0.5, 0, 0
	if got := sentence(v); !strings.Contains(got, ", 5 lost to a projection.") ||
		!strings.HasSuffix(got, "would score 0.125, uniform samples 0.500.") {
		t.Errorf("%q", got)
	}
}

// A report of samples that are all lost claims no violation.
func TestReportOfNothing(t *testing.T) {
	e := begin(t)
	s := &Samples{X: make([]float64, 6), Dim: 3, Lost: []bool{true, true}}
	v, err := e.Evaluate(s, train.State{}, nil)
	if err != nil || !math.IsNaN(float64(v.Violation.Worst)) || !math.IsNaN(float64(v.Violation.Mean)) {
		t.Fatalf("%+v, %v", v, err)
	}
	page := reportOf(t, e, s, v)
	for _, want := range []string{"None of 2 samples is left: 2 lost to a projection.", `<dd class="value">–</dd>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the report lacks %q", want)
		}
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
	s := &Samples{X: []float64{0, 0, 1, 0, 0, 1.25}, Dim: 3, Lost: make([]bool, 2)}
	v, err := e.Evaluate(s, train.State{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if page := reportOf(t, e, s, v); !strings.Contains(page, "The worst violation of a sample is 0.25.") ||
		strings.Contains(page, "round-off") {
		t.Error("the measured violation is not in the report")
	}
}

func reportOf(t *testing.T, e *Run, s *Samples, v *Evaluation) string {
	t.Helper()
	path, err := e.Report(s, v)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// Rotations are shown by their power traces, each with its distance and floor.
func TestReportOfRotations(t *testing.T) {
	pool := parallel.New(1)
	defer pool.Close()
	l, err := rotations(t, pool, func([]float64) {})
	if err != nil {
		t.Fatal(err)
	}
	e := &Run{Loaded: l, Folder: begin(t).Folder}
	s := &Samples{X: slices.Clone(e.Data.X), Dim: 9, Lost: make([]bool, 40)}
	v, err := e.Evaluate(s, train.State{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	page := reportOf(t, e, s, v)
	if !strings.Contains(page, "ULLA on SO(3), 0 epochs") {
		t.Error("the subtitle does not name the set")
	}
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
// largest inequality of each sample count.
func TestViolationColumns(t *testing.T) {
	walls, err := zoo.NewBox([]float64{0, 0, 0}, []float64{1, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	simplex, err := zoo.NewSimplex(9)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		set   constraint.Set
		x     []float64
		names []string
		want  [][]float64
	}{
		{zoo.Torus{Major: 2, Minor: 0.5}, []float64{2.25, 0, 0, 3, 0, 0}, []string{"tube"}, [][]float64{{0.25, 0.5}}},
		{walls, []float64{0.5, 2, -0.25}, walls.Inequalities(), [][]float64{{0}, {0}, {0.25}, {0}, {1}, {0}}},
		{simplex, []float64{2, -0.25, 0, 0, 0, 0, 0, 0, 0}, []string{"largest |h|, m = 1", "largest max(g, 0), l = 9"},
			[][]float64{{0.75}, {0.25}}},
	} {
		got := violationColumns(c.set, c.x)
		for i, column := range got {
			if i >= len(c.names) || column.Name != c.names[i] || !slices.Equal(column.Values, c.want[i]) {
				t.Errorf("%v: column %+v", c.set, column)
			}
		}
		if len(got) != len(c.names) {
			t.Errorf("%v: %d columns", c.set, len(got))
		}
	}
}

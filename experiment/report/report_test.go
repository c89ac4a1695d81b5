package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The sentence distinguishes both ways to lose a sample, and says nothing about figures that do not exist.
func TestSentence(t *testing.T) {
	v := &judge.Evaluation{Samples: 1000, Failed: 5, Wrong: 2, Violation: judge.Worst{Worst: 2.2e-16, Mean: 1e-17},
		JSD: &judge.JSD{Metric: "distance", Score: metric.Score{Full: 0.25, Floor: metric.Floor{Mean: 0.125}},
			Uniform: metric.NaN}}
	const lost = "3 lost to a projection, 2 on a wrong component"
	if got, want := sentence(v), "1\u202f000 samples, worst violation 2.2×10⁻¹⁶, "+lost+". Distance to the data "+
		"0.250; perfect copies of the training rows would score 0.125."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if f := facts(v); f[1].Note != lost || f[0].Value != "2.2×10⁻¹⁶" {
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
	v.Failed, v.Broken = 50, 50
	testkit.Equal(t, losses(v), "0 lost to a projection, 50 broke down on the way")
}

// largest inequality of each sample count.
func TestViolationColumns(t *testing.T) {
	walls := testkit.Must(zoo.NewBox([]float64{0, 0, 0}, []float64{1, 1, 1}))
	simplex := testkit.Must(zoo.NewSimplex(9))
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
		testkit.Equal(t, len(got), len(c.names), "%v", c.set)
	}
}

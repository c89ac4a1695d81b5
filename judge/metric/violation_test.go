package metric

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

func TestViolations(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	far := Float(inf)
	names := []string{"h[0]", "h[1]", "g[0]", "g[1]"}
	values := []float64{-3, 0, -5, 1, 1, 0, 2, -inf, 2, 0, -1, nan, 3, 0, 2, 4, 0, 0, 0, nan}
	before := slices.Clone(values)
	got := Violations(names, values, 5, 2)
	want := []Violation{
		// 0 1 2 3 3: quantiles at 2, 3.6 and 3.96.
		{Component: "h[0]", Worst: 3, Mean: 9. / 5, Median: 2, Q90: 3, Q99: 3, WorstSample: 0},
		{Component: "h[1]"},
		// 0 0 0 2 2.
		{Component: "g[0]", Worst: 2, Mean: 4. / 5, Median: 0, Q90: 2, Q99: 2, WorstSample: 1},
		// 0 1 4 ∞ ∞.
		{Component: "g[1]", Worst: far, Mean: far, Median: 4, Q90: far, Q99: far, WorstSample: 2},
	}
	testkit.EqualSlices(t, got, want)
	for i, v := range values {
		if v != before[i] && !math.IsNaN(v) {
			t.Fatal("Violations changed its input")
		}
	}
}

func TestViolationsQuantiles(t *testing.T) {
	values := make([]float64, 101)
	for i := range values {
		values[i] = float64(i * 37 % 101) // 0 … 100
	}
	v := Violations([]string{"g"}, values, 101, 0)[0]
	near(t, "Median", v.Median, 50, 1e-12)
	near(t, "Q90", v.Q90, 90, 1e-12)
	near(t, "Q99", v.Q99, 99, 1e-12)
	near(t, "Mean", v.Mean, 50, 1e-12)
	if v.Worst != 100 || values[v.WorstSample] != 100 {
		t.Errorf("worst %g at row %d", v.Worst, v.WorstSample)
	}
	if got := Violations(nil, nil, 3, 0); len(got) != 0 {
		t.Errorf("%d components of none", len(got))
	}
}

// A row counts by its largest excess, be it of an equality or of an inequality.
func TestMeanLargestExcess(t *testing.T) {
	values := []float64{
		-3, 2, // 3 and 2
		0.5, -7, // 0.5 and 0
		0, 4, // 0 and 4
		0, -1, // 0 and 0
	}
	Excess(values, 2, 1)
	testkit.EqualSlices(t, values, []float64{3, 2, 0.5, 0, 0, 4, 0, 0}, "excess")
	testkit.Equal(t, MeanLargest(values, 2), 7.5/4, "mean")
	testkit.Equal(t, MeanLargest(nil, 0), 0, "without components the mean")
	if got := MeanLargest(nil, 2); !math.IsNaN(got) {
		t.Errorf("mean of no rows %v", got)
	}
	nan := []float64{math.NaN(), math.NaN()}
	if Excess(nan, 2, 1); !math.IsInf(nan[0], 1) || !math.IsInf(nan[1], 1) {
		t.Errorf("excess of NaN %v", nan)
	}
}

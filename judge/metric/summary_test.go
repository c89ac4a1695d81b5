package metric

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
)

func TestSummaries(t *testing.T) {
	if m := Median([]float64{5, 1, 3}); m != 3 {
		t.Errorf("median %v, want 3", m)
	}
	if m := Median([]float64{4, 1, 3, 9}); m != 3.5 || !math.IsNaN(Median(nil)) {
		t.Errorf("median %v, want 3.5, and NaN of nothing", m)
	}
	mean, distance := Spread([]float64{0, 1, 2, 1, 1, 4, 1, -2}, 2)
	if mean[0] != 1 || mean[1] != 1 || math.Abs(distance-math.Sqrt(5)) > 1e-15 { // 1 + 1 + 9 + 9 of four
		t.Errorf("spread %v about %v, want √5 about (1, 1)", distance, mean)
	}
	if s := Slope([]float64{1, 2, 3, 6}, []float64{1, -1, -3, -9}); math.Abs(s+2) > 1e-15 {
		t.Errorf("slope %v, want −2", s)
	}
}

// The distance of distribution functions, by hand.
func TestKolmogorovTest(t *testing.T) {
	D, p := KolmogorovTest([]float64{3, 1, 2, 5}, []float64{2.5, 6, 7, 8})
	if want := 2 * math.Exp(-2*0.75*0.75*2); D != 0.75 || math.Abs(p-want) > 1e-15 {
		t.Errorf("D = %v, p = %v; want 0.75, %v", D, p, want)
	}
	for δ, want := range map[float64]float64{0: 0.75, 0.4: 0.75, 0.6: 0.75, 3: 0.25, 4: 0} {
		if D := KolmogorovBeyond([]float64{3, 1, 2, 5}, []float64{2.5, 6, 7, 8}, δ); D != want {
			t.Errorf("beyond %v: %v; want %v", δ, D, want)
		}
	}
}

func TestQuantile(t *testing.T) {
	s := []float64{1, 2, 4, 8}
	// numpy.quantile([1, 2, 4, 8], p).
	for p, want := range map[float64]float64{0: 1, 0.05: 1.15, 0.3: 1.9, 0.5: 3, 0.9: 6.8, 0.99: 7.88, 1: 8} {
		near(t, "quantile", quantile(s, p), want, 1e-14)
	}
	near(t, "quantile of one number", quantile([]float64{7}, 0.3), 7, 0)
	inf := math.Inf(1)
	near(t, "quantile below +Inf", quantile([]float64{1, 2, inf}, 0.5), 2, 0)
	near(t, "quantile beside +Inf", quantile([]float64{1, 2, inf}, 0.6), inf, 0)
	near(t, "quantile among +Inf", quantile([]float64{1, inf, inf}, 0.9), inf, 0)
}

func TestMedian(t *testing.T) {
	x := make([]float64, 21)
	for i := range x {
		x[i] = float64(i * 8 % 21) // 0 … 20 in a mixed order
	}
	if got := Median(x); got != 10 {
		t.Errorf("median = %v, want 10", got)
	}
}

// Clusters finds rows that come in clusters, but no clusters in rows of a density, in modes of a law or in rounded
// numbers. Samples of the same clusters count as independent, samples of other clusters do not.
func TestUnits(t *testing.T) {
	normals := func(n, d int, set uint64) []float64 {
		x := make([]float64, n*d)
		keyed.New(1, keyed.Probe, 3000+set).Normals(x, 0, 0)
		return x
	}
	around := func(places []float64, d, each int, width float64, set uint64) []float64 {
		x := normals(len(places)/d*each, d, set)
		for i := range x {
			x[i] = places[i/d/each*d+i%d] + width*x[i]
		}
		return x
	}
	round := func(x []float64) []float64 {
		for i, v := range x {
			x[i] = math.Round(10*v) / 10
		}
		return x
	}
	places, others := normals(100, 2, 1), normals(100, 2, 2)
	swarms := around(places, 2, 8, 0.003, 3)
	for _, c := range []struct {
		name    string
		x, y    []float64
		d       int
		least   float64 // of the effective rows of y
		most    float64
		samples bool // as many of x
	}{
		{"other swarms", around(others, 2, 8, 0.003, 4), swarms, 2, 80, 125, true},
		{"the same swarms", around(places, 2, 8, 0.003, 4), swarms, 2, 800, 800, false},
		{"about the same places", around(places, 2, 8, 1e-4, 4), around(places, 2, 8, 1e-7, 3), 2, 800, 800, false},
		{"copies of others", around(others, 2, 4, 0, 4), around(places, 2, 4, 0, 3), 2, 90, 110, true},
		{"normal", normals(1000, 2, 4), normals(1000, 2, 3), 2, 1000, 1000, false},
		{"line", normals(1000, 1, 4), normals(1000, 1, 3), 1, 1000, 1000, false},
		{"three modes", around(normals(3, 3, 5), 3, 200, 0.05, 4), around(normals(3, 3, 2), 3, 200, 0.05, 3), 3, 600,
			600, false},
		{"ten modes", around(normals(10, 3, 5), 3, 100, 0.02, 4), around(normals(10, 3, 2), 3, 100, 0.02, 3), 3, 1000,
			1000, false},
		{"rounded", round(normals(1000, 1, 4)), round(normals(1000, 1, 3)), 1, 1000, 1000, false},
	} {
		of, with := Clusters(c.x, c.y, c.d)
		rows := Effective(with, len(c.y)/c.d)
		if rows < c.least || rows > c.most || (of != nil) != c.samples {
			t.Errorf("%s: %v effective rows, samples %v", c.name, rows, Effective(of, len(c.x)/c.d))
		}
	}
	// Twelve places in R^33, whose rows repeat but for their rounding, are units though they are few.
	unit := Units(around(normals(12, 33, 1), 33, 25, 1e-4, 2), 33, Repeats, 0.5)
	if got := Effective(unit, 12*25); math.Abs(got-12) > 1e-12 {
		t.Errorf("%v places", got)
	}
	if unit := Units([]float64{1}, 1, Apart, 1); unit != nil {
		t.Errorf("of one row: %v", unit)
	}
	if got := Effective([]int{0, 0, 0, 1, 2}, 5); math.Abs(got-25./11) > 1e-12 {
		t.Errorf("effective rows %v, expected 25/11", got)
	}
	if got := Step([]float64{0, 1, 0.5, 1, 0.5, 4}, 2); math.Abs(got-math.Hypot(0.5, 3)) > 1e-12 {
		t.Errorf("rounding %v", got)
	}
}

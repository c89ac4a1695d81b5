package metric

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
)

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

package metric

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// unit returns the unit vector of a latitude and a longitude in degrees.
func unit(lat, lon float64) []float64 {
	sinLat, cosLat := math.Sincos(lat * (math.Pi / 180))
	sinLon, cosLon := math.Sincos(lon * (math.Pi / 180))
	return []float64{cosLat * cosLon, cosLat * sinLon, sinLat}
}

func TestEarthHistogram(t *testing.T) {
	for _, c := range []struct {
		lat, lon float64
		i, j     int
	}{
		{-89.9, -179.9, 0, 0},
		{89.9, 179.9, 29, 29},
		{0.1, 0.1, 15, 15},
		{-0.1, -0.1, 14, 14},
		{-78.5, 11.9, 1, 15},
		{48.1, 11.6, 23, 15},
		{0, 0, 15, 15},    // an edge belongs to the bin above it
		{90, 0, 29, 15},   // but for the last
		{20, 180, 18, 29}, // likewise
		{20, -180, 18, 0}, // the date line has two sides
		{-90, 0, 0, 15},   // cos(−90°) is not quite 0
		{6, 12, 16, 16},   // edges that sines may miss by a bit
		{-66, -132, 4, 4},
		{54, 168, 24, 29},
		{-42, -108, 8, 6},
		{84, 156, 29, 28},
		{36, -24, 21, 13},
		{5.9999, 12, 15, 16},
	} {
		for _, scale := range []float64{1, 1 + 1e-9, 0.9, 1e3} { // off the sphere
			x := unit(c.lat, c.lon)
			floats.Scale(scale, x)
			h := EarthHistogram(x)
			if floats.Sum(h) != 1 || h[30*c.i+c.j] != 1 {
				at := floats.MaxIdx(h)
				t.Errorf("(%g°, %g°)·%g is in bin (%d, %d), want (%d, %d)", c.lat, c.lon, scale, at/30, at%30, c.i, c.j)
			}
		}
	}
}

// Every edge of whole degrees falls into the bin above it, whatever the sines did to it.
func TestEarthHistogramEdges(t *testing.T) {
	for i := 1; i < EarthBins; i++ {
		for j := 1; j < EarthBins; j++ {
			if h := EarthHistogram(unit(float64(6*i-90), float64(12*j-180))); h[EarthBins*i+j] != 1 {
				t.Fatalf("the lower corner of bin (%d, %d) is outside it", i, j)
			}
		}
	}
}

func TestEarthHistogramOfFinitePoints(t *testing.T) {
	x := append(unit(10, 20), math.NaN(), 0, 1, 0, math.Inf(1), 0)
	x = append(x, unit(-10, 20)...)
	if got := floats.Sum(EarthHistogram(x)); got != 2 {
		t.Errorf("%g points counted, want the 2 finite ones", got)
	}
}

// Uniform points: cells of a band are equally likely, and a band between two
// latitudes has the share (sin b − sin a)/2 of the sphere (Archimedes).
func TestEarthHistogramOfUniformPoints(t *testing.T) {
	const n = 60000
	h := EarthHistogram(normals(3*n, 3))
	var chi2 float64
	for i := range EarthBins {
		a, b := float64(6*i-90)*(math.Pi/180), float64(6*i-84)*(math.Pi/180)
		want := n * (math.Sin(b) - math.Sin(a)) / 2
		got := floats.Sum(h[EarthBins*i : EarthBins*(i+1)])
		chi2 += (got - want) * (got - want) / want
	}
	// χ² with 29 degrees of freedom exceeds 85 with probability 2e-7.
	if chi2 > 85 {
		t.Errorf("χ² of the 30 latitude bands is %.1f", chi2)
	}
}

func TestEarthJSD(t *testing.T) {
	a := append(unit(10, 20), unit(50, -70)...)
	b := unit(-30, 100)
	near(t, "of a set with itself", EarthJSD(a, a), 0, 0)
	near(t, "of two disjoint sets", EarthJSD(a, b), math.Sqrt(math.Ln2), 1e-5)
	near(t, "with half of the set", EarthJSD(a, a[:3]), JSDistance([]float64{1, 1}, []float64{1, 0}), 1e-7)
	if EarthJSD(a, b) >= math.Sqrt(math.Ln2) {
		t.Error("the empty bins were not raised")
	}
	isNaN(t, "with no points", EarthJSD(a, nil))
}

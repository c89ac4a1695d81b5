package metric

import (
	"math"
	"testing"
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

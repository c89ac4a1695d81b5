package metric

import (
	"math"
	"testing"
)

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

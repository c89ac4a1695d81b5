package metric

import (
	"math"
	"math/rand/v2"
	"testing"
)

// MMD is what its sums say, of points in the plane; the p-value is that of the energy test's relabellings, and
// a sample against itself has none.
func TestMMDTest(t *testing.T) {
	x := []float64{0, 0, 1, 0, 0, 2}
	y := []float64{1, 1, 2, 0, 0, 1, 3, 3}
	square := func(a, b []float64) float64 { return (a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) }
	// squares among y: 2, 1, 8, 5, 10, 13; their median is (5 + 8)/2
	const width = 6.5
	mean := func(a, b []float64) (sum float64) {
		for i := 0; i < len(a); i += 2 {
			for j := 0; j < len(b); j += 2 {
				sum += math.Exp(-square(a[i:], b[j:]) / (2 * width))
			}
		}
		return sum / float64(len(a)/2*(len(b)/2))
	}
	want := math.Sqrt(mean(x, x) + mean(y, y) - 2*mean(x, y))
	got := MMDTest(x, y, 2, 100, 99, 1)
	if math.Abs(float64(got.Statistic)-want) > 1e-14 || got.N != 3 || got.M != 4 || !(got.Mean > 0) || !(got.SD > 0) {
		t.Errorf("got %+v, want %v", got, want)
	}
	if same := MMDTest(y, y, 2, 100, 99, 1); same.Statistic > 1e-7 || same.PValue != 1 {
		t.Errorf("a sample against itself: %+v", same)
	}
	if got := MMDTest(times(x, 1000), times(y, 1000), 2, 100, 99, 1); math.Abs(float64(got.Statistic)-want) > 1e-13 {
		t.Errorf("in another unit %v, want %v", got.Statistic, want)
	}
	for _, bad := range [][2][]float64{{{math.NaN(), 0}, y}, {x, {1, 1, 1, 1, 1, 1}}, {x, {1, 1}},
		{x, {1, 1, math.Inf(1), 0, 3, 3}}} {
		if got := MMDTest(bad[0], bad[1], 2, 100, 9, 1); !got.Statistic.IsNaN() || !got.PValue.IsNaN() ||
			!got.Mean.IsNaN() {
			t.Errorf("%v: %+v", bad, got)
		}
	}
}

func times(x []float64, by float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = by * v
	}
	return out
}

// Two samples of one law have p ≤ 0.05 in at most 5 % of cases, so that of 200 more than 24 have a chance of
// 3·10⁻⁵; a law that is shifted by its standard deviation is seen by 100 points against 100 each time, where p
// above 0.05 has a chance below 10⁻⁹.
func TestMMDLevelAndPower(t *testing.T) {
	alarms := 0
	for k := range 200 {
		r := rand.New(rand.NewPCG(uint64(k), 7))
		draw := func(n int, by float64) []float64 {
			out := make([]float64, 2*n)
			for i := range out {
				out[i] = r.NormFloat64() + by
			}
			return out
		}
		if MMDTest(draw(20, 0), draw(30, 0), 2, 100, 99, uint64(k)).PValue <= 0.05 {
			alarms++
		}
		if k < 5 {
			if p := MMDTest(draw(100, 1), draw(100, 0), 2, 100, 99, uint64(k)).PValue; p > 0.05 {
				t.Errorf("a shifted law has p = %v", p)
			}
		}
	}
	if alarms > 24 {
		t.Errorf("%d of 200 samples of one law are called different at 5 %%", alarms)
	}
}

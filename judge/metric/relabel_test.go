package metric

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The test of means counts the ways by hand: of {1, 2, 3} and {10, 11, 12} the given one and its mirror of 20.
func TestCompareMeans(t *testing.T) {
	for _, c := range []struct {
		a, b                   []float64
		difference, se, p, low float64
		ways                   int
	}{
		{[]float64{1, 2, 3}, []float64{10, 11, 12}, -9, math.Sqrt(2.0 / 3), 0.1, 0.1, 20},
		{[]float64{1}, []float64{2}, -1, math.NaN(), 1, 1, 2},
		// {5} against {1, 2, 3}: the largest of four is called a in one of four ways; none is as far below
		{[]float64{5}, []float64{1, 2, 3}, 3, math.NaN(), 0.25, 0.25, 4},
		// sums of pairs of {1, 4, 2, 3}: 5 is the middle, so that every way is as extreme
		{[]float64{1, 4}, []float64{2, 3}, 0, math.Sqrt(4.5/2 + 0.5/2), 1, 1.0 / 3, 6},
		// {1, 3} against {2, 4}: differences of the six ways are ∓2, ∓1, 0, 0 by pairs; four are at least 1
		{[]float64{1, 3}, []float64{2, 4}, -1, math.Sqrt(2), 4.0 / 6, 1.0 / 3, 6},
		{[]float64{7, 7}, []float64{7, 7}, 0, 0, 1, 1.0 / 3, 6},
	} {
		got := CompareMeans(c.a, c.b)
		same := func(x Float, y float64) bool { return x.IsNaN() && math.IsNaN(y) || math.Abs(float64(x)-y) < 1e-12 }
		if !same(got.Difference, c.difference) || !same(got.SE, c.se) || !same(got.PValue, c.p) ||
			!same(got.Least, c.low) || got.Ways != c.ways {
			t.Errorf("%v and %v: %+v, want %v ± %v, p %v of at least %v, %d ways", c.a, c.b, got, c.difference, c.se,
				c.p, c.low, c.ways)
		}
		turned := CompareMeans(c.b, c.a)
		if !same(turned.Difference, -c.difference) || !same(turned.PValue, c.p) {
			t.Errorf("%v and %v the other way round: %+v", c.a, c.b, turned)
		}
	}
	for _, none := range [][2][]float64{{nil, {1}}, {{1}, nil}, {{math.NaN()}, {1, 2}}, {{1}, {math.Inf(1)}}} {
		if got := CompareMeans(none[0], none[1]); !got.PValue.IsNaN() {
			t.Errorf("%v: %+v", none, got)
		}
	}
}

// The level holds: of 400 pairs of samples of one skewed law, p ≤ 0.1 is expected in at most 40, and in more than 66
// with a chance below 3·10⁻⁵. Of many values random ways are looked at, and the answer is the same to their noise.
func TestCompareMeansLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	draw := func(n int, by float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = math.Exp(r.NormFloat64()) + by
		}
		return x
	}
	alarms := 0
	for range 400 {
		if CompareMeans(draw(4, 0), draw(5, 0)).PValue <= 0.1 {
			alarms++
		}
	}
	if alarms > 66 {
		t.Errorf("%d of 400 pairs of samples of one law differ at 10 %%", alarms)
	}
	if got := CompareMeans(draw(30, 0), draw(30, 50)); got.Ways != maxWays || got.PValue != 1/Float(maxWays) ||
		got.Least != got.PValue {
		t.Errorf("laws far apart: %+v", got)
	}
}

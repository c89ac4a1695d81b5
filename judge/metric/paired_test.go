package metric

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
)

// Of pairs that share a condition c, y ~ N(c, 0.1²), the test rejects the same law one time in twenty at the level of 5
// % (400 runs: from 8 to 34 but for one seed in 1000), and sees a law that is right on the whole and wrong given c:
// N(−c, 0.1²). The test of all rows would hardly ever reject the first.
func TestPaired(t *testing.T) {
	const pairs, runs = 40, 400
	rejected := 0
	draw := func(run uint64, sign float64, pairs int) (x, y []float64) {
		u := make([]float64, 3)
		for i := range pairs {
			keyed.New(run, keyed.Probe, 4).Normals(u, uint64(i), 0)
			x = append(x, sign*u[0]+0.1*u[1], u[0])
			y = append(y, u[0]+0.1*u[2], u[0])
		}
		return x, y
	}
	for run := range uint64(runs) {
		x, y := draw(run, 1, pairs)
		if p := PairedTest(x, y, 2, 1000, 99, run).PValue; p <= 0.05 {
			rejected++
		}
	}
	if rejected < 8 || rejected > 34 {
		t.Errorf("%d of %d tests of one law rejected it; expected about 20", rejected, runs)
	}
	x, y := draw(1, -1, 150)
	if got := PairedTest(x, y, 2, 1000, 999, 1); got.PValue != 0.001 || got.N != 150 || !(got.Statistic > 3*got.Mean) {
		t.Errorf("another law: %+v", got)
	}
	if got := PairedTest(x, y, 2, 30, 99, 1); got.N != 30 || got.M != 30 {
		t.Errorf("at most 30 pairs: %+v", got)
	}
	for i := range x { // pairs of equal points
		x[i] = y[i]
	}
	// The statistic is then a difference of equal means of distances near 1, of 150² numbers each, to round-off.
	if got := PairedTest(x, y, 2, 1000, 99, 1); got.PValue != 1 || math.Abs(float64(got.Statistic)) > 1e-14 {
		t.Errorf("the same points: %+v", got)
	}
}

// Wide samples are farther from the law given c than rows with a condition near c, at any number of pairs. Samples as
// wide as the rows, or nearer, are not. At the level of 5 % the test rejects one of twenty pairs of one law (from 4 to
// 22 of 200 but for one seed in 500).
func TestFarther(t *testing.T) {
	draw := func(run uint64, pairs int, own, near float64) (x, z, y []float64) {
		u := make([]float64, 4)
		for i := range pairs {
			keyed.New(run, keyed.Probe, 5).Normals(u, uint64(i), 0)
			x, z = append(x, u[0]+own*u[1], u[0]), append(z, u[0]+near*u[2], u[0])
			y = append(y, u[0]+0.1*u[3], u[0])
		}
		return x, z, y
	}
	for _, c := range []struct {
		pairs           int
		own, near       float64
		atLeast, atMost int // of 200 tests
	}{{60, 0.2, 0.2, 4, 22}, {200, 0.6, 0.2, 190, 200}, {200, 0.1, 0.3, 0, 0}} {
		told := 0
		for run := range uint64(200) {
			x, z, y := draw(run, c.pairs, c.own, c.near)
			if _, p := FartherTest(x, z, y, 2, 1000, 99, run); p <= 0.05 {
				told++
			}
		}
		if told < c.atLeast || told > c.atMost {
			t.Errorf("%+v: %d", c, told)
		}
	}
	x, z, y := draw(1, 150, 0.6, 0.2)
	more, p := FartherTest(x, z, y, 2, 1000, 999, 1)
	a, b := PairedTest(x, y, 2, 1000, 1, 1).Statistic, PairedTest(z, y, 2, 1000, 1, 1).Statistic
	if math.Abs(more-float64(a-b)) > 1e-12 || p != 0.001 {
		t.Errorf("farther by %v, p = %v; the distances are %v and %v", more, p, a, b)
	}
}

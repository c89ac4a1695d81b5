package metric

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/dense"
)

// energyByDefinition is the statistic from all pairs.
func energyByDefinition(x, y []float64, d int) float64 {
	mean := func(a, b []float64) float64 {
		var s float64
		for i := 0; i < len(a); i += d {
			for j := 0; j < len(b); j += d {
				s += math.Sqrt(dense.SquaredDistance(a[i:i+d], b[j:j+d]))
			}
		}
		return s / float64(len(a)/d*(len(b)/d))
	}
	return 2*mean(x, y) - mean(x, x) - mean(y, y)
}

func TestEnergyStatistic(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{[]float64{0}, []float64{1}, 2},
		{[]float64{0, 2}, []float64{1}, 1}, // 2·1 − 2·2/4 − 0
		{[]float64{1}, []float64{0, 2}, 1},
		{[]float64{0, 3}, []float64{3, 0}, 0},
	} {
		near(t, "Statistic", EnergyTest(c.x, c.y, 1, 9, 1, 0).Statistic, c.want, 1e-15)
	}
	for _, d := range []int{1, 3, 20} {
		x, y := normals(30*d, 1), normals(17*d, 2)
		want := energyByDefinition(x, y, d)
		a, b := EnergyTest(x, y, d, 100, 50, 3), EnergyTest(y, x, d, 100, 50, 3)
		near(t, "Statistic", a.Statistic, want, 1e-13)
		near(t, "Statistic, swapped", b.Statistic, want, 1e-13)
		if a.N != 30 || a.M != 17 || b.N != 17 || b.M != 30 {
			t.Errorf("sizes %v, %v", a, b)
		}
	}
}

// Three points against one have four relabellings, equally likely. Only the given one isolates the outlier, so p tends
// to 1/4; with equal points every relabelling ties and p is 1.
func TestEnergyPValueByHand(t *testing.T) {
	const permutations = 4000
	p := EnergyTest([]float64{0, 0.1, 0.2}, []float64{9}, 1, 9, permutations, 1).PValue
	// Binomial: 5.5 standard errors, false alarm 4e-8.
	near(t, "PValue", p, 0.25, 5.5*math.Sqrt(0.25*0.75/permutations)+1./permutations)
	third := 1. / 3
	near(t, "PValue of equal points", EnergyTest(
		[]float64{third, third, third}, []float64{third, third}, 1, 9, 99, 1).PValue, 1, 0)
	// Two against two: a relabelling and its complement have the same statistic but not the same sums, and must tie
	// whatever the round-off. The two extreme ones are 1/3 of all. 20 binomials, false alarm 1e-6.
	u := uniforms(80, 4)
	for ; len(u) > 0; u = u[4:] {
		p = EnergyTest([]float64{u[0], u[1]}, []float64{u[2] + 5, u[3] + 5}, 1, 9, permutations, 1).PValue
		near(t, "PValue of a complement", p, third, 5.5*math.Sqrt(third*(1-third)/permutations)+1./permutations)
	}
}

// Over all relabellings the statistic has mean D (1/n + 1/m), D being the mean distance of two different pooled points:
// of the three means, which count each pair of different points in proportion, only the zeros differ.
func TestEnergyFloor(t *testing.T) {
	const n, m, d, permutations = 30, 17, 3, 4000
	x, y := normals(n*d, 1), normals(m*d, 2)
	pool := append(append([]float64(nil), x...), y...)
	D := 0.0
	for i := range n + m {
		for j := range i {
			D += 2 * math.Sqrt(dense.SquaredDistance(pool[i*d:i*d+d], pool[j*d:j*d+d]))
		}
	}
	D /= (n + m) * (n + m - 1)
	f := EnergyTest(x, y, d, 100, permutations, 3).Floor
	// 5.5 standard errors, false alarm 4e-8.
	near(t, "Floor.Mean", f.Mean, D*(1./n+1./m), 5.5*float64(f.SD)/math.Sqrt(permutations))
	if f.Draws != permutations || !(f.SD > 0 && f.SD < f.Mean) {
		t.Errorf("floor %+v", f)
	}
}

// Under the null hypothesis and without ties p takes the values k/100 with equal probability. χ² over ten deciles of
// 600 tests: the false-alarm rate is 1e-6. A share of 0.2 instead of 0.1 in a decile would be seen, χ² ≥ 60; one of
// 0.13 would not.
func TestEnergyPValueIsUniform(t *testing.T) {
	const tests, permutations, d = 600, 99, 2
	counts := make([]float64, 10)
	for k := range uint64(tests) {
		x, y := normals(12*d, 2*k), normals(15*d, 2*k+1)
		p := float64(EnergyTest(x, y, d, 100, permutations, k).PValue)
		counts[min(int(math.Round(p*(permutations+1))-1)/10, 9)]++
	}
	var chi2 float64
	for _, c := range counts {
		const want = tests / 10
		chi2 += (c - want) * (c - want) / want
	}
	if bound := (distuv.ChiSquared{K: 9}).Quantile(1 - 1e-6); chi2 > bound {
		t.Errorf("deciles %v: χ² = %.1f > %.1f", counts, chi2, bound)
	}
}

// A shift by one standard deviation is 5 standard errors at 50 points against 50, and 2.5 times the width shows too: at
// most three of 199 relabellings may be as extreme.
func TestEnergyPower(t *testing.T) {
	const d = 3
	for seed := range uint64(10) {
		x, shifted, wide := normals(50*d, 3*seed), normals(50*d, 3*seed+1), normals(50*d, 3*seed+2)
		for i := range wide {
			wide[i] *= 2.5
			if i%d == 0 {
				shifted[i]++
			}
		}
		if p := EnergyTest(x, shifted, d, 100, 199, seed).PValue; p > 0.02 {
			t.Errorf("shift: p = %g", p)
		}
		if p := EnergyTest(x, wide, d, 100, 199, seed).PValue; p > 0.02 {
			t.Errorf("width: p = %g", p)
		}
	}
}

func TestEnergySubsample(t *testing.T) {
	x, y := normals(2*500, 1), normals(2*40, 2)
	a := EnergyTest(x, y, 2, 60, 99, 5)
	if a.N != 60 || a.M != 40 {
		t.Errorf("N, M = %d, %d, want 60, 40", a.N, a.M)
	}
	if EnergyTest(x, y, 2, 60, 99, 5) != a {
		t.Error("the same seed gives another outcome")
	}
	if EnergyTest(x, y, 2, 60, 99, 6).Statistic == a.Statistic {
		t.Error("another seed takes the same points")
	}
	// Each side has a choice of its own: two of one set differ, whole sets do not.
	if s := EnergyTest(x, x, 2, 60, 1, 5).Statistic; s < 1e-6 {
		t.Errorf("two subsamples of one set have the statistic %g", s)
	}
	near(t, "Statistic of a set and itself", EnergyTest(x, x, 2, 500, 1, 5).Statistic, 0, 1e-12)
	// Whole sets still have relabellings by the seed.
	if b, c := EnergyTest(y, x[:60], 2, 60, 99, 5), EnergyTest(y, x[:60], 2, 60, 99, 6); b.Statistic != c.Statistic ||
		b.Floor == c.Floor {
		t.Errorf("seeds 5 and 6 give %+v and %+v", b, c)
	}
	// Taken from all over: the same law at ten times the number, in order. The statistic is about (1/200 + 1/200)·667 =
	// 6.7; the first rows alone would give 1070.
	all, tenth := make([]float64, 2000), make([]float64, 200)
	for i := range all {
		all[i] = float64(i)
		tenth[i/10] = float64(i)
	}
	if e := EnergyTest(all, tenth, 1, 200, 1, 1).Statistic; e > 40 {
		t.Errorf("a subsample differs from its whole by %g", e)
	}
}

func TestEnergyOfNonFinitePoints(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		for _, x := range [][]float64{{bad}, {1, bad}, {bad, bad, 2}} {
			a, b := EnergyTest(x, []float64{0, 1}, 1, 9, 9, 0), EnergyTest([]float64{0, 1}, x, 1, 9, 9, 0)
			for _, v := range []Float{a.Statistic, a.PValue, a.Floor.Mean, a.Floor.SD, b.Statistic, b.PValue} {
				isNaN(t, "outcome", v)
			}
		}
	}
}

func BenchmarkEnergyTest(b *testing.B) {
	x, y := normals(3*1000, 1), normals(3*1000, 2)
	for b.Loop() {
		EnergyTest(x, y, 3, 1000, 200, 0)
	}
}

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

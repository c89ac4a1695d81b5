package metric

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/internal/dense"

	"gonum.org/v1/gonum/stat/distuv"
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

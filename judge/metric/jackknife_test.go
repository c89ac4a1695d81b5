package metric

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/internal/dense"
)

// unbiasedByDefinition is the estimate from all pairs of different points.
func unbiasedByDefinition(x, y []float64, d int) float64 {
	mean := func(a, b []float64, same bool) float64 {
		var s float64
		n := 0
		for i := 0; i < len(a); i += d {
			for j := 0; j < len(b); j += d {
				if !same || i != j {
					s += math.Sqrt(dense.SquaredDistance(a[i:i+d], b[j:j+d]))
					n++
				}
			}
		}
		return s / float64(n)
	}
	return 2*mean(x, y, false) - mean(x, x, true) - mean(y, y, true)
}

func without(x []float64, d, i int) []float64 { return slices.Delete(slices.Clone(x), i*d, (i+1)*d) }

// The value is the mean over pairs, and what each point moves it by is what leaving it out does.
func TestEstimateByDefinition(t *testing.T) {
	for _, c := range []struct{ n, m, d int }{{3, 3, 1}, {7, 5, 2}, {4, 9, 3}} {
		x, y := normals(c.n*c.d, 1), normals(c.m*c.d, 2)
		e := NewEnergyTo(y, c.d).Of(x)
		near(t, "Value", e.Value, unbiasedByDefinition(x, y, c.d), 1e-13)
		var squares float64
		for i := range c.n {
			if c.n == 3 { // two samples are left
				continue
			}
			want := float64(c.n-1) * (e.Value - unbiasedByDefinition(without(x, c.d, i), y, c.d))
			near(t, "Samples", e.Samples[i], want, 1e-12)
			squares += want * want / float64(c.n*(c.n-1))
		}
		for j := range c.m {
			if c.m == 3 {
				continue
			}
			want := float64(c.m-1) * (e.Value - unbiasedByDefinition(x, without(y, c.d, j), c.d))
			near(t, "Rows", e.Rows[j], want, 1e-12)
			squares += want * want / float64(c.m*(c.m-1))
		}
		if c.n > 3 {
			near(t, "Noise", e.Noise(), math.Sqrt(squares), 1e-13)
		}
	}
	y := normals(20, 3)
	for _, bad := range [][]float64{normals(4, 1), append(normals(10, 1), math.NaN(), 0), append(normals(10, 1),
		math.Inf(1), 0)} {
		if e := NewEnergyTo(y, 2).Of(bad); e.Known() {
			t.Errorf("an estimate %v of %v", e.Value, bad)
		}
	}
	if NewEnergyTo(y[:4], 2).Of(y).Known() {
		t.Error("an estimate to two rows")
	}
}

// A difference is of pairs: samples that are the same have none, and lost ones are left out of its noise.
func TestEstimateMinus(t *testing.T) {
	const n, m, d = 40, 30, 2
	to := NewEnergyTo(normals(m*d, 1), d)
	x := normals(n*d, 2)
	a := to.Of(x)
	if diff, noise := a.Minus(a); diff != 0 || noise != 0 {
		t.Errorf("of itself: %v ± %v", diff, noise)
	}
	z := slices.Clone(x)
	for i := range z {
		z[i] *= 1.01
	}
	b := to.Of(z)
	diff, noise := b.Minus(a)
	if diff != b.Value-a.Value || !(noise > 0 && noise < 0.2*a.Noise()) {
		t.Errorf("%v ± %v, of estimates ± %v", diff, noise, a.Noise())
	}
	lost := make([]bool, n)
	lost[3], lost[17] = true, true
	c := to.Of(without(without(x, d, 17), d, 3)).Numbered(lost)
	if len(c.Samples) != n || !math.IsNaN(c.Samples[17]) || math.IsNaN(c.Samples[18]) {
		t.Fatalf("%v", c.Samples)
	}
	if _, noise := c.Minus(a); !(noise < 0.5*a.Noise()) {
		t.Errorf("with two samples lost the noise is %v", noise)
	}
	fewer := to.Of(x[:20*d])
	if _, noise := fewer.Minus(a); math.Abs(noise-math.Hypot(fewer.Noise(), a.Noise())) > 1e-15 {
		t.Errorf("of other numbers of samples: ± %v", noise)
	}
}

// Over 1500 sets of samples and rows the estimate has the mean 0 where both are of one law. Its standard error is then
// the reported one, or √2 times that. The standard deviation of 1500 estimates is off by 2 %, or by 4.3 % where one law
// makes the tails heavy (kurtosis 12): 20 % are 4.6 of these, false alarm 4e-6 each.
func TestEstimateNoise(t *testing.T) {
	const sets, n, m, d, off = 1500, 60, 40, 2, 0.2
	type law struct{ shift, other float64 }
	for name, c := range map[string]struct {
		law
		paired    bool
		least, at float64 // bounds of SE/SD
	}{
		"one law":            {law{0, 0}, false, 1, math.Sqrt2},
		"two laws":           {law{1.5, 0}, false, 1, 1.1},
		"pairs of two laws":  {law{1.2, 1.5}, true, 1, 1.1},
		"pairs near the law": {law{0.1, 0.4}, true, 1, math.Sqrt2},
	} {
		var values []float64
		var mean, squares, told float64
		for k := range uint64(sets) {
			y := normals(m*d, 3*k)
			x, z := normals(n*d, 3*k+1), normals(n*d, 3*k+1)
			for i := 0; i < n*d; i += d {
				x[i] += c.shift
				z[i] += c.other
			}
			to := NewEnergyTo(y, d)
			e := to.Of(x)
			value, noise := e.Value, e.Noise()
			if c.paired {
				value, noise = to.Of(z).Minus(e)
			}
			values = append(values, value)
			mean += value / sets
			told += noise * noise / sets
		}
		for _, v := range values {
			squares += (v - mean) * (v - mean) / (sets - 1)
		}
		sd, told := math.Sqrt(squares), math.Sqrt(told)
		if ratio := told / sd; ratio < c.least*(1-off) || ratio > c.at*(1+off) {
			t.Errorf("%s: standard error %v, standard deviation %v: ratio %.3f", name, told, sd, ratio)
		}
		if name == "one law" && math.Abs(mean) > 5*sd/math.Sqrt(sets) { // false alarm 6e-7
			t.Errorf("the mean of one law is %v ± %v", mean, sd/math.Sqrt(sets))
		}
	}
}

func BenchmarkEstimate(b *testing.B) {
	const n, d = 1000, 10
	to := NewEnergyTo(normals(n*d, 1), d)
	x := normals(n*d, 2)
	for b.Loop() {
		to.Of(x)
	}
}

// A mean of rows has the standard error of a mean, and against another of the same rows that of their
// differences; rows without a value do not count.
func TestMeanOf(t *testing.T) {
	nan := math.NaN()
	a, b := MeanOf([]float64{1, 2, 3, nan, 6}), MeanOf([]float64{1.5, 2.5, 3.5, 4, 6.5})
	if a.Value != 3 || math.Abs(a.Noise()-math.Sqrt(14./12)) > 1e-12 {
		t.Errorf("%v ± %v", a.Value, a.Noise())
	}
	if d, noise := a.Minus(b); math.Abs(d+0.6) > 1e-12 || noise > 1e-12 {
		t.Errorf("the difference is %v ± %v", d, noise)
	}
	if e := MeanOf([]float64{nan}); e.Known() || !math.IsNaN(e.Noise()) {
		t.Errorf("%+v", e)
	}
}

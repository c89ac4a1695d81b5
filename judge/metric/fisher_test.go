package metric

import (
	"math"
	"testing"
)

// Fisher's tea: 3 of 4 and 1 of 4 are 34/70, and 4 of 4 and 0 of 4 are 2/70. Others follow from binomial coefficients.
func TestFisherTest(t *testing.T) {
	for _, c := range []struct {
		a, n, b, m int
		p          float64
	}{
		{3, 4, 1, 4, 34. / 70}, {4, 4, 0, 4, 2. / 70}, {0, 4, 4, 4, 2. / 70}, {2, 4, 2, 4, 1},
		{0, 10, 0, 20, 1}, {10, 10, 20, 20, 1}, {0, 0, 3, 5, 1}, {5, 1000, 5, 1000, 1},
	} {
		if got := FisherTest(c.a, c.n, c.b, c.m); math.Abs(got-c.p) > 1e-9 {
			t.Errorf("%d of %d and %d of %d: p = %v, want %v", c.a, c.n, c.b, c.m, got, c.p)
		}
		if got, back := FisherTest(c.a, c.n, c.b, c.m), FisherTest(c.b, c.m, c.a, c.n); math.Abs(got-back) > 1e-9 {
			t.Errorf("%d of %d and %d of %d: p = %v, exchanged %v", c.a, c.n, c.b, c.m, got, back)
		}
	}
	if p := FisherTest(145_000, 1_000_000, 1000, 1_000_000); p != 0 {
		t.Errorf("p = %v of 14.5 %% and 0.1 %% of 10⁶", p)
	}
	binomial := func(n, k int) float64 {
		r := 1.0
		for i := range k {
			r = r * float64(n-i) / float64(i+1)
		}
		return r
	}
	want, limit := 0.0, binomial(12, 1)*binomial(14, 9)*(1+1e-12)
	for i := range 11 {
		if v := binomial(12, i) * binomial(14, 10-i); v <= limit {
			want += v / binomial(26, 10)
		}
	}
	if p := FisherTest(1, 12, 9, 14); math.Abs(p-want) > 1e-9 {
		t.Errorf("1 of 12 and 9 of 14: p = %v, want %v", p, want)
	}
}

// As many successes of as many trials are the likeliest outcome, so p = 1; and no more, though the
// logarithms that it is summed from round.
func TestFisherIsAChance(t *testing.T) {
	for n := 1; n <= 80; n++ {
		for a := range n + 1 {
			if p := FisherTest(a, n, a, n); !(p <= 1) || p < 1-1e-9 {
				t.Errorf("%d of %d twice: p = %v", a, n, p)
			}
		}
	}
}

package metric

import (
	"math"
	"testing"
)

func TestJSDistance(t *testing.T) {
	root := math.Sqrt
	for _, c := range []struct {
		name string
		p, q []float64
		want float64
	}{
		{"disjoint", []float64{1, 0}, []float64{0, 1}, root(math.Ln2)},
		{"disjoint, not normalised", []float64{3, 0, 5}, []float64{0, 9, 0}, root(math.Ln2)},
		{"equal up to a factor", []float64{1, 2, 3}, []float64{7, 14, 21}, 0},
		// m = (3/4, 1/4): ½ ln(4/3) + ½(½ ln(2/3) + ½ ln 2).
		{"by hand", []float64{1, 0}, []float64{1, 1}, root(0.5*math.Log(4./3) + 0.25*math.Log(2./3) + 0.25*math.Ln2)},
		// scipy.spatial.distance.jensenshannon, version 1.x.
		{"scipy", []float64{1, 2, 3, 0}, []float64{4, 0, 3, 3}, 0.5068325763746837},
	} {
		near(t, c.name, JSDistance(c.p, c.q), c.want, 1e-15)
		near(t, c.name+", swapped", JSDistance(c.q, c.p), c.want, 1e-15)
	}
	if got := JSDistance([]float64{0.1, 0.7, 0.3}, []float64{0.1, 0.7, 0.3}); got != 0 {
		t.Errorf("of equal histograms: %g", got)
	}
}

// Close histograms, p = ½(1 ± δ) against ½: the divergence is δ²/8 (1 + O(δ²)).
// A sum of logarithms would lose all digits from δ = 1e-8 on.
func TestJSDivergenceOfCloseHistograms(t *testing.T) {
	for _, d := range []float64{1e-3, 1e-6, 1e-9, 1e-12} {
		// p(1±δ) as binary numbers, so that δ is what is tested.
		p := []float64{1 + d, 1 - d}
		delta := (p[0] - p[1]) / 2
		got := JSDivergence(p, []float64{1, 1})
		near(t, "ratio to δ²/8", got/(delta*delta/8), 1, 1e-3*math.Abs(d)+2e-3*math.Min(1, 1e-13/d))
	}
}

// The two forms of a term agree where they meet, and a metric has triangles.
func TestJSDistanceIsAMetric(t *testing.T) {
	const bins = 7
	u := uniforms(300*bins, 1)
	for i := 0; i+3*bins <= len(u); i += 3 * bins {
		p, q, r := u[i:i+bins], u[i+bins:i+2*bins], u[i+2*bins:i+3*bins]
		pq, qr, pr := JSDistance(p, q), JSDistance(q, r), JSDistance(p, r)
		if pq < 0 || pq > math.Sqrt(math.Ln2) {
			t.Fatalf("distance %g is out of range", pq)
		}
		if pr > pq+qr+1e-15 {
			t.Fatalf("%g > %g + %g", pr, pq, qr)
		}
	}
	for _, p := range []float64{0.3, 0.75, 0.7500001, 0.9, 1 - 1e-10} {
		q := 1 - p
		want := p*math.Log(2*p) + q*math.Log(2*q)
		near(t, "term", jsTerm(p, q), want, 1e-15)
	}
}

func TestJSDivergenceOfNoHistogram(t *testing.T) {
	ok := []float64{1, 2}
	for _, p := range [][]float64{{0, 0}, {1, -1}, {2, -1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		isNaN(t, "JSDivergence", JSDivergence(p, ok))
		isNaN(t, "JSDivergence", JSDivergence(ok, p))
	}
	isNaN(t, "JSDivergence of no bins", JSDivergence(nil, nil))
}

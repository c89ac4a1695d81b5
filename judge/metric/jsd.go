package metric

import (
	"fmt"
	"math"
)

// JSDivergence returns the Jensen–Shannon divergence of two histograms,
//
//	½ Σ p ln(p/m) + ½ Σ q ln(q/m),   m = (p + q)/2,
//
// in nats, between 0 and ln 2. The histograms are sets of non-negative weights of equal length and are normalised to
// sum 1 here. The result is NaN if a histogram sums to zero or a weight is negative or not finite.
func JSDivergence(p, q []float64) float64 {
	if len(p) != len(q) {
		panic(fmt.Sprintf("metric: histograms of %d and %d bins", len(p), len(q)))
	}
	sumP, sumQ := mass(p), mass(q)
	if math.IsNaN(sumP + sumQ) {
		return math.NaN()
	}
	var sum float64
	for i := range p {
		sum += jsTerm(p[i]/sumP, q[i]/sumQ)
	}
	return min(sum/2, math.Ln2)
}

// JSDistance returns the square root of JSDivergence: a metric on histograms, between 0 and √ln 2 ≈ 0.8326. It is the
// quantity that scipy.spatial.distance.jensenshannon returns by default.
func JSDistance(p, q []float64) float64 { return math.Sqrt(JSDivergence(p, q)) }

// mass returns the sum of the weights w, NaN where they are no histogram.
func mass(w []float64) float64 {
	var sum float64
	for _, v := range w {
		if !(v >= 0) {
			return math.NaN()
		}
		sum += v
	}
	if sum == 0 || math.IsInf(sum, 1) {
		return math.NaN()
	}
	return sum
}

// jsTerm returns p ln(p/m) + q ln(q/m) with m = (p + q)/2. The two terms nearly cancel where p ≈ q; with δ =
// (p−q)/(p+q) their sum is m (ln(1−δ²) + 2δ artanh δ) = m (δ² + O(δ⁴)), which does not.
func jsTerm(p, q float64) float64 {
	m := (p + q) / 2
	if m == 0 {
		return 0
	}
	if d := (p - q) / (p + q); math.Abs(d) < 0.5 {
		return m * (math.Log1p(-d*d) + 2*d*math.Atanh(d))
	}
	return xlog(p, p/m) + xlog(q, q/m)
}

// xlog returns x ln y, and 0 at x = 0.
func xlog(x, y float64) float64 {
	if x == 0 {
		return 0
	}
	return x * math.Log(y)
}

package metric

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Median returns the median of x, which it sorts; NaN if x is empty.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// Quantile returns the p-quantile of x, which it sorts: linear between the order statistics. x may
// hold +Inf, but neither −Inf nor NaN; NaN if x is empty.
func Quantile(x []float64, p float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	return quantile(x, p)
}

// Spread returns the mean of the rows of x (n×d) and their root mean square distance from it.
func Spread(x []float64, d int) (mean []float64, distance float64) {
	mean = make([]float64, d)
	sum, n := 0.0, float64(len(x)/d)
	for i, v := range x {
		mean[i%d] += v / n
	}
	for i, v := range x {
		sum += (v - mean[i%d]) * (v - mean[i%d]) / n
	}
	return mean, math.Sqrt(sum)
}

// Slope returns the least-squares slope of y on x. It is not for fewer than two values, or for x all alike.
func Slope(x, y []float64) float64 {
	n := float64(len(x))
	var mx, my, sxx, sxy float64
	for i := range x {
		mx, my = mx+x[i]/n, my+y[i]/n
	}
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	return sxy / sxx
}

// KolmogorovTest returns the largest distance D of the distribution functions of a and b, which it sorts, and a bound
// of its p-value, 2 exp(−2D² nm/(n+m)): the first term of Kolmogorov's alternating series. D is at most the total
// variation distance of the laws.
func KolmogorovTest(a, b []float64) (D, p float64) {
	slices.Sort(a)
	slices.Sort(b)
	D = stat.KolmogorovSmirnov(a, nil, b, nil)
	n, m := float64(len(a)), float64(len(b))
	return D, min(1, 2*math.Exp(-2*D*D*n*m/(n+m)))
}

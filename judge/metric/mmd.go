package metric

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
)

// MMDTest compares the points x and y of dimension d by the maximum mean discrepancy of a Gaussian kernel (Gretton
// and others, Journal of Machine Learning Research 13, 2012),
//
//	MMD² = mean k(x_i, x_j) + mean k(y_i, y_j) − 2 mean k(x_i, y_j),  k(u, v) = exp(−|u − v|²/(2ℓ²)),
//
// means over all pairs, each point with itself included: MMD² ≥ 0, and about 2(1 − mean k)/n for n points each of
// one law, which the floor shows. The statistic is MMD. ℓ² is the median of |y_i − y_j|² over the pairs of the
// data y: it does not depend on x, so that several x are measured by one kernel. Distances are those of R^d.
//
// At most maxPoints points of each are used, and p-value and floor are as in EnergyTest, of which this is a case:
// the distance there is 1 − k here. All are NaN if a point is not finite, or if half of the points of y are one.
func MMDTest(x, y []float64, d, maxPoints, permutations int, seed uint64) TwoSample {
	nx, ny := rowsOf("MMDTest", x, d), rowsOf("MMDTest", y, d)
	if nx == 0 || ny == 0 || maxPoints < 1 || permutations < 1 {
		panic(fmt.Sprintf("metric: MMD of %d and %d points, at most %d each, %d permutations", nx, ny, maxPoints,
			permutations))
	}
	n, m := min(nx, maxPoints), min(ny, maxPoints)
	stream := keyed.Subsample.Stream(seed, 0)
	pool := appendRows(make([]float64, 0, (n+m)*d), x, d, n, stream, 0)
	pool = appendRows(pool, y, d, m, stream, 1)
	e := newEnergy(pool, d, min(n, m), gaussian(pool[n*d:], d))
	e.told = func(squared float64) float64 { return math.Sqrt(max(0, squared)) }
	return e.relabelled(n, m, permutations, seed)
}

// gaussian returns 1 − exp(−r²/(2ℓ²)) as a function of r², ℓ being the median distance of two rows.
func gaussian(rows []float64, d int) func(squared float64) float64 {
	var squares []float64
	for i := range len(rows) / d {
		for j := range i {
			squares = append(squares, squaredDistance(rows[i*d:(i+1)*d], rows[j*d:(j+1)*d]))
		}
	}
	width := Median(squares)
	if !(width > 0) || width-width != 0 { // one row, or rows that are one
		return func(float64) float64 { return math.NaN() }
	}
	return func(squared float64) float64 { return -math.Expm1(-squared / (2 * width)) }
}

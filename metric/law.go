package metric

import (
	"math"

	"github.com/landing-diffusion/landing/keyed"
)

// Rows that NewDraws needs, and in how many orders it takes them.
const (
	leastHalved = 32
	halvings    = 20
)

// NewDraws estimates what a perfect model would score: n new draws of the law that the rows, of dimension d, are
// draws of, against those rows, or each part of a score. Unlike copies of rows (NoiseFloor) they share none with the
// rows, which are draws too. Two random halves of the rows are such sets, of m/2 rows each, and two quarters are of
// m/4. A distance that is D(h) between sets of h draws falls as h^−b, b from 0 to 1 (½ where it is a root and cells
// hold many), and one between sets of n and m is that of their harmonic mean, which is exact for large cells:
//
//	D(m/2) (h/(m/2))^−b,   b = log₂(D(m/4)/D(m/2)),   h = 2/(1/n + 1/m).
//
// Means are over 20 orders of the rows, a function of the seed. Of up to as many draws as rows it is within a tenth
// of the truth of multinomial laws from 20 to 20 000 cells; of ten times as many up to a sixth above it where most
// cells are empty. Rows that repeat others, as of a slow chain, make halves too alike, and it too low. It is NaN of
// fewer than 32 rows, or where a score is not finite.
func NewDraws(rows []float64, d, n int, seed uint64, score func(a, b []float64) []float64) []Float {
	m := rowsOf("NewDraws", rows, d)
	order, mixed := make([]int, m), make([]float64, len(rows))
	var halves, quarters []float64
	add := func(sum *[]float64, part int) {
		scores := score(mixed[:part*d], mixed[part*d:2*part*d])
		if *sum == nil {
			*sum = make([]float64, len(scores))
		}
		for k, v := range scores {
			(*sum)[k] += v / halvings
		}
	}
	times := halvings
	if m < leastHalved { // score says how many parts there are
		times = 1
	}
	for k := range times {
		keyed.HalvedRows.Stream(seed, 0).Permutation(order, uint64(k), 0)
		for i, row := range order {
			copy(mixed[i*d:(i+1)*d], rows[row*d:(row+1)*d])
		}
		add(&halves, m/2)
		add(&quarters, m/4)
	}
	out := make([]Float, len(halves))
	for k, half := range halves {
		b := min(max(math.Log2(quarters[k]/half), 0), 1)
		h := 2 / (1/float64(n) + 1/float64(m))
		out[k] = Float(half * math.Pow(h/(float64(m)/2), -b))
		if half == 0 {
			out[k] = 0
		}
		if m < leastHalved || n < 1 || math.IsInf(float64(out[k]), 0) {
			out[k] = NaN
		}
	}
	return out
}

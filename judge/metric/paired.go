package metric

import (
	"fmt"

	"github.com/landing-diffusion/landing/base/keyed"
)

// PairedTest asks whether x_i and y_i, rows of d numbers, come from the same law given what the two have in common,
// such as a condition among their coordinates. The statistic is EnergyTest's. Under the hypothesis the two of a pair
// may change places, each pair for itself, so the p-value over random swaps, (1 + #{T* ≥ T})/(1 + swaps), is exact at
// any size; a relabelling of all rows would find pairs too much alike. Of the pairs at most maxPairs, chosen at random,
// are used. All is NaN if a number is not finite.
func PairedTest(x, y []float64, d, maxPairs, swaps int, seed uint64) TwoSample {
	n := rowsOf("PairedTest", x, d)
	if n == 0 || len(x) != len(y) || maxPairs < 1 || swaps < 1 {
		panic(fmt.Sprintf("metric: paired test of %d and %d numbers, at most %d pairs, %d swaps", len(x), len(y),
			maxPairs, swaps))
	}
	used := min(n, maxPairs)
	stream := keyed.PairSwaps.Stream(seed, 0)
	pool := appendRows(make([]float64, 0, 2*used*d), x, d, used, stream, 0)
	pool = appendRows(pool, y, d, used, stream, 0) // the same rows
	e := newEnergy(pool, d, used, distance)
	first := make([]bool, 2*used)
	for i := range used {
		first[i] = true
	}
	u := make([]float64, used)
	return e.test(first, used, used, swaps, func(k int) {
		stream.Uniforms(u, 1, k)
		for i, v := range u {
			first[i] = v < 0.5
			first[used+i] = !first[i]
		}
	})
}

package verdict

import (
	"math/rand/v2"
	"testing"
)

// Conformers repeat minima: some held-out rows lie on training rows, most lie far away. Samples that keep to training
// rows are found with 30 held-out rows; samples of the law itself are not (2.5e-4 a round at most).
func TestCopiesOfRowsInMinima(t *testing.T) {
	for round := range uint64(20) {
		rng := rand.New(rand.NewPCG(7, round))
		nearest := func(n int, repeats float64) []float64 {
			x := make([]float64, n)
			for i := range x {
				x[i] = 0.05 + 0.02*rng.Float64()
				if rng.Float64() > repeats {
					x[i] = 1.6 + 0.5*rng.Float64()
				}
			}
			return x
		}
		found := func(samples []float64) bool {
			j := &judge{Evidence: Evidence{SampleNearest: samples, HeldNearest: nearest(30, 0.2)}}
			j.copies()
			return len(j.found) > 0 && j.found[0].Code == Copies
		}
		if !found(nearest(8000, 0.93)) {
			t.Errorf("round %d: copies are not found", round)
		}
		if found(nearest(8000, 0.2)) {
			t.Errorf("round %d: draws of the law are called copies", round)
		}
	}
}

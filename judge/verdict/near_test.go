package verdict

import (
	"math/rand/v2"
	"strings"
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

// Conformers that were relaxed to minima repeat each other. Draws of their law are no copies, however near to training
// rows: held-out rows are as near. A model that knows only the minima of its rows is found, though its samples lie
// further from these than held-out rows do.
func TestCopiesOfRelaxedRows(t *testing.T) {
	const d, minima = 4, 200
	rng := rand.New(rand.NewPCG(11, 1))
	at := make([]float64, d*minima)
	for i := range at {
		at[i] = rng.NormFloat64()
	}
	draw := func(n int, width float64, of func() int) (x []float64) {
		for range n {
			for k, m := 0, of(); k < d; k++ {
				x = append(x, at[m*d+k]+width*rng.NormFloat64())
			}
		}
		return x
	}
	var seen []int
	law := func() int { // some minima have many rows, most have few
		u := rng.Float64()
		return int(minima * u * u)
	}
	train := draw(400, 1e-5, func() int { seen = append(seen, law()); return seen[len(seen)-1] })
	held := draw(100, 1e-5, law)
	for name, x := range map[string][]float64{
		"law":      draw(4000, 1e-3, law),
		"sharper":  draw(4000, 1e-6, law),
		"memorise": draw(4000, 1e-3, func() int { return seen[rng.IntN(len(seen))] }),
	} {
		v := Of(evidence(x, held, train, d, 300, 1, -10))
		if copies := v.Has(Copies); copies != (name == "memorise") || v.Has(Blur) || !copies && v.Grade != Good ||
			copies && !strings.Contains(v.String(), "lie in the places of training rows") {
			t.Errorf("%s: %v %+v %+v", name, v, v.Findings, v.Skipped)
		}
	}
}

package metric

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

func TestNoiseFloor(t *testing.T) {
	train := []float64{0, 10, 1, 11, 2, 12, 3, 13} // rows (r, r+10)
	const n, draws = 500, 40
	counts := make([]float64, 4)
	mean := func(sample []float64) float64 {
		if len(sample) != 2*n {
			t.Fatalf("a sample of %d numbers, want %d", len(sample), 2*n)
		}
		var s float64
		for i := 0; i < len(sample); i += 2 {
			if sample[i+1] != sample[i]+10 {
				t.Fatalf("(%g, %g) is no training row", sample[i], sample[i+1])
			}
			counts[int(sample[i])]++
			s += sample[i] / n
		}
		return s
	}
	f := NoiseFloor(train, 2, n, draws, 7, mean)
	testkit.Equal(t, f.Draws, draws, "Draws")
	// χ² with 3 degrees of freedom exceeds 35 with probability 1.2e-7.
	var chi2 float64
	for _, c := range counts {
		const want = n * draws / 4
		chi2 += (c - want) * (c - want) / want
	}
	if chi2 > 35 {
		t.Errorf("rows drawn %v times: χ² = %.1f", counts, chi2)
	}
	// The score is the mean of n uniform numbers of {0, 1, 2, 3}, variance 5/4. Its mean over draws is within 5.5
	// standard errors but for 4e-8; its standard deviation, of relative error 1/√(2·39), likewise.
	sd := math.Sqrt(1.25 / n)
	near(t, "Mean", f.Mean, 1.5, 5.5*sd/math.Sqrt(draws))
	near(t, "SD", f.SD, sd, 5.5*sd/math.Sqrt(2*(draws-1)))

	testkit.Equal(t, NoiseFloor(train, 2, n, draws, 7, mean), f, "the same seed gives another floor")
	for _, seed := range []uint64{8, 9, 7 + 1<<40} {
		if NoiseFloor(train, 2, n, draws, seed, mean) == f {
			t.Errorf("seed %d gives the floor of seed 7", seed)
		}
	}
}

// More draws repeat the first ones.
func TestNoiseFloorDrawsAreKeyed(t *testing.T) {
	train := uniforms(50, 5)
	var few, many [][]float64
	record := func(to *[][]float64) func([]float64) float64 {
		return func(s []float64) float64 {
			*to = append(*to, slices.Clone(s))
			return 0
		}
	}
	NoiseFloor(train, 1, 20, 2, 1, record(&few))
	NoiseFloor(train, 1, 20, 5, 1, record(&many))
	for i := range few {
		testkit.EqualSlices(t, few[i], many[i], "draw %d differs", i)
	}
	if slices.Equal(many[0], many[1]) {
		t.Error("two draws are equal")
	}
	// From all rows, though a draw is fewer: with 20 of 50 each, the chance that 5 draws
	// leave out the last 5 rows is 0.9¹⁰⁰ = 3·10⁻⁵ (this seed's do not).
	if last := train[45:]; !slices.ContainsFunc(slices.Concat(many...), func(v float64) bool {
		return slices.Contains(last, v)
	}) {
		t.Error("no draw has one of the last rows")
	}
}

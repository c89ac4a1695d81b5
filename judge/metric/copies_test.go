package metric

import (
	"math"
	"testing"
)

func TestCountCopiesByHand(t *testing.T) {
	train := []float64{0, 100, 200}
	heldOut := []float64{2, 104, 206, 200} // distances 2, 4, 6, 0
	samples := []float64{0, 100 + 1e-9, 203, 195, 50}
	c := CountCopies(samples, heldOut, train, 1)
	near(t, "Samples.Median", c.Samples, 3, 1e-12) // 0 1e-9 3 5 50
	near(t, "HeldOut.Median", c.HeldOut, 3, 1e-12)
	near(t, "Ratio", c.Ratio, 1, 1e-12)
	near(t, "Copied", c.Copied, 0.4, 0)
	near(t, "Repeated", c.Repeated, 0.25, 0)

	c = CountCopies(train, train, train, 1)
	isNaN(t, "Ratio of two zeros", c.Ratio)
}

// Three models of a normal law in the plane: the law itself, a memoriser of the 500 training rows, and one that repeats
// them with noise a hundred times smaller than their spacing.
func TestCountCopiesTellsMemorisers(t *testing.T) {
	const d, n = 2, 500
	train, heldOut, fresh := normals(n*d, 1), normals(n*d, 2), normals(n*d, 3)

	law := CountCopies(fresh, heldOut, train, d)
	// The median of n distances, of about unit coefficient of variation, has a relative error of about 1/√n, and the
	// ratio of two √2 times that: 0.4 is 6 of them.
	near(t, "law: Ratio", law.Ratio, 1, 0.4)
	near(t, "law: Copied", law.Copied, 0, 0)

	memory := CountCopies(train, heldOut, train, d)
	near(t, "memoriser: Ratio", memory.Ratio, 0, 0)
	near(t, "memoriser: Copied", memory.Copied, 1, 0)

	noisy := make([]float64, len(train))
	for i := range noisy {
		noisy[i] = train[i] + 1e-3*fresh[i]
	}
	blurred := CountCopies(noisy, heldOut, train, d)
	if !(blurred.Ratio < 0.1 && blurred.Copied == 0) {
		t.Errorf("noisy memoriser: %+v", blurred)
	}
}

// What is a copy does not depend on the unit of the points; of one point alone only what is near it is.
func TestCountCopiesInAnyUnit(t *testing.T) {
	train, heldOut := []float64{-1, 1}, []float64{0.5, 1}
	samples := []float64{1, 1 + 0.9e-6, 1 + 1.1e-6, 0}
	for _, unit := range []float64{1, 1e-9, 1e9} {
		in := func(x []float64) []float64 {
			y := make([]float64, len(x))
			for i, v := range x {
				y[i] = unit * v
			}
			return y
		}
		c := CountCopies(in(samples), in(heldOut), in(train), 1)
		if c.Copied != 0.5 || c.Repeated != 0.5 {
			t.Errorf("in a unit of %v: %+v", unit, c)
		}
	}
	if c := CountCopies([]float64{3, 3 + 0.9e-6, 3 + 1.1e-6}, []float64{4}, []float64{3, 3}, 1); c.Copied != 2./3 {
		t.Errorf("of one point: %+v", c)
	}
}

func TestCountCopiesOfFailedSamples(t *testing.T) {
	train := []float64{0, 1}
	c := CountCopies([]float64{0, math.NaN(), math.NaN()}, []float64{0.5}, train, 1)
	if !math.IsInf(float64(c.Samples), 1) || c.Copied != 1./3 {
		t.Errorf("failed samples are not far away: %+v", c)
	}
}

package metric

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

func TestNearestDistancesByHand(t *testing.T) {
	ref := []float64{0, 0, 3, 4, 10, 0}
	x := []float64{0, 0, 3, 0, 9, 1, -6, -8}
	got := NearestDistances(x, ref, 2)
	for i, want := range []float64{0, 3, math.Sqrt2, 10} {
		near(t, "distance", got[i], want, 1e-15)
	}
	if got := NearestDistances(nil, ref, 2); len(got) != 0 {
		t.Errorf("%d distances of no points", len(got))
	}
}

// The tree must give the scan's bits, on clouds, on lattices full of ties and
// repetitions, on lines and on one repeated point.
func TestNearestDistancesEqualScan(t *testing.T) {
	kinds := map[string]func(v float64, i int) float64{
		"cloud":    func(v float64, i int) float64 { return v },
		"lattice":  func(v float64, i int) float64 { return math.Round(v) },
		"line":     func(v float64, i int) float64 { return v * float64(min(1, i%2)) },
		"repeated": func(v float64, i int) float64 { return 0.3 },
		"scales":   func(v float64, i int) float64 { return math.Pow(10, 20*v) },
		"huge":     func(v float64, i int) float64 { return 1.5e308 * math.Erf(v) },
	}
	for kind, f := range kinds {
		for _, d := range []int{1, 2, 3, 8, 16} {
			for _, m := range []int{1, 2, leafSize, leafSize + 1, 500} {
				ref := normals(m*d, 1)
				for i := range ref {
					ref[i] = f(ref[i], i)
				}
				x := normals(100*d, 2)
				for i := range x {
					x[i] = f(x[i], i)
				}
				copy(x, ref[:min(len(ref), 10*d)]) // some are copies
				got := NearestDistances(x, ref, d)
				want := make([]float64, 100)
				scanNearest(want, x, ref, d)
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf("%s, d = %d, %d points: row %d at %g, want %g", kind, d, m, i, got[i], want[i])
					}
				}
				if got[0] != 0 {
					t.Fatalf("%s, d = %d: a copy is at %g", kind, d, got[0])
				}
			}
		}
	}
}

// Points that are not finite are far from everything, in the tree and in the scan.
func TestNearestDistancesOfNonFinitePoints(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, d := range []int{2, 20} {
		row := func(v float64) []float64 {
			r := make([]float64, d)
			r[1] = v
			return r
		}
		var ref, x []float64
		for _, v := range []float64{nan, 5, inf, -inf} {
			ref = append(ref, row(v)...)
		}
		for _, v := range []float64{2, nan, inf, -inf} {
			x = append(x, row(v)...)
		}
		for i, got := range NearestDistances(x, ref, d) {
			want := inf
			if i == 0 {
				want = 3
			}
			testkit.Equal(t, got, want, "d = %d: row %d", d, i)
		}
		testkit.Equal(t, NearestDistances(x[:d], ref[:d], d)[0], inf, "d = %d: distance to NaN alone", d)
	}
}

// Equal points must not make every query a scan.
func TestTreeOfEqualPoints(t *testing.T) {
	x := make([]float64, 3*1000)
	for i := 0; i < len(x); i += 3 {
		x[i], x[i+2] = float64(i%2), 0.1 // two places
	}
	if n := len(newTree(x, 3).points) / 3; n > 4 {
		t.Errorf("%d points stored for two places", n)
	}
}

func BenchmarkNearestDistances(b *testing.B) {
	x, ref := normals(3*12809, 1), normals(3*10249, 2)
	for _, p := range [][]float64{x, ref} { // onto the sphere
		for i := 0; i < len(p); i += 3 {
			r := math.Sqrt(p[i]*p[i] + p[i+1]*p[i+1] + p[i+2]*p[i+2])
			p[i], p[i+1], p[i+2] = p[i]/r, p[i+1]/r, p[i+2]/r
		}
	}
	for b.Loop() {
		NearestDistances(x, ref, 3)
	}
}

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

package dataset

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/constraint/zoo"
)

func mixture(t *testing.T, r RotationMixture) (*Points, []int) {
	t.Helper()
	p, modes, err := r.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return p, modes
}

// Matrices lie on SO(n) to round-off, and matrix i is a function of seed and i.
func TestRotationsOnTheGroup(t *testing.T) {
	const n, count = 10, 200
	p, modes := mixture(t, RotationMixture{Count: count, Seed: 7})
	group, err := zoo.NewOrthogonal(n, zoo.OrthogonalOptions{Special: true})
	if err != nil {
		t.Fatal(err)
	}
	h := make([]float64, count*55)
	group.Values(h, p.X, count)
	for i, v := range h {
		if math.Abs(v) > 1e-14 {
			t.Fatalf("matrix %d: h = %.3g", i/55, v)
		}
	}
	for i := range count {
		if !group.Selects(p.X[i*100 : (i+1)*100]) {
			t.Fatalf("matrix %d has det < 0", i)
		}
	}
	fewer, again := mixture(t, RotationMixture{Count: 20, Seed: 7})
	for i, v := range fewer.X {
		if v != p.X[i] || again[i/100] != modes[i/100] {
			t.Fatalf("matrix %d depends on the number of matrices", i/100)
		}
	}
	if other, _ := mixture(t, RotationMixture{Count: 20, Seed: 8}); other.X[0] == p.X[0] {
		t.Error("seed 8 gives the matrices of seed 7")
	}
}

// With C the mode's centre, log(CᵀX) is skew with entries of variance SD². In R³
// it is a turn by θ, which follows from the trace, and θ² = A_12² + A_13² + A_23²
// is SD² times a χ² number with 3 degrees of freedom. Bounds of 5 standard errors: level 6e-7 each,
// one mode's share and two moments.
func TestRotationsLaw(t *testing.T) {
	const count, sd = 20_000, 0.1
	p, modes := mixture(t, RotationMixture{N: 3, Modes: 4, Count: count, SD: sd, Seed: 3})
	// The centre of a mode is the polar factor of its mean, by symmetry.
	var share, sum, squares float64
	sums := make([]*mat.Dense, 4)
	for j := range sums {
		sums[j] = mat.NewDense(3, 3, nil)
	}
	for i, j := range modes {
		sums[j].Add(sums[j], mat.NewDense(3, 3, p.X[9*i:9*i+9]))
		if j == 2 {
			share++
		}
	}
	for j := range sums {
		var svd mat.SVD
		if !svd.Factorize(sums[j], mat.SVDFull) {
			t.Fatal("no singular values")
		}
		var u, v mat.Dense
		svd.UTo(&u)
		svd.VTo(&v)
		sums[j].Mul(&u, v.T())
	}
	for i, j := range modes {
		var z mat.Dense
		z.Mul(sums[j].T(), mat.NewDense(3, 3, p.X[9*i:9*i+9]))
		θ := math.Acos(math.Min(1, (mat.Trace(&z)-1)/2))
		q := θ * θ / (sd * sd)
		sum += q
		squares += q * q
	}
	check := func(name string, got, want, se float64) {
		if math.Abs(got-want) > 5*se {
			t.Errorf("%s: %.4f, want %.4f ± %.4f", name, got, want, se)
		}
	}
	check("share of mode 2", share/count, 0.25, math.Sqrt(0.25*0.75/count))
	check("E θ²/SD²", sum/count, 3, math.Sqrt(6.0/count))
	check("E θ⁴/SD⁴", squares/count, 15, math.Sqrt((945-225)/float64(count)))
}

func TestRotationFaults(t *testing.T) {
	for field, r := range map[string]RotationMixture{
		"n": {N: 1}, "modes": {Modes: -1}, "sd": {SD: math.NaN()}, "count": {Count: 10_000_000},
	} {
		_, _, err := r.Generate()
		var e *Error
		if !errors.As(err, &e) || e.Column != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

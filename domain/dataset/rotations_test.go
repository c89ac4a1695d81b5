package dataset

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func mixture(t *testing.T, r RotationMixture) (*Points, []int) {
	t.Helper()
	p, modes, err := r.Generate(t.Context())
	testkit.OK(t, err)
	return p, modes
}

// Matrices lie on SO(n) to round-off, and matrix i is a function of seed and i.
func TestRotationsOnTheGroup(t *testing.T) {
	const n, count = 10, 200
	p, modes := mixture(t, RotationMixture{Count: count, Seed: 7})
	group := testkit.Must(zoo.NewOrthogonal(n, zoo.OrthogonalOptions{Special: true}))
	h := make([]float64, count*55)
	group.Values(h, p.X, count)
	for i, v := range h {
		if math.Abs(v) > 1.5e-15 {
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

// Matrix i is C_j exp(A), in this order, with C, j and A each from a stream of its own; exp by its series.
func TestRotationsFollowTheirStreams(t *testing.T) {
	const n, sd, seed = 4, 0.3, 5
	p, modes := mixture(t, RotationMixture{N: n, Modes: 3, Count: 30, SD: sd, Seed: seed})
	group := testkit.Must(zoo.NewOrthogonal(n, zoo.OrthogonalOptions{Special: true}))
	c, z := make([]float64, n*n), make([]float64, n*n)
	for i, j := range modes {
		if want := keyed.New(seed, keyed.Synthetic, 1).Index(3, uint64(i), 0); j != want {
			t.Fatalf("matrix %d has mode %d, want %d", i, j, want)
		}
		group.SampleUniform(c, keyed.New(seed, keyed.Synthetic, 0), uint64(j))
		keyed.New(seed, keyed.Synthetic, 2).Normals(z, uint64(i), 0)
		a, power := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
		for k := range n {
			for l := range k {
				a.Set(k, l, sd*z[k*n+l])
				a.Set(l, k, -sd*z[k*n+l])
			}
		}
		x := mat.NewDense(n, n, c)
		power.CloneFrom(x)
		for k := 1; k < 40; k++ { // C Aᵏ/k!
			var next mat.Dense
			next.Mul(power, a)
			power.Scale(1/float64(k), &next)
			x.Add(x, power)
		}
		for e, want := range x.RawMatrix().Data {
			if math.Abs(p.X[i*n*n+e]-want) > 1e-13 {
				t.Fatalf("entry %d of matrix %d is %v, want %v", e, i, p.X[i*n*n+e], want)
			}
		}
	}
}

// With C the mode's centre, log(CᵀX) is skew with entries of variance SD². In R³ it is a turn by θ, which follows from
// the trace, and θ² = A_12² + A_13² + A_23² is SD² times a χ² number with 3 degrees of freedom. Bounds of 5 standard
// errors: level 6e-7 each, one mode's share and two moments.
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
		_, _, err := r.Generate(t.Context())
		var e *Error
		if !errors.As(err, &e) || e.Column != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

package zoo_test

import (
	"math"
	"sort"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// uniformly fails unless the numbers that law gives for n uniform samples of the
// set are uniform on [0, 1]: Kolmogorov–Smirnov at level 1e-6.
func uniformly(t *testing.T, name string, s constraint.Set, law func(x []float64) float64) {
	t.Helper()
	const n = 20_000
	u, x, st := make([]float64, n), make([]float64, s.Dim()), keyed.New(1, keyed.Probe, 21)
	for i := range u {
		s.Capabilities().SampleUniform(x, st, uint64(i))
		u[i] = law(x)
	}
	sort.Float64s(u)
	worst := 0.0
	for i, v := range u {
		worst = max(worst, v-float64(i)/n, float64(i+1)/n-v)
	}
	if worst > 2.69/math.Sqrt(n) {
		t.Errorf("%s: KS distance %.4f, critical %.4f", name, worst, 2.69/math.Sqrt(n))
	}
}

// Uniform samples against distribution functions in closed form.
func TestUniformSamplers(t *testing.T) {
	uniformly(t, "cap: height", testkit.Must(zoo.NewCap([]float64{0, 0, 2}, 0.3)),
		func(x []float64) float64 { return (x[2] - 0.3) / 0.7 })
	uniformly(t, "arc: angle", testkit.Must(zoo.NewCap([]float64{1, 0}, -0.5)), func(x []float64) float64 {
		return (math.Atan2(x[1], x[0])/math.Acos(-0.5) + 1) / 2
	})
	// On the sphere of R⁵ the height has density ∝ 1 − z².
	area := func(z float64) float64 { return z - z*z*z/3 }
	for _, h := range []float64{-0.5, 0.6} {
		uniformly(t, "cap of R⁵: height", testkit.Must(zoo.NewCap([]float64{0, 0, 0, 0, 1}, h)),
			func(x []float64) float64 { return (area(x[4]) - area(h)) / (area(1) - area(h)) })
	}
	uniformly(t, "simplex: x[2]", testkit.Must(zoo.NewSimplex(4)),
		func(x []float64) float64 { return 1 - math.Pow(1-x[2], 3) })
	uniformly(t, "box: x[1]", testkit.Must(zoo.NewBox([]float64{0, -3}, []float64{1, 2})),
		func(x []float64) float64 { return (x[1] + 3) / 5 })
	// A column of V(n, p) is uniform on the sphere; here of R³, and of R⁵.
	uniformly(t, "V(3,2): last column", testkit.Must(zoo.NewStiefel(3, 2)),
		func(x []float64) float64 { return (1 + x[3]) / 2 })
	uniformly(t, "SO(5): last column", testkit.Must(zoo.NewOrthogonal(5, zoo.OrthogonalOptions{Special: true})),
		func(x []float64) float64 { return (area(x[14]) + 2.0/3) / (4.0 / 3) })
	// A rotation of R³ by Haar measure has an angle with density (1 − cos θ)/π.
	uniformly(t, "SO(3): angle", testkit.Must(zoo.NewOrthogonal(3, zoo.OrthogonalOptions{Special: true})),
		func(x []float64) float64 {
			θ := math.Acos(min(1, max(-1, (x[0]+x[4]+x[8]-1)/2)))
			return (θ - math.Sin(θ)) / math.Pi
		})
}

// E(tr X)^k over SO(n) by Haar measure is that of a standard normal number for
// k < n: 0, 1, 0, 3. Bounds of 5 standard errors: level 6e-7 each.
func TestHaarTraces(t *testing.T) {
	const n, count = 10, 20_000
	set := testkit.Must(zoo.NewOrthogonal(n, zoo.OrthogonalOptions{Special: true}))
	x, st := make([]float64, n*n), keyed.New(2, keyed.Probe, 22)
	var sum, square [4]float64
	for i := range uint64(count) {
		set.SampleUniform(x, st, i)
		if !set.Selects(x) {
			t.Fatal("a uniform sample of SO(n) has det < 0")
		}
		trace, p := 0.0, 1.0
		for j := range n {
			trace += x[j*n+j]
		}
		for k := range sum {
			p *= trace
			sum[k] += p
			square[k] += p * p
		}
	}
	for k, want := range []float64{0, 1, 0, 3} {
		mean := sum[k] / count
		se := math.Sqrt((square[k]/count - mean*mean) / count)
		if math.Abs(mean-want) > 5*se {
			t.Errorf("E(tr X)^%d = %.4f ± %.4f, want %v", k+1, mean, se, want)
		}
	}
}

package problems

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Draws of every problem are kept: the means of the first twelve coordinates and of their squares, of 300 rows. Tests
// of commit f11f4b2d compared the laws of the draws with their marginals and moments, by 20 000 rows each. After a
// change on purpose those tests must pass again.
func TestDrawsAreKept(t *testing.T) {
	const n = 300
	for _, p := range all {
		if p.chains != nil {
			continue
		}
		x := draw(t, &p, 2, 1, 0, n)
		testkit.Keep(t, "%s", p.Name)
		for j := range min(p.Dim, 12) {
			one, two := 0.0, 0.0
			for i := range n {
				v := x[i*p.Dim+j]
				one, two = one+v/n, two+v*v/n
			}
			testkit.Keep(t, "  %.6g %.6g", one, two)
		}
	}
}

// Laws are checked on `drawn` rows. A marginal with a known law must be within 0.0195 of it in Kolmogorov's distance: a
// false alarm 1e-6 for each. The test mostly sees a hundredth of the mass in a wrong place.
const (
	drawn    = 20_000
	farthest = 0.0195 // √(ln(2/1e-6)/2n)
)

// marginal checks the law of a number of the rows by its distribution function.
func marginal(t *testing.T, what string, x [][]float64, of func(x []float64) float64, cdf func(v float64) float64) {
	t.Helper()
	marginalOf(t, what, x, of, cdf, farthest)
}

func marginalOf(t *testing.T, what string, x [][]float64, of func(x []float64) float64, cdf func(v float64) float64,
	limit float64) {
	t.Helper()
	v := make([]float64, len(x))
	for i, r := range x {
		v[i] = of(r)
	}
	slices.Sort(v)
	far, at := 0.0, 0.0
	for i, e := range v {
		f := cdf(e)
		for _, step := range []float64{float64(i), float64(i + 1)} {
			if d := math.Abs(f - step/float64(len(v))); !(d <= far) {
				far, at = d, e
			}
		}
	}
	if !(far < limit) {
		t.Errorf("%s: %.4f from its law, at %.4g", what, far, at)
	}
}

// cdf returns the distribution function of a density, up to a factor, on an interval, by its sums over cells.
func cdf(lo, hi float64, density func(v float64) float64) func(v float64) float64 {
	const cells = 20_000
	width := (hi - lo) / cells
	sums := make([]float64, cells+1)
	for i := range cells {
		sums[i+1] = sums[i] + density(lo+(float64(i)+0.5)*width)
	}
	return func(v float64) float64 {
		u := min(max((v-lo)/width, 0), cells)
		i := min(int(u), cells-1)
		return (sums[i] + (u-float64(i))*(sums[i+1]-sums[i])) / sums[cells]
	}
}

// vonMises is the density ∝ exp(κ cos(θ − μ)) on the circle.
func vonMises(μ, κ float64) func(θ float64) float64 {
	const cells = 2000
	sum := 0.0
	for i := range cells {
		sum += math.Exp(κ * (math.Cos(2*math.Pi*float64(i)/cells) - 1))
	}
	return func(θ float64) float64 { return math.Exp(κ*(math.Cos(θ-μ)-1)) * cells / (2 * math.Pi * sum) }
}

// cosineLaw is the distribution function of the cosine to the centre of the density ∝ exp(κw) on the sphere of R^n.
func cosineLaw(n int, κ float64) func(w float64) float64 {
	return cdf(-1, 1, func(w float64) float64 { return math.Exp(κ*(w-1) + float64(n-3)/2*math.Log1p(-w*w)) })
}

// The sampler on spheres: the cosine to the centre has its law, and beside the centre the direction is uniform.
func TestFisher(t *testing.T) {
	for _, c := range []struct {
		n int
		κ float64
	}{{3, 0.5}, {3, 200}, {4, 1}, {5, 12}, {10, 60}, {300, 900}} {
		μ := make([]float64, c.n)
		μ[0], μ[1] = 0.6, -0.8
		x := make([][]float64, drawn)
		if c.n == 300 {
			x = x[:drawn/4]
		}
		p := Problem{Dim: c.n, row: func(x []float64, d *dice) { d.fisher(x, μ, c.κ) }}
		for i, r := range slices.Collect(slices.Chunk(draw(t, &p, 2, 7, 0, len(x)), c.n)) {
			x[i] = r
		}
		law := cosineLaw(c.n, c.κ)
		if c.n == 300 { // narrow: cells of their own
			law = cdf(0.7, 1, func(w float64) float64 { return math.Exp(c.κ*(w-1) + 148.5*math.Log1p(-w*w)) })
			marginalOf(t, fmt.Sprint(c), x, func(x []float64) float64 { return dense.Dot(x, μ) }, law, 2*farthest)
			continue
		}
		if c.κ == 200 {
			law = cdf(0.8, 1, func(w float64) float64 { return math.Exp(c.κ * (w - 1)) })
		}
		marginal(t, fmt.Sprint(c), x, func(x []float64) float64 { return dense.Dot(x, μ) }, law)
		across := make([]float64, c.n) // orthogonal to μ
		across[0], across[1] = 0.8, 0.6
		marginal(t, fmt.Sprint(c, " across"), x, func(x []float64) float64 {
			w := dense.Dot(x, μ)
			return dense.Dot(x, across) / math.Sqrt(1-w*w)
		}, sideLaw(c.n-1))
	}
}

// sideLaw is the distribution function of a coordinate of a uniform point of the sphere of R^n:
// of cos θ with a density ∝ sin^(n−2) θ in the angle.
func sideLaw(n int) func(v float64) float64 {
	law := cdf(0, math.Pi, func(θ float64) float64 { return math.Pow(math.Sin(θ), float64(n-2)) })
	return func(v float64) float64 { return 1 - law(math.Acos(min(1, max(-1, v)))) }
}

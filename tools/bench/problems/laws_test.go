package problems

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Laws are checked on `drawn` rows. A marginal with a known law must be within 0.0195 of it in Kolmogorov's distance, a
// mean within 6 standard errors: false alarms 1e-6 and 2e-9 for each of about a hundred numbers, 1e-4 in all. The test
// mostly sees a hundredth of the mass in a wrong place.
const drawn = 20_000

const (
	farthest = 0.0195 // √(ln(2/1e-6)/2n)
	errors6  = 6
)

// The numbers of laws that their files write as formulas: of the torus the share of the band, its width and that of the
// spot in radians; how many rows a correlation matrix is of, with the loadings of their common factor.
const (
	bandShare, bandWidth, spotWidth = 0.75, 0.4, 0.2
	correlated                      = 12
	trefoilCut                      = 0.9
	pairκ                           = 10 // the concentration of the second of two angles, or vectors, about the first
)

var (
	spot    = [2]float64{2, 1}
	regimes = [][4]float64{{0.4, 0.5, 0.3, 0}, {0.9, 0.85, 0.8, 0}}
	// The correlation of coordinates i and j in the box is ρ^|i−j|.
	boxed = struct {
		lower, upper, mean, sd [4]float64
		ρ                      float64
	}{[4]float64{0, 0, -1, 0}, [4]float64{1, 1, 2, 3}, [4]float64{0.3, 0.8, 0.5, 1}, [4]float64{0.4, 0.4, 0.8, 1}, 0.7}
	clouds = []struct { // on the affine set, in the coordinates 0, 3, 4 and 5
		mean [4]float64
		sd   float64
	}{{[4]float64{0, 0, 0, 0}, 0.3}, {[4]float64{2, -1, 1, 0.5}, 0.5}, {[4]float64{-1, 2, 0, -2}, 2}}
	lobes2 = []lobe{
		{0.3, 200, unit(0, 0, 1)}, {0.3, 80, unit(2, 0, -1)}, {0.2, 30, unit(-1, 2, -1)}, {0.2, 15, unit(-1, -2, -1)},
	}
	lobesWide = []lobe{{0.3, 10_000, unit(1, 0, 0)}, {0.35, 300, unit(-1, 3, 1)}, {0.35, 3, unit(-1, -2, 0)}}
	lobesPair = []lobe{{0.6, 8, unit(1, 0, 1)}, {0.4, 25, unit(-1, 1, 0)}}
)

// turned are the parts of the mixture of rotations.
var turned = []struct {
	weight, sd float64
	at         [9]float64
}{{0.5, 0.15, rotation([3]float64{0, 0, 0.5})}, {0.3, 0.3, rotation([3]float64{2, 0, 0.5})},
	{0.2, 0.6, rotation([3]float64{0, -1.5, -1.5})}}

// trefoil writes the point of the curve at an angle.
func trefoil(x []float64, θ float64) {
	r := 1 + 0.3*math.Cos(3*θ)
	x[0], x[1] = r*math.Cos(θ), r*math.Sin(θ)
}

// halfDensity is the density of the half torus in the angles, up to a factor.
func halfDensity(θ, φ float64) float64 {
	return (major + minor*math.Cos(φ)) * math.Exp(1.2*math.Cos(φ-θ)-2*math.Cos(θ))
}

// rows returns the rows of a problem as a slice of points.
func rows(t *testing.T, name string) [][]float64 {
	t.Helper()
	p := problemOf(t, name)
	x := draw(t, &p, 2, 1, 0, drawn)
	return slices.Collect(slices.Chunk(x, p.Dim))
}

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

// mean checks the mean of a number of the rows.
func mean(t *testing.T, what string, x [][]float64, of func(x []float64) float64, want float64) {
	t.Helper()
	v := make([]float64, len(x))
	for i, r := range x {
		v[i] = of(r)
	}
	got, sd := stat.MeanStdDev(v, nil)
	if se := sd / math.Sqrt(float64(len(v))); !(math.Abs(got-want) <= errors6*se+1e-9) {
		t.Errorf("%s: mean %.5f ± %.5f, want %.5f", what, got, se, want)
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

// coordinate returns x_j.
func coordinate(j int) func(x []float64) float64 { return func(x []float64) float64 { return x[j] } }

// folded returns an angle in [−π, π].
func folded(v float64) float64 { return math.Remainder(v, 2*math.Pi) }

// vonMises is the density ∝ exp(κ cos(θ − μ)) on the circle.
func vonMises(μ, κ float64) func(θ float64) float64 {
	const cells = 2000
	sum := 0.0
	for i := range cells {
		sum += math.Exp(κ * (math.Cos(2*math.Pi*float64(i)/cells) - 1))
	}
	return func(θ float64) float64 { return math.Exp(κ*(math.Cos(θ-μ)-1)) * cells / (2 * math.Pi * sum) }
}

// wrapped is the density of a normal angle on the circle.
func wrapped(μ, sd float64) func(θ float64) float64 {
	return func(θ float64) (sum float64) {
		for k := -4.0; k <= 4; k++ {
			z := (θ - μ + 2*math.Pi*k) / sd
			sum += math.Exp(-z*z/2) / (sd * math.Sqrt(2*math.Pi))
		}
		return sum
	}
}

func normalCDF(v, mean, sd float64) float64 { return math.Erfc((mean-v)/(sd*math.Sqrt2)) / 2 }

func TestCurve(t *testing.T) {
	a, b := vonMises(0.6, 6), vonMises(-2.4, 2)
	law := cdf(-math.Pi, math.Pi, func(θ float64) float64 {
		var x [2]float64
		if trefoil(x[:], θ); x[0] > trefoilCut {
			return 0
		}
		return 0.4*a(θ) + 0.6*b(θ)
	})
	marginal(t, "angle", rows(t, "curve"), func(x []float64) float64 { return math.Atan2(x[1], x[0]) }, law)
}

func TestComponents(t *testing.T) {
	x := rows(t, "components")
	marginal(t, "cos ψ", x, func(x []float64) float64 {
		return (x[0]*x[0] - x[1]*x[1] - x[2]*x[2] - 1) / 0.81
	}, func(c float64) float64 { return (math.Exp(c) - math.Exp(-1)) / (math.E - math.Exp(-1)) })
	mean(t, "side", x, func(x []float64) float64 { return math.Copysign(1, x[0]) }, 0.4)
	marginal(t, "around", x, func(x []float64) float64 {
		return folded(math.Atan2(x[2], x[1]) - math.Copysign(1, x[0]))
	}, cdf(-math.Pi, math.Pi, wrapped(0, 0.7)))
}

// angles returns those around the axis and around the tube.
func angles(x []float64) (θ, φ float64) {
	return math.Atan2(x[1], x[0]), math.Atan2(x[2], math.Hypot(x[0], x[1])-major)
}

func TestTorus(t *testing.T) {
	x := rows(t, "torus")
	a := wrapped(spot[0], spotWidth)
	marginal(t, "θ", x, func(x []float64) float64 { θ, _ := angles(x); return θ },
		cdf(-math.Pi, math.Pi, func(θ float64) float64 { return bandShare/(2*math.Pi) + (1-bandShare)*a(θ) }))
	band, across := wrapped(0, bandWidth), wrapped(spot[1]-2*spot[0], math.Sqrt(5)*spotWidth)
	marginal(t, "φ − 2θ", x, func(x []float64) float64 { θ, φ := angles(x); return folded(φ - 2*θ) },
		cdf(-math.Pi, math.Pi, func(v float64) float64 { return bandShare*band(v) + (1-bandShare)*across(v) }))
}

func TestHalfTorus(t *testing.T) {
	x := rows(t, "half-torus")
	// Sums over one angle of the density in both.
	over := func(f func(other float64) float64, from, to float64) (sum float64) {
		const cells = 200
		for i := range cells {
			sum += f(from + (to-from)*(float64(i)+0.5)/cells)
		}
		return sum
	}
	table := func(lo, hi float64, f func(v float64) float64) func(v float64) float64 {
		const cells = 500 // in steps, which differ from the law by less than 1/cells
		v := make([]float64, cells)
		for i := range v {
			v[i] = f(lo + (hi-lo)*(float64(i)+0.5)/cells)
		}
		return cdf(lo, hi, func(a float64) float64 { return v[min(cells-1, int((a-lo)/(hi-lo)*cells))] })
	}
	marginal(t, "θ", x, func(x []float64) float64 { θ, _ := angles(x); return θ },
		table(-math.Pi/2, math.Pi/2, func(θ float64) float64 {
			return over(func(φ float64) float64 { return halfDensity(θ, φ) }, -math.Pi, math.Pi)
		}))
	marginal(t, "φ", x, func(x []float64) float64 { _, φ := angles(x); return φ },
		table(-math.Pi, math.Pi, func(φ float64) float64 {
			return over(func(θ float64) float64 { return halfDensity(θ, φ) }, -math.Pi/2, math.Pi/2)
		}))
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

// Mixtures on spheres: the means of all coordinates, and of the squared cosines to the
// centres. With a = E w² in a lobe, E (x·c)² = a (μ·c)² + (1−a)(1 − (μ·c)²)/(n−1).
func TestMixtures(t *testing.T) {
	for name, lobes := range map[string][]lobe{"s2": lobes2, "s2-widths": lobesWide, "s9": lobes9} {
		x, n := rows(t, name), len(lobes[0].at)
		first, second := make([]float64, n), make([]float64, len(lobes))
		for _, l := range lobes {
			a, b := cosineMoments(n, l.κ)
			dense.Axpy(first, l.weight*a, l.at)
			for k, m := range lobes {
				along := dense.Dot(l.at, m.at)
				along *= along
				second[k] += l.weight * (b*along + (1-b)*(1-along)/float64(n-1))
			}
		}
		for j, want := range first {
			mean(t, fmt.Sprint(name, " x", j), x, coordinate(j), want)
		}
		for k, l := range lobes {
			mean(t, fmt.Sprint(name, " centre ", k), x, func(x []float64) float64 {
				c := dense.Dot(x, l.at)
				return c * c
			}, second[k])
		}
	}
}

// cosineMoments returns the mean of w and of w² by the density of cosineLaw, in cells that are
// fine where the law is narrow.
func cosineMoments(n int, κ float64) (one, two float64) {
	zero := 0.0
	const cells = 200_000
	from := max(-1, 1-200/κ)
	for i := range cells {
		w := from + (1-from)*(float64(i)+0.5)/cells
		p := math.Exp(κ*(w-1) + float64(n-3)/2*math.Log1p(-w*w))
		zero, one, two = zero+p, one+w*p, two+w*w*p
	}
	return one / zero, two / zero
}

// In R^300 the mean of each coordinate of a lobe's quarter is its weight times A/√75.
func TestHighDimension(t *testing.T) {
	p := problemOf(t, "d300")
	x := slices.Collect(slices.Chunk(draw(t, &p, 2, 1, 0, 4000), p.Dim))
	a, _ := cosineMoments(300, 900)
	for k, l := range lobes300 {
		mean(t, fmt.Sprint("quarter ", k), x, func(x []float64) float64 { return dense.Dot(x, l.at) }, l.weight*a)
	}
}

// A rotation exp(A) with normal A of standard deviation s has the mean (1 + 2E cos θ)/3 times
// the identity, θ = ‖v‖ and E cos θ = (1 − s²) exp(−s²/2).
func TestRotations(t *testing.T) {
	x := rows(t, "so3")
	for e := range 9 {
		want := 0.0
		for _, m := range turned {
			want += m.weight * m.at[e] * (1 + 2*(1-m.sd*m.sd)*math.Exp(-m.sd*m.sd/2)) / 3
		}
		mean(t, fmt.Sprint("entry ", e), x, coordinate(e), want)
	}
	// Beside its own centre the first mode has angles of ‖v‖ ≤ 3 × 0.15, where no other
	// comes: so often as χ² of three degrees is at most 9.
	near := 2 * math.Sqrt2 * math.Sin(0.45/2)
	mean(t, "near the first centre", x, func(x []float64) float64 {
		s := 0.0
		for e, c := range turned[0].at {
			s += (x[e] - c) * (x[e] - c)
		}
		if math.Sqrt(s) <= near {
			return 1
		}
		return 0
	}, turned[0].weight*mathext.GammaIncReg(1.5, 4.5))
}

func TestFrames(t *testing.T) {
	x := rows(t, "stiefel")
	first := make([]float64, 5)
	for _, l := range framed {
		a, _ := cosineMoments(5, l.κ)
		dense.Axpy(first, l.weight*a, l.at)
	}
	for i, want := range first {
		mean(t, fmt.Sprint("first ", i), x, coordinate(2*i), want)
	}
	f := func(w float64) float64 { return math.Exp(frameκ*(w-1)) * math.Sqrt(1-w*w) }
	marginal(t, "second", x, func(x []float64) float64 {
		// e₄ without its part along the first vector
		return x[9] / math.Sqrt(1-x[8]*x[8])
	}, cdf(-1, 1, func(w float64) float64 { return 0.8*f(w) + 0.2*f(-w) }))
}

// The correlation r of m pairs of normal numbers with correlation ρ and known means has the
// density ∝ (1−ρ²)^(m/2) (1−r²)^((m−3)/2) ∫ (cosh β − ρr)^−m dβ (Fisher).
func TestCorrelations(t *testing.T) {
	x := rows(t, "correlation")
	const m = correlated
	density := func(ρ float64) func(r float64) float64 {
		return func(r float64) float64 {
			sum := 0.0
			for i := range 60 {
				sum += math.Pow(math.Cosh((float64(i)+0.5)*0.1)-ρ*r, -m)
			}
			return sum * math.Pow(1-ρ*ρ, m/2.0) * math.Pow(1-r*r, (m-3)/2.0)
		}
	}
	for i := range 4 {
		for j := range i {
			calm, tense := density(regimes[0][i]*regimes[0][j]), density(regimes[1][i]*regimes[1][j])
			marginal(t, fmt.Sprintf("r[%d,%d]", i, j), x, coordinate(4*i+j), tabled(-1, 1, func(r float64) float64 {
				return 0.6*calm(r) + 0.4*tense(r)
			}))
		}
	}
}

// tabled is cdf of a density that takes long: by its values at 2000 places.
func tabled(lo, hi float64, density func(v float64) float64) func(v float64) float64 {
	const cells = 2000
	v := make([]float64, cells)
	for i := range v {
		v[i] = density(lo + (hi-lo)*(float64(i)+0.5)/cells)
	}
	return cdf(lo, hi, func(a float64) float64 { return v[min(cells-1, int((a-lo)/(hi-lo)*cells))] })
}

// A part of a Dirichlet law has a beta law.
func TestCompositions(t *testing.T) {
	x := rows(t, "simplex")
	for j := range 5 {
		marginal(t, fmt.Sprint("part ", j), x, coordinate(j), func(v float64) (f float64) {
			for k, a := range compositions {
				sum := 0.0
				for _, e := range a {
					sum += e
				}
				f += compositionShare[k] * mathext.RegIncBeta(a[j], sum-a[j], v)
			}
			return f
		})
	}
}

// Means and mixed moments of the normal law within the box, by quadrature in four dimensions.
func TestBox(t *testing.T) {
	x := rows(t, "box")
	const nodes = 16
	var at, weight [4][]float64
	for j := range 4 {
		at[j], weight[j] = make([]float64, nodes), make([]float64, nodes)
		quad.Legendre{}.FixedLocations(at[j], weight[j], boxed.lower[j], boxed.upper[j])
	}
	inverse := precision(t)
	var total float64
	var one [4]float64
	var two [4][4]float64
	for c := range nodes * nodes * nodes * nodes {
		var v, z [4]float64
		w, q := 1.0, 0.0
		for j, rest := 0, c; j < 4; j, rest = j+1, rest/nodes {
			v[j], w = at[j][rest%nodes], w*weight[j][rest%nodes]
			z[j] = (v[j] - boxed.mean[j]) / boxed.sd[j]
		}
		for i := range 4 {
			for j := range 4 {
				q += z[i] * inverse.At(i, j) * z[j]
			}
		}
		w *= math.Exp(-q / 2)
		total += w
		for i := range 4 {
			one[i] += w * v[i]
			for j := range 4 {
				two[i][j] += w * v[i] * v[j]
			}
		}
	}
	for i := range 4 {
		mean(t, fmt.Sprint("x", i), x, coordinate(i), one[i]/total)
		for j := range i + 1 {
			mean(t, fmt.Sprint("x", i, "x", j), x, func(x []float64) float64 { return x[i] * x[j] }, two[i][j]/total)
		}
	}
}

func TestAffine(t *testing.T) {
	x := rows(t, "affine")
	weights := []float64{0.5, 0.35, 0.15}
	mixtureOf := func(of func(mean [4]float64) float64, wider float64) func(v float64) float64 {
		return func(v float64) (f float64) {
			for k, m := range clouds {
				f += weights[k] * normalCDF(v, of(m.mean), m.sd*wider)
			}
			return f
		}
	}
	for k, j := range []int{0, 3, 4, 5} {
		marginal(t, fmt.Sprint("x", j), x, coordinate(j), mixtureOf(func(m [4]float64) float64 { return m[k] }, 1))
	}
	marginal(t, "x2", x, coordinate(2), mixtureOf(func(m [4]float64) float64 { return m[1] - 2*m[2] }, math.Sqrt(5)))
}

// By the divergence theorem E[div V + V·∇ log p] = 0 for the density p by area and any field
// V along the set. For V = Π e_k with Π = I − ννᵀ, ν = ∇F/‖∇F‖ and F = Σ sin θ_i − height,
// div V = −ν_k div ν. It holds for no other density than p.
func TestArms(t *testing.T) {
	for name, n := range map[string]int{"arm3": 3, "arm5": 5, "arm9": 9} {
		p := problemOf(t, name)
		x := slices.Collect(slices.Chunk(draw(t, &p, 2, 1, 0, drawn/5), p.Dim)) // rejection takes its time
		for k := range n {
			mean(t, fmt.Sprintf("%s, field %d", name, k), x, func(x []float64) float64 { return stein(x, k) }, 0)
		}
	}
}

// stein returns div V + V·∇ log p of the field V = Π e_k at a point of an arm.
func stein(x []float64, k int) float64 {
	n := len(x) / 2
	var squares, turn float64 // ‖∇F‖², and ∇Fᵀ ∇²F ∇F
	laplace := 0.0
	for i := range n {
		c, s := x[2*i], x[2*i+1]
		squares, turn, laplace = squares+c*c, turn-s*c*c, laplace-s
	}
	norm := math.Sqrt(squares)
	curvature := laplace/norm - turn/(norm*squares) // div ν
	// ∇ log p of the mixture of postures.
	var p, at float64 // Σ_m w_m Π, and its derivative along V
	for m, posed := range postures {
		energy, along := 0.0, 0.0
		for i := range n {
			θ := math.Atan2(x[2*i+1], x[2*i])
			v := -x[2*k] * x[2*i] / squares
			if i == k {
				v++
			}
			energy += armκ * (math.Cos(θ-posture(m, i, n)) - 1)
			along -= armκ * math.Sin(θ-posture(m, i, n)) * v
		}
		p += posed.weight * math.Exp(energy)
		at += posed.weight * math.Exp(energy) * along
	}
	return -x[2*k]/norm*curvature + at/p
}

func TestQuadrics(t *testing.T) {
	x := rows(t, "quadrics")
	pair := func(x []float64) (p, q [3]float64) {
		for j := range 3 {
			p[j], q[j] = (x[j]+x[j+3])/math.Sqrt2, (x[j]-x[j+3])/math.Sqrt2
		}
		return p, q
	}
	for j := range 3 {
		want := 0.0
		for k, l := range lobesPair {
			a, _ := cosineMoments(3, l.κ)
			want += []float64{0.6, 0.4}[k] * a * l.at[j]
		}
		mean(t, fmt.Sprint("p", j), x, func(x []float64) float64 { p, _ := pair(x); return p[j] }, want)
	}
	marginal(t, "q about p", x, func(x []float64) float64 {
		p, q := pair(x)
		return q[0]*p[1] + q[1]*p[2] + q[2]*p[0]
	}, cosineLaw(3, pairκ))
}

func TestProduct(t *testing.T) {
	x := rows(t, "product")
	for j := range 3 {
		want := 0.0
		for _, c := range classes {
			a, _ := cosineMoments(3, c.κ)
			want += c.weight * a * c.at[j]
		}
		mean(t, fmt.Sprint("direction ", j), x, coordinate(j), want)
	}
	density := func(of func(class int) func(float64) float64) func(v float64) float64 {
		var parts []func(float64) float64
		for k := range classes {
			parts = append(parts, of(k))
		}
		return func(v float64) (p float64) {
			for k, f := range parts {
				p += classes[k].weight * f(v)
			}
			return p
		}
	}
	marginal(t, "θ", x, func(x []float64) float64 { θ, _ := angles(x[3:6]); return θ }, cdf(-math.Pi, math.Pi,
		density(func(k int) func(float64) float64 { return vonMises(classes[k].θ, 4) })))
	marginal(t, "φ", x, func(x []float64) float64 { _, φ := angles(x[3:6]); return φ }, cdf(-math.Pi, math.Pi,
		density(func(k int) func(float64) float64 { return vonMises(classes[k].φ, 3) })))
	for j := range 2 {
		marginal(t, fmt.Sprint("place ", j), x, coordinate(6+j), func(v float64) (f float64) {
			for _, c := range classes {
				f += c.weight * mathext.RegIncBeta(c.beta[j][0], c.beta[j][1], v)
			}
			return f
		})
	}
	// The classes tie the factors: the mean of a product of two.
	want := 0.0
	for _, c := range classes {
		a, _ := cosineMoments(3, c.κ)
		want += c.weight * a * c.at[0] * c.beta[0][0] / (c.beta[0][0] + c.beta[0][1])
	}
	mean(t, "direction and place", x, func(x []float64) float64 { return x[0] * x[6] }, want)
}

func TestRedundant(t *testing.T) {
	x := rows(t, "redundant")
	a, b := vonMises(0.5, 1), vonMises(-2, 8)
	marginal(t, "first", x, func(x []float64) float64 { return math.Atan2(x[1], x[0]) },
		cdf(-math.Pi, math.Pi, func(v float64) float64 { return 0.6*a(v) + 0.4*b(v) }))
	marginal(t, "second", x, func(x []float64) float64 {
		return folded(math.Atan2(x[3], x[2]) + math.Atan2(x[1], x[0]) - 1)
	}, cdf(-math.Pi, math.Pi, vonMises(0, pairκ)))
}

// precision returns the inverse of the normal law's correlations.
func precision(t *testing.T) *mat.Dense {
	c := mat.NewDense(4, 4, nil)
	for i := range 4 {
		for j := range 4 {
			c.Set(i, j, math.Pow(boxed.ρ, math.Abs(float64(i-j))))
		}
	}
	var inverse mat.Dense
	testkit.OK(t, inverse.Inverse(c))
	return &inverse
}

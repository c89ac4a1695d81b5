package problems

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/landing-diffusion/landing/internal/dense"
)

// Radii of the torus of the suite.
const major, minor = 2.0, 0.6

// torus writes the point at the angle θ around the axis and φ around the tube.
func torus(x []float64, θ, φ float64) {
	sinθ, cosθ := math.Sincos(θ)
	sinφ, cosφ := math.Sincos(φ)
	ρ := major + minor*cosφ
	x[0], x[1], x[2] = ρ*cosθ, ρ*sinθ, minor*sinφ
}

// A lobe is a part of a mixture on a sphere: the density ∝ exp(κ at·x), with a weight.
type lobe struct {
	weight, κ float64
	at        []float64
}

// The mixtures on spheres; the problem files have the centres too.
var (
	lobes9 = []lobe{
		{0.3, 60, unit(1, 0, 0, 0, 0, 0, 0, 0, 0, 0)}, {0.25, 40, unit(1, 1, 1, 0, 0, 0, 0, 0, 0, 0)},
		{0.2, 80, unit(0, 0, 0, -1, 0, 0, 0, 0, 0, 0)}, {0.15, 30, unit(0, 0, 0, 0, 1, -1, 0, 0, 0, 0)},
		{0.1, 50, unit(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1)},
	}
	lobes300 = quarters(300)
)

// quarters are four lobes in R^n, the k-th about the vector whose entries are equal in the
// k-th quarter and 0 elsewhere.
func quarters(n int) (out []lobe) {
	for k, w := range []float64{0.4, 0.3, 0.2, 0.1} {
		at := make([]float64, n)
		for j := k * n / 4; j < (k+1)*n/4; j++ {
			at[j] = 1
		}
		out = append(out, lobe{w, 900, unit(at...)})
	}
	return out
}

func mixture(lobes []lobe) func(x []float64, d *dice) {
	weights := make([]float64, len(lobes))
	for k, l := range lobes {
		weights[k] = l.weight
	}
	return func(x []float64, d *dice) {
		l := lobes[d.of(weights...)]
		d.fisher(x, l.at, l.κ)
	}
}

// rotation returns the matrix that turns about v by ‖v‖, exp of the skew matrix of v
// (Rodrigues).
func rotation(v [3]float64) [9]float64 {
	θ := dense.Norm(v[:])
	if θ == 0 {
		return [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	}
	x, y, z := v[0]/θ, v[1]/θ, v[2]/θ
	s, c := math.Sincos(θ)
	t := 1 - c
	return [9]float64{
		c + t*x*x, t*x*y - s*z, t*x*z + s*y,
		t*x*y + s*z, c + t*y*y, t*y*z - s*x,
		t*x*z - s*y, t*y*z + s*x, c + t*z*z,
	}
}

// framed are the modes of the first vector of a frame; the second is about ±e₄ without its
// part along the first, with the concentration frameκ.
var framed = []lobe{{0.5, 40, unit(1, 0, 0, 0, 0)}, {0.3, 20, unit(-1, 1, 0, 0, 0)}, {0.2, 60, unit(0, -1, 1, 0, 0)}}

const frameκ = 12.0

func frames(x []float64, d *dice) {
	k := d.of(framed[0].weight, framed[1].weight, framed[2].weight)
	var a, b [5]float64
	d.fisher(a[:], framed[k].at, framed[k].κ)
	// Beside a the second vector is on the sphere S³ of its complement.
	axis, about, y := complement(a), [4]float64{1}, [4]float64{}
	if d.accepts(0.2) {
		about[0] = -1
	}
	d.fisher(y[:], about[:], frameκ)
	for i, e := range axis {
		dense.Axpy(b[:], y[i], e[:])
	}
	// The round-off of the products.
	along := dense.Dot(a[:], b[:])
	dense.Axpy(b[:], -along, a[:])
	floats.Scale(1/dense.Norm(b[:]), b[:])
	for i := range 5 {
		x[2*i], x[2*i+1] = a[i], b[i]
	}
}

// complement returns an orthonormal basis of the complement of a unit vector, the first of it
// along e₄ without its part along a.
func complement(a [5]float64) (axis [4][5]float64) {
	basis := [][]float64{a[:]}
	k := 0
	for j := 4; k < 4; j-- {
		var e [5]float64
		e[j] = 1
		for range 2 { // twice is enough
			for _, b := range basis {
				dense.Axpy(e[:], -dense.Dot(e[:], b), b)
			}
		}
		length := dense.Norm(e[:])
		if length < 1e-3 { // a is nearly e_j: the others make a basis
			continue
		}
		floats.Scale(1/length, e[:])
		axis[k] = e
		basis = append(basis, axis[k][:])
		k++
	}
	return axis
}

// The mixture on the simplex.
var (
	compositions     = [][]float64{{8, 3, 1, 1, 2}, {1, 1, 6, 4, 2}, {0.8, 5, 2, 6, 0.8}}
	compositionShare = []float64{0.4, 0.35, 0.25}
)

func parts(x []float64, d *dice) { d.dirichlet(x, compositions[d.of(compositionShare...)]...) }

// armκ is the concentration of links about their postures.
const armκ = 4.0

// postures are two: links that unroll from one angle to another, in radians.
var postures = [2]struct{ weight, from, to float64 }{{0.6, 1.8, -1}, {0.4, 0.2, 1.6}}

// posture returns the angle of link i of n in posture m.
func posture(m, i, n int) float64 {
	p := postures[m]
	return p.from + (p.to-p.from)*float64(i)/float64(n-1)
}

// arm is a planar arm of n links of length 1 at the angles θ_i to the horizontal, whose tip is
// at a height: Σ sin θ_i = height. A point is cos θ_0, sin θ_0, cos θ_1, …. By area of the set
// of angles (in R^2n too: a link's angle is the length on its circle) the density is
//
//	∝ Σ_m w_m Π_i exp(κ (cos(θ_i − μ_mi) − 1)).
//
// All links but one, j, at random, are drawn by themselves, and j is one of the two angles
// that bring the tip to its height. By area such proposals have the density
// Σ_j |cos θ_j|/(2n ‖cos θ‖) Π_(i≠j) p_i(θ_i), p_i being normalised, whose ratio to the target
// is at most 2n max p: so rejection makes them exact.
func arm(height float64) func(x []float64, d *dice) {
	return func(x []float64, d *dice) {
		var angles [9]float64
		θ := angles[:len(x)/2]
		for !unrolled(θ, height, d) {
		}
		for i, a := range θ {
			x[2*i+1], x[2*i] = math.Sincos(a)
		}
	}
}

// unrolled proposes angles, and reports whether they are accepted.
func unrolled(θ []float64, height float64, d *dice) bool {
	n := len(θ)
	m, j := d.of(postures[0].weight, postures[1].weight), int(d.uniform()*float64(n))
	rest := height
	for i := range θ {
		if i != j {
			θ[i] = d.vonMises(posture(m, i, n), armκ)
			rest -= math.Sin(θ[i])
		}
	}
	if math.Abs(rest) > 1 {
		return false
	}
	if θ[j] = math.Asin(rest); d.accepts(0.5) {
		θ[j] = math.Pi - θ[j]
	}
	// With p_i = exp(κ(cos(θ_i − μ_i) − 1))/Z the ratio over its bound is
	// ‖cos θ‖ / Σ_i |cos θ_i| exp(−κ(cos(θ_i − μ_i) − 1)).
	var squares, sum float64
	for i, a := range θ {
		c := math.Abs(math.Cos(a))
		squares += c * c
		sum += c * math.Exp(armκ*(1-math.Cos(a-posture(m, i, n))))
	}
	return d.accepts(math.Sqrt(squares) / sum)
}

// classes are the parts of the law on the product: a direction about at, angles about θ and φ,
// and places by beta laws.
var classes = []struct {
	weight, κ float64
	at        []float64
	θ, φ      float64
	beta      [2][2]float64
}{
	{0.5, 30, unit(1, 0, 0), 0, 0, [2][2]float64{{6, 2}, {2, 4}}},
	{0.3, 15, unit(-1, 1, 0), 2, -2, [2][2]float64{{1, 3}, {5, 5}}},
	{0.2, 60, unit(0, -1, 1), -2, 2, [2][2]float64{{3, 3}, {8, 1}}},
}

func product(x []float64, d *dice) {
	c := classes[d.of(classes[0].weight, classes[1].weight, classes[2].weight)]
	d.fisher(x[:3], c.at, c.κ)
	torus(x[3:6], d.vonMises(c.θ, 4), d.vonMises(c.φ, 3))
	for j := range 2 {
		var b [2]float64
		d.dirichlet(b[:], c.beta[j][:]...)
		x[6+j] = b[0]
	}
}

package problems

import (
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/dense"
)

// dice are the random numbers of one row: each throw has an address of its own.
type dice struct {
	stream keyed.Stream
	sample uint64
	step   int
}

// uniform is on [0, 1).
func (d *dice) uniform() float64 {
	var u [1]float64
	d.stream.Uniforms(u[:], d.sample, d.step)
	d.step++
	return u[0]
}

func (d *dice) normal() float64 {
	var z [1]float64
	d.normals(z[:])
	return z[0]
}

func (d *dice) normals(dst []float64) {
	d.stream.Normals(dst, d.sample, d.step)
	d.step++
}

// accepts is true with probability p.
func (d *dice) accepts(p float64) bool { return d.uniform() < p }

// of returns k with probability weight[k]; weights add up to 1.
func (d *dice) of(weight ...float64) int {
	u := d.uniform()
	for k, w := range weight[:len(weight)-1] {
		if u -= w; u < 0 {
			return k
		}
	}
	return len(weight) - 1
}

// gamma draws from the density ∝ x^(a−1) e^(−x) (Marsaglia and Tsang, ACM Transactions on
// Mathematical Software 26, 2000).
func (d *dice) gamma(a float64) float64 {
	if a < 1 { // Γ(a) = Γ(a+1) U^(1/a)
		return d.gamma(a+1) * math.Pow(1-d.uniform(), 1/a)
	}
	b := a - 1.0/3
	c := 1 / math.Sqrt(9*b)
	for {
		z := d.normal()
		v := 1 + c*z
		if v = v * v * v; v > 0 && math.Log(1-d.uniform()) < z*z/2+b-b*v+b*math.Log(v) {
			return b * v
		}
	}
}

// dirichlet draws from the density ∝ Π x_j^(a_j − 1) on the simplex.
func (d *dice) dirichlet(x []float64, a ...float64) {
	sum := 0.0
	for j := range x {
		x[j] = d.gamma(a[j])
		sum += x[j]
	}
	for j := range x {
		x[j] /= sum
	}
}

// vonMises draws from the density ∝ exp(κ cos(θ − μ)), κ > 0, by rejection from a wrapped
// Cauchy law (Best and Fisher, Applied Statistics 28, 1979). The angle is within π of μ.
func (d *dice) vonMises(μ, κ float64) float64 {
	a := 1 + math.Sqrt(1+4*κ*κ)
	b := (a - math.Sqrt(2*a)) / (2 * κ)
	r := (1 + b*b) / (2 * b)
	for {
		z := math.Cos(math.Pi * d.uniform())
		f := (1 + r*z) / (r + z)
		c := κ * (r - f)
		if u := 1 - d.uniform(); math.Log(c/u)+1-c < 0 {
			continue
		}
		θ := math.Acos(max(-1, min(1, f)))
		if d.accepts(0.5) {
			θ = -θ
		}
		return μ + θ
	}
}

// fisher draws from the density ∝ exp(κ μ·x) on the unit sphere of R^n, n ≥ 3 (von
// Mises–Fisher). The cosine w = μ·x has the density ∝ exp(κw)(1−w²)^((n−3)/2): by
// inversion for n = 3, else by rejection (Wood, Communications in Statistics 23, 1994).
func (d *dice) fisher(x, μ []float64, κ float64) {
	n := len(x)
	m := float64(n - 1)
	var w float64
	if n == 3 {
		u := d.uniform()
		w = 1 + math.Log1p(-u*(1-math.Exp(-2*κ)))/κ
	} else {
		b := m / (2*κ + math.Sqrt(4*κ*κ+m*m))
		x0 := (1 - b) / (1 + b)
		c := κ*x0 + m*math.Log(1-x0*x0)
		for {
			g, h := d.gamma(m/2), d.gamma(m/2)
			z := g / (g + h)
			w = (1 - (1+b)*z) / (1 - (1-b)*z)
			if κ*w+m*math.Log(1-x0*w)-c >= math.Log(1-d.uniform()) {
				break
			}
		}
	}
	// Beside μ the direction is uniform.
	d.normals(x)
	along := dense.Dot(x, μ)
	for j := range x {
		x[j] -= along * μ[j]
	}
	side := math.Sqrt(max(0, 1-w*w)) / dense.Norm(x)
	for j := range x {
		x[j] = w*μ[j] + side*x[j]
	}
	scale(x, 1/dense.Norm(x))
}

func scale(x []float64, by float64) {
	for j := range x {
		x[j] *= by
	}
}

// unit returns v scaled to length 1.
func unit(v ...float64) []float64 {
	scale(v, 1/dense.Norm(v))
	return v
}

// Package zoo holds ready-made feasible sets. Each is an ordinary user of package constraint and passes constrainttest.
package zoo

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// Sphere is {x ∈ R^d : ‖x‖ − r = 0}, d ≥ 1. The constraint is the paper's
// (not its square), so |h| is the distance to the sphere.
type Sphere struct {
	D int
	R float64 // radius; 0 means 1
}

func (s Sphere) radius() float64 {
	if s.R == 0 {
		return 1
	}
	return s.R
}

func (s Sphere) String() string       { return fmt.Sprintf("sphere in R^%d", s.D) }
func (s Sphere) Dim() int             { return s.D }
func (Sphere) Equalities() []string   { return []string{"radius"} }
func (Sphere) Inequalities() []string { return nil }

func (s Sphere) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: s.String(), SampleUniform: s.SampleUniform, Volume: s.Volume()}
}

// Volume returns 2π^(d/2) r^(d−1)/Γ(d/2): of two points 2, of a circle 2πr, of a sphere 4πr².
func (s Sphere) Volume() float64 {
	half := float64(s.D) / 2
	γ, _ := math.Lgamma(half)
	return 2 * math.Exp(half*math.Log(math.Pi)-γ+float64(s.D-1)*math.Log(s.radius()))
}

func (s Sphere) NewEvaluator(int) constraint.Evaluator {
	return constraint.Evaluator{
		Values: s.Values, Jacobians: s.Jacobians, HessianVectors: s.HessianVectors,
		Retract: s.Retract, Geodesic: s.Geodesic, Exp: s.Exp, Log: s.Log,
	}
}

func (s Sphere) Values(values, x []float64, n int) {
	r, d := s.radius(), s.D
	for i := range n {
		values[i] = dense.Norm(x[i*d:(i+1)*d]) - r
	}
}

func (s Sphere) Jacobians(values, jac, x []float64, n int) {
	r, d := s.radius(), s.D
	for i := range n {
		xi, ji := x[i*d:(i+1)*d], jac[i*d:(i+1)*d]
		ρ := dense.Norm(xi)
		values[i] = ρ - r
		for j, v := range xi {
			ji[j] = v / ρ
		}
		if ρ == 0 {
			clear(ji) // the norm has no derivative here: a rank event, not a NaN
		}
	}
}

// HessianVectors: ∇²‖x‖ v = (v − x̂ x̂ᵀv)/‖x‖.
func (s Sphere) HessianVectors(dst, x, v []float64, n int) {
	d := s.D
	for i := range n {
		xi, vi, out := x[i*d:(i+1)*d], v[i*d:(i+1)*d], dst[i*d:(i+1)*d]
		ρ2 := dense.Dot(xi, xi)
		ρ := math.Sqrt(ρ2)
		along := dense.Dot(xi, vi) / ρ2
		for j := range out {
			out[j] = (vi[j] - along*xi[j]) / ρ
		}
	}
}

// Retract solves ‖base + v − μ x̂‖ = r with x̂ = base/‖base‖: a quadratic in μ, whose smaller root in modulus is taken.
// For base on the sphere and v tangent the point is base·√(1 − ‖v‖²/r²) + v, and there is none if ‖v‖ > r.
func (s Sphere) Retract(dst, base, v []float64) bool {
	r, ρ := s.radius(), dense.Norm(base)
	if ρ == 0 {
		return false
	}
	var yn, yy float64 // y·x̂ and ‖y‖² of y = base + v
	for j, b := range base {
		y := b + v[j]
		yn += y * b / ρ
		yy += y * y
	}
	disc := yn*yn - (yy - r*r)
	if !(disc >= 0) {
		return false
	}
	// The roots are yn ± √disc; the nearer one in the stable form.
	root := math.Sqrt(disc)
	var μ float64
	if yn >= 0 {
		μ = (yy - r*r) / (yn + root)
	} else {
		μ = (yy - r*r) / (yn - root)
	}
	if yn == 0 && root == 0 {
		μ = 0
	}
	for j, b := range base {
		dst[j] = b + v[j] - μ*b/ρ
	}
	// One rescaling removes the round-off of the sums above.
	if q := dense.Norm(dst); q > 0 {
		for j := range dst {
			dst[j] *= r / q
		}
	}
	return true
}

// SampleUniform scales a Gaussian vector to length r.
func (s Sphere) SampleUniform(dst []float64, st keyed.Stream, sample uint64) {
	for step := 0; ; step++ {
		st.Normals(dst, sample, step)
		if q := dense.Norm(dst); q > 0 {
			for j := range dst {
				dst[j] *= s.radius() / q
			}
			return
		}
	}
}

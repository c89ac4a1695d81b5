// Package zoo holds ready-made feasible sets. Each is an ordinary user of package constraint and passes constrainttest.
package zoo

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// derivatives is a set whose own methods are those of its evaluator.
type derivatives interface {
	Values(values, x []float64, n int)
	Jacobians(values, jac, x []float64, n int)
	HessianVectors(dst, x, v []float64, n int)
}

func evaluator(s derivatives) constraint.Evaluator {
	return constraint.Evaluator{Values: s.Values, Jacobians: s.Jacobians, HessianVectors: s.HessianVectors}
}

// flatEvaluator is that of a convex part of an affine space.
func flatEvaluator(s derivatives) constraint.Evaluator {
	e := evaluator(s)
	e.Exp, e.Log = straight, difference
	return e
}

// named are the capabilities of a set with a name, formulas and, unless it is nil, a uniform sampler.
func named(name string, sample func(dst []float64, s keyed.Stream, sample uint64),
	formulas func(x expr.Value) []expr.Value) constraint.Capabilities {
	return constraint.Capabilities{Name: name, SampleUniform: sample, Formulas: formulas}
}

// numbered are the names of n components that a format makes of their numbers.
func numbered(format string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(format, i)
	}
	return names
}

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
	return named(s.String(), s.SampleUniform, s.formulas)
}

func (s Sphere) NewEvaluator(int) constraint.Evaluator {
	e := evaluator(s)
	e.Retract, e.Geodesic, e.Exp, e.Log = s.Retract, s.Geodesic, s.Exp, s.Log
	return e
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

// Cap is the spherical cap {x ∈ R^d : ‖x‖ − 1 = 0, height − a·x ≤ 0} with the unit vector a.
type Cap struct {
	sphere Sphere
	axis   []float64 // a
	height float64
}

// NewCap returns the cap of the unit sphere of R^d, d = len(axis) ≥ 2, above the given height in (−1, 1) along the
// axis, which is scaled to length 1. The error is a *DomainError.
func NewCap(axis []float64, height float64) (Cap, error) {
	length := dense.Norm(axis)
	switch {
	case len(axis) < 2:
		return Cap{}, &DomainError{"cap", "axis", axis, "at least 2 coordinates"}
	case !dense.Finite(axis) || length == 0 || !finite(length):
		return Cap{}, &DomainError{"cap", "axis", axis, "a direction: finite and not zero"}
	case !(height > -1 && height < 1):
		return Cap{}, &DomainError{"cap", "height", height, "a height in (−1, 1)"}
	}
	a := append([]float64(nil), axis...)
	for j := range a {
		a[j] /= length
	}
	return Cap{Sphere{D: len(a)}, a, height}, nil
}

func (s Cap) String() string       { return fmt.Sprintf("spherical cap in R^%d", len(s.axis)) }
func (s Cap) Dim() int             { return len(s.axis) }
func (Cap) Equalities() []string   { return []string{"radius"} }
func (Cap) Inequalities() []string { return []string{"height"} }

func (s Cap) Capabilities() constraint.Capabilities {
	return named(s.String(), s.SampleUniform, s.formulas)
}

func (s Cap) NewEvaluator(int) constraint.Evaluator { return evaluator(s) }

func (s Cap) Values(values, x []float64, n int) {
	d := len(s.axis)
	for i := range n {
		xi := x[i*d : (i+1)*d]
		s.sphere.Values(values[2*i:], xi, 1)
		values[2*i+1] = s.height - dense.Dot(s.axis, xi)
	}
}

func (s Cap) Jacobians(values, jac, x []float64, n int) {
	d := len(s.axis)
	for i := range n {
		xi, ji := x[i*d:(i+1)*d], jac[2*i*d:2*(i+1)*d]
		s.sphere.Jacobians(values[2*i:], ji[:d], xi, 1)
		values[2*i+1] = s.height - dense.Dot(s.axis, xi)
		for j, a := range s.axis {
			ji[d+j] = -a
		}
	}
}

// HessianVectors: the height is linear.
func (s Cap) HessianVectors(dst, x, v []float64, n int) {
	d := len(s.axis)
	for i := range n {
		s.sphere.HessianVectors(dst[2*i*d:], x[i*d:(i+1)*d], v[i*d:(i+1)*d], 1)
		clear(dst[(2*i+1)*d : (2*i+2)*d])
	}
}

// SampleUniform draws the height z with density ∝ (1 − z²)^((d−3)/2) above the cap's edge, by rejection from the
// uniform law (on a circle, its angle), and a uniform direction across the axis.
func (s Cap) SampleUniform(dst []float64, st keyed.Stream, sample uint64) {
	d := len(s.axis)
	var u [2]float64
	z, steepest := 0.0, max(s.height, 0)
	step := 0
	for ; ; step++ {
		st.Uniforms(u[:], sample, step)
		if d == 2 {
			z = math.Cos(u[0] * math.Acos(s.height))
			break
		}
		z = s.height + u[0]*(1-s.height)
		ratio := (1 - z*z) / (1 - steepest*steepest)
		if u[1] <= math.Pow(ratio, float64(d-3)/2) {
			break
		}
	}
	for {
		step++
		st.Normals(dst, sample, step)
		along := dense.Dot(s.axis, dst)
		for j, a := range s.axis {
			dst[j] -= along * a
		}
		if across := dense.Norm(dst); across > 0x1p-20 {
			r := math.Sqrt(1 - z*z)
			for j, a := range s.axis {
				dst[j] = z*a + r*(dst[j]/across)
			}
			return
		}
	}
}

// A DomainError says that a set cannot be made of what it was given.
type DomainError struct {
	Set   string // kind of set
	Param string // of the constructor
	Value any
	Want  string
}

func (e *DomainError) Error() string {
	return fmt.Sprintf("%s: %s is %v; want %s", e.Set, e.Param, e.Value, e.Want)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

package zoo

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

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
	case !allFinite(axis) || length == 0 || !finite(length):
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
	return constraint.Capabilities{Name: s.String(), SampleUniform: s.SampleUniform}
}

func (s Cap) NewEvaluator(int) constraint.Evaluator {
	return constraint.Evaluator{Values: s.Values, Jacobians: s.Jacobians, HessianVectors: s.HessianVectors}
}

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

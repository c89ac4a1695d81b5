package zoo

import (
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
)

// Torus is {x ∈ R³ : √((ρ − R)² + z²) − r = 0} with ρ = √(x² + y²): the points
// at distance r from a circle of radius R > r.
type Torus struct {
	Major, Minor float64 // R and r
}

func (Torus) String() string         { return "torus" }
func (Torus) Dim() int               { return 3 }
func (Torus) Equalities() []string   { return []string{"tube"} }
func (Torus) Inequalities() []string { return nil }

func (s Torus) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: s.String(), SampleUniform: s.SampleUniform}
}

func (s Torus) NewEvaluator(int) constraint.Evaluator {
	return constraint.Evaluator{Values: s.Values, Jacobians: s.Jacobians, HessianVectors: s.HessianVectors}
}

func (s Torus) Values(values, x []float64, n int) {
	for i := range n {
		_, _, q := s.polar(x[3*i : 3*i+3])
		values[i] = q - s.Minor
	}
}

// polar returns ρ, u = ρ − R and the distance q to the core circle.
func (s Torus) polar(x []float64) (ρ, u, q float64) {
	ρ = math.Sqrt(x[0]*x[0] + x[1]*x[1])
	u = ρ - s.Major
	return ρ, u, math.Sqrt(u*u + x[2]*x[2])
}

func (s Torus) Jacobians(values, jac, x []float64, n int) {
	for i := range n {
		xi, ji := x[3*i:3*i+3], jac[3*i:3*i+3]
		ρ, u, q := s.polar(xi)
		values[i] = q - s.Minor
		if ρ == 0 || q == 0 { // the axis and the core circle: no derivative
			clear(ji)
			continue
		}
		ji[0], ji[1], ji[2] = u/q*xi[0]/ρ, u/q*xi[1]/ρ, xi[2]/q
	}
}

// HessianVectors: with e = (x/ρ, y/ρ, 0), t = (−y/ρ, x/ρ, 0), k = (0, 0, 1) and τ = (z e − u k)/q the unit vector along
// the tube, ∇²h v = τ(τ·v)/q + t(t·v) u/(qρ).
func (s Torus) HessianVectors(dst, x, v []float64, n int) {
	for i := range n {
		xi, vi, out := x[3*i:3*i+3], v[3*i:3*i+3], dst[3*i:3*i+3]
		ρ, u, q := s.polar(xi)
		c, sn := xi[0]/ρ, xi[1]/ρ
		τx, τy, τz := xi[2]/q*c, xi[2]/q*sn, -u/q
		along := (τx*vi[0] + τy*vi[1] + τz*vi[2]) / q
		around := (c*vi[1] - sn*vi[0]) * u / (q * ρ)
		out[0] = τx*along - sn*around
		out[1] = τy*along + c*around
		out[2] = τz * along
	}
}

// Angles returns the angle θ around the axis and φ around the tube.
func (s Torus) Angles(x []float64) (θ, φ float64) {
	_, u, _ := s.polar(x)
	return math.Atan2(x[1], x[0]), math.Atan2(x[2], u)
}

// SampleUniform draws θ uniformly and φ with density ∝ R + r cos φ.
func (s Torus) SampleUniform(dst []float64, st keyed.Stream, sample uint64) {
	u := make([]float64, 3)
	for step := 0; ; step++ {
		st.Uniforms(u, sample, step)
		sinφ, cosφ := math.Sincos(2 * math.Pi * u[1])
		if u[2]*(s.Major+s.Minor) > s.Major+s.Minor*cosφ {
			continue
		}
		sinθ, cosθ := math.Sincos(2 * math.Pi * u[0])
		ρ := s.Major + s.Minor*cosφ
		dst[0], dst[1], dst[2] = ρ*cosθ, ρ*sinθ, s.Minor*sinφ
		return
	}
}

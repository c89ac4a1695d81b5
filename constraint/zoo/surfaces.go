package zoo

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// Ellipsoid is {x ∈ R^d : ½(Σ x_j²/a_j² − 1) = 0}.
type Ellipsoid struct {
	Axes []float64 // the semi-axes a_j > 0
}

func (s Ellipsoid) String() string       { return fmt.Sprintf("ellipsoid in R^%d", len(s.Axes)) }
func (s Ellipsoid) Dim() int             { return len(s.Axes) }
func (Ellipsoid) Equalities() []string   { return []string{"surface"} }
func (Ellipsoid) Inequalities() []string { return nil }

func (s Ellipsoid) Capabilities() constraint.Capabilities {
	return named(s.String(), s.SampleUniform, s.formulas)
}

func (s Ellipsoid) NewEvaluator(int) constraint.Evaluator { return evaluator(s) }

func (s Ellipsoid) Values(values, x []float64, n int) {
	d := len(s.Axes)
	for i := range n {
		sum := -1.0
		for j, a := range s.Axes {
			q := x[i*d+j] / a
			sum += q * q
		}
		values[i] = sum / 2
	}
}

func (s Ellipsoid) Jacobians(values, jac, x []float64, n int) {
	s.Values(values, x, n)
	s.HessianVectors(jac, nil, x, n) // ∇h(x) = A⁻²x
}

// HessianVectors: ∇²h v = A⁻²v, whatever x is.
func (s Ellipsoid) HessianVectors(dst, _, v []float64, n int) {
	d := len(s.Axes)
	for i := range n {
		for j, a := range s.Axes {
			dst[i*d+j] = v[i*d+j] / (a * a)
		}
	}
}

// SampleUniform maps a uniform point u of the unit sphere to (a_j u_j) and
// accepts it with the ratio of areas, ∝ ‖A⁻¹u‖.
func (s Ellipsoid) SampleUniform(dst []float64, st keyed.Stream, sample uint64) {
	amin := math.Inf(1)
	for _, a := range s.Axes {
		amin = min(amin, a)
	}
	u := make([]float64, 1)
	for step := 0; ; step += 2 {
		st.Normals(dst, sample, step)
		q, w := dense.Norm(dst), 0.0
		if q == 0 {
			continue
		}
		for j, a := range s.Axes {
			dst[j] /= q
			w += (dst[j] / a) * (dst[j] / a)
		}
		st.Uniforms(u, sample, step+1)
		if u[0] < math.Sqrt(w)*amin {
			for j, a := range s.Axes {
				dst[j] *= a
			}
			return
		}
	}
}

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
	return named(s.String(), s.SampleUniform, s.formulas)
}

func (s Torus) NewEvaluator(int) constraint.Evaluator { return evaluator(s) }

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

// A Term is Coefficient · x^X · y^Y.
type Term struct {
	Coefficient float64
	X, Y        int
}

// Curve is the plane algebraic curve {(x, y) : Σ_t c_t x^(a_t) y^(b_t) = 0}: conics, Cassini ovals, elliptic curves.
// Where the gradient vanishes (a node, a cusp) the curve has no tangent, and package geometry says so.
type Curve struct{ terms []Term }

const maxDegree = 64 // of one variable in a curve

// NewCurve returns the curve of a polynomial, or a *DomainError.
func NewCurve(terms []Term) (Curve, error) {
	bad := func(value any, want string) (Curve, error) {
		return Curve{}, &DomainError{"curve", "terms", value, want}
	}
	varies := false
	for _, t := range terms {
		switch {
		case !finite(t.Coefficient):
			return bad(t.Coefficient, "finite coefficients")
		case t.X < 0 || t.Y < 0 || t.X > maxDegree || t.Y > maxDegree:
			return bad([2]int{t.X, t.Y}, fmt.Sprintf("powers from 0 to %d", maxDegree))
		}
		varies = varies || t.Coefficient != 0 && t.X+t.Y > 0
	}
	if !varies {
		return bad(terms, "terms (coefficient, power of x, power of y), not all constant")
	}
	return Curve{append([]Term(nil), terms...)}, nil
}

func (Curve) String() string         { return "plane curve" }
func (Curve) Dim() int               { return 2 }
func (Curve) Equalities() []string   { return []string{"curve"} }
func (Curve) Inequalities() []string { return nil }

func (s Curve) Capabilities() constraint.Capabilities { return named(s.String(), nil, s.formulas) }

func (s Curve) NewEvaluator(int) constraint.Evaluator { return evaluator(s) }

func (s Curve) Values(values, x []float64, n int) {
	for i := range n {
		values[i] = s.derivative(x[2*i], x[2*i+1], 0, 0)
	}
}

func (s Curve) Jacobians(values, jac, x []float64, n int) {
	s.Values(values, x, n)
	for i := range n {
		jac[2*i] = s.derivative(x[2*i], x[2*i+1], 1, 0)
		jac[2*i+1] = s.derivative(x[2*i], x[2*i+1], 0, 1)
	}
}

func (s Curve) HessianVectors(dst, x, v []float64, n int) {
	for i := range n {
		px, py := x[2*i], x[2*i+1]
		xx, xy, yy := s.derivative(px, py, 2, 0), s.derivative(px, py, 1, 1), s.derivative(px, py, 0, 2)
		dst[2*i], dst[2*i+1] = xx*v[2*i]+xy*v[2*i+1], xy*v[2*i]+yy*v[2*i+1]
	}
}

func (s Curve) derivative(x, y float64, a, b int) (sum float64) {
	for _, t := range s.terms {
		sum += t.Coefficient * power(x, t.X, a) * power(y, t.Y, b)
	}
	return sum
}

func power(x float64, n, k int) float64 {
	f := 1.0
	for ; k > 0; n, k = n-1, k-1 {
		f *= float64(n)
	}
	if f == 0 {
		return 0
	}
	return f * math.Pow(x, float64(n))
}

package zoo

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint"
)

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

func (s Curve) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: s.String()}
}

func (s Curve) NewEvaluator(int) constraint.Evaluator {
	return constraint.Evaluator{Values: s.Values, Jacobians: s.Jacobians, HessianVectors: s.HessianVectors}
}

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

// Package constraint describes a feasible set
//
//	Σ = {x ∈ R^d : h(x) = 0, g(x) ≤ 0}
//
// by its named components and their exact derivatives, for a block of points.
//
// A component vector is c = [h_1 … h_m, g_1 … g_l]. It says nothing of how Σ
// is used: projectors, ranks and landing belong to package geometry.
package constraint

import (
	"fmt"
	"strings"

	"github.com/landing-diffusion/landing/keyed"
)

// A Set is a feasible set with values and Jacobians. Blocks of points are
// row-major, n×d; every method treats each row alone, so a row's result does
// not depend on its neighbours. Implementations must allow concurrent calls.
type Set interface {
	// Dim returns d, the dimension of the ambient space.
	Dim() int
	// Equalities and Inequalities return the names of the components of h and
	// of g. The lengths are m and l.
	Equalities() []string
	Inequalities() []string
	// Values writes c at each of n points: n×(m+l).
	Values(values, x []float64, n int)
	// Jacobians writes c and its first derivatives at each of n points:
	// n×(m+l) and n×(m+l)×d.
	Jacobians(values, jac, x []float64, n int)
}

// A HessianVectorer also gives second derivatives, which curvature terms need.
type HessianVectorer interface {
	// HessianVectors writes ∇²c_i(x) v for every component: n×(m+l)×d, from n
	// points x and n vectors v.
	HessianVectors(dst, x, v []float64, n int)
}

// A Retractor solves the projection that follows a tangential move in closed
// form.
type Retractor interface {
	// Retract writes the point y = base + v − ∇h(base)ᵀμ on Σ that is nearest
	// in μ to the start μ = 0, and reports whether there is one. dst may be v.
	Retract(dst, base, v []float64) bool
}

// A UniformSampler draws from the uniform (Hausdorff) measure of a compact Σ.
type UniformSampler interface {
	// SampleUniform writes one point, a function of (s, sample) alone.
	SampleUniform(dst []float64, s keyed.Stream, sample uint64)
}

// Components returns all names, equalities first.
func Components(s Set) []string {
	return append(append([]string(nil), s.Equalities()...), s.Inequalities()...)
}

// An UnsupportedError says that a set lacks a capability.
type UnsupportedError struct {
	Set  string // the set's type or name
	Need string // what is missing
	For  string // what needs it
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s needs %s, which %s does not have", e.For, e.Need, e.Set)
}

// Name returns a short name of a set for messages.
func Name(s Set) string {
	if n, ok := s.(fmt.Stringer); ok {
		return n.String()
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", s), "*")
}

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

// A Geodesic set knows its shortest curves in closed form.
type Geodesic interface {
	// Geodesic writes the velocity at x of the shortest curve on Σ that reaches y
	// in unit time, and moves the vector p, tangent at y, in place along it to x
	// (parallel transport); p may be nil. It reports whether there is one such
	// curve. Points a little off Σ give nearly what the points beside them give.
	Geodesic(velocity, p, x, y []float64) bool
}

// A UniformSampler draws from the uniform (Hausdorff) measure of a compact Σ.
type UniformSampler interface {
	// SampleUniform writes one point, a function of (s, sample) alone.
	SampleUniform(dst []float64, s keyed.Stream, sample uint64)
}

// A Sparse set knows which coordinates each component depends on. Components
// that share none, directly or through others, have orthogonal gradients, and
// package geometry then factors each group of them alone.
type Sparse interface {
	// Support returns the coordinates of every component in ascending order,
	// equalities first. It may name too many, never too few.
	Support() [][]int
	// SparseJacobians is Jacobians with only the derivatives along the support,
	// component by component: n×(m+l), and n×(all the support's lengths added).
	SparseJacobians(values, jac, x []float64, n int)
}

// A Projector knows the normal space of its Σ in closed form. Package geometry
// then needs no Jacobian where ∇h has full rank. It is for sets of equalities
// alone; every method treats each of n points alone and allocates nothing.
type Projector interface {
	// WorkSize returns how many numbers Factor keeps of a point.
	WorkSize() int
	// Factor writes h (n×m), what the other methods need of each point
	// (work, n×WorkSize), and regular[i] = rank ∇h(x_i) = m. The other methods
	// are called for regular points only, with the same x and work.
	Factor(values, work []float64, regular []bool, x []float64, n int)
	// Tangent writes Π(x) v: n×d. dst may be v.
	Tangent(dst, v, x, work []float64, n int)
	// Normal writes ∇hᵀ G⁻¹ u for vectors u of components: n×d from n×m.
	Normal(dst, u, x, work []float64, n int)
	// Landing writes ∇hᵀ G⁻¹ h: n×d.
	Landing(dst, x, work []float64, n int)
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

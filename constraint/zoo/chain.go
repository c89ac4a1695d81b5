package zoo

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint"
)

// Chain is the set of positions x_0 … x_K ∈ R^k of a chain of atoms with fixed
// bond lengths ‖x_{i+1} − x_i‖ = ℓ_i, and if asked for
//
//   - fixed bond angles θ_i at the inner atoms, each as the distance
//     ‖x_{i+2} − x_i‖ that it amounts to, √(ℓ_i² + ℓ_{i+1}² − 2 ℓ_i ℓ_{i+1} cos θ_i);
//   - the first atom at the origin, without which Σ is not compact.
//
// A point is the row-major (K+1)×k block of positions.
type Chain struct {
	k, atoms int
	link     []link
	anchored bool
}

// A link keeps two atoms at a distance.
type link struct {
	a, b   int
	length float64
	name   string
}

// NewChain returns the chain of len(bonds)+1 atoms in R^dim. angles are in
// radians, one for each inner atom, or nil. The error is a *DomainError.
func NewChain(dim int, bonds, angles []float64, anchored bool) (Chain, error) {
	bad := func(field string, value any, want string) (Chain, error) {
		return Chain{}, &DomainError{"chain", field, value, want}
	}
	if dim < 2 {
		return bad("dim", dim, "at least 2 coordinates an atom")
	}
	if len(bonds) == 0 {
		return bad("bonds", bonds, "a length for each bond")
	}
	s := Chain{k: dim, atoms: len(bonds) + 1, anchored: anchored}
	for i, l := range bonds {
		if !(l > 0) || !finite(l) {
			return bad("bonds", bonds, "lengths above 0")
		}
		s.link = append(s.link, link{i, i + 1, l, fmt.Sprintf("bond[%d]", i)})
	}
	if angles != nil && len(angles) != len(bonds)-1 {
		return bad("angles", angles, fmt.Sprintf("%d angles, one for each inner atom", len(bonds)-1))
	}
	for i, θ := range angles {
		if !(θ > 0 && θ < math.Pi) {
			return bad("angles", angles, "angles in (0, π): at the ends the gradients become dependent")
		}
		l, r := bonds[i], bonds[i+1]
		s.link = append(s.link, link{i, i + 2, math.Sqrt(l*l + r*r - 2*l*r*math.Cos(θ)), fmt.Sprintf("angle[%d]", i)})
	}
	return s, nil
}

func (s Chain) String() string       { return fmt.Sprintf("chain of %d atoms in R^%d", s.atoms, s.k) }
func (s Chain) Dim() int             { return s.atoms * s.k }
func (Chain) Inequalities() []string { return nil }

func (s Chain) components() int {
	if s.anchored {
		return len(s.link) + s.k
	}
	return len(s.link)
}

// Equalities returns the bonds, the angles, and "anchor[j]".
func (s Chain) Equalities() []string {
	var names []string
	for _, l := range s.link {
		names = append(names, l.name)
	}
	return append(names, numbered("anchor[%d]", s.components()-len(s.link))...)
}

func (s Chain) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: s.String(), Support: s.Support(), Formulas: s.formulas}
}

func (s Chain) NewEvaluator(int) constraint.Evaluator {
	return constraint.Dense(constraint.Evaluator{Values: s.Values, SparseJacobians: s.SparseJacobians,
		SparseHessianVectors: s.SparseHessianVectors}, s.Support(), s.Dim())
}

func (s Chain) Values(values, x []float64, n int) {
	d, c := s.Dim(), s.components()
	for i := range n {
		xi, vi := x[i*d:(i+1)*d], values[i*c:(i+1)*c]
		for e, l := range s.link {
			vi[e] = s.distance(xi, l) - l.length
		}
		copy(vi[len(s.link):], xi[:s.k]) // the anchor, if vi has room for it
	}
}

func (s Chain) distance(x []float64, l link) float64 {
	a, b, sum := x[l.a*s.k:(l.a+1)*s.k], x[l.b*s.k:(l.b+1)*s.k], 0.0
	for j, v := range a {
		sum += (b[j] - v) * (b[j] - v)
	}
	return math.Sqrt(sum)
}

// SparseJacobians writes a link's derivatives at its two atoms: ±(b − a)/‖b − a‖, and zero where the atoms meet, where
// the distance has none.
func (s Chain) SparseJacobians(values, jac, x []float64, n int) {
	s.Values(values, x, n)
	d := s.Dim()
	for i := range n {
		xi := x[i*d : (i+1)*d]
		for _, l := range s.link {
			s.gradient(jac[:s.k], jac[s.k:2*s.k], xi, l)
			jac = jac[2*s.k:]
		}
		for range s.components() - len(s.link) {
			jac[0], jac = 1, jac[1:]
		}
	}
}

// gradient writes ∂/∂a and ∂/∂b of a link's length.
func (s Chain) gradient(da, db, x []float64, l link) {
	r := s.distance(x, l)
	for j := range s.k {
		u := 0.0
		if r > 0 {
			u = (x[l.b*s.k+j] - x[l.a*s.k+j]) / r
		}
		da[j], db[j] = -u, u
	}
}

// SparseHessianVectors writes a link's products at its two atoms.
func (s Chain) SparseHessianVectors(dst, x, v []float64, n int) {
	d := s.Dim()
	for i := range n {
		for _, l := range s.link {
			s.bend(dst[:s.k], dst[s.k:2*s.k], x[i*d:(i+1)*d], v[i*d:(i+1)*d], l)
			dst = dst[2*s.k:]
		}
		free := s.components() - len(s.link)
		clear(dst[:free])
		dst = dst[free:]
	}
}

// bend writes a link's products at its atoms: with u = (b − a)/r and w = v_b − v_a they are ∓(w − u u·w)/r.
func (s Chain) bend(da, db, x, v []float64, l link) {
	r, along := s.distance(x, l), 0.0 // u·w / r
	a, b := l.a*s.k, l.b*s.k
	for j := range s.k {
		along += (x[b+j] - x[a+j]) * (v[b+j] - v[a+j]) / (r * r)
	}
	for j := range s.k {
		out := (v[b+j] - v[a+j] - along*(x[b+j]-x[a+j])) / r
		da[j], db[j] = -out, out
	}
}

// Support is the coordinates of a link's atoms, or one of the anchor.
func (s Chain) Support() [][]int {
	var out [][]int
	for _, l := range s.link {
		var at []int
		for _, atom := range []int{l.a, l.b} {
			for j := range s.k {
				at = append(at, atom*s.k+j)
			}
		}
		out = append(out, at)
	}
	for e := len(s.link); e < s.components(); e++ {
		out = append(out, []int{e - len(s.link)})
	}
	return out
}

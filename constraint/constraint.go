// Package constraint describes a feasible set
//
//	Σ = {x ∈ R^d : h(x) = 0, g(x) ≤ 0}
//
// by its named components and their exact derivatives, for a block of points.
//
// A component vector is c = [h_1 … h_m, g_1 … g_l]. It says nothing of how Σ
// is used: projectors, ranks and landing belong to package geometry.
//
// Of sets under a condition c, whose points are (x, c):
//
//	Hold(s, at)   coordinates of s become the condition: components may depend on c
//	Given(s, n)   a condition of n numbers behind the points of s, whose components know nothing of it
//	At(s, c)      the way back: the set of x alone at one c, whichever of both made s
//	Free(s)       the set of x alone if it is the same for all c (Given); else there is none
//	Slice(s, c)   what At returns of Hold
package constraint

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/fault"
)

// A Set is a feasible set. Its methods allow concurrent calls.
//
// A set that wraps another embeds it and overrides what it changes. It keeps the inner set's capabilities
// automatically. As finds the inner set again.
type Set interface {
	// Dim returns d, the dimension of the ambient space.
	Dim() int
	// Equalities and Inequalities return the names of the components of h and of g. The lengths are m and l.
	Equalities() []string
	Inequalities() []string
	// Capabilities says what the set knows of itself beyond its components. The zero value says: nothing.
	Capabilities() Capabilities
	// NewEvaluator returns what evaluates the set at blocks of up to rows points.
	// It owns its scratch: one goroutine uses it at a time.
	NewEvaluator(rows int) Evaluator
}

// An Evaluator evaluates a set. Values and Jacobians are always there; the others are nil if the set lacks them. Blocks
// of points are row-major, n×d; every function treats each row alone, so a row's result does not depend on its
// neighbours, and allocates at its first call at most.
type Evaluator struct {
	// Values writes c at each of n points: n×(m+l).
	Values func(values, x []float64, n int)
	// Jacobians writes c and its first derivatives at each of n points: n×(m+l) and n×(m+l)×d.
	Jacobians func(values, jac, x []float64, n int)
	// HessianVectors writes ∇²c_i(x) v for every component: n×(m+l)×d, from n
	// points x and n vectors v. Curvature terms need it.
	HessianVectors func(dst, x, v []float64, n int)
	// SparseJacobians is Jacobians with only the derivatives along Capabilities.Support, component by component:
	// n×(m+l), and n×(all the support's lengths added). It is there if and only if Support is.
	SparseJacobians func(values, jac, x []float64, n int)
	// SparseHessianVectors is HessianVectors along Capabilities.Support, laid out as SparseJacobians is: n×(all the
	// support's lengths added). It may be nil where Support is there.
	SparseHessianVectors func(dst, x, v []float64, n int)
	// Retract solves the projection that follows a tangential move in closed form: it writes the point y = base + v −
	// ∇h(base)ᵀμ on Σ that is nearest in μ to the start μ = 0, and reports whether there is one. dst may be v.
	Retract func(dst, base, v []float64) bool
	// Geodesic writes the velocity at x of the shortest curve on Σ that reaches y in unit time, and moves the vector p,
	// tangent at y, in place along it to x (parallel transport); p may be nil. It reports whether there is one such
	// curve. Points a little off Σ give nearly what the points beside them give.
	Geodesic func(velocity, p, x, y []float64) bool
	// Exp writes the point y that the geodesic of Σ with velocity v at x, tangent there, reaches in unit time, and its
	// velocity w at y; w may be nil. Log is its inverse: it writes the velocity v at x of the shortest geodesic to y,
	// of length ‖v‖, and reports whether there is one such and it stays in Σ. Exp brings Log's v back to y to
	// round-off. Sets have both or neither; of points a little off Σ they are those of points beside them.
	Exp func(y, w, x, v []float64)
	Log func(v, x, y []float64) bool
	// Projector is the normal space in closed form, of sets of equalities alone.
	Projector Projector
	// HeldProjector returns the Projector of Hold(s, held), or nil where that has no closed form. It may be nil.
	HeldProjector func(held []int) Projector
}

// FewProducts is the largest number (m+l)·d of products at a point for which sets of formulas, and sets that wrap
// others, have HessianVectors alone: whole rows are then as quick as packed ones.
const FewProducts = 1 << 16

// Dense completes an evaluator of points in R^d that has the sparse functions: its Jacobians, and its HessianVectors if
// it has SparseHessianVectors, are those along the support and 0 elsewhere.
func Dense(e Evaluator, support [][]int, d int) Evaluator {
	c, from := len(support), starts(support)
	packed := scratch{n: from[c]}
	spread := func(rows, row []float64) {
		clear(rows)
		for a, at := range support {
			for k, j := range at {
				rows[a*d+j] = row[from[a]+k]
			}
		}
	}
	e.Jacobians = func(values, jac, x []float64, n int) {
		row := packed.get(from[c])
		for i := range n {
			e.SparseJacobians(values[i*c:(i+1)*c], row, x[i*d:(i+1)*d], 1)
			spread(jac[i*c*d:(i+1)*c*d], row)
		}
	}
	if e.SparseHessianVectors != nil {
		e.HessianVectors = func(dst, x, v []float64, n int) {
			row := packed.get(from[c])
			for i := range n {
				e.SparseHessianVectors(row, x[i*d:(i+1)*d], v[i*d:(i+1)*d], 1)
				spread(dst[i*c*d:(i+1)*c*d], row)
			}
		}
	}
	return e
}

// packs reports whether a set of c components in R^d that wraps another passes on its packed Hessian products.
func (e *Evaluator) packs(c, d int) bool { return e.SparseHessianVectors != nil && c*d > FewProducts }

// Capabilities is what a set knows of itself. Its functions are nil if the set lacks them, and allow concurrent calls.
type Capabilities struct {
	// Name is for messages: "sphere in R^3".
	Name string
	// Support holds the coordinates that each component depends on, in ascending order, equalities first; nil if the
	// set does not say. It may name too many, never too few. Components that share none, directly or through others,
	// have orthogonal gradients, and package geometry then factors each group alone.
	Support [][]int
	// Work is how many multiply-adds all values and first derivatives at a point take, of a set that
	// takes many for each component: a network. 0: few.
	Work float64
	// Held are the coordinates of a point, in ascending order, that are given with it and do not move: a condition
	// (Hold). Derivatives along them are 0, and nothing that moves points changes them.
	Held []int
	// HeldNames are what the set calls the coordinates that Hold is to hold, in their order, as
	// names that formulas can use; nil if it does not name them.
	HeldNames []string
	// Equalities returns the set of the equalities alone, of a set that can do without
	// its inequalities at less cost than leaving them out of all that it computes.
	Equalities func() Set
	// Open returns the set without the last of its inequalities, those that a process may leave to its last state, of a
	// set that has such: they close what is open otherwise.
	Open func() Set
	// Parts are ranges of coordinates that belong together, in order: the factors of a product. Of one they are nil.
	Parts []Part
	// Steps is how many steps of a sequence a point begins with, one after the other, of StepDim
	// coordinates each; what follows them is Held. 0: it is no sequence.
	Steps, StepDim int
	// StepNames are what the set calls the coordinates of a step; nil: it does not name them.
	StepNames []string
	// Families are components that are alike, in the order of messages, of a set of many; nil: it has none.
	Families []Family
	// Names are what the set calls the coordinates of a point; nil: it does not name them.
	Names []string
	// Profiles are quantities along something, such as the voltages of buses, with their limits: for pictures.
	Profiles []Profile
	// SampleUniform writes one point of the uniform (Hausdorff) measure of a
	// compact Σ, a function of (s, sample) alone.
	SampleUniform func(dst []float64, s keyed.Stream, sample uint64)
	// Start writes a point beside Σ, for chains and searches to begin from, of a set that knows better ones than
	// Gaussian points about 0: a function of (s, sample, try) alone.
	Start func(dst []float64, s keyed.Stream, sample uint64, try int)
	// Fault returns an error that names the first component, and in it the first operation, whose value or derivative
	// is not finite at the point x (d numbers), or nil if all are finite.
	Fault func(x []float64) error
	// Selects is of a set that is only some of the connected components of {h = 0, g ≤ 0}, told apart by something that
	// is no smooth constraint: SO(n) is the half of O(n) with positive determinant. It reports whether the point x, on
	// or near {h = 0, g ≤ 0}, belongs. The dynamics follow h and g alone; who uses points of the set must reject those
	// that it does not select. Selection names the condition, for messages: "det > 0".
	Selects   func(x []float64) bool
	Selection string
	// Formulas writes the components as formulas of a point, for intervals (package proof), of a set that can: the
	// elements of the values in their order, and behind them, where Selects is there, what is < 0 where it is true. A
	// Missing one stands for a component that the set cannot write.
	Formulas func(x expr.Value) []expr.Value
}

// A Family is components of one kind and unit, by their numbers, equalities first.
type Family struct {
	Name, Unit string
	Of         []int
}

// A Profile is a quantity at each place along something, with its limits there; infinite ones are none.
type Profile struct {
	Name, Along string
	Low, High   []float64
	Of          func(dst, x []float64) // writes it at a point
}

// A Part is the coordinates x[At] … x[At+Dim−1], by a name.
type Part struct {
	Name    string
	At, Dim int
}

// A Projector knows the normal space of its Σ in closed form. Package geometry then needs no Jacobian where ∇h has full
// rank. It is for sets of equalities alone; every method treats each of n points alone and allocates nothing.
type Projector interface {
	// WorkSize returns how many numbers Factor keeps of a point.
	WorkSize() int
	// Factor writes h (n×m), what the other methods need of each point (work, n×WorkSize), and regular[i] = rank
	// ∇h(x_i) = m. The other methods are called for regular points only, with the same x and work.
	Factor(values, work []float64, regular []bool, x []float64, n int)
	// Tangent writes Π(x) v: n×d, 0 along held coordinates. dst may be v.
	Tangent(dst, v, x, work []float64, n int)
	// Normal writes ∇hᵀ G⁻¹ u for vectors u of components: n×d from n×m.
	Normal(dst, u, x, work []float64, n int)
	// Landing writes ∇hᵀ G⁻¹ h: n×d.
	Landing(dst, x, work []float64, n int)
}

// As returns the first set of type T in s or in what s wraps: a set with a method
// Unwrap() []Set stands for those that it returns.
func As[T any](s Set) (T, bool) { return find[T](s, false) }

// AsFree is As that finds sets which Given wraps, too. Their points are the first coordinates of those of s.
func AsFree[T any](s Set) (T, bool) { return find[T](s, true) }

func find[T any](s Set, free bool) (T, bool) {
	if t, ok := s.(T); ok {
		return t, true
	}
	var wrapped []Set
	if inner, ok := Free(s); ok && free {
		wrapped = []Set{inner}
	} else if w, ok := s.(interface{ Unwrap() []Set }); ok {
		wrapped = w.Unwrap()
	}
	for _, inner := range wrapped {
		if t, ok := find[T](inner, free); ok {
			return t, true
		}
	}
	var none T
	return none, false
}

// Components returns all names, equalities first.
func Components(s Set) []string {
	return append(append([]string(nil), s.Equalities()...), s.Inequalities()...)
}

// Values returns c at each of the points x (n×d): n×(m+l). Loops keep an Evaluator instead.
func Values(s Set, x []float64) []float64 {
	n := len(x) / s.Dim()
	values := make([]float64, n*(len(s.Equalities())+len(s.Inequalities())))
	s.NewEvaluator(n).Values(values, x, n)
	return values
}

// Formulas returns h, g and what a set selects by, as scalars. They are missing of a set that cannot write them.
func Formulas(s Set, x expr.Value) (h, g, selection []expr.Value) {
	c, m, n := s.Capabilities(), len(s.Equalities()), len(Components(s))
	var all []expr.Value
	if c.Formulas != nil {
		all = expr.Elements(c.Formulas(x)...)
	} else {
		all = slices.Repeat([]expr.Value{x.Graph().Missing()}, n)
		if c.Selects != nil {
			all = append(all, all[0])
		}
	}
	return all[:m:m], all[m:n:n], all[n:]
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

func (*UnsupportedError) Place() fault.Place { return fault.Place{Kind: fault.Problem} }

// Name returns a short name of a set for messages.
func Name(s Set) string {
	if name := s.Capabilities().Name; name != "" {
		return name
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", s), "*")
}

// Excess returns how far the value of a component is from what Σ asks: |v| of an
// equality, max(v, 0) of an inequality, +Inf of NaN.
func Excess(v float64, equality bool) float64 {
	if equality {
		v = math.Abs(v)
	}
	switch {
	case v > 0:
		return v
	case v <= 0:
		return 0
	}
	return math.Inf(1)
}

// Worst returns the largest excess among the values of one point, the first m of them
// equalities, and its component; 0 and −1 if there is none.
func Worst(values []float64, m int) (excess float64, component int) {
	component = -1
	for i, v := range values {
		if e := Excess(v, i < m); e > excess {
			excess, component = e, i
		}
	}
	return excess, component
}

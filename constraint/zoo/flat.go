package zoo

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// Euclidean is R^d: no constraint at all.
type Euclidean struct{ D int }

func (s Euclidean) String() string       { return fmt.Sprintf("R^%d", s.D) }
func (s Euclidean) Dim() int             { return s.D }
func (Euclidean) Equalities() []string   { return nil }
func (Euclidean) Inequalities() []string { return nil }

func (s Euclidean) Capabilities() constraint.Capabilities {
	return named(s.String(), nil, func(expr.Value) []expr.Value { return nil })
}

func (s Euclidean) NewEvaluator(int) constraint.Evaluator {
	nothing := func(_, _, _ []float64, _ int) {} // there are no components
	return constraint.Evaluator{Values: func(_, _ []float64, _ int) {}, Jacobians: nothing, HessianVectors: nothing,
		Exp: straight, Log: difference}
}

// Affine is {x ∈ R^d : a_i·x = b_i, i = 1 … m}.
type Affine struct {
	A [][]float64 // m rows of length d
	B []float64   // m right-hand sides
}

func (s Affine) String() string { return fmt.Sprintf("affine set of %d equations", len(s.A)) }
func (s Affine) Dim() int       { return len(s.A[0]) }

func (s Affine) Equalities() []string { return numbered("row[%d]", len(s.A)) }
func (Affine) Inequalities() []string { return nil }

func (s Affine) Capabilities() constraint.Capabilities { return named(s.String(), nil, s.formulas) }

func (s Affine) NewEvaluator(int) constraint.Evaluator { return flatEvaluator(s) }

func (s Affine) Values(values, x []float64, n int) {
	d, m := s.Dim(), len(s.A)
	for p := range n {
		for i, a := range s.A {
			values[p*m+i] = dense.Dot(a, x[p*d:(p+1)*d]) - s.B[i]
		}
	}
}

func (s Affine) Jacobians(values, jac, x []float64, n int) {
	s.Values(values, x, n)
	d, m := s.Dim(), len(s.A)
	for p := range n {
		for i, a := range s.A {
			copy(jac[(p*m+i)*d:], a)
		}
	}
}

func (s Affine) HessianVectors(dst, _, _ []float64, n int) { clear(dst[:n*len(s.A)*s.Dim()]) }

// Bounds is {x ∈ R^d : lower_j ≤ x_j ≤ upper_j}: first the lower bounds, then
// the upper ones. An infinite bound is no component.
type Bounds struct {
	lower, upper []float64
	bound        []bound
}

// A bound is the inequality sign·(x_j − at) ≤ 0.
type bound struct {
	j        int
	sign, at float64
	name     string
}

// A Box is Bounds that are all finite.
type Box struct{ Bounds }

// NewBox returns the set lower ≤ x ≤ upper: a Box if all bounds are finite, and Bounds otherwise. A nil slice stands
// for no bounds on that side. The error is a *DomainError.
func NewBox(lower, upper []float64) (constraint.Set, error) {
	d := max(len(lower), len(upper))
	fill := func(v []float64, by float64) []float64 {
		if v == nil {
			for range d {
				v = append(v, by)
			}
		}
		return append([]float64(nil), v...)
	}
	s := Bounds{lower: fill(lower, math.Inf(-1)), upper: fill(upper, math.Inf(1))}
	switch {
	case d == 0:
		return nil, &DomainError{"box", "lower", lower, "a bound for each coordinate, here or in upper"}
	case len(s.lower) != d:
		return nil, &DomainError{"box", "lower", lower, fmt.Sprintf("%d numbers, as upper has", d)}
	case len(s.upper) != d:
		return nil, &DomainError{"box", "upper", upper, fmt.Sprintf("%d numbers, as lower has", d)}
	}
	compact := true
	for j, lo := range s.lower {
		if up := s.upper[j]; !(lo < up) || math.IsInf(lo, 1) || math.IsInf(up, -1) {
			return nil, &DomainError{"box", "upper", upper, fmt.Sprintf("upper[%d] above lower[%d] = %v", j, j, lo)}
		}
		compact = compact && finite(lo) && finite(s.upper[j])
	}
	for j, lo := range s.lower {
		if finite(lo) {
			s.bound = append(s.bound, bound{j, -1, lo, fmt.Sprintf("lower[%d]", j)})
		}
	}
	for j, up := range s.upper {
		if finite(up) {
			s.bound = append(s.bound, bound{j, 1, up, fmt.Sprintf("upper[%d]", j)})
		}
	}
	if compact {
		return Box{s}, nil
	}
	return s, nil
}

func (s Bounds) String() string     { return fmt.Sprintf("box in R^%d", len(s.lower)) }
func (s Bounds) Dim() int           { return len(s.lower) }
func (Bounds) Equalities() []string { return nil }

func (s Bounds) Inequalities() []string {
	names := make([]string, len(s.bound))
	for i, b := range s.bound {
		names[i] = b.name
	}
	return names
}

func (s Bounds) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: s.String(), Support: s.Support(), Formulas: s.formulas}
}

func (s Bounds) NewEvaluator(int) constraint.Evaluator {
	return constraint.Dense(constraint.Evaluator{Values: s.Values, SparseJacobians: s.SparseJacobians,
		HessianVectors: s.HessianVectors, Exp: straight, Log: difference}, s.Support(), len(s.lower))
}

func (s Bounds) Values(values, x []float64, n int) {
	d, l := len(s.lower), len(s.bound)
	for i := range n {
		for a, b := range s.bound {
			values[i*l+a] = b.sign * (x[i*d+b.j] - b.at)
		}
	}
}

func (s Bounds) HessianVectors(dst, _, _ []float64, n int) { clear(dst[:n*len(s.bound)*len(s.lower)]) }

// Support of each bound is one coordinate.
func (s Bounds) Support() [][]int {
	out := make([][]int, len(s.bound))
	for a, b := range s.bound {
		out[a] = []int{b.j}
	}
	return out
}

// SparseJacobians writes one derivative a bound.
func (s Bounds) SparseJacobians(values, jac, x []float64, n int) {
	s.Values(values, x, n)
	for i := range n * len(s.bound) {
		jac[i] = s.bound[i%len(s.bound)].sign
	}
}

func (s Box) Capabilities() constraint.Capabilities {
	c := s.Bounds.Capabilities()
	c.SampleUniform = s.SampleUniform
	return c
}

// SampleUniform draws each coordinate between its bounds.
func (s Box) SampleUniform(dst []float64, st keyed.Stream, sample uint64) {
	st.Uniforms(dst, sample, 0)
	for j, u := range dst {
		dst[j] = min(s.lower[j]+u*(s.upper[j]-s.lower[j]), s.upper[j])
	}
}

// Simplex is the probability simplex {x ∈ R^d : Σ x_j = 1, x ≥ 0}.
type Simplex struct{ d int }

// NewSimplex returns the simplex of dim ≥ 2 vertices, or a *DomainError.
func NewSimplex(dim int) (Simplex, error) {
	if dim < 2 {
		return Simplex{}, &DomainError{"simplex", "dim", dim, "at least 2 coordinates"}
	}
	return Simplex{dim}, nil
}

func (s Simplex) String() string     { return fmt.Sprintf("simplex in R^%d", s.d) }
func (s Simplex) Dim() int           { return s.d }
func (Simplex) Equalities() []string { return []string{"sum"} }

func (s Simplex) Inequalities() []string { return numbered("lower[%d]", s.d) }

func (s Simplex) Capabilities() constraint.Capabilities {
	return named(s.String(), s.SampleUniform, s.formulas)
}

func (s Simplex) NewEvaluator(int) constraint.Evaluator { return flatEvaluator(s) }

func (s Simplex) Values(values, x []float64, n int) {
	for ; n > 0; n-- {
		sum := -1.0
		for j, v := range x[:s.d] {
			sum += v
			values[1+j] = -v
		}
		values[0] = sum
		values, x = values[1+s.d:], x[s.d:]
	}
}

func (s Simplex) Jacobians(values, jac, x []float64, n int) {
	s.Values(values, x, n)
	d := s.d
	clear(jac[:n*(1+d)*d])
	for i := range n {
		ji := jac[i*(1+d)*d:]
		for j := range d {
			ji[j], ji[(1+j)*d+j] = 1, -1
		}
	}
}

func (s Simplex) HessianVectors(dst, _, _ []float64, n int) { clear(dst[:n*(1+s.d)*s.d]) }

// SampleUniform divides independent exponential numbers by their sum.
func (s Simplex) SampleUniform(dst []float64, st keyed.Stream, sample uint64) {
	st.Uniforms(dst, sample, 0)
	sum := 0.0
	for j, u := range dst {
		dst[j] = -math.Log1p(-u) + 0x1p-1000 // above zero, so that the sum is
		sum += dst[j]
	}
	for j := range dst {
		dst[j] /= sum
	}
}

// RedundantAxis is the z-axis {x_1 = x_2 = 0} of R³ with an inequality that holds there anyway,
//
//	h = (x_1, x_2),   g = x_1 + x_2 + x_1² ≤ 0
//
// (paper, remark on rCRCQ). g is active on all of Σ, and ∇g = ∇h_1 + ∇h_2 there:
// the gradients are dependent, but their rank is 2 everywhere.
type RedundantAxis struct{}

func (RedundantAxis) String() string         { return "z-axis with a redundant inequality" }
func (RedundantAxis) Dim() int               { return 3 }
func (RedundantAxis) Equalities() []string   { return []string{"x[0]", "x[1]"} }
func (RedundantAxis) Inequalities() []string { return []string{"redundant"} }

func (s RedundantAxis) Capabilities() constraint.Capabilities {
	return named(s.String(), nil, s.formulas)
}

func (s RedundantAxis) NewEvaluator(int) constraint.Evaluator { return evaluator(s) }

func (RedundantAxis) Values(values, x []float64, n int) {
	for i := range n {
		a, b := x[3*i], x[3*i+1]
		values[3*i], values[3*i+1], values[3*i+2] = a, b, a+b+a*a
	}
}

func (s RedundantAxis) Jacobians(values, jac, x []float64, n int) {
	s.Values(values, x, n)
	for i := range n {
		copy(jac[9*i:9*i+9], []float64{1, 0, 0, 0, 1, 0, 1 + 2*x[3*i], 1, 0})
	}
}

func (RedundantAxis) HessianVectors(dst, _, v []float64, n int) {
	clear(dst[:9*n])
	for i := range n {
		dst[9*i+6] = 2 * v[3*i]
	}
}

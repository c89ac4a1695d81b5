package zoo

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
)

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
	return constraint.Capabilities{Name: s.String(), Support: s.Support()}
}

func (s Bounds) NewEvaluator(int) constraint.Evaluator {
	return constraint.Evaluator{
		Values: s.Values, Jacobians: s.Jacobians, HessianVectors: s.HessianVectors,
		SparseJacobians: s.SparseJacobians, Exp: straight, Log: difference,
	}
}

func (s Bounds) Values(values, x []float64, n int) {
	d, l := len(s.lower), len(s.bound)
	for i := range n {
		for a, b := range s.bound {
			values[i*l+a] = b.sign * (x[i*d+b.j] - b.at)
		}
	}
}

func (s Bounds) Jacobians(values, jac, x []float64, n int) {
	s.Values(values, x, n)
	d, l := len(s.lower), len(s.bound)
	clear(jac[:n*l*d])
	for i := range n {
		for a, b := range s.bound {
			jac[(i*l+a)*d+b.j] = b.sign
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

package constraint

import (
	"fmt"
	"slices"

	"github.com/landing-diffusion/landing/base/expr"
)

// Hold returns s with coordinates of a point that are given and do not move: with c the
// coordinates in at and x the others,
//
//	Σ(c) = {x : h(x, c) = 0, g(x, c) ≤ 0},
//
// The result has the tangents, normals and curvatures of Σ(c). Its points are those of s, (x, c); derivatives along c
// are 0, and Capabilities.Held names these coordinates. Components may depend on c. What s knows in closed form of its
// Σ is not true of each Σ(c), and is left out, except the normal space of Evaluator.HeldProjector. It panics if at is
// no list of coordinates of s.
func Hold(s Set, at []int) Set {
	held := append(slices.Clone(at), s.Capabilities().Held...)
	slices.Sort(held)
	held = slices.Compact(held)
	if n := len(held); n > 0 && (held[0] < 0 || held[n-1] >= s.Dim()) {
		panic(fmt.Sprintf("constraint: coordinates %v held of %d", at, s.Dim()))
	}
	if len(held) == 0 {
		return s
	}
	v := &hold{Set: s, held: held}
	if support := s.Capabilities().Support; support != nil {
		v.from = starts(support)
		v.support = make([][]int, len(support))
		for a, js := range support {
			v.support[a] = []int{}
			for k, j := range js {
				if _, still := slices.BinarySearch(held, j); !still {
					v.support[a] = append(v.support[a], j)
					v.keep = append(v.keep, v.from[a]+k)
				}
			}
		}
	}
	return v
}

type hold struct {
	Set
	held    []int
	support [][]int
	from    []int // where a component's derivatives begin in a packed row of Set
	keep    []int // the numbers of such a row that stay
}

func (s *hold) Unwrap() []Set { return []Set{s.Set} }

func (s *hold) Capabilities() Capabilities {
	c := s.Set.Capabilities()
	c.Held, c.Support, c.SampleUniform, c.Start, c.Open = s.held, s.support, nil, nil, nil
	if len(c.HeldNames) != len(s.held) { // others are held than the set says
		c.HeldNames = nil
	}
	if own := c.Equalities; own != nil {
		c.Equalities = func() Set { return Hold(own(), s.held) }
	}
	return c
}

func (s *hold) NewEvaluator(rows int) Evaluator {
	inner := s.Set.NewEvaluator(rows)
	e := &holdEvaluator{hold: s, inner: inner, d: s.Dim(), c: len(Components(s.Set))}
	out := Evaluator{Values: inner.Values, Jacobians: e.Jacobians}
	if inner.HeldProjector != nil {
		out.Projector = inner.HeldProjector(s.held)
	}
	if inner.HessianVectors != nil {
		e.v.n = rows * e.d
		out.HessianVectors = e.HessianVectors
	}
	if s.support != nil {
		e.packed.n = rows * s.from[e.c]
		out.SparseJacobians = e.SparseJacobians
		if inner.packs(e.c, e.d) {
			out.SparseHessianVectors = e.SparseHessianVectors
		}
	}
	return out
}

type holdEvaluator struct {
	*hold
	inner     Evaluator
	d, c      int
	v, packed scratch
}

// still clears the held coordinates of n rows of d numbers.
func (e *holdEvaluator) still(rows []float64, n int) {
	for i := range n {
		for _, j := range e.held {
			rows[i*e.d+j] = 0
		}
	}
}

func (e *holdEvaluator) Jacobians(values, jac, x []float64, n int) {
	e.inner.Jacobians(values, jac, x, n)
	e.still(jac, n*e.c)
}

// free returns n vectors v without their held coordinates.
func (e *holdEvaluator) free(v []float64, n int) []float64 {
	free := e.v.get(n * e.d)
	copy(free, v[:n*e.d])
	e.still(free, n)
	return free
}

func (e *holdEvaluator) HessianVectors(dst, x, v []float64, n int) {
	e.inner.HessianVectors(dst, x, e.free(v, n), n)
	e.still(dst, n*e.c)
}

func (e *holdEvaluator) SparseJacobians(values, jac, x []float64, n int) {
	packed := e.packed.get(n * e.from[e.c])
	e.inner.SparseJacobians(values, packed, x, n)
	e.drop(jac, packed, n)
}

func (e *holdEvaluator) SparseHessianVectors(dst, x, v []float64, n int) {
	packed := e.packed.get(n * e.from[e.c])
	e.inner.SparseHessianVectors(packed, x, e.free(v, n), n)
	e.drop(dst, packed, n)
}

// drop copies n packed rows without the derivatives along held coordinates.
func (e *holdEvaluator) drop(dst, packed []float64, n int) {
	width := e.from[e.c]
	for i := range n {
		row := packed[i*width : (i+1)*width]
		for a, at := range e.keep {
			dst[i*len(e.keep)+a] = row[at]
		}
	}
}

// Slice returns Σ(c) of a set with held coordinates (Hold), for one c: a set of the other
// coordinates, in their order. It panics unless c has as many numbers as are held.
func Slice(s Set, c []float64) Set {
	held := s.Capabilities().Held
	if len(c) != len(held) {
		panic(fmt.Sprintf("constraint: a slice at %d numbers of %d", len(c), len(held)))
	}
	v := &sliced{Set: s, point: make([]float64, s.Dim())}
	for j := range v.point {
		k, still := slices.BinarySearch(held, j)
		if still {
			v.point[j] = c[k]
		} else {
			v.free = append(v.free, j)
		}
	}
	return v
}

// At returns the set of x alone at one condition: s if it holds nothing, the set that Given wraps, whatever c, or else
// the slice.
func At(s Set, c []float64) Set {
	if inner, ok := Free(s); ok {
		return inner
	}
	if len(s.Capabilities().Held) == 0 {
		return s
	}
	return Slice(s, c)
}

// Whole returns the set that Slice made s of, whose points have their own c: s itself if it is no slice.
func Whole(s Set) Set {
	if v, ok := s.(*sliced); ok {
		return v.Set
	}
	return s
}

type sliced struct {
	Set
	point []float64 // c in its place
	free  []int
}

// Unwrap is for As. Points of the inner set have c behind or between their coordinates.
func (s *sliced) Unwrap() []Set { return []Set{s.Set} }

func (s *sliced) Dim() int { return len(s.free) }

// whole writes the points (x, c) of n points x.
func (s *sliced) whole(dst, x []float64, n int) {
	d := len(s.free)
	for i := range n {
		to := dst[i*len(s.point) : (i+1)*len(s.point)]
		copy(to, s.point)
		for k, j := range s.free {
			to[j] = x[i*d+k]
		}
	}
}

func (s *sliced) narrow(dst, rows []float64, n int) {
	d := len(s.free)
	for i := range n {
		for k, j := range s.free {
			dst[i*d+k] = rows[i*len(s.point)+j]
		}
	}
}

func (s *sliced) Capabilities() Capabilities {
	c := s.Set.Capabilities()
	point := func(x []float64) []float64 {
		p := make([]float64, len(s.point))
		s.whole(p, x, 1)
		return p
	}
	if fault := c.Fault; fault != nil {
		c.Fault = func(x []float64) error { return fault(point(x)) }
	}
	if selects := c.Selects; selects != nil {
		c.Selects = func(x []float64) bool { return selects(point(x)) }
	}
	if formulas := c.Formulas; formulas != nil {
		c.Formulas = func(x expr.Value) []expr.Value {
			var all []expr.Value
			for j, v := range s.point {
				if k, ok := slices.BinarySearch(s.free, j); ok {
					all = append(all, x.At(k))
				} else {
					all = append(all, x.Graph().Const(v))
				}
			}
			return formulas(expr.Join(all...))
		}
	}
	if all := c.Support; all != nil {
		c.Support = make([][]int, len(all))
		for a, js := range all {
			c.Support[a] = []int{}
			for _, j := range js {
				if k, ok := slices.BinarySearch(s.free, j); ok {
					c.Support[a] = append(c.Support[a], k)
				}
			}
		}
	}
	c.Held, c.HeldNames, c.Parts, c.SampleUniform, c.Start, c.Open = nil, nil, nil, nil, nil, nil
	if own := c.Equalities; own != nil {
		values := make([]float64, len(s.Set.Capabilities().Held))
		for k, j := range s.Set.Capabilities().Held {
			values[k] = s.point[j]
		}
		c.Equalities = func() Set { return Slice(own(), values) }
	}
	return c
}

func (s *sliced) NewEvaluator(rows int) Evaluator {
	d, c := s.Set.Dim(), len(Components(s.Set))
	e := &slicedEvaluator{sliced: s, inner: s.Set.NewEvaluator(rows), c: c,
		x: scratch{n: rows * d}, v: scratch{n: rows * d}, jac: scratch{n: rows * c * d}}
	out := Evaluator{Values: e.Values, Jacobians: e.Jacobians}
	if e.inner.HessianVectors != nil {
		out.HessianVectors = e.HessianVectors
	}
	if e.inner.SparseJacobians != nil { // Hold has packed the free ones alone
		out.SparseJacobians = e.SparseJacobians
		if e.inner.packs(c, d) {
			out.SparseHessianVectors = e.SparseHessianVectors
		}
	}
	return out
}

type slicedEvaluator struct {
	*sliced
	inner     Evaluator
	c         int
	x, v, jac scratch
}

func (e *slicedEvaluator) points(x []float64, n int) []float64 {
	all := e.x.get(n * len(e.point))
	e.whole(all, x, n)
	return all
}

func (e *slicedEvaluator) Values(values, x []float64, n int) {
	e.inner.Values(values, e.points(x, n), n)
}

func (e *slicedEvaluator) Jacobians(values, jac, x []float64, n int) {
	all := e.jac.get(n * e.c * len(e.point))
	e.inner.Jacobians(values, all, e.points(x, n), n)
	e.narrow(jac, all, n*e.c)
}

func (e *slicedEvaluator) HessianVectors(dst, x, v []float64, n int) {
	all := e.jac.get(n * e.c * len(e.point))
	e.inner.HessianVectors(all, e.points(x, n), e.moved(v, n), n)
	e.narrow(dst, all, n*e.c)
}

// moved returns n vectors v among all coordinates: along c, whatever, since the inner set holds it.
func (e *slicedEvaluator) moved(v []float64, n int) []float64 {
	moved := e.v.get(n * len(e.point))
	e.whole(moved, v, n)
	return moved
}

func (e *slicedEvaluator) SparseHessianVectors(dst, x, v []float64, n int) {
	e.inner.SparseHessianVectors(dst, e.points(x, n), e.moved(v, n), n)
}

func (e *slicedEvaluator) SparseJacobians(values, jac, x []float64, n int) {
	e.inner.SparseJacobians(values, jac, e.points(x, n), n)
}

package constraint

import (
	"fmt"
	"slices"
)

// Hold returns s with coordinates of a point that are given and do not move: with c the
// coordinates in at and x the others,
//
//	Σ(c) = {x : h(x, c) = 0, g(x, c) ≤ 0},
//
// of which the tangents, normals and curvatures of the result are. Its points are those of s, (x, c); derivatives along
// c are 0, and Capabilities.Held names them. Components may depend on c; what s knows in closed form of its Σ is not
// true of each Σ(c), and is left out, but for the normal space that Evaluator.HeldProjector tells. It panics if at is
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
	c.Held, c.Support, c.SampleUniform, c.Volume, c.Start = s.held, s.support, nil, 0, nil
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

func (e *holdEvaluator) HessianVectors(dst, x, v []float64, n int) {
	free := e.v.get(n * e.d)
	copy(free, v[:n*e.d])
	e.still(free, n)
	e.inner.HessianVectors(dst, x, free, n)
	e.still(dst, n*e.c)
}

func (e *holdEvaluator) SparseJacobians(values, jac, x []float64, n int) {
	width := e.from[e.c]
	packed := e.packed.get(n * width)
	e.inner.SparseJacobians(values, packed, x, n)
	for i := range n {
		row := packed[i*width : (i+1)*width]
		for a, at := range e.keep {
			jac[i*len(e.keep)+a] = row[at]
		}
	}
}

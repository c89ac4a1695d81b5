package constraint

import (
	"fmt"
	"strconv"

	"github.com/landing-diffusion/landing/base/keyed"
)

// A Factor is a set with a name as a factor of a product.
type Factor struct {
	Name string
	Set
}

func (f Factor) Unwrap() []Set { return []Set{f.Set} }

// Product returns the set of points (x_0, x_1, …) with x_i in the i-th set: each factor has coordinates of its own, one
// after the other. Its components are named by the factor's number, "0.radius", or by its name where it is a Factor.
// Closed forms that all factors have are those of the product; As does not look into it, since what a factor is the
// product is not. It panics without factors, or where two have one name.
func Product(factors ...Set) Set {
	if len(factors) == 0 {
		panic("constraint: a product of no sets")
	}
	s := &product{}
	var at []int
	var prefix []string
	d := 0
	for i, f := range factors {
		name := strconv.Itoa(i)
		if named, ok := f.(Factor); ok {
			name, f = named.Name, named.Set
		}
		s.factors = append(s.factors, f)
		prefix, at = append(prefix, name), append(at, d)
		d += f.Dim()
	}
	if repeated(prefix) {
		panic(fmt.Sprintf("constraint: factors of one name among %q", prefix))
	}
	s.prefix = prefix
	s.join = newJoin(s.factors, at, d, func(i int, n string) string { return prefix[i] + "." + n })
	return s
}

type product struct {
	join
	factors []Set
	prefix  []string
}

func (s *product) Capabilities() Capabilities {
	c := s.capabilities("product of "+list(s.factors), func(i int, err error) error {
		return fmt.Errorf("factor %s: %w", s.prefix[i], err)
	})
	draws := make([]func(dst []float64, s keyed.Stream, sample uint64), len(s.parts))
	closed := true
	for i, p := range s.parts {
		own := p.Capabilities()
		c.Parts = append(c.Parts, Part{s.prefix[i], p.at, p.d})
		draws[i] = own.SampleUniform
		closed = closed && draws[i] != nil
	}
	if closed {
		c.SampleUniform = func(dst []float64, st keyed.Stream, sample uint64) {
			for i, p := range s.parts { // independent, by a stream of its own for each factor
				draws[i](dst[p.at:p.at+p.d], st.Part(uint64(i)), sample)
			}
		}
	}
	return c
}

func (s *product) NewEvaluator(rows int) Evaluator {
	e := &productEvaluator{joinEvaluator: s.evaluator(rows), transported: scratch{n: s.d}}
	out := e.functions()
	out.Retract, out.Geodesic, out.Exp, out.Log = e.Retract, e.Geodesic, e.Exp, e.Log
	projects := true
	for i := range e.parts {
		p := &e.parts[i]
		if p.Evaluator.Retract == nil {
			out.Retract = nil
		}
		if p.Evaluator.Geodesic == nil {
			out.Geodesic = nil
		}
		if p.Evaluator.Exp == nil {
			out.Exp, out.Log = nil, nil
		}
		projects = projects && p.Projector != nil
	}
	if projects {
		out.Projector = newProductProjector(e.joinEvaluator)
	}
	return out
}

// A productEvaluator has the closed forms of the factors. Coordinates behind those of all factors (Given) do not move.
type productEvaluator struct {
	*joinEvaluator
	transported scratch
}

// Retract solves for each factor alone: neither base nor gradients have to do with each other.
func (e *productEvaluator) Retract(dst, base, v []float64) bool {
	for i := range e.parts {
		if f := &e.parts[i]; !f.Evaluator.Retract(f.of(dst), f.of(base), f.of(v)) {
			return false
		}
	}
	copy(e.still(dst), e.still(base))
	return true
}

// Geodesic runs along a shortest curve of each factor. p stays where one has none.
func (e *productEvaluator) Geodesic(velocity, p, x, y []float64) bool {
	to := p
	if p != nil {
		to = e.transported.get(e.d)
		copy(to, p)
	}
	for i := range e.parts {
		if f := &e.parts[i]; !f.Evaluator.Geodesic(f.of(velocity), f.of(to), f.of(x), f.of(y)) {
			return false
		}
	}
	clear(e.still(velocity))
	if p != nil {
		copy(p, to)
		clear(e.still(p))
	}
	return true
}

// Exp is that of each factor: a geodesic of the product is one of each.
func (e *productEvaluator) Exp(y, w, x, v []float64) {
	for i := range e.parts {
		f := &e.parts[i]
		f.Evaluator.Exp(f.of(y), f.of(w), f.of(x), f.of(v))
	}
	copy(e.still(y), e.still(x))
	if w != nil {
		clear(e.still(w))
	}
}

func (e *productEvaluator) Log(v, x, y []float64) bool {
	for i := range e.parts {
		if f := &e.parts[i]; !f.Evaluator.Log(f.of(v), f.of(x), f.of(y)) {
			return false
		}
	}
	clear(e.still(v))
	return true
}

// A productProjector is the factors' projectors, point by point: their normal spaces are orthogonal to each other.
type productProjector struct {
	*joinEvaluator
	work []int // where each factor's numbers begin in the work of a point
	one  [1]bool
}

func newProductProjector(e *joinEvaluator) *productProjector {
	p := &productProjector{joinEvaluator: e, work: []int{0}}
	for i := range e.parts {
		p.work = append(p.work, p.work[i]+e.parts[i].Projector.WorkSize())
	}
	return p
}

func (e *productProjector) WorkSize() int { return e.work[len(e.parts)] }

// each calls f for every point and factor with the point's number, and the factor's coordinates, components and work in
// its row, and writes 0 to the coordinates of dst that do not move; dst may be nil.
func (e *productProjector) each(n int, dst []float64, f func(p Projector, t int, x, c, w span)) {
	for t := range n {
		if dst != nil {
			clear(e.still(dst[t*e.d : (t+1)*e.d]))
		}
		m := 0
		for i := range e.parts {
			p := &e.parts[i]
			w := span{t*e.WorkSize() + e.work[i], e.work[i+1] - e.work[i]}
			f(p.Projector, t, span{t*e.d + p.at, p.d}, span{t*e.m + m, p.c}, w)
			m += p.c
		}
	}
}

// A span is n numbers from index `at` on.
type span struct{ at, n int }

func (s span) of(v []float64) []float64 { return v[s.at : s.at+s.n] }

func (e *productProjector) Factor(values, work []float64, regular []bool, x []float64, n int) {
	for t := range n {
		regular[t] = true
	}
	e.each(n, nil, func(p Projector, t int, at, c, w span) {
		p.Factor(c.of(values), w.of(work), e.one[:], at.of(x), 1)
		regular[t] = regular[t] && e.one[0]
	})
}

func (e *productProjector) Tangent(dst, v, x, work []float64, n int) {
	e.each(n, dst, func(p Projector, _ int, at, _, w span) {
		p.Tangent(at.of(dst), at.of(v), at.of(x), w.of(work), 1)
	})
}

func (e *productProjector) Normal(dst, u, x, work []float64, n int) {
	e.each(n, dst, func(p Projector, _ int, at, c, w span) { p.Normal(at.of(dst), c.of(u), at.of(x), w.of(work), 1) })
}

func (e *productProjector) Landing(dst, x, work []float64, n int) {
	e.each(n, dst, func(p Projector, _ int, at, _, w span) { p.Landing(at.of(dst), at.of(x), w.of(work), 1) })
}

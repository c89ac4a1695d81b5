package constraint

import (
	"fmt"
	"slices"

	"github.com/landing-diffusion/landing/base/expr"
)

// Given returns Σ × R^n, Σ that of s, whose last n coordinates are held (Hold): points are (x, c) with x in Σ, whatever
// c. What s knows in closed form is true of it, but for its uniform law, which it leaves to those who know c.
func Given(s Set, n int) Set {
	if n == 0 {
		return s
	}
	if n < 0 || len(s.Capabilities().Held) > 0 {
		panic(fmt.Sprintf("constraint: %d coordinates given beside %s", n, Name(s)))
	}
	d := s.Dim()
	g := &given{product: product{factors: []Set{s}}}
	g.join = newJoin(g.factors, []int{0}, d+n, func(_ int, component string) string { return component })
	for j := range n {
		g.held = append(g.held, d+j)
	}
	return g
}

// Free returns the set of x alone that s wraps, if Given made s.
func Free(s Set) (Set, bool) {
	if g, ok := s.(*given); ok {
		return g.free(), true
	}
	return nil, false
}

// A given is a product of one factor, whose names it keeps, with held coordinates behind it. It has no Unwrap: points
// of the inner set are other points.
type given struct {
	product
	held []int
}

func (s *given) free() Set { return s.factors[0] }

func (s *given) Capabilities() Capabilities {
	c, d, n := s.free().Capabilities(), s.free().Dim(), len(s.held)
	c.Held, c.HeldNames, c.SampleUniform, c.Start = s.held, nil, nil, nil
	if own := c.Equalities; own != nil {
		c.Equalities = func() Set { return Given(own(), n) }
	}
	if open := c.Open; open != nil {
		c.Open = func() Set { return Given(open(), n) }
	}
	if fault := c.Fault; fault != nil {
		c.Fault = func(x []float64) error { return fault(x[:d]) }
	}
	if selects := c.Selects; selects != nil {
		c.Selects = func(x []float64) bool { return selects(x[:d]) }
	}
	if formulas := c.Formulas; formulas != nil {
		c.Formulas = func(x expr.Value) []expr.Value { return formulas(x.Slice(0, d)) }
	}
	return c
}

func (s *given) NewEvaluator(rows int) Evaluator {
	e := s.product.NewEvaluator(rows)
	if s.free().Capabilities().Support == nil {
		e.SparseJacobians, e.SparseHessianVectors = nil, nil
	}
	return e
}

// View returns the set of the components index[0], index[1], … of s, numbered equalities first; the first equalities of
// them are equalities of the view, the others its inequalities. So an inequality can be made an equality, left out or
// moved. What s knows in closed form of its Σ is not true of the view, and is left out, unless the view is s.
func View(s Set, index []int, equalities int) Set {
	v := &view{Set: s, index: slices.Clone(index), m: equalities}
	all := Components(s)
	v.c = len(all)
	identity := len(index) == v.c && equalities == len(s.Equalities())
	for a, i := range index {
		identity = identity && a == i
		v.names = append(v.names, all[i])
	}
	if identity {
		return s
	}
	return v
}

// EqualitiesOf returns s without its inequalities.
func EqualitiesOf(s Set) Set {
	if own := s.Capabilities().Equalities; own != nil {
		return own()
	}
	m := len(s.Equalities())
	return View(s, upTo(0, m), m)
}

// Edge returns s with inequality j made an equality, the last of them: the part of Σ where g_j = 0.
func Edge(s Set, j int) Set {
	m, l := len(s.Equalities()), len(s.Inequalities())
	index := append(upTo(0, m), m+j)
	index = append(index, upTo(m, m+j)...)
	return View(s, append(index, upTo(m+j+1, m+l)...), m+1)
}

func upTo(lo, hi int) []int {
	out := make([]int, hi-lo)
	for i := range out {
		out[i] = lo + i
	}
	return out
}

// A view is a set with some of another's components, in another order.
type view struct {
	Set
	names []string
	index []int // components of Set
	m     int   // of them, equalities
	c     int   // components of Set
}

func (v *view) Equalities() []string   { return v.names[:v.m] }
func (v *view) Inequalities() []string { return v.names[v.m:] }
func (v *view) Unwrap() []Set          { return []Set{v.Set} }

func (v *view) Capabilities() Capabilities {
	c := v.Set.Capabilities()
	c.SampleUniform, c.Equalities, c.Open, c.Families = nil, nil, nil, nil
	if all := c.Support; all != nil {
		c.Support = make([][]int, len(v.index))
		for a, i := range v.index {
			c.Support[a] = all[i]
		}
	}
	if c.Formulas != nil {
		c.Formulas = func(x expr.Value) (of []expr.Value) {
			h, g, selection := Formulas(v.Set, x)
			for _, i := range v.index {
				of = append(of, append(h, g...)[i])
			}
			return append(of, selection...)
		}
	}
	return c
}

func (v *view) NewEvaluator(rows int) Evaluator {
	d, inner := v.Dim(), v.Set.NewEvaluator(rows)
	e := &viewEvaluator{view: v, d: d, inner: inner}
	e.values.n = rows * v.c
	e.matrix.n = rows * v.c * d
	out := Evaluator{Values: e.Values, Jacobians: e.Jacobians}
	if inner.HessianVectors != nil {
		out.HessianVectors = e.HessianVectors
	}
	if support := v.Set.Capabilities().Support; support != nil {
		e.from = starts(support)
		e.packed.n = rows * e.from[v.c]
		out.SparseJacobians = e.SparseJacobians
		if inner.packs(v.c, d) {
			out.SparseHessianVectors = e.SparseHessianVectors
		}
	}
	return out
}

// starts returns where each component's derivatives begin in a packed row, and at the end the length of the row.
func starts(support [][]int) []int {
	from := []int{0}
	for _, at := range support {
		from = append(from, from[len(from)-1]+len(at))
	}
	return from
}

// A scratch is memory for n numbers, made when it is first used.
type scratch struct {
	n int
	v []float64
}

func (s *scratch) get(n int) []float64 {
	if s.v == nil {
		s.v = make([]float64, s.n)
	}
	return s.v[:n]
}

// A viewEvaluator evaluates all components and gathers those of the view.
type viewEvaluator struct {
	*view
	d                      int
	inner                  Evaluator
	from                   []int
	values, matrix, packed scratch
}

func (e *viewEvaluator) Values(values, x []float64, n int) {
	all := e.values.get(n * e.c)
	e.inner.Values(all, x, n)
	e.gather(values, all, n, 1)
}

func (e *viewEvaluator) Jacobians(values, jac, x []float64, n int) {
	all, j := e.values.get(n*e.c), e.matrix.get(n*e.c*e.d)
	e.inner.Jacobians(all, j, x, n)
	e.gather(values, all, n, 1)
	e.gather(jac, j, n, e.d)
}

func (e *viewEvaluator) HessianVectors(dst, x, v []float64, n int) {
	all := e.matrix.get(n * e.c * e.d)
	e.inner.HessianVectors(all, x, v, n)
	e.gather(dst, all, n, e.d)
}

func (e *viewEvaluator) SparseJacobians(values, jac, x []float64, n int) {
	all, packed := e.values.get(n*e.c), e.packed.get(n*e.from[e.c])
	e.inner.SparseJacobians(all, packed, x, n)
	e.gather(values, all, n, 1)
	e.pack(jac, packed, n)
}

func (e *viewEvaluator) SparseHessianVectors(dst, x, v []float64, n int) {
	packed := e.packed.get(n * e.from[e.c])
	e.inner.SparseHessianVectors(packed, x, v, n)
	e.pack(dst, packed, n)
}

// pack copies the view's share of n packed rows.
func (e *viewEvaluator) pack(dst, packed []float64, n int) {
	width := e.from[e.c]
	for p := range n {
		row := packed[p*width : (p+1)*width]
		for _, i := range e.index {
			dst = dst[copy(dst, row[e.from[i]:e.from[i+1]]):]
		}
	}
}

// gather copies the view's share of all, width numbers a component.
func (e *viewEvaluator) gather(dst, all []float64, n, width int) {
	k := len(e.index)
	for p := range n {
		for a, i := range e.index {
			copy(dst[(p*k+a)*width:(p*k+a+1)*width], all[(p*e.c+i)*width:])
		}
	}
}

// Ambient returns the space that points of s lie in, without its components: R^d, with the
// coordinates that s holds. Steps of a process on it know nothing of Σ.
func Ambient(s Set) Set {
	if len(s.Equalities())+len(s.Inequalities()) == 0 {
		return s
	}
	return &ambient{s}
}

type ambient struct{ Set }

func (*ambient) Equalities() []string   { return nil }
func (*ambient) Inequalities() []string { return nil }
func (s *ambient) Unwrap() []Set        { return []Set{s.Set} }

func (s *ambient) Capabilities() Capabilities {
	c := s.Set.Capabilities()
	return Capabilities{Name: fmt.Sprintf("R^%d", s.Dim()), Held: c.Held, HeldNames: c.HeldNames, Parts: c.Parts,
		Steps: c.Steps, StepDim: c.StepDim, StepNames: c.StepNames}
}

func (*ambient) NewEvaluator(int) Evaluator {
	return Evaluator{Values: func(_, _ []float64, _ int) {}, Jacobians: func(_, _, _ []float64, _ int) {},
		HessianVectors: func(_, _, _ []float64, _ int) {}}
}

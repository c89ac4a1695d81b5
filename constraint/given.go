package constraint

import "fmt"

// Given returns Σ × R^n, Σ that of s, whose last n coordinates are held (Hold): points are (x, c) with x in Σ, whatever
// c. What s knows in closed form is true of it, but for its uniform law, which it leaves to those who know c.
func Given(s Set, n int) Set {
	if n == 0 {
		return s
	}
	if n < 0 || len(s.Capabilities().Held) > 0 {
		panic(fmt.Sprintf("constraint: %d coordinates given beside %s", n, Name(s)))
	}
	g := &given{Set: s, d: s.Dim(), n: n}
	for j := range n {
		g.held = append(g.held, g.d+j)
	}
	return g
}

// Free returns the set of x alone that Given was told of, where s is one of its.
func Free(s Set) (Set, bool) {
	if g, ok := s.(*given); ok {
		return g.Set, true
	}
	return nil, false
}

// A given has no Unwrap: points of the inner set are other points.
type given struct {
	Set
	d, n int
	held []int
}

func (s *given) Dim() int { return s.d + s.n }

func (s *given) Capabilities() Capabilities {
	c := s.Set.Capabilities()
	c.Held, c.HeldNames, c.SampleUniform, c.Volume, c.Start = s.held, nil, nil, 0, nil
	if own := c.Equalities; own != nil {
		c.Equalities = func() Set { return Given(own(), s.n) }
	}
	if fault := c.Fault; fault != nil {
		c.Fault = func(x []float64) error { return fault(x[:s.d]) }
	}
	if selects := c.Selects; selects != nil {
		c.Selects = func(x []float64) bool { return selects(x[:s.d]) }
	}
	return c
}

func (s *given) NewEvaluator(rows int) Evaluator {
	e := &givenEvaluator{given: s, inner: s.Set.NewEvaluator(rows), c: len(Components(s.Set))}
	e.x.n, e.v.n, e.jac.n = rows*s.d, rows*s.d, rows*e.c*s.d
	out := Evaluator{Values: e.Values, Jacobians: e.Jacobians}
	if e.inner.HessianVectors != nil {
		out.HessianVectors = e.HessianVectors
	}
	if e.inner.SparseJacobians != nil {
		out.SparseJacobians = e.SparseJacobians
	}
	if e.inner.Retract != nil {
		out.Retract = e.Retract
	}
	if e.inner.Geodesic != nil {
		out.Geodesic = e.Geodesic
	}
	if e.inner.Exp != nil {
		out.Exp, out.Log = e.Exp, e.Log
	}
	if e.inner.Projector != nil {
		out.Projector = givenProjector{e, e.inner.Projector}
	}
	return out
}

type givenEvaluator struct {
	*given
	inner     Evaluator
	c         int
	x, v, jac scratch
}

func (e *givenEvaluator) free(to *scratch, points []float64, n int) []float64 {
	if n == 1 {
		return points[:e.d]
	}
	x := to.get(n * e.d)
	for i := range n {
		copy(x[i*e.d:(i+1)*e.d], points[i*(e.d+e.n):])
	}
	return x
}

// widen writes rows of d numbers as rows of d+n with zeros at their ends.
func (e *givenEvaluator) widen(dst, rows []float64, n int) {
	w := e.d + e.n
	for i := range n {
		copy(dst[i*w:], rows[i*e.d:(i+1)*e.d])
		clear(dst[i*w+e.d : (i+1)*w])
	}
}

func (e *givenEvaluator) Values(values, x []float64, n int) {
	e.inner.Values(values, e.free(&e.x, x, n), n)
}

func (e *givenEvaluator) Jacobians(values, jac, x []float64, n int) {
	rows := e.jac.get(n * e.c * e.d)
	e.inner.Jacobians(values, rows, e.free(&e.x, x, n), n)
	e.widen(jac, rows, n*e.c)
}

func (e *givenEvaluator) HessianVectors(dst, x, v []float64, n int) {
	rows := e.jac.get(n * e.c * e.d)
	e.inner.HessianVectors(rows, e.free(&e.x, x, n), e.free(&e.v, v, n), n)
	e.widen(dst, rows, n*e.c)
}

func (e *givenEvaluator) SparseJacobians(values, jac, x []float64, n int) {
	e.inner.SparseJacobians(values, jac, e.free(&e.x, x, n), n)
}

func (e *givenEvaluator) Retract(dst, base, v []float64) bool {
	if !e.inner.Retract(dst[:e.d], base[:e.d], v[:e.d]) {
		return false
	}
	copy(dst[e.d:], base[e.d:e.d+e.n])
	return true
}

// Geodesic has a velocity and a transported vector whose held coordinates are 0.
func (e *givenEvaluator) Geodesic(velocity, p, x, y []float64) bool {
	var own []float64
	if p != nil {
		own = p[:e.d]
	}
	if !e.inner.Geodesic(velocity[:e.d], own, x[:e.d], y[:e.d]) {
		return false
	}
	clear(velocity[e.d : e.d+e.n])
	if p != nil {
		clear(p[e.d : e.d+e.n])
	}
	return true
}

func (e *givenEvaluator) Exp(y, w, x, v []float64) {
	var own []float64
	if w != nil {
		own = w[:e.d]
		clear(w[e.d : e.d+e.n])
	}
	e.inner.Exp(y[:e.d], own, x[:e.d], v[:e.d])
	copy(y[e.d:e.d+e.n], x[e.d:])
}

// Log has a velocity whose held coordinates are 0.
func (e *givenEvaluator) Log(v, x, y []float64) bool {
	clear(v[e.d : e.d+e.n])
	return e.inner.Log(v[:e.d], x[:e.d], y[:e.d])
}

// A givenProjector is the inner one, point by point.
type givenProjector struct {
	*givenEvaluator
	of Projector
}

func (p givenProjector) WorkSize() int { return p.of.WorkSize() }

func (p givenProjector) Factor(values, work []float64, regular []bool, x []float64, n int) {
	p.of.Factor(values, work, regular, p.free(&p.x, x, n), n)
}

func (p givenProjector) Tangent(dst, v, x, work []float64, n int) {
	p.each(dst, x, work, n, func(to, at, w []float64, i int) { p.of.Tangent(to, v[i*(p.d+p.n):][:p.d], at, w, 1) })
}

func (p givenProjector) Normal(dst, u, x, work []float64, n int) {
	p.each(dst, x, work, n, func(to, at, w []float64, i int) { p.of.Normal(to, u[i*p.c:(i+1)*p.c], at, w, 1) })
}

func (p givenProjector) Landing(dst, x, work []float64, n int) {
	p.each(dst, x, work, n, func(to, at, w []float64, _ int) { p.of.Landing(to, at, w, 1) })
}

// each calls f for each point with the rows of dst, x and work, and writes 0 along c.
func (p givenProjector) each(dst, x, work []float64, n int, f func(to, at, w []float64, i int)) {
	width, size := p.d+p.n, p.of.WorkSize()
	for i := range n {
		to := dst[i*width : (i+1)*width]
		f(to[:p.d], x[i*width:][:p.d], work[i*size:(i+1)*size], i)
		clear(to[p.d:])
	}
}

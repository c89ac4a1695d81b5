package conformation

import (
	"github.com/landing-diffusion/landing/constraint"
)

func (s *Set) NewEvaluator(int) constraint.Evaluator {
	e := &evaluator{Set: s, q: make([]float64, len(s.measures)), grad: make([][12]float64, len(s.measures))}
	return constraint.Dense(constraint.Evaluator{Values: e.Values, SparseJacobians: e.SparseJacobians,
		SparseHessianVectors: e.SparseHessianVectors}, s.Capabilities().Support, s.Dim())
}

// An evaluator measures each coordinate of a point once for all conditions.
type evaluator struct {
	*Set
	q    []float64     // of a point
	grad [][12]float64 // ∇q, or ∇²q v
}

func (e *evaluator) Values(values, x []float64, n int) {
	d, c := e.Dim(), len(e.components)
	for i := range n {
		xi := x[i*d : (i+1)*d]
		for k := range e.measures {
			m := &e.measures[k]
			if e.q[k] = m.value(xi); m.half > 0 || m.given > 0 {
				e.q[k], _, _ = m.shaped(e.q[k], xi)
			}
		}
		for a := range e.components {
			_, values[i*c+a] = e.components[a].largest(e.q)
		}
	}
}

// largest returns the term that the component is, the first of equals, and its value; of some it is the least.
func (c *component) largest(q []float64) (at *term, value float64) {
	at = &c.terms[0]
	value = at.value(q[at.measure])
	for k := 1; k < len(c.terms); k++ {
		if v := c.terms[k].value(q[c.terms[k].measure]); v > value != c.least && v != value {
			at, value = &c.terms[k], v
		}
	}
	return at, value
}

// measure computes q and ∇q of all coordinates at a point.
func (e *evaluator) measure(x []float64) {
	for k := range e.measures {
		m := &e.measures[k]
		if e.q[k] = m.gradient(&e.grad[k], x); m.half > 0 || m.given > 0 {
			var slope float64
			e.q[k], slope, _ = m.shaped(e.q[k], x)
			for j := range e.grad[k] {
				e.grad[k][j] *= slope
			}
		}
	}
}

func (e *evaluator) SparseJacobians(values, jac, x []float64, n int) {
	d, c := e.Dim(), len(e.components)
	for i := range n {
		e.measure(x[i*d : (i+1)*d])
		packed := jac[i*e.row : (i+1)*e.row]
		for a := range e.components {
			comp := &e.components[a]
			t, v := comp.largest(e.q)
			values[i*c+a] = v
			e.pack(packed, comp, t)
		}
	}
}

// pack writes the derivatives of a component's term in a packed row.
func (e *evaluator) pack(packed []float64, comp *component, t *term) {
	m, g := &e.measures[t.measure], &e.grad[t.measure]
	row := packed[comp.from : comp.from+3*comp.atoms]
	if m.kind.Atoms() < comp.atoms {
		clear(row)
	}
	for k := range m.kind.Atoms() {
		to, from := row[t.place[k]:t.place[k]+3:t.place[k]+3], g[3*k:3*k+3]
		to[0], to[1], to[2] = t.sign*from[0], t.sign*from[1], t.sign*from[2]
	}
}

// bend computes q and ∇²q v of all coordinates at a point.
func (e *evaluator) bend(x, v []float64) {
	for k := range e.measures {
		m := &e.measures[k]
		m.curvature(&e.grad[k], x, v)
		if m.half == 0 {
			e.q[k] = m.value(x) // says which of several terms counts
			continue
		}
		var g [12]float64
		var slope, bend float64
		e.q[k], slope, bend = m.shaped(m.gradient(&g, x), x)
		along := 0.0
		for j, at := range m.at {
			along += g[3*j]*v[at] + g[3*j+1]*v[at+1] + g[3*j+2]*v[at+2]
		}
		for j := range g {
			e.grad[k][j] = slope*e.grad[k][j] + bend*along*g[j]
		}
	}
}

func (e *evaluator) SparseHessianVectors(dst, x, v []float64, n int) {
	d := e.Dim()
	for i := range n {
		e.bend(x[i*d:(i+1)*d], v[i*d:(i+1)*d])
		for a := range e.components {
			t, _ := e.components[a].largest(e.q)
			e.pack(dst[i*e.row:(i+1)*e.row], &e.components[a], t)
		}
	}
}

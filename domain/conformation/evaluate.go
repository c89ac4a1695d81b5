package conformation

import (
	"math"

	"github.com/landing-diffusion/landing/base/expr"
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

// formulas writes the components. They are exact in the numbers of the conditions: an angle is taken from a dihedral by
// a turn of the vector (cos, sin), so that it is nowhere rounded.
func (s *Set) formulas(x expr.Value) (all []expr.Value) {
	for _, c := range s.components {
		var terms []expr.Value
		for _, t := range c.terms {
			v := s.measures[t.measure].formula(x, t.ref, t.circle)
			if t.sign < 0 {
				v = v.Neg()
			}
			terms = append(terms, v.Add(x.Graph().Const(t.offset)))
		}
		if c.least {
			all = append(all, expr.Min(terms...))
		} else {
			all = append(all, expr.Max(terms...))
		}
	}
	return all
}

// formulas writes the components of positions at those of a point, as place has them.
func (s *pulled) formulas(point expr.Value) []expr.Value {
	g, x := point.Graph(), make([]expr.Value, len(s.links)) // by atom
	unit := func(v expr.Value) expr.Value { return v.Div(expr.Norm(v)) }
	for k := range s.links {
		l := &s.links[k]
		if l.q < 0 {
			x[l.atom] = g.Array([]float64{l.length, 0, 0})
			continue
		}
		along, n := unit(x[l.p].Sub(x[l.q])), g.Array([]float64{0, 0, 1})
		if l.r >= 0 {
			n = unit(expr.Cross(x[l.q].Sub(x[l.r]), along))
		}
		cosθ, sinθ := l.by[0].formula(point)
		cosφ, sinφ := l.by[1].formula(point)
		e := expr.Cross(n, along).Mul(cosφ).Add(n.Mul(sinφ)).Mul(sinθ).Sub(along.Mul(cosθ))
		x[l.atom] = x[l.p].Add(e.Mul(g.Const(l.length)))
	}
	h, walls, _ := constraint.Formulas(s.rest, expr.Join(x...))
	return append(h, walls...)
}

// formula writes the cosine and sine of a slot's coordinate.
func (b *slot) formula(point expr.Value) (cos, sin expr.Value) {
	g := point.Graph()
	switch {
	case b.at < 0:
		sin, cos := math.Sincos(b.mid)
		return g.Const(cos), g.Const(sin)
	case b.circle:
		v := point.Slice(b.at, b.at+2)
		v = v.Div(expr.Norm(v))
		return v.At(0), v.At(1)
	}
	w := point.At(b.at).Mul(g.Const(math.Pi * b.scale / (2 * b.half)))
	q := g.Const(b.mid).Add(g.Const(2 * b.half / math.Pi).Mul(expr.Atan(w)))
	return expr.Cos(q), expr.Sin(q)
}

// formula writes the coordinate less ref, on the circle if asked.
func (m *measure) formula(x expr.Value, ref float64, circle bool) expr.Value {
	g := x.Graph()
	atom := func(i int) expr.Value { return x.Slice(m.at[i], m.at[i]+3) }
	var q expr.Value
	switch m.kind {
	case Distance:
		q = expr.Distance(atom(1), atom(0))
	case Angle:
		u, w := atom(0).Sub(atom(1)), atom(2).Sub(atom(1))
		q = expr.Atan2(expr.Norm(expr.Cross(u, w)), expr.Dot(u, w))
	case Dihedral:
		f, axis, h := atom(0).Sub(atom(1)), atom(1).Sub(atom(2)), atom(3).Sub(atom(2))
		a, b := expr.Cross(f, axis), expr.Cross(h, axis)
		sin, cos := expr.Dot(expr.Cross(b, a), axis).Div(expr.Norm(axis)), expr.Dot(a, b)
		switch {
		case m.half > 0:
			δ := turned(sin, cos, m.mid)
			return expr.Cos(δ).Sub(g.Const(math.Cos(m.half))).Div(g.Const(math.Sin(m.half))).Sub(g.Const(ref))
		case m.given > 0:
			c, s := x.At(m.given), x.At(m.given+1)
			return expr.Atan2(sin.Mul(c).Sub(cos.Mul(s)), cos.Mul(c).Add(sin.Mul(s)))
		case circle:
			return turned(sin, cos, ref)
		}
		q = expr.Atan2(sin, cos)
	default:
		o := atom(0)
		q = expr.Dot(atom(1).Sub(o), expr.Cross(atom(2).Sub(o), atom(3).Sub(o)))
	}
	if m.given > 0 {
		return q.Sub(x.At(m.given))
	}
	return q.Sub(g.Const(ref))
}

// turned writes the angle of (cos, sin) less ref, in (−π, π): the vector is turned back by a quarter at most, after a
// half turn if need be.
func turned(sin, cos expr.Value, ref float64) expr.Value {
	g := sin.Graph()
	rest, near := g.Const(ref).Neg(), ref
	if math.Abs(ref) > math.Pi/2 {
		half := math.Copysign(1, ref)
		sin, cos, near = sin.Neg(), cos.Neg(), ref-half*math.Pi
		rest = rest.Add(g.Pi().Mul(g.Const(half)))
	}
	s, c := math.Sincos(near)
	angle := expr.Atan2(sin.Mul(g.Const(c)).Sub(cos.Mul(g.Const(s))), cos.Mul(g.Const(c)).Add(sin.Mul(g.Const(s))))
	return angle.Add(g.Direction(s, c).Add(rest))
}

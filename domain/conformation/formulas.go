package conformation

import (
	"math"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/constraint"
)

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

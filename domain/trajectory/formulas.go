package trajectory

import (
	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/internal/vec3"
)

// A formal is a view of a waypoint whose numbers are formulas of a point.
type formal struct {
	set          *Set
	point        expr.Value
	from         int          // where the waypoint begins in it
	turn, origin []expr.Value // of each link
}

// formulas writes the components. Those about obstacles of some shapes, bends and given joints are missing.
func (s *Set) formulas(point expr.Value) []expr.Value {
	var all [2][]expr.Value
	at := make([]*formal, s.l)
	for l := range at {
		at[l] = s.formal(point, l*s.d)
	}
	for half := range all {
		for l, st := range s.stages {
			for _, c := range st.half[half] {
				all[half] = append(all[half], at[l].of(c.part, st, nil))
			}
		}
	}
	for _, a := range s.across {
		for l := range s.l - a.span {
			for _, c := range a.components {
				all[1] = append(all[1], at[l].of(c.part, nil, at[l+1]))
			}
		}
	}
	return append(all[0], all[1]...)
}

// formal places the links: R = R_before R_joint (uuᵀ + c (I − uuᵀ) + s [u]ₓ) about the axis u.
func (s *Set) formal(point expr.Value, from int) *formal {
	g, f := point.Graph(), &formal{set: s, point: point, from: from}
	turn, origin := g.Identity(3), g.Array([]float64{0, 0, 0})
	for i, j := range s.spec.Arm.Joints {
		u := vec3.Unit(j.Axis)
		x, y, z := u[0], u[1], u[2]
		origin, turn = origin.Add(turn.Mul(g.Array(j.Origin.P[:]))), turn.Mul(g.Array(j.Origin.R[:], 3, 3))
		if c, sin := s.spec.Arm.Columns(i); sin >= 0 {
			along := g.Array([]float64{x * x, x * y, x * z, x * y, y * y, y * z, x * z, y * z, z * z}, 3, 3)
			turn = turn.Mul(along.Add(g.Identity(3).Sub(along).Times(f.at(c))).Add(
				g.Array([]float64{0, -z, y, z, 0, -x, -y, x, 0}, 3, 3).Times(f.at(sin))))
		} else if c >= 0 {
			origin = origin.Add(turn.Mul(g.Array(u[:])).Times(f.at(c)))
		}
		f.turn, f.origin = append(f.turn, turn), append(f.origin, origin)
	}
	return f
}

// at is a number of the waypoint, or of the next ones.
func (f *formal) at(k int) expr.Value { return f.point.At(f.from + k) }

// place is where a point of a link is.
func (f *formal) place(p robot.Point) expr.Value {
	return f.origin[p.Link].Add(f.turn[p.Link].Mul(f.point.Graph().Array(p.Local[:])))
}

// of writes a component of the stage, or of this waypoint and the next.
func (f *formal) of(p part, st *stage, next *formal) expr.Value {
	g, x, s := f.point.Graph(), f.at, f.set
	n := g.Const
	switch k := p.(type) {
	case *circle:
		return x(k.c).Mul(x(k.c)).Add(x(k.s).Mul(x(k.s))).Sub(n(1)).Div(n(2))
	case *turn:
		if k.s < 0 {
			return n(k.a).Mul(x(k.c)).Sub(n(k.ref))
		}
		return n(k.a).Mul(x(k.c)).Add(n(k.b).Mul(x(k.s))).Sub(n(k.ref))
	case *step:
		if k.s < 0 {
			return n(k.w).Mul(x(s.d + k.c).Sub(x(k.c))).Sub(n(k.a))
		}
		return n(k.w).Mul(n(k.a).Sub(x(k.c).Mul(x(s.d + k.c))).Sub(x(k.s).Mul(x(s.d + k.s))))
	case *task:
		feature := append(st.points[:len(st.points):len(st.points)], st.directions...)[k.feature]
		v := f.turn[feature.Link].Mul(g.Array(feature.Local[:]))
		if k.feature < len(st.points) {
			v = f.place(feature)
		}
		if v = expr.Dot(g.Array(k.w[:]), v).Sub(n(k.ref)); k.given >= 0 {
			v = v.Sub(n(k.scale).Mul(f.point.At(s.l*s.d + k.given)))
		}
		return v
	case *clearance:
		if o := &s.spec.Obstacles[k.obstacle]; o.Shape == scene.Ball {
			return n(k.pad + o.Radius).Sub(expr.Distance(f.place(st.points[k.point]), g.Array(o.A[:])))
		}
	case *sweep: // t is where the chord is nearest; it has no length below 2⁻⁶⁰
		if o := &s.spec.Obstacles[k.obstacle]; o.Shape == scene.Ball {
			a, ball, v := f.place(s.swept[k.point]), g.Array(o.A[:]), n(k.pad+o.Radius)
			u := next.place(s.swept[k.point]).Sub(a)
			t := expr.Dot(ball.Sub(a), u).Div(expr.Dot(u, u).Add(n(0x1p-120)))
			for i, w := range k.bow {
				v = v.Add(n(w).Mul(x(s.d + i).Sub(x(i))).Mul(x(s.d + i).Sub(x(i))))
			}
			return v.Sub(expr.Distance(ball, a.Add(u.Times(expr.Max(n(0), expr.Min(n(1), t))))))
		}
	case *pair:
		still := g.Array(k.still[:])
		if k.a >= 0 {
			still = f.place(st.points[k.a])
		}
		return n(k.pad).Sub(expr.Distance(f.place(st.points[k.b]), still))
	}
	return g.Missing()
}

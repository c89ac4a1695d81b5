package trajectory

import (
	"slices"

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
		o := &s.spec.Obstacles[k.obstacle]
		if p := f.place(st.points[k.point]); o.Shape == scene.Ball {
			return n(k.pad + o.Radius).Sub(expr.Distance(p, g.Array(o.A[:])))
		} else if o.Shape != scene.Cloud {
			return n(k.pad + o.Radius).Sub(apart(o, p))
		}
	case *sweep:
		o, v := &s.spec.Obstacles[k.obstacle], n(k.pad+s.spec.Obstacles[k.obstacle].Radius)
		for i, w := range k.bow {
			v = v.Add(n(w).Mul(x(s.d + i).Sub(x(i))).Mul(x(s.d + i).Sub(x(i))))
		}
		a, b := f.place(s.swept[k.point]), next.place(s.swept[k.point])
		switch o.Shape {
		case scene.Ball: // t is where the chord is nearest; it has no length below 2⁻⁶⁰
			ball, u := g.Array(o.A[:]), b.Sub(a)
			t := expr.Dot(ball.Sub(a), u).Div(expr.Dot(u, u).Add(n(0x1p-120)))
			return v.Sub(expr.Distance(ball, a.Add(u.Times(expr.Max(n(0), expr.Min(n(1), t))))))
		case scene.Capsule, scene.Box:
			return v.Sub(apart(o, a, b))
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

// apart is how far an obstacle without its Radius is from a place, or from the chord between two. In the obstacle's
// frame, where it is |p_k| ≤ h_k, the distance is the largest of (min_e n·p_e − Σ h_k|n_k|)/|n| over all n. If the
// body enters the obstacle, |n| is Σ|n_k| instead. One of these n is best: from the nearest point of the obstacle to
// an end p_e, normal to a face, from a corner and square to the chord, or square to an edge and the chord. No other
// gives more. A cylinder is a box in the plane of its axis and a place.
func apart(o *scene.Obstacle, ends ...expr.Value) expr.Value {
	g, at, h, r := ends[0].Graph(), o.A, o.Half, o.R
	if o.Shape == scene.Capsule {
		bar := scene.Bar("", o.A, o.B, 0)
		at, h, r = bar.A, bar.Half, bar.R
	} else if r == ([9]float64{}) {
		r = robot.Identity().R
	}
	half, tiny := g.Array(h[:]), g.Const(0x1p-120)
	normals := []expr.Value{g.Array([]float64{1, 0, 0}), g.Array([]float64{0, 1, 0}), g.Array([]float64{0, 0, 1})}
	faces := normals
	for e, p := range ends {
		p = expr.Transpose(g.Array(r[:], 3, 3)).Mul(p.Sub(g.Array(at[:])))
		if o.Shape == scene.Cylinder {
			p = expr.Join(expr.Norm(p.Slice(0, 2)), g.Const(0), p.At(2))
		}
		ends[e], normals = p, append(normals, p.Sub(expr.Max(half.Neg(), expr.Min(half, p))))
	}
	if len(ends) == 2 {
		u := ends[1].Sub(ends[0])
		for _, e := range faces {
			normals = append(normals, expr.Cross(u, e))
		}
		for corner := range 8 {
			sign := func(k int) float64 { return float64(2*(corner>>k&1) - 1) }
			v := ends[0].Sub(g.Array([]float64{sign(0) * h[0], sign(1) * h[1], sign(2) * h[2]}))
			normals = append(normals, v.Sub(u.Times(expr.Dot(v, u).Div(expr.Dot(u, u).Add(tiny)))))
		}
	}
	all := []expr.Value{g.Const(-slices.Min(h[:]))} // of n = 0, from both sides of a face
	for _, n := range normals {
		size, least, most := expr.Abs(n), expr.Dot(n, ends[0]), expr.Dot(n, ends[len(ends)-1])
		least, most = expr.Min(least, most), expr.Max(least, most)
		far := expr.Max(least, most.Neg()).Sub(expr.Dot(half, size)).Sub(g.Const(0x1p-50)) // below −2⁹ of n = 0
		all = append(all, far.Div(expr.Sqrt(expr.Dot(n, n).Add(tiny))),
			far.Div(expr.Sum(size).Add(g.Const(0x1p-60))))
	}
	return expr.Max(all...)
}

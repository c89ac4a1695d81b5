package zoo

import (
	"slices"

	"github.com/landing-diffusion/landing/base/expr"
)

func list(all ...expr.Value) []expr.Value { return all }

func (s Sphere) formulas(x expr.Value) []expr.Value {
	return list(expr.Norm(x).Sub(x.Graph().Const(s.radius())))
}

func (s Cap) formulas(x expr.Value) []expr.Value {
	g := x.Graph()
	return append(s.sphere.formulas(x), g.Const(s.height).Sub(expr.Dot(g.Array(s.axis), x)))
}

func (s Affine) formulas(x expr.Value) []expr.Value {
	g := x.Graph()
	return list(g.Array(slices.Concat(s.A...), len(s.A), s.Dim()).Mul(x).Sub(g.Array(s.B)))
}

func (s Bounds) formulas(x expr.Value) (all []expr.Value) {
	g := x.Graph()
	for _, b := range s.bound {
		all = append(all, g.Const(b.sign).Mul(x.At(b.j).Sub(g.Const(b.at))))
	}
	return all
}

func (s Simplex) formulas(x expr.Value) []expr.Value {
	return list(expr.Sum(x).Sub(x.Graph().Const(1)), x.Neg())
}

func (RedundantAxis) formulas(x expr.Value) []expr.Value {
	a, b := x.At(0), x.At(1)
	return list(a, b, a.Add(b).Add(a.Mul(a)))
}

func (g gram) formulas(x expr.Value) (all []expr.Value) {
	a := x.Reshape(g.n, g.p)
	m := expr.Transpose(a).Mul(a).Sub(x.Graph().Identity(g.p))
	for i := range g.p {
		all = append(all, m.At(i).Slice(i, g.p))
	}
	return all
}

func (s *Orthogonal) formulas(x expr.Value) []expr.Value {
	switch all := s.gram.formulas(x); {
	case !s.special:
		return all
	case s.n > expr.MaxDet:
		return append(all, x.Graph().Missing())
	default:
		return append(all, expr.Det(x.Reshape(s.n, s.n)).Neg())
	}
}

func (s Ellipsoid) formulas(x expr.Value) []expr.Value {
	g := x.Graph()
	q := x.Div(g.Array(s.Axes))
	return list(expr.Dot(q, q).Sub(g.Const(1)).Mul(g.Const(0.5)))
}

func (s Torus) formulas(x expr.Value) []expr.Value {
	g := x.Graph()
	u := expr.Norm(x.Slice(0, 2)).Sub(g.Const(s.Major))
	return list(expr.Norm(expr.Join(u, x.At(2))).Sub(g.Const(s.Minor)))
}

func (s Curve) formulas(x expr.Value) []expr.Value {
	g := x.Graph()
	sum := g.Const(0)
	for _, t := range s.terms {
		p, q := x.At(0).Pow(g.Const(float64(t.X))), x.At(1).Pow(g.Const(float64(t.Y)))
		sum = sum.Add(g.Const(t.Coefficient).Mul(p).Mul(q))
	}
	return list(sum)
}

func (s Chain) formulas(x expr.Value) (all []expr.Value) {
	for _, l := range s.link {
		a, b := x.Slice(l.a*s.k, (l.a+1)*s.k), x.Slice(l.b*s.k, (l.b+1)*s.k)
		all = append(all, expr.Distance(a, b).Sub(x.Graph().Const(l.length)))
	}
	if s.anchored {
		all = append(all, x.Slice(0, s.k))
	}
	return all
}

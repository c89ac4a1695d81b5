package expr_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// hyper is a + b ε₁ + c ε₂ + e ε₁ε₂ with ε₁² = ε₂² = 0: with ε₁ along u and ε₂ along w, it carries value, u·∇, w·∇ and
// u·∇²·w. It shares nothing with the package: no graph, no tape, other formulas for the derivatives.
type hyper struct{ a, b, c, e float64 }

// through applies a function with value f and derivatives f′, f″ at p.a.
func (p hyper) through(f, f1, f2 float64) hyper {
	return hyper{f, f1 * p.b, f1 * p.c, f1*p.e + f2*p.b*p.c}
}

func (p hyper) plus(q hyper) hyper { return hyper{p.a + q.a, p.b + q.b, p.c + q.c, p.e + q.e} }
func (p hyper) times(q hyper) hyper {
	return hyper{p.a * q.a, p.a*q.b + p.b*q.a, p.a*q.c + p.c*q.a, p.a*q.e + p.e*q.a + p.b*q.c + p.c*q.b}
}
func (p hyper) scale(k float64) hyper { return hyper{k * p.a, k * p.b, k * p.c, k * p.e} }
func (p hyper) inverse() hyper        { return p.through(1/p.a, -1/(p.a*p.a), 2/(p.a*p.a*p.a)) }
func (p hyper) sqrt() hyper {
	r := math.Sqrt(p.a)
	return p.through(r, 0.5/r, -0.25/(r*p.a))
}
func constant(k float64) hyper { return hyper{a: k} }

// step is one operation in both worlds. Arguments that a function's domain does not allow are first brought into it.
type step struct {
	name string
	do   func(p, q expr.Value, k func(float64) expr.Value) expr.Value
	hyp  func(p, q hyper) hyper
}

func square(p hyper) hyper { return p.times(p) }

func tanh(p hyper) hyper {
	t := math.Tanh(p.a)
	c := 1 / (math.Cosh(p.a) * math.Cosh(p.a))
	return p.through(t, c, -2*t*c)
}

var steps = []step{
	{"(p+q)/2", func(p, q expr.Value, k func(float64) expr.Value) expr.Value { return p.Add(q).Div(k(2)) },
		func(p, q hyper) hyper { return p.plus(q).scale(0.5) }},
	{"p−q/3", func(p, q expr.Value, k func(float64) expr.Value) expr.Value { return p.Sub(q.Div(k(3))) },
		func(p, q hyper) hyper { return p.plus(q.scale(-1. / 3)) }},
	{"p tanh q", func(p, q expr.Value, k func(float64) expr.Value) expr.Value { return p.Mul(expr.Tanh(q)) },
		func(p, q hyper) hyper { return p.times(tanh(q)) }},
	{"q sin²p", func(p, q expr.Value, k func(float64) expr.Value) expr.Value {
		return expr.Sin(p).Pow(k(2)).Mul(q)
	}, func(p, q hyper) hyper {
		return square(p.through(math.Sin(p.a), math.Cos(p.a), -math.Sin(p.a))).times(q)
	}},
	{"p/(1+q²)", func(p, q expr.Value, k func(float64) expr.Value) expr.Value { return p.Div(k(1).Add(q.Pow(k(2)))) },
		func(p, q hyper) hyper { return p.times(constant(1).plus(square(q)).inverse()) }},
	{"cos³p", func(p, _ expr.Value, k func(float64) expr.Value) expr.Value { return expr.Cos(p).Pow(k(3)) },
		func(p, _ hyper) hyper {
			c := p.through(math.Cos(p.a), -math.Sin(p.a), -math.Cos(p.a))
			return c.times(c).times(c)
		}},
	{"√(1+p²)", func(p, _ expr.Value, k func(float64) expr.Value) expr.Value { return expr.Norm(expr.Join(k(1), p)) },
		func(p, _ hyper) hyper { return constant(1).plus(square(p)).sqrt() }},
	{"log(2+sin p)", func(p, _ expr.Value, k func(float64) expr.Value) expr.Value {
		return expr.Log(k(2).Add(expr.Sin(p)))
	}, func(p, _ hyper) hyper {
		s := constant(2).plus(p.through(math.Sin(p.a), math.Cos(p.a), -math.Sin(p.a)))
		return s.through(math.Log(s.a), 1/s.a, -1/(s.a*s.a))
	}},
	{"exp(−p²)", func(p, _ expr.Value, k func(float64) expr.Value) expr.Value { return expr.Exp(p.Pow(k(2)).Neg()) },
		func(p, _ hyper) hyper {
			s := square(p).scale(-1)
			e := math.Exp(s.a)
			return s.through(e, e, e)
		}},
	{"(1+p²)^0.7", func(p, _ expr.Value, k func(float64) expr.Value) expr.Value {
		return k(1).Add(p.Pow(k(2))).Pow(k(0.7))
	}, func(p, _ hyper) hyper {
		s := constant(1).plus(square(p))
		return s.through(math.Pow(s.a, 0.7), 0.7*math.Pow(s.a, -0.3), -0.21*math.Pow(s.a, -1.3))
	}},
	{"(1+p²)^tanh q", func(p, q expr.Value, k func(float64) expr.Value) expr.Value {
		return k(1).Add(p.Pow(k(2))).Pow(expr.Tanh(q))
	}, func(p, q hyper) hyper { // exp(tanh q · log(1 + p²))
		s := constant(1).plus(square(p))
		z := tanh(q).times(s.through(math.Log(s.a), 1/s.a, -1/(s.a*s.a)))
		return z.through(math.Exp(z.a), math.Exp(z.a), math.Exp(z.a))
	}},
	{"1.5^tanh p", func(p, _ expr.Value, k func(float64) expr.Value) expr.Value { return k(1.5).Pow(expr.Tanh(p)) },
		func(p, _ hyper) hyper {
			z := tanh(p).scale(math.Log(1.5))
			return z.through(math.Exp(z.a), math.Exp(z.a), math.Exp(z.a))
		}},
	{"atan p", func(p, _ expr.Value, _ func(float64) expr.Value) expr.Value { return expr.Atan(p) },
		func(p, _ hyper) hyper {
			r := 1 / (1 + p.a*p.a)
			return p.through(math.Atan(p.a), r, -2*p.a*r*r)
		}},
	{"tan(tanh p)", func(p, _ expr.Value, _ func(float64) expr.Value) expr.Value { return expr.Tan(expr.Tanh(p)) },
		func(p, _ hyper) hyper {
			z := tanh(p)
			t, s := math.Tan(z.a), 1/(math.Cos(z.a)*math.Cos(z.a))
			return z.through(t, s, 2*t*s)
		}},
	{"asin(0.9 tanh p)", func(p, _ expr.Value, k func(float64) expr.Value) expr.Value {
		return expr.Asin(k(0.9).Mul(expr.Tanh(p)))
	}, func(p, _ hyper) hyper {
		z := tanh(p).scale(0.9)
		w := 1 - z.a*z.a
		return z.through(math.Asin(z.a), 1/math.Sqrt(w), z.a*math.Pow(w, -1.5))
	}},
	{"acos(0.9 tanh p)", func(p, _ expr.Value, k func(float64) expr.Value) expr.Value {
		return expr.Acos(k(0.9).Mul(expr.Tanh(p)))
	}, func(p, _ hyper) hyper {
		z := tanh(p).scale(0.9)
		w := 1 - z.a*z.a
		return z.through(math.Acos(z.a), -1/math.Sqrt(w), -z.a*math.Pow(w, -1.5))
	}},
	{"sinh(tanh p)", func(p, _ expr.Value, _ func(float64) expr.Value) expr.Value { return expr.Sinh(expr.Tanh(p)) },
		func(p, _ hyper) hyper {
			z := tanh(p)
			return z.through(math.Sinh(z.a), math.Cosh(z.a), math.Sinh(z.a))
		}},
	{"cosh(tanh p)", func(p, _ expr.Value, _ func(float64) expr.Value) expr.Value { return expr.Cosh(expr.Tanh(p)) },
		func(p, _ hyper) hyper {
			z := tanh(p)
			return z.through(math.Cosh(z.a), math.Sinh(z.a), math.Cosh(z.a))
		}},
	{"atan2(p, 1+q²)", func(p, q expr.Value, k func(float64) expr.Value) expr.Value {
		return expr.Atan2(p, k(1).Add(q.Pow(k(2))))
	}, func(p, q hyper) hyper { // the second argument is positive: atan(p/…)
		z := p.times(constant(1).plus(square(q)).inverse())
		r := 1 / (1 + z.a*z.a)
		return z.through(math.Atan(z.a), r, -2*z.a*r*r)
	}},
	{"softplus p", func(p, _ expr.Value, _ func(float64) expr.Value) expr.Value { return expr.Softplus(p) },
		func(p, _ hyper) hyper {
			s := 1 / (1 + math.Exp(-p.a))
			return p.through(math.Log1p(math.Exp(p.a)), s, s*(1-s))
		}},
	{"logistic p", func(p, _ expr.Value, _ func(float64) expr.Value) expr.Value { return expr.Logistic(p) },
		func(p, _ hyper) hyper {
			s := 1 / (1 + math.Exp(-p.a))
			return p.through(s, s*(1-s), s*(1-s)*(1-2*s))
		}},
	{"relu", func(p, _ expr.Value, _ func(float64) expr.Value) expr.Value { return expr.Relu(p) },
		func(p, _ hyper) hyper {
			if p.a > 0 {
				return p
			}
			return hyper{}
		}},
	{"|p|", func(p, _ expr.Value, _ func(float64) expr.Value) expr.Value { return expr.Abs(p) },
		func(p, _ hyper) hyper {
			switch {
			case p.a > 0:
				return p
			case p.a < 0:
				return p.scale(-1)
			}
			return hyper{}
		}},
	{"max", func(p, q expr.Value, _ func(float64) expr.Value) expr.Value { return expr.Max(p, q) },
		func(p, q hyper) hyper {
			if p.a >= q.a {
				return p
			}
			return q
		}},
	{"min", func(p, q expr.Value, _ func(float64) expr.Value) expr.Value { return expr.Min(p, q) },
		func(p, q hyper) hyper {
			if p.a <= q.a {
				return p
			}
			return q
		}},
}

// Random graphs: values, Jacobians and Hessian products are those of hyper-dual
// numbers, whatever is shared, simplified, joined or kept in registers.
func TestRandomFormulas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const d = 4
		g := expr.NewGraph(d)
		var values []expr.Value
		for i := range d {
			values = append(values, g.X().At(i))
		}
		for range 2 {
			values = append(values, g.Const(float64(rapid.IntRange(-2, 2).Draw(t, "constant"))))
		}
		type choice struct{ op, p, q int }
		var path []choice
		for range rapid.IntRange(1, 25).Draw(t, "length") {
			// The first operand is mostly recent, so that formulas grow deep.
			n := len(values)
			c := choice{rapid.IntRange(0, len(steps)-1).Draw(t, "op"),
				max(0, n-1-rapid.IntRange(0, 6).Draw(t, "p")), rapid.IntRange(0, n-1).Draw(t, "q")}
			path = append(path, c)
			values = append(values, steps[c.op].do(values[c.p], values[c.q], g.Const))
		}
		outs := values[max(0, len(values)-5):]
		prog := testkit.Must(g.Compile(outs...))
		n := rapid.IntRange(1, 3).Draw(t, "points")
		coordinate := rapid.Float64Range(-2, 2)
		x, v := make([]float64, n*d), make([]float64, n*d)
		for i := range x {
			x[i], v[i] = coordinate.Draw(t, "x"), coordinate.Draw(t, "v")
		}
		m := len(outs)
		val, jv, jac, hv := make([]float64, n*m), make([]float64, n*m), make([]float64, n*m*d), make([]float64, n*m*d)
		prog.Values(val, x, n)
		prog.NewEvaluator().Jacobians(jv, jac, x, n)
		prog.NewEvaluator().HessianVectors(hv, x, v, n)
		for i := range n {
			for a := range d {
				h := make([]hyper, 0, len(values))
				for b := range d {
					p := hyper{a: x[i*d+b], c: v[i*d+b]}
					if a == b {
						p.b = 1
					}
					h = append(h, p)
				}
				for _, c := range values[d : d+2] {
					k, _ := c.Constant()
					h = append(h, constant(k))
				}
				for _, c := range path {
					h = append(h, steps[c.op].hyp(h[c.p], h[c.q]))
				}
				for o, want := range h[len(h)-m:] {
					at := i*m + o
					what := fmt.Sprintf("point %d, output %d of %v", i, o, path)
					agree(t, what+": value", val[at], want.a, 1)
					agree(t, what+": value beside the Jacobian", jv[at], val[at], 1)
					agree(t, fmt.Sprintf("%s: ∂%d", what, a), jac[at*d+a], want.b, 1)
					agree(t, fmt.Sprintf("%s: ∇²v %d", what, a), hv[at*d+a], want.e, 10)
				}
			}
		}
	})
}

func agree(t *rapid.T, what string, got, want, unit float64) {
	if math.Abs(want) > 1e8 { // derivatives of deep formulas: nothing to compare
		return
	}
	if !(math.Abs(got-want) <= 1e-9*(unit+math.Abs(want))) {
		t.Fatalf("%s: %.15g, want %.15g", what, got, want)
	}
}

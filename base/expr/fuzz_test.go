package expr_test

import (
	"errors"
	"math"
	"testing"
	"unicode/utf8"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Any text gives a value or an *Error whose place lies in it; what parses compiles, and evaluates without a panic.
func FuzzParse(f *testing.F) {
	for _, s := range smooth {
		f.Add(s.text)
	}
	for _, s := range []string{
		"c[0]^2 = 1 - s[0]", "a <= b", "1 ≥ x[0]", "sum(i in 0..", "((((", "x[", "let a = 1; a", "a ? b : c", "#",
		"x | norm", "x?.y", "[[1],[2]]",
		"{a: 1}", "not x", "1..3", "x[:]", "-----1", "1e308*10", "''", "/* c */ 1 // d", "f(1)", "é", "\x00",
		"x[0]^-0", "0/0", "det(identity(10)*x[0])",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g := expr.NewGraph(12)
		s := expr.NewScope(g)
		for _, d := range [][2]string{{"c", "x[0:7]"}, {"s", "x[7:12]"}, {"f(u)", "u*u + 1"}} {
			testkit.OK(t, s.Let(d[0], d[1]))
		}
		check := func(err error) {
			var e *expr.Error
			if !errors.As(err, &e) {
				t.Fatalf("error of type %T: %v", err, err)
			}
			if n := utf8.RuneCountInString(e.Formula); e.Message == "" || e.From < 0 || e.To < e.From || e.From > n+1 {
				t.Fatalf("%+v: the place is outside the %d runes", e, n)
			}
			_ = e.Error()
		}
		v, _, err := s.Relation(text)
		if err := s.ForEach(text, func() error { return errors.New("once") }); err != nil && err.Error() != "once" {
			check(err)
		}
		if err != nil {
			check(err)
			return
		}
		if v.Size() > 64 {
			v = v.Flat().Slice(0, 64)
		}
		p, err := g.Compile(v)
		if err != nil {
			check(err)
			return
		}
		if _, ops := p.Operations(); ops > 20_000 {
			return
		}
		x, u := make([]float64, 24), make([]float64, 24)
		for i := range x {
			x[i], u[i] = math.Sin(float64(i)), math.Cos(float64(i))
		}
		m := p.Components()
		a, b, j := make([]float64, 2*m), make([]float64, 2*m), make([]float64, 2*m*12)
		p.Values(a, x, 2)
		p.NewEvaluator().Jacobians(b, j, x, 2)
		for i := range a {
			if a[i] != b[i] && !(math.IsNaN(a[i]) && math.IsNaN(b[i])) {
				t.Fatalf("value %v, beside the Jacobian %v", a[i], b[i])
			}
		}
		if err := p.Second(); err != nil {
			check(err)
			return
		}
		p.NewEvaluator().HessianVectors(j, x, u, 2)
		for i := range m {
			if f := p.Fault(x[:12], i); f != nil {
				_ = f.Error()
			}
		}
	})
}

package expr_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// scope has x ∈ R¹⁴ and the definitions of the arm.
func scope(t testing.TB) *expr.Scope {
	t.Helper()
	s := expr.NewScope(expr.NewGraph(14))
	for _, d := range [][2]string{{"c", "x[0:7]"}, {"s", "x[7:14]"}, {"radius", "0.5"}} {
		testkit.OK(t, s.Let(d[0], d[1]))
	}
	return s
}

// A row of a matrix has the numbers of that row alone, the last one too.
func TestRows(t *testing.T) {
	for formula, want := range map[string]float64{
		"let A = reshape(x[0:6], 3, 2); sum(A[0])": 1, "let A = reshape(x[0:6], 3, 2); sum(A[1])": 5,
		"let A = reshape(x[0:6], 3, 2); sum(A[2])": 9, "let A = reshape(x, 2, 7); norm(A[1])": math.Sqrt(7*100 + 28),
		"let A = reshape(x[0:6], 2, 3); dot(A[0], A[1])": 14, "let A = reshape(x[0:6], 2, 3); len(A[0])": 3,
	} {
		g := expr.NewGraph(14)
		v := testkit.Must(expr.NewScope(g).Parse(formula))
		p := testkit.Must(g.Compile(v))
		x, got := make([]float64, 14), []float64{0}
		for j := range x {
			x[j] = float64(j)
		}
		p.Values(got, x, 1)
		testkit.Near(t, got[0], want, 1e-12, "%s", formula)
	}
}

// Faults of a side of a relation stand where they do in the whole formula.
func TestFaultsOfRelations(t *testing.T) {
	for formula, column := range map[string]int{
		"cc[0] = 1": 1, "1 = cc[0]": 5, "1 <= 2 + cc[0]": 10, "x[0]≥cc": 6, "let r = 2; r*c[0] = 3*(r + cc)": 28,
		"let r = 2; r*cc >= 1": 14, "1 = x[14]": 6, "[x[0]] >= c": 8,
	} {
		_, _, err := scope(t).Relation(formula)
		var e *expr.Error
		if !errors.As(err, &e) || e.Column() != column || e.Formula != formula {
			t.Errorf("%q: %+v, want column %d of the formula", formula, err, column)
		}
	}
}

// Every fault of a formula is an *Error with the column of the fault.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		formula string
		column  int // 0: any
		want    string
	}{
		{"1 + cc[0]", 5, `unknown name "cc"; did you mean "c"?`},
		{"1 + blah", 5, `unknown name "blah"; known are c, dim, pi, radius, s, x`},
		{"radios + 1", 1, `did you mean "radius"?`},
		{"foo(c)", 1, `unknown function "foo"`}, // three letters are near to everything
		{"nrom(c)", 1, `unknown function "nrom"; did you mean "norm"?`},
		{"c(3)", 1, `c is a value, not a function; elements are c[…]`},
		{"2*norm", 3, `norm is a function: norm(v)`},
		{"norm(c, s)", 1, `norm takes 1 argument, not 2`},
		{"dot(c)", 1, `dot takes 2 arguments, not 1`},
		{"angle(c)", 1, `angle takes 2 or 3 arguments, not 1`},
		{"1 + x[14]", 6, `index 14 out of range: x, a vector of 14, has indices 0 to 13`},
		{"x[-1]", 2, `index -1 out of range`},
		{"x[0:15]", 2, `slice [0:15] out of range`},
		{"x[1/2]", 4, `an index must be an integer, not 0.5`},
		{"x[c[0]]", 4, `an index must not depend on x`},
		{"radius[0]", 7, `a number has no elements`},
		{"c + x", 3, `shapes do not fit, a vector of 7 and a vector of 14`},
		{"c*s", 2, `two vectors; write dot(a, b)`},
		{"det(reshape(x[0:6], 2, 3))", 1, `det takes a square matrix, not a 2×3 matrix`},
		{"reshape(x, 3, 3)", 1, `a vector of 14 cannot become a 3×3 matrix`},
		{"cross(c, s)", 1, `cross takes two vectors of 3`},
		{"sum(i in 0..7, c[i])", 17, `index 7 out of range`},
		{"sum(i in 3..0, c[i])", 11, `runs backwards`},
		{"max(i in 0..-1, c[i])", 1, `max over an empty range`},
		{"sin(i in 0..3, c[i])", 1, `sin takes no range`},
		{"i in 0..3", 3, `a range can only come first`},
		{"1 +", 3, `the formula ends too early`},
		{"(1 + 2", 6, `the formula ends too early`},
		{"1 ) 2", 3, `unexpected ")"`},
		{"c[0] = 1", 6, `unexpected "="`},
		{"c[0] < 1", 6, `a comparison inside a formula`},
		{"c[0] ? 1 : 2", 12, `formulas do not have this`},
		{"'text'", 1, `text has no place`},
		{"c.x", 3, `formulas have no fields`},
		{"let c2 = 2*radius; c2*x[20]", 24, `index 20`},
		{"let x = 3; x", 5, `part of the language`},
		{"filter(c, # > 0)", 11, `unexpected "#"`},
		{"map(c, 1)", 1, `unknown function "map"`},
		{"1/0", 2, `division by zero`},
		{"", 1, `empty formula`},
		{"1 \xff", 1, `not UTF-8`},
		{"1e999", 5, `value out of range`},
		{strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300), 201, `more than 200 brackets`},
		{strings.Repeat("1+", 10000) + "1", 1, `at most 16384 are allowed`},
		{strings.Repeat("1+", 8000) + "1", 10002, `more than 10000 parts`},
		{"sum(i in 0..99999, sum(j in 0..99999, 1))", 0, `expand to more than 4194304`},
		{"sum(i in 0..99999999999, 1)", 11, `has more than 262144 indices`},
		{"let A = identity(300); trace(A*A)", 31, `expand to more than`},
		{"identity(100000)", 1, `unit matrix`},
		{"x^x^x^x^'a'", 9, `text`},
	} {
		_, err := scope(t).Parse(c.formula)
		var e *expr.Error
		if !errors.As(err, &e) {
			t.Errorf("%.40q: error %v of type %T", c.formula, err, err)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || c.column != 0 && e.Column() != c.column {
			t.Errorf("%.40q:\n got  column %d, %.200v\n want column %d, %s", c.formula, e.Column(), err, c.column,
				c.want)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: more than one line: %v", c.formula, err)
		}
	}
}

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

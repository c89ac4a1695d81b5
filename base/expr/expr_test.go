package expr_test

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/keyed"
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
	testkit.Cases(t, func(formula string) string {
		_, _, err := scope(t).Relation(formula)
		var e *expr.Error
		if !errors.As(err, &e) || e.Formula != formula {
			return fmt.Sprintf("%T %v", err, err)
		}
		return fmt.Sprint(e.Column(), " ", e)
	})
}

// Every fault of a formula is an *Error with the column of the fault.
func TestFaults(t *testing.T) {
	fault := func(formula string) string {
		_, err := scope(t).Parse(formula)
		var e *expr.Error
		if !errors.As(err, &e) || strings.Contains(err.Error(), "\n") {
			return fmt.Sprintf("%T %v", err, err)
		}
		return fmt.Sprint(e.Column(), " ", e)
	}
	testkit.Cases(t, fault)
	for formula, want := range map[string][2]string{"1 \xff": {"1 ", "not UTF-8"},
		strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300): {"201 ", "more than 200 brackets"},
		strings.Repeat("1+", 10000) + "1":                         {"1 ", "at most 16384 are allowed"},
		strings.Repeat("1+", 8000) + "1":                          {"10002 ", "more than 10000 parts"}} {
		if got := fault(formula); !strings.HasPrefix(got, want[0]) || !strings.Contains(got, want[1]) {
			t.Errorf("%.40q: %.200s, want %s", formula, got, want)
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

// formulas of x ∈ R¹², each smooth in the box [0.2, 0.8]¹², and an independent
// value where the standard library has one.
var smooth = []struct {
	text string
	want func(x []float64) float64
}{
	{"3*x[0] - x[1]/x[2] + 2^3^2", func(x []float64) float64 { return 3*x[0] - x[1]/x[2] + 512 }},
	{"-x[0]^2 + (-x[1])^3 + x[2]^-2", func(x []float64) float64 { return -x[0]*x[0] - x[1]*x[1]*x[1] + 1/(x[2]*x[2]) }},
	{"x[0]^0.5 + x[1]^1.3 + x[2]^x[3] + 2.5^x[4] + x[5]^17", func(x []float64) float64 {
		return math.Sqrt(x[0]) + math.Pow(x[1], 1.3) + math.Pow(x[2], x[3]) + math.Pow(2.5, x[4]) + math.Pow(x[5], 17)
	}},
	{"sqrt(x[0])*exp(x[1])*log(x[2])", func(x []float64) float64 {
		return math.Sqrt(x[0]) * math.Exp(x[1]) * math.Log(x[2])
	}},
	{"sin(x[0])*cos(x[0]) + tan(x[1])", func(x []float64) float64 {
		return math.Sin(x[0])*math.Cos(x[0]) + math.Tan(x[1])
	}},
	{"asin(x[0])*acos(x[1])*atan(x[2])", func(x []float64) float64 {
		return math.Asin(x[0]) * math.Acos(x[1]) * math.Atan(x[2])
	}},
	{"sinh(x[0])*cosh(x[1])*tanh(x[2])", func(x []float64) float64 {
		return math.Sinh(x[0]) * math.Cosh(x[1]) * math.Tanh(x[2])
	}},
	{"atan2(x[0], x[1]) + atan2(-x[2], x[3] - 2)", func(x []float64) float64 {
		return math.Atan2(x[0], x[1]) + math.Atan2(-x[2], x[3]-2)
	}},
	{"abs(x[0] - 2)*abs(x[1]) + relu(x[2] - 1) + relu(x[3])",
		func(x []float64) float64 { return (2-x[0])*x[1] + x[3] }},
	{"where(x[0]*x[1], exp(x[2]), where(-9, log(-9), x[1]^2))", func(x []float64) float64 {
		if x[0]*x[1] >= 0 {
			return math.Exp(x[2])
		}
		return x[1] * x[1]
	}},
	{"softplus(x[0])*logistic(x[1]) + softplus(-50 + x[2])", func(x []float64) float64 {
		return math.Log1p(math.Exp(x[0]))/(1+math.Exp(-x[1])) + math.Exp(x[2]-50)
	}},
	{"min(x[0], x[1] + 1) + max(x[2], x[3] - 1, x[4] - 2) + min(x[5:8] + [3, 2, 0])",
		func(x []float64) float64 { return x[0] + x[2] + x[7] }},
	{"radians(x[0])*len(x)", func(x []float64) float64 { return x[0] * math.Pi / 180 * 12 }},
	{"sum(i in 0..3, x[i]*x[11-i]) + sum(x) + sum(i in 2..1, x[i])", nil},
	{"prod(i in 0..3, x[i]) + prod(x[3:6]) + prod(i in 0..1, x[2*i:2*i+2])[1]", func(x []float64) float64 {
		return x[0]*x[1]*x[2]*x[3] + x[3]*x[4]*x[5] + x[1]*x[3]
	}},
	{"sum(i in 0..2, j in i..2, x[3*i+j]^2*x[(i+j) % 3])", nil},
	{"norm(x) + norm(i in 0..2, x[i]*x[i+1]) + norm(x[0] + 1)", nil},
	{"dot(x[0:3], cross(x[3:6], x[6:9])) - det(reshape(x[0:9], 3, 3)) + x[0]^2",
		func(x []float64) float64 { return x[0] * x[0] }},
	{"cross(x[0:2], x[2:4])", func(x []float64) float64 { return x[0]*x[3] - x[1]*x[2] }},
	{"distance(x[0:4], x[4:8] + 1)^2 - dot(x[0:4] - x[4:8] - 1, x[0:4] - x[4:8] - 1) + x[3]^2",
		func(x []float64) float64 { return x[3] * x[3] }},
	{"angle(x[0:3], -x[3:6])", func(x []float64) float64 {
		var d, a, b float64
		for k := range 3 {
			d, a, b = d-x[k]*x[3+k], a+x[k]*x[k], b+x[3+k]*x[3+k]
		}
		return math.Acos(d / math.Sqrt(a*b))
	}},
	{"angle(x[0:4], x[4:8])", func(x []float64) float64 {
		var d, a, b float64
		for k := range 4 {
			d, a, b = d+x[k]*x[4+k], a+x[k]*x[k], b+x[4+k]*x[4+k]
		}
		return math.Acos(d / math.Sqrt(a*b))
	}},
	{"angle(x[0:3], x[3:6] + [1, 0, 0], x[6:9] + [0, 2, 0])", nil},
	{"dihedral(x[0:3] + [0, 2, 0], x[3:6], x[6:9] + [3, 0, 0], x[9:12] + [3, 0, 2])", nil},
	{"dihedral([0, 1, 0], [0, 0, 0], [1, 0, 0], [1, cos(x[0]), sin(x[0])])", func(x []float64) float64 { return x[0] }},
	{"trace(reshape(x[0:9], 3, 3)*reshape(x[3:12], 3, 3))", nil},
	{"sum(flat(transpose(reshape(x[0:6], 2, 3))*reshape(x[6:12], 2, 3)))", nil},
	{"sum(times(reshape(x, 4, 3)*x[0:3], x[0:4])) + sum(x[0:4]*reshape(x, 4, 3))", nil},
	{"det(identity(10) + [x[0], x[1], 0, 0, 0, 0, 0, 0, 0, 0][0]*identity(10)) - (1 + x[0])^10 + x[2]",
		func(x []float64) float64 { return x[2] }},
	{"det(reshape(vector(i in 0..35, x[(i*i + 3*i) % 12] + (i % 7)), 6, 6))", nil},
	{"let r = norm(x[0:2]); let q = r - 2; sqrt(q^2 + x[2]^2)", nil},
	{"trace(transpose([[x[0], x[1]], [x[2], x[3]]]))", func(x []float64) float64 { return x[0] + x[3] }},
	{"max(i in 0..3, x[i] + i) + max(i in 0..1, x[i:i+2] + 10*i)[1] + min(i in 0..3, x[i] + i)",
		func(x []float64) float64 { return x[3] + 3 + x[2] + 10 + x[0] }},
}

// Every function occurs in the formulas above.
func TestAllFunctionsAreChecked(t *testing.T) {
	names, _ := expr.Functions()
	for _, name := range names {
		called := regexp.MustCompile(`\b` + name + `\(`)
		found := false
		for _, f := range smooth {
			found = found || called.MatchString(f.text)
		}
		if !found {
			t.Errorf("no formula calls %s", name)
		}
	}
}

// Values, gradients and Hessian products of every function: against the standard
// library, and by the slope of central differences over decades.
func TestDerivativesBySlope(t *testing.T) {
	const d = 12
	x, u, v := make([]float64, d), make([]float64, d), make([]float64, d)
	s := keyed.New(1, keyed.Probe, 0)
	for _, f := range smooth {
		g := expr.NewGraph(d)
		value := testkit.Must(expr.NewScope(g).Parse(f.text))
		p := testkit.Must(g.Compile(value))
		at := func(x []float64) float64 {
			var c [1]float64
			p.Values(c[:], x, 1)
			return c[0]
		}
		gradient := func(x []float64) []float64 {
			var c [1]float64
			j := make([]float64, d)
			p.NewEvaluator().Jacobians(c[:], j, x, 1)
			return j
		}
		for sample := range uint64(3) {
			s.Uniforms(x, sample, 0)
			for i := range x {
				x[i] = 0.2 + 0.6*x[i]
			}
			s.Normals(u, sample, 1)
			s.Normals(v, sample, 2)
			if f.want != nil {
				if got, want := at(x), f.want(x); !(math.Abs(got-want) <= 1e-14*(20+math.Abs(want))) {
					t.Errorf("%s is %.17g, want %.17g", f.text, got, want)
				}
			}
			shifted := func(h float64, along []float64) []float64 {
				y := append([]float64(nil), x...)
				for i := range y {
					y[i] += h * along[i]
				}
				return y
			}
			dot := func(a, b []float64) (s float64) {
				for i := range a {
					s += a[i] * b[i]
				}
				return s
			}
			size := math.Abs(at(x)) + 10
			slope(t, f.text+": ∇", size, dot(gradient(x), u), func(h float64) float64 {
				return (at(shifted(h, u)) - at(shifted(-h, u))) / (2 * h)
			})
			hv := make([]float64, d)
			p.NewEvaluator().HessianVectors(hv, x, v, 1)
			g0 := gradient(x)
			slope(t, f.text+": ∇²", 10+math.Sqrt(dot(g0, g0)*dot(u, u)), dot(hv, u), func(h float64) float64 {
				return (dot(gradient(shifted(h, v)), u) - dot(gradient(shifted(-h, v)), u)) / (2 * h)
			})
		}
	}
}

// slope demands that the error of central differences falls like step², from
// 10⁻² on, until it is at the round-off of values of the given size.
func slope(t *testing.T, what string, size, exact float64, difference func(h float64) float64) {
	t.Helper()
	last := math.Inf(1)
	for h := 1e-2; h > 1e-7; h /= 10 {
		e := math.Abs(difference(h) - exact)
		if e <= 400*size*0x1p-52/h {
			return
		}
		if e > last/30 && h < 1e-4 {
			t.Errorf("%s: error %.3g at step %.0e after %.3g ten times coarser; want a hundredth", what, e, h, last)
			return
		}
		last = e
	}
	t.Errorf("%s: finite differences never came within round-off (last error %.3g)", what, last)
}

// Derivatives at kinks are as documented.
func TestKinks(t *testing.T) {
	for formula, want := range map[string][2]float64{
		"relu(x[0])": {0, 0}, "abs(x[0])": {0, 0}, "max(x[0], x[1])": {1, 0}, "max(x[1], x[0])": {0, 1},
		"min(x[0], x[1])": {1, 0}, "min(x[1], x[0])": {0, 1}, "max(x)": {1, 0}, "max(0, x[1])": {0, 0},
		"max(x[1], 0)": {0, 1},
		"sqrt(x[0])":   {math.Inf(1), 0}, "max(1, sqrt(x[0]))": {math.NaN(), 0},
		"atan2(x[0], x[1])": {math.NaN(), math.NaN()},
	} {
		g := expr.NewGraph(2)
		v := testkit.Must(expr.NewScope(g).Parse(formula))
		p := testkit.Must(g.Compile(v))
		var c [1]float64
		var j [2]float64
		p.NewEvaluator().Jacobians(c[:], j[:], []float64{0, 0}, 1)
		for i := range j {
			if j[i] != want[i] && !(math.IsNaN(j[i]) && math.IsNaN(want[i])) {
				t.Errorf("%s at 0 has gradient %v, want %v", formula, j, want)
			}
		}
	}
}

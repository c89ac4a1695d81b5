package expr_test

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func program(t testing.TB, d int, formulas ...string) *expr.Program {
	t.Helper()
	g := expr.NewGraph(d)
	s := expr.NewScope(g)
	var values []expr.Value
	for _, f := range formulas {
		v := testkit.Must(s.Parse(f))
		values = append(values, v)
	}
	return testkit.Must(g.Compile(values...))
}

// Equal sub-expressions are computed once, within and between formulas, however
// they are written; products are joined with sums.
func TestSharing(t *testing.T) {
	for _, c := range []struct {
		formulas []string
		values   int
	}{
		{[]string{"x[0]*x[1] + x[2]"}, 1},
		{[]string{"x[0]*x[1] - x[2]*x[3]"}, 1},
		{[]string{"x[2] - x[0]*x[1]"}, 1},
		{[]string{"x[0]*x[1] + x[2]", "x[0]*x[1] - x[3]"}, 3},
		{[]string{"sin(x[0] + x[1])", "2*sin(x[1] + x[0])"}, 3},
		{[]string{"sin(x[0])*cos(x[0])"}, 2}, // one sine and cosine, one product
		{[]string{"x[0]*1 + 0*x[1] + 0", "x[0]"}, 0},
		{[]string{"--x[0] - -x[1]", "x[1] + x[0]"}, 1},
		{[]string{"1 + 2*3^2 - sin(0)"}, 0},
		{[]string{"x[0]^2", "x[0]^4"}, 2},
		{[]string{"exp(x[0]) - exp(x[0]*1)"}, 0},
		{[]string{"sum(j in 0..3, sin(sum(x[0:j+1])))"}, 10}, // 3 additions, 4 sines, 3 additions
	} {
		if got, _ := program(t, 4, c.formulas...).Operations(); got != c.values {
			t.Errorf("%q takes %d operations, want %d", c.formulas, got, c.values)
		}
	}
}

// Simplifications and joined instructions round as the formula is written.
func TestRounding(t *testing.T) {
	p := program(t, 3, "0.1*(3*x[0])", "0.1*(3/x[0])", "x[0] + x[1] + x[2]", "x[0] + (x[1] + x[2])",
		"x[0]*x[1] + x[2]*x[0]", "x[2] - x[0]*x[1]", "x[0]/3", "x[0]^3", "4*(3*x[0])", "x[0]*x[1] - x[2]",
		"-(x[0] - x[1])*3", "0.1*(4/x[0])", "4*(0.1/x[0])")
	s := keyed.New(3, keyed.Probe, 0)
	x, got := make([]float64, 3), make([]float64, p.Components())
	for sample := range uint64(200) {
		s.Normals(x, sample, 0)
		a, b, c := x[0], x[1], x[2]
		ab, ca, p3, q3, q4, q := a*b, c*a, 3*a, 3/a, 4/a, 0.1/a // rounded one by one
		want := []float64{0.1 * p3, 0.1 * q3, float64(a+b) + c, a + float64(b+c), float64(ab) + float64(ca),
			c - float64(ab), a / 3, float64(a*a) * a, 12 * a, float64(ab) - c, float64(b-a) * 3, 0.1 * q4, 4 * q}
		p.Values(got, x, 1)
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("formula %d at %v is %v, want %v", i, x, got[i], want[i])
			}
		}
	}
}

// Gradients touch only the coordinates that a formula varies with, and their cost grows with those.
func TestSparsity(t *testing.T) {
	p := program(t, 1000, "x[3]*x[500]", "7", "x[999] - x[999] + x[1]^2", "norm(x[10:13])")
	for i, want := range [][]int{{3, 500}, {}, {1}, {10, 11, 12}} {
		testkit.EqualSlices(t, p.Support()[i], want, "component %d touches", i)
	}
	if _, ops := p.Operations(); ops > 16 {
		t.Errorf("values and gradients take %d operations", ops)
	}
	// The gradient of a sum of n terms costs O(n); forward sweeps, one for each of n variables, would cost n².
	terms := func(n int) int {
		_, ops := program(t, n, "log(sum(i in 0..dim-1, sin(x[i])))").Operations()
		return ops
	}
	if a, b := terms(100), terms(200); b > 2*a+10 {
		t.Errorf("%d operations for 100 terms, %d for 200", a, b)
	}
	// Many functions of one scalar of two variables: two forward sweeps.
	var many []string
	for k := range 50 {
		many = append(many, "exp(u)"+strings.Repeat("+1", k))
	}
	g := expr.NewGraph(2)
	s := expr.NewScope(g)
	testkit.OK(t, s.Let("u", "tanh(sin(x[0]*x[1] + exp(x[0] - x[1])))"))
	var values []expr.Value
	for k, f := range many {
		v := testkit.Must(s.Parse(f))
		values = append(values, v.Mul(v.Add(g.Const(float64(k)))))
	}
	q := testkit.Must(g.Compile(values...))
	val, both := q.Operations()
	if both > val+50*5 {
		t.Errorf("%d operations for 50 values, %d with gradients", val, both)
	}
}

// Rows are the same bits alone, in blocks of any size, and from several
// goroutines at once; and the tape's loops round as single operations do.
func TestRowsAreIndependent(t *testing.T) {
	const d, n = 6, 263
	p := program(t, d, "sin(x[0])*cos(x[0]) + sin(x[1])", "dihedral(x[0:3], x[1:4], x[2:5], x[3:6])", "norm(x) - 1",
		"exp(x[0])*softplus(x[1]) - x[2]^1.7*0.1", "max(x) - min(x[0]*x[1], abs(x[2]))")
	const c = 5
	x, v := make([]float64, n*d), make([]float64, n*d)
	s := keyed.New(1, keyed.Probe, 0)
	s.Uniforms(x, 0, 0)
	s.Normals(v, 0, 1)
	val, jac, hv := make([]float64, n*c), make([]float64, n*c*d), make([]float64, n*c*d)
	p.NewEvaluator().Jacobians(val, jac, x, n)
	p.NewEvaluator().HessianVectors(hv, x, v, n)
	nan := func(n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = math.NaN()
		}
		return out
	}
	// The packed derivatives are those of the full Jacobian, which has no others.
	length := 0
	for i := range c {
		length += len(p.Support()[i])
	}
	a, packed := nan(n*c), nan(n*length)
	p.NewEvaluator().SparseJacobians(a, packed, x, n)
	at := 0
	for i := range n * c {
		rest := slices.Clone(jac[i*d : (i+1)*d])
		for _, v := range p.Support()[i%c] {
			if packed[at] != rest[v] {
				t.Fatalf("packed derivative %d is %v, want %v", at, packed[at], rest[v])
			}
			rest[v] = 0
			at++
		}
		if slices.ContainsFunc(rest, func(v float64) bool { return v != 0 }) || a[i] != val[i] {
			t.Fatalf("row %d: value %v, want %v; derivatives outside the support %v", i, a[i], val[i], rest)
		}
	}
	var wg sync.WaitGroup
	for _, size := range []int{1, 2, 7, 64, 121, 263} {
		wg.Go(func() {
			for from := 0; from < n; from += size {
				k := min(size, n-from)
				xs := x[from*d : (from+k)*d]
				a, a2, j, h := nan(k*c), nan(k*c), nan(k*c*d), nan(k*c*d)
				p.Values(a2, xs, k)
				p.NewEvaluator().Jacobians(a, j, xs, k)
				p.NewEvaluator().HessianVectors(h, xs, v[from*d:(from+k)*d], k)
				if !slices.Equal(a, val[from*c:(from+k)*c]) || !slices.Equal(a2, a) ||
					!slices.Equal(j, jac[from*c*d:(from+k)*c*d]) || !slices.Equal(h, hv[from*c*d:(from+k)*c*d]) {
					t.Errorf("rows from %d in blocks of %d differ from the whole block", from, size)
					return
				}
			}
		})
	}
	wg.Wait()
	p.Values(nil, nil, 0)
	if math.Sin(x[0])*math.Cos(x[0])+math.Sin(x[1]) != val[0] {
		t.Errorf("sin·cos + sin is %v, not as single operations round", val[0])
	}
}

// Fault names the operation, its operands and its place.
func TestNonFinite(t *testing.T) {
	for _, c := range []struct {
		formula string
		x       []float64
		want    string
		from    int
	}{
		{"1 + sqrt(x[0])", []float64{0, 1}, `sqrt(0) has the derivative +Inf, at column 5 of "1 + sqrt(x[0])"`, 4},
		{"1 + sqrt(x[0])", []float64{-2, 1}, `sqrt(-2) is NaN, at column 5`, 4},
		{"x[1] + acos(2*x[0])", []float64{3, 1}, `acos(6) is NaN, at column 8`, 7},
		{"acos(x[0])", []float64{1, 1}, `acos(1) has the derivative`, 0},
		{"x[1] + 1/x[0]", []float64{0, 1}, `1 / 0 divides by zero, at column 9`, 8},
		{"x[1] / x[0]", []float64{0, 0}, `0 / 0 divides by zero`, 5},
		{"log(x[0] - 1)", []float64{1, 0}, `log(0) is -Inf`, 0},
		{"norm(x)", []float64{0, 0}, `sqrt(0) has the derivative +Inf, at column 1`, 0},
		{"exp(x[0])^2", []float64{1e3, 0}, `exp(1000) is +Inf`, 0},
		{"atan2(x[0], x[1])", []float64{0, 0}, `atan2(0, 0) has the derivative`, 0},
		{"x[0]^1.5 + x[1]^0.7", []float64{1, 0}, `0 ^ 0.7 has the derivative +Inf`, 15},
		{"x[0] + x[1]", []float64{1, math.NaN()}, `x[1] is NaN`, 0},
	} {
		p := program(t, 2, "7", c.formula)
		f := p.Fault(c.x, 1)
		if f == nil || !strings.Contains(f.Error(), c.want) || f.Component != 1 {
			t.Errorf("%s at %v: %v, want %s", c.formula, c.x, f, c.want)
			continue
		}
		testkit.Equal(t, f.Place.From, c.from, "%s: place", c.formula)
		if f := p.Fault([]float64{0.3, 0.4}, 0); f != nil {
			t.Errorf("a constant has a fault: %v", f)
		}
	}
	for _, x := range [][]float64{{0.5, 0.5}, {2, 1}} {
		if f := program(t, 2, "sqrt(x[0]) + acos(x[1]/2)").Fault(x, 0); f != nil {
			t.Errorf("fault %v at %v", f, x)
		}
	}
}

// The place of a fault is in runes of the whole text, and a long text is cut around it.
func TestPlaceOfFault(t *testing.T) {
	_, err := scope(t).Parse("norm(c)\n  + 2·blah")
	if err == nil {
		t.Fatal("accepted")
	}
	_, err = scope(t).Parse("norm(c) +\n  2*blah - 1")
	if e := err.(*expr.Error); e.From != 14 || e.To != 18 {
		t.Errorf("the place %d to %d, want 14 to 18", e.From, e.To)
	}
	long := strings.Repeat("x[0] + ", 100) + "blah"
	_, err = scope(t).Parse(long)
	if s := err.Error(); len(s) > 300 || !strings.Contains(s, "blah") || !strings.Contains(s, "column 701") {
		t.Errorf("a long formula's error is %s", s)
	}
	_, err = scope(t).Parse("blah" + strings.Repeat(" + x[0]", 100))
	testkit.Contains(t, err.Error(), `"blah + x[0]`, "the error at the start of a long formula")
	_, err = scope(t).Parse(strings.Repeat("x", expr.MaxText+1))
	if e := err.(*expr.Error); e.Formula != "" {
		t.Errorf("a formula too long to be shown is shown: %d bytes", len(e.Formula))
	}
}

// Definitions see what came before them, cannot be redefined and cannot recurse.
func TestDefinitions(t *testing.T) {
	let := func(pairs ...string) (*expr.Scope, error) {
		s := expr.NewScope(expr.NewGraph(3))
		for i := 0; i < len(pairs); i += 2 {
			if err := s.Let(pairs[i], pairs[i+1]); err != nil {
				return s, err
			}
		}
		return s, nil
	}
	for _, c := range []struct {
		pairs []string
		use   string
		want  float64
	}{
		{[]string{"a", "2", "b", "a^3"}, "b + a", 10},
		{[]string{"f(u)", "u + 1", "g(u, v)", "f(u)*f(v)"}, "g(1, f(2))", 8},
		{[]string{"j", "5", "f(u)", "u + j"}, "sum(i in 0..2, f(i))", 18},
		{[]string{"f(u)", "sum(k in 0..u, k)"}, "let k = 100; f(3) + k", 106},
		{[]string{"v(i)", "[i, i + 1]"}, "v(3)[1]", 4},
	} {
		s := testkit.Must(let(c.pairs...))
		v, err := s.Parse(c.use)
		if err != nil {
			t.Errorf("%v: %v", c.pairs, err)
			continue
		}
		if got, ok := v.Constant(); !ok || got != c.want {
			t.Errorf("%v: %s is %v, want %v", c.pairs, c.use, got, c.want)
		}
	}
	for _, c := range []struct {
		pairs []string
		use   string
		want  string
	}{
		{[]string{"a", "b", "b", "1"}, "a", `a: unknown name "b"`},
		{[]string{"a", "1", "a", "2"}, "a", `a: the name is defined twice`},
		{[]string{"norm", "1"}, "1", `norm: the name is that of a function`},
		{[]string{"x", "1"}, "1", `x: the name is part of the language`},
		{[]string{"2a", "1"}, "1", `a name consists of letters`},
		{[]string{"", "1"}, "1", `a name consists of letters`},
		{[]string{"f(u)", "f(u)"}, "f(1)", `f(u) calls itself: definitions cannot be recursive, at column 1 of "f(u)"`},
		{[]string{"f(u)", "g(u)", "g(u)", "f(u)"}, "g(1)", `g(u) is defined later: a definition sees those before it`},
		{[]string{"a", "1 + a"}, "a", `a: "a" is defined by itself: definitions cannot be recursive`},
		{[]string{"f(u)", "u"}, "ff(1)", `unknown function "ff"; did you mean "f"?`},
		{[]string{"f(u)", "u + i"}, "sum(i in 0..2, f(i))", `unknown name "i"`},
		{[]string{"f(u)", "u + 1"}, "f(1, 2)", `f(u) takes 1 argument, not 2`},
		{[]string{"f(u, u)", "u + 1"}, "1", `expected a name, or a function`},
		{[]string{"f(x)", "x + 1"}, "1", `expected a name, or a function`},
		{[]string{"f(u", "u + 1"}, "1", `expected a name, or a function`},
		{[]string{"f(u)", "sqrt(u) + u[7]"}, "2 + f(x)", `index 7 out of range: u, a vector of 3, has indices 0 to ` +
			`2, at column 12 of "sqrt(u) + u[7]"`},
	} {
		s, err := let(c.pairs...)
		if err == nil {
			_, err = s.Parse(c.use)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, %s: %v, want %s", c.pairs, c.use, err, c.want)
			continue
		}
		// A fault leaves the scope as it was.
		if v, err := s.Parse("sum(i in 0..2, i)"); err != nil || v.Size() != 1 {
			t.Errorf("after the fault: %v", err)
		}
	}
	// Each definition doubles the work: bounded, not 2⁴⁰.
	pairs := []string{"f0(u)", "u + 1"}
	for i := range 40 {
		n, m := "g"+string(rune('a'+i%26))+strings.Repeat("q", i/26), "f0"
		if i > 0 {
			m = pairs[len(pairs)-2][:strings.Index(pairs[len(pairs)-2], "(")]
		}
		pairs = append(pairs, n+"(u)", m+"(u) + "+m+"(u)")
	}
	s := testkit.Must(let(pairs...))
	last := pairs[len(pairs)-2]
	testkit.Refused(t, testkit.Err(s.Parse(strings.Replace(last, "(u)", "(1)", 1))), "expand to more than", "2⁴⁰ calls")
}

// Programmer's mistakes panic with the package's name.
func TestPanics(t *testing.T) {
	g, other := expr.NewGraph(2), expr.NewGraph(2)
	p := testkit.Must(g.Compile(g.X().At(0)))
	for name, f := range map[string]func(){
		"index":  func() { g.X().At(2) },
		"graphs": func() { g.X().Add(other.X()) },
		"shapes": func() { expr.Dot(g.X(), g.X().Slice(0, 1)) },
		"short":  func() { p.Values(make([]float64, 1), make([]float64, 3), 2) },
		"nan":    func() { g.Const(math.NaN()) },
		"dim":    func() { expr.NewGraph(-1) },
	} {
		func() {
			defer func() {
				r := recover()
				text, ok := r.(string)
				if e, isErr := r.(error); isErr {
					text, ok = e.Error(), true
				}
				if !ok || !strings.HasPrefix(text, "expr: ") {
					t.Errorf("%s: %v", name, r)
				}
			}()
			f()
		}()
	}
}

// The sine and cosine of one number are found at once, and leave what else is read alone: here
// x[0], with coordinates beside it that nothing reads.
func TestSineAndCosine(t *testing.T) {
	x := []float64{0.7, 5, -1.3, 9}
	sin, cos := math.Sincos(x[0])
	p := program(t, 4, "cos(x[0]) + x[2]*sin(x[0]) + x[0]", "x[0]*sin(x[0])", "x[2]^2 + cos(x[2])*sin(x[2]) - x[0]")
	got := make([]float64, 3)
	p.Values(got, x, 1)
	sin2, cos2 := math.Sincos(x[2])
	for i, want := range []float64{cos + x[2]*sin + x[0], x[0] * sin, x[2]*x[2] + cos2*sin2 - x[0]} {
		testkit.Near(t, got[i], want, 1e-15, "formula %d", i)
	}
}

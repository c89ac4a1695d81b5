package expr

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// fails returns the message with which f refuses, "" if it does not.
func fails(f func()) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}

// In a message stand at most 80 runes of a formula, 40 of them before the place where there are as
// many, and a sign where it is cut.
func TestWindow(t *testing.T) {
	var r []rune
	for i := range 200 {
		r = append(r, rune('α'+i%24))
	}
	all, part := string(r), func(from, to int) string { return string(r[from:to]) }
	for at, want := range map[int]string{
		0: part(0, 80) + "…", 40: part(0, 80) + "…", 41: "…" + part(1, 81) + "…", 100: "…" + part(60, 140) + "…",
		159: "…" + part(119, 199) + "…", 160: "…" + part(120, 200), 199: "…" + part(120, 200),
	} {
		testkit.Equal(t, window(all, at), want, "around %d", at)
	}
	if short := part(0, 80); window(short, 79) != short || window(part(0, 81), 0) != short+"…" {
		t.Error("80 runes are cut, or 81 are not")
	}
}

// An operation of two operands has both in its fault.
func TestFaultHasItsOperands(t *testing.T) {
	for formula, want := range map[string][]float64{
		"1/(x[0] - 2)": {1, 0}, "0^(x[0] - 3)": {0, -1}, "log(x[0] - 3)": {-1}} {
		g := NewGraph(1)
		v := testkit.Must(NewScope(g).Parse(formula))
		p := testkit.Must(g.Compile(v))
		if f := p.Fault([]float64{2}, 0); f == nil || f.Derivative || !slices.Equal(f.Operands, want) {
			t.Errorf("%s: %+v, want the operands %v", formula, f, want)
		}
	}
}

// What is too large or of another shape is refused in Go as in formulas, at the limit it is not.
func TestLimitsInGo(t *testing.T) {
	g := NewGraph(600)
	column := func(n int) Value { return g.X().Slice(0, n).Reshape(n, 1) }
	unit := func(n int) Value { return g.Identity(n) }
	p2, p3 := g.X().Slice(0, 2), g.X().Slice(0, 3)
	for _, c := range []struct {
		name, want string
		f          func()
	}{
		{"product", "*: a product of 600×600; at most 262144 elements are allowed",
			func() { column(600).Mul(Transpose(column(600))) }},
		{"largest product", "", func() { column(512).Mul(Transpose(column(512))) }},
		{"product's shapes", "*: shapes do not fit, ", func() { column(3).Mul(column(3)) }},
		{"determinant", "at most 10 rows are allowed", func() { Det(unit(11)) }},
		{"largest determinant", "", func() { Det(unit(10)) }},
		{"first point", "dihedral takes four points in R³", func() { Dihedral(p2, p3, p3, p3) }},
		{"last point", "dihedral takes four points in R³", func() { Dihedral(p3, p3, p3, p2) }},
		{"points of the plane", "dihedral takes four points in R³", func() { Dihedral(p2, p2, p2, p2) }},
		{"unit matrix", "a unit matrix with 0 rows", func() { unit(0) }},
		{"smallest unit matrix", "", func() { unit(1) }},
		{"large unit matrix", "a unit matrix with 513 rows", func() { unit(513) }},
		{"largest unit matrix", "", func() { unit(512) }},
		{"shape", "cannot become a 2×2 matrix", func() { p3.Reshape(2, 2) }},
		{"matrix without rows", "cannot become", func() { p3.Reshape(0, 3) }},
		{"power of a matrix", "powers of matrices are not formulas", func() { unit(2).Pow(g.Const(2)) }},
		{"power by a matrix", "^: ", func() { g.Const(2).Pow(unit(2)) }},
		{"no coordinates", "", func() { NewGraph(0) }},
		{"fewer", "expr: dimension -1", func() { NewGraph(-1) }},
	} {
		if got := fails(c.f); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	testkit.Equal(t, NewGraph(0).Dim(), 0, "dimension")
}

// Value distinguishes scalars that are numbers from vectors.
func TestValuesTell(t *testing.T) {
	g := NewGraph(5)
	if c, ok := g.X().Constant(); c != 0 || ok {
		t.Errorf("a vector is the number %v, %v", c, ok)
	}
	if c, ok := g.Const(3).Constant(); c != 3 || !ok {
		t.Errorf("three is %v, %v", c, ok)
	}
}

// A clone shares nothing that grows.
func TestCloneIsApart(t *testing.T) {
	g := NewGraph(3)
	for len(g.nodes) == cap(g.nodes) { // room that both could write to
		g.constant(float64(-len(g.nodes)))
	}
	c := g.clone()
	for i := range 40 {
		c.cause = 0
		other := c.constant(float64(10 + i))
		at := g.constant(float64(100 + i))
		if c.nodes[other].c != float64(10+i) {
			t.Fatalf("operation %d of the clone became %v", other, c.nodes[other])
		}
		if g.of[at] != at || c.of[at] != 0 || g.nodes[at].c != float64(100+i) || len(g.index) != len(c.index) {
			t.Fatalf("operation %d is laid to %d and %d", at, g.of[at], c.of[at])
		}
	}
}

// Powers of two are exact factors, other numbers and zero are not.
func TestPowerOfTwo(t *testing.T) {
	for c, want := range map[float64]bool{
		1: true, 2: true, 0.5: true, -4: true, 0x1p-1074: true, 3: false, 0: false, 1.5: false, -0.75: false,
	} {
		if powerOfTwo(c) != want {
			t.Errorf("%v is a power of two: %v", c, !want)
		}
	}
	g := NewGraph(1)
	x := g.X().At(0).e[0]
	if half := g.div(x, g.constant(2)); !g.is(half, opMul) || g.nodes[g.nodes[half].a].c != 0.5 {
		t.Error("a half is no product")
	}
	if third := g.div(x, g.constant(3)); !g.is(third, opDiv) {
		t.Error("a third is a product, which is rounded otherwise")
	}
}

// A chunk is an odd number of cache lines, as many as fit, between 8 and 120 points.
func TestChunks(t *testing.T) {
	for d, want := range map[int]int{1: 120, 100: 120, 200: 56, 300: 40, 1000: 8, 5000: 8} {
		g := NewGraph(d)
		p := testkit.Must(g.Compile(Norm(g.X())))
		e := p.NewEvaluator()
		v, x := make([]float64, 3), make([]float64, 3*d)
		for j := range x {
			x[j] = 1
		}
		e.Values(v, x, 3)
		if chunk := p.values.chunk; chunk != want || chunk/8%2 != 1 {
			t.Errorf("d = %d: a chunk of %d points, want %d", d, chunk, want)
		}
		for _, v := range v {
			if math.Abs(v-math.Sqrt(float64(d))) > 1e-9 {
				t.Errorf("a norm of %v in R^%d", v, d)
			}
		}
	}
}

// Over ranges of no, one and two numbers, and of vectors.
func TestRangesOfFewNumbers(t *testing.T) {
	x := []float64{3, 5, 0, -4}
	for formula, want := range map[string]float64{
		"sum(i in 0..-1, x[i])": 0, "prod(i in 0..-1, x[i])": 1, "norm(i in 0..-1, x[i])": 0,
		"sum(i in 1..1, x[i])": 5, "prod(i in 1..1, x[i])": 5, "norm(i in 3..3, x[i])": 4, "max(i in 1..1, x[i])": 5,
		"min(i in 1..1, x[i])": 5, "len(vector(i in 1..1, x[i]))": 1,
		"sum(i in 0..1, x[i])": 8, "prod(i in 0..1, x[i])": 15, "max(i in 0..1, x[i])": 5, "min(i in 0..1, x[i])": 3,
		"norm(sum(i in 2..3, x[2:4]*i))": 20, "sum(max(i in 0..1, x[2:4] + i))": -2,
		"sum(i in 0..1, j in i..1, x[j])":                         13,
		"let i = 7; sum(k in 0..1, x[k]) + i":                     15,
		"angle([3, x[2]], [0, 0], [x[2] + 1, 1])":                 math.Pi / 4,
		"angle([x[0], 0, 1], [0, 0, 1], [0, 0, x[1]])":            math.Pi / 2,
		"dihedral([1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, x[1]])": -math.Pi / 2,
	} {
		g := NewGraph(4)
		v, err := NewScope(g).Parse(formula)
		if err != nil {
			t.Errorf("%s: %v", formula, err)
			continue
		}
		p := testkit.Must(g.Compile(v))
		got := []float64{math.NaN()}
		p.NewEvaluator().Values(got, x, 1)
		if !(math.Abs(got[0]-want) < 1e-14*(1+math.Abs(want))) {
			t.Errorf("%s is %v, want %v", formula, got[0], want)
		}
	}
	for _, name := range []string{"max", "min"} {
		testkit.Refused(t, testkit.Err(NewScope(NewGraph(4)).Parse(name+"(i in 0..-1, x[i])")),
			name+" over an empty range", name)
	}
}

// A name of a range hides one of its kind inside, and is gone behind it.
func TestNamesOfRanges(t *testing.T) {
	s := NewScope(NewGraph(4))
	testkit.OK(t, s.Let("i", "5"))
	v, err := s.Parse("sum(i in 0..2, i) + i")
	if c, ok := Value.Constant(v); err != nil || !ok || c != 8 {
		t.Errorf("the sum is %v, %v", c, err)
	}
	testkit.Refused(t, testkit.Err(s.Parse("sum(k in 0..2, k) + k")), `unknown name "k"`, "a name behind its range")
}

// Ranges alone run their combinations in order, later ones inside earlier ones.
func TestForEach(t *testing.T) {
	s := NewScope(NewGraph(1))
	for ranges, want := range map[string]string{
		"i in 0..2": "[0] [1] [2] ", "i in 1..2, j in 0..i": "[1 0] [1 1] [2 0] [2 1] [2 2] ", "i in 3..2": "",
	} {
		got := ""
		err := s.ForEach(ranges, func() error {
			var at []int
			for _, name := range []string{"i", "j"} {
				if _, ok := s.names[name]; ok {
					i := testkit.Must(s.Index(name))
					at = append(at, i)
				}
			}
			got += fmt.Sprint(at) + " "
			return nil
		})
		if err != nil || got != want {
			t.Errorf("%s ran %q, %v", ranges, got, err)
		}
	}
	stop, times := errors.New("enough"), 0
	if err := s.ForEach("i in 0..9", func() error { times++; return stop }); !errors.Is(err, stop) || times != 1 {
		t.Errorf("ran %d times, %v", times, err)
	}
	for ranges, want := range map[string]string{
		"": "expected", "i": "expected a range such as j in 0..6", "i in 0..": "", "i in 2": "expected a range",
		"i in 5..2": "the range 5..2 runs backwards", "i in 0..262144": "has more than 262144 indices",
	} {
		err := s.ForEach(ranges, func() error { return nil })
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) || e.Formula != ranges {
			t.Errorf("%q: %v, want %q", ranges, err, want)
		}
	}
	var early *Error
	if err := s.ForEach("i in 0..", func() error { return nil }); !errors.As(err, &early) || early.From != 7 ||
		early.To != 8 {
		t.Errorf("a range that ends too early: %+v", early)
	}
	if i, err := s.Index("1 +"); i != 0 || err == nil {
		t.Errorf("no index is %d, %v", i, err)
	}
}

// A relation whose sides do not fit is marked at its sign.
func TestPlaceOfRelations(t *testing.T) {
	_, _, err := NewScope(NewGraph(3)).Relation("[1, 2] = x")
	var e *Error
	if !errors.As(err, &e) || e.From != 7 || e.To != 8 {
		t.Errorf("%+v", err)
	}
}

// Hints are at names at most half of whose letters differ, and at functions where one is called.
func TestHints(t *testing.T) {
	s := NewScope(NewGraph(3))
	testkit.OK(t, s.Let("radius", "1"))
	for formula, want := range map[string]string{
		"radiXX":  `did you mean "radius"?`,
		"radiXXX": `did you mean "radius"?`, "raXXXXX": "known are dim, pi, radius, x",
		"xx(1)": `unknown function "xx"`, "nrom(x)": `did you mean "norm"?`, "y": "known are dim, pi, radius, x",
	} {
		_, err := s.Parse(formula)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "did you mean") !=
			strings.Contains(want, "did you mean") {
			t.Errorf("%s: %v, want %q", formula, err, want)
		}
	}
}

// Room that is too small is refused by name before anything is written.
func TestRoomOfPrograms(t *testing.T) {
	g := NewGraph(3)
	p := testkit.Must(g.Compile(Sum(g.X()), g.X().At(1)))
	e := p.NewEvaluator()
	of := func(n int) []float64 { return make([]float64, n) }
	for _, c := range []struct {
		want string
		f    func()
	}{
		{"x", func() { e.SparseJacobians(of(4), of(8), of(5), 2) }},
		{"values", func() { e.SparseJacobians(of(3), of(8), of(6), 2) }},
		{"sparse Jacobians", func() { e.SparseJacobians(of(4), of(7), of(6), 2) }},
		{"", func() { e.SparseJacobians(of(4), of(8), of(6), 2) }},
		{"x", func() { e.HessianVectors(of(12), of(5), of(6), 2) }},
		{"v", func() { e.HessianVectors(of(12), of(6), of(5), 2) }},
		{"Hessian products", func() { e.HessianVectors(of(11), of(6), of(6), 2) }},
		{"", func() { e.HessianVectors(of(12), of(6), of(6), 2) }},
		{"values", func() { e.Values(of(3), of(6), 2) }},
		{"x", func() { e.Values(of(4), of(5), 2) }},
	} {
		if got := fails(c.f); (got == "") != (c.want == "") || !strings.Contains(got, "expr: ") && got != "" ||
			!strings.Contains(got, c.want) {
			t.Errorf("%q: %q", c.want, got)
		}
	}
}

// Expanding costs a step for each node, the names in sight where a function is called, and the
// elements of what is made.
func TestStepsOfExpanding(t *testing.T) {
	steps := func(names int, formula string) int {
		s := NewScope(NewGraph(8))
		for i := range names {
			testkit.OK(t, s.Let(fmt.Sprintf("n%d", i), "1"))
		}
		testkit.OK(t, s.Let("f(a)", "a"))
		before := *s.steps
		testkit.Must(s.Parse(formula))
		return *s.steps - before
	}
	for names := range 3 { // the call, its argument, the name in its body, and names + 1
		testkit.Equal(t, steps(names, "f(1)"), 3+names+1, "a call beside %d names takes", names)
	}
	matrix := func(r, c int) string { return fmt.Sprintf("reshape(x[0:%d], %d, %d)", r*c, r, c) }
	for _, c := range []struct{ r, k, c, size int }{{2, 3, 2, 12}, {2, 2, 4, 16}, {1, 4, 1, 4}, {4, 1, 2, 8}} {
		a, b := matrix(c.r, c.k), matrix(c.k, c.c)
		// x, of 8 numbers, is counted once.
		testkit.Equal(t, steps(0, a+"*"+b)-steps(0, a)-steps(0, b)+8, 1+c.size,
			"a product of %d×%d×%d takes", c.r, c.k, c.c)
	}
}

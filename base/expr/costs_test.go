package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Expanding costs a step for each node of the syntax tree and one for each element that an
// operation makes or a function reads; x costs its numbers once, and a range its length.
func TestStepsOfEveryNode(t *testing.T) {
	const x = 1 + 8 // the node, and its numbers
	for formula, want := range map[string]int{
		"1": 1, "1.5": 1, "pi": 1, "dim": 1, "x": x, "-x": 1 + x + 8, "+x": 1 + x + 8, "-pi": 1 + 1 + 1,
		"1 + pi": 1 + 2 + 1, "x + x": 1 + x + 1 + 8, "x/2": 1 + x + 1 + 8, "2*x": 1 + 1 + x + 8, "7 % 3": 1 + 2 + 1,
		"x[0]": 1 + x + 1 + 1, "x[0:2]": 1 + x + 2 + 1, "x[2:]": 1 + x + 1 + 1, "x[:2]": 1 + x + 1 + 1,
		"[1, 2, 3]": 1 + 3 + 3, "[[1, 2], [3, 4]]": 1 + 2*(1+2+2) + 4, "let a = 1; a": 1 + 1 + 1,
		"sin(x)": 1 + x + 1 + 8, "dot(x, x)": 1 + x + 1 + 1 + 16, "max(1, 2, 3)": 1 + 3 + 1 + 3,
		"sum(i in 0..3, i)":            1 + 2 + 4 + 4 + 4 + 4, // the bounds, the range, its items, and they twice
		"vector(i in 0..3, i)":         1 + 2 + 4 + 4 + 4 + 4,
		"sum(i in 0..2, [i, 1])":       1 + 2 + 3 + 3*(1+2+2) + 2*2, // two additions of two numbers
		"sum(i in 0..1, j in 0..2, i)": 1 + 2 + 2 + 2*(2+3) + 6 + 6 + 6,
		"det([[1, 2], [3, 4]])":        1 + 15 + 1 + 4<<2,
	} {
		s := NewScope(NewGraph(8))
		if _, err := s.Parse(formula); err != nil {
			t.Errorf("%s: %v", formula, err)
		} else if *s.steps != want {
			t.Errorf("%s takes %d steps, want %d", formula, *s.steps, want)
		}
	}
}

// At each limit a formula is accepted, and one beyond it refused by its own message.
func TestLimitsOfFormulas(t *testing.T) {
	power := func(n string) string { return "x[0]^" + n }
	for _, c := range []struct{ within, beyond, want string }{
		{"1" + strings.Repeat(" ", MaxText-1), "1" + strings.Repeat(" ", MaxText), "at most 16384 are allowed"},
		{strings.Repeat("(", MaxNesting) + "1" + strings.Repeat(")", MaxNesting),
			strings.Repeat("[", MaxNesting+1) + "1" + strings.Repeat("]", MaxNesting+1), "more than 200 brackets"},
		{"len(vector(i in 1..262144, 1))", "len(vector(i in 0..262144, 1))", "more than 262144 indices"},
		{"x[2^52 - 4503599627370495]", "x[2^52 + 2 - 2^52]", "index 2 out of range"},
		{"let a = 2^52 % 7; a", "let a = (2^52 + 1) % 7; a", "the dividend of % must be an integer"},
		{"sum(i in 0..-1, 1)", "sum(i in 0..-2, 1)", "runs backwards"},
		{"5 % 1", "5 % 0", "takes a positive divisor"},
	} {
		if _, err := NewScope(NewGraph(2)).Parse(c.within); err != nil {
			t.Errorf("%.40q: %v", c.within, err)
		}
		testkit.Refused(t, testkit.Err(NewScope(NewGraph(2)).Parse(c.beyond)), c.want, c.beyond)
	}
	// Integer powers up to 64 are products, also of what is divided by.
	for n, products := range map[string]bool{"64": true, "-64": true, "65": false, "-65": false, "2.5": false} {
		g := NewGraph(1)
		v := testkit.Must(NewScope(g).Parse(power(n)))
		powers := 0
		for _, i := range g.reach(v.e...) {
			if g.is(i, opPow) {
				powers++
			}
		}
		testkit.Equal(t, powers == 0, products, "x^%s has %d powers", n, powers)
	}
	// The last step of all is taken, the next is not.
	s := NewScope(NewGraph(2))
	*s.steps = MaxSteps - 1
	if _, err := s.Parse("1"); err != nil {
		t.Errorf("the last step: %v", err)
	}
	testkit.Refused(t, testkit.Err(s.Parse("1")), "expand to more than 4194304", "a step too many")
	// As many functions inside each other as brackets.
	for calls, ok := range map[int]bool{MaxNesting: true, MaxNesting + 1: false} {
		s, last := NewScope(NewGraph(1)), "u"
		for i := range calls {
			name := "f" + strings.Repeat("g", i)
			testkit.OK(t, s.Let(name+"(u)", last))
			last = name + "(u)"
		}
		v, err := s.Parse(strings.Replace(last, "(u)", "(3)", 1))
		if ok {
			if c, number := v.Constant(); err != nil || !number || c != 3 {
				t.Errorf("%d functions: %v, %v", calls, c, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), "more than 200 functions inside each other") {
			t.Errorf("%d functions: %v", calls, err)
		}
	}
}

// A vector of more numbers than may be is refused in Go too, and nothing joins values of two
// graphs: their numbers would be read as those of the first.
func TestValuesOfOneGraph(t *testing.T) {
	g, h := NewGraph(3), NewGraph(3)
	a, b := g.X(), h.X()
	m, n := a.Reshape(1, 3), b.Reshape(3, 1)
	for name, f := range map[string]func(){
		"join": func() { Join(a, b) }, "stack": func() { Stack(a, b) }, "add": func() { a.Add(b) },
		"times": func() { a.Times(b) }, "cross": func() { Cross(a, b) }, "product": func() { m.Mul(n) },
		"dot": func() { Dot(a, b) }, "max": func() { Max(a, b) }, "pow": func() { a.Pow(h.Const(2)) },
	} {
		testkit.Contains(t, fails(f), "values of different graphs", "%s", name)
	}
	most := make([]Value, MaxElements)
	for i := range most {
		most[i] = g.Const(1)
	}
	testkit.Equal(t, fails(func() { Join(most...) }), "", "the longest vector")
	testkit.Contains(t, fails(func() { Join(append(most, g.Const(1))...) }), "262145 elements", "a longer vector")
}

// A fault stands where its operation does, from its first rune to behind its last, in formulas,
// in functions and behind ranges.
func TestPlacesOfFaults(t *testing.T) {
	for formula, want := range map[string][2]int{
		"1 + x[7]": {5, 6}, "x[0:9] + 1": {1, 2}, "norm(x) + nix": {10, 13}, "2*f(x)": {2, 3}, "1 + sqrt()": {4, 8},
		"2 + 5 % 0": {6, 7}, "[1, x]": {0, 1}, "3*identity(0)": {2, 10}, "1 - 'text'": {4, 10},
		"sum(i in 3..0, 1)": {10, 12}, "sum(i in 0..9, x[i])": {16, 17}, "sum(1, i in 0..3)": {9, 11},
		"x/0": {1, 2}, "1 + (x + [1, 2, 3])": {7, 8},
	} {
		_, err := NewScope(NewGraph(2)).Parse(formula)
		var e *Error
		if !errors.As(err, &e) || [2]int{e.From, e.To} != want || e.Formula != formula {
			t.Errorf("%s: %v, %+v, want the place %v", formula, err, e, want)
		}
	}
}

// Variables with names of their own are the last, and x and dim those before; a name that is none,
// taken or given twice is refused.
func TestNamedVariables(t *testing.T) {
	g := NewGraph(5)
	s := testkit.Must(NewScopeOf(g, []string{"speed", "load"}))
	v := testkit.Must(s.Parse("[dim, len(x), x[2], speed, load]"))
	p := testkit.Must(g.Compile(v))
	got := make([]float64, 5)
	if p.Values(got, []float64{10, 11, 12, 13, 14}, 1); !slices.Equal(got, []float64{3, 3, 12, 13, 14}) {
		t.Errorf("dim, len(x), x[2], speed and load are %v", got)
	}
	testkit.Refused(t, testkit.Err(s.Parse("x[3]")), "indices 0 to 2", "a named variable by its number")
	for _, names := range [][]string{{"x"}, {"2a"}, {"a", "a"}, {"sin"}} {
		var e *Error
		if _, err := NewScopeOf(NewGraph(5), names); !errors.As(err, &e) || e.Name != names[len(names)-1] {
			t.Errorf("names %v: %v", names, err)
		}
	}
	if s, err := NewScopeOf(NewGraph(2), []string{"a", "b"}); err != nil {
		t.Error(err)
	} else if v, err := s.Parse("dim + len(x)"); err != nil {
		t.Error(err)
	} else if c, _ := v.Constant(); c != 0 {
		t.Errorf("of no other variables dim + len(x) is %v", c)
	}
	testkit.Contains(t, fails(func() { NewScopeOf(NewGraph(1), []string{"a", "b"}) }), "more names",
		"two names of one variable")
	if s, err := NewScopeOf(NewGraph(3), nil); err != nil || s.dim != 3 || s.g.Dim() != 3 {
		t.Errorf("no names: %v", err)
	}
}

// A graph refuses more operations than its limit.
func TestGraphIsBounded(t *testing.T) {
	g := NewGraph(1)
	g.nodes = append(g.nodes, make([]node, MaxNodes-1-len(g.nodes))...)
	if got := fails(func() { g.constant(5) }); got != "" || len(g.nodes) != MaxNodes {
		t.Errorf("the last operation: %q", got)
	}
	testkit.Contains(t, fails(func() { g.constant(6) }), "more than 2097152 operations", "one more")
	testkit.Equal(t, fails(func() { g.constant(5) }), "", "one that is there")
}

// What takes the place of an operation of a derivative is laid to the same operation of the
// formula, at its place: here a factor of 2 that a derivative brings is joined with one that it
// has, and the fault is that of the formula's square root.
func TestInsteadKeepsItsCause(t *testing.T) {
	g := NewGraph(2)
	half, s := g.constant(0.5), NewScope(g) // so the slope is added right after the sum, which is elsewhere
	v := testkit.Must(s.Parse("x[1] + sqrt(x[0])"))
	root := g.nodes[v.e[0]].b
	if !g.is(root, opSqrt) {
		root = g.nodes[v.e[0]].a
	}
	var slope int32
	g.differentiate(root, func() { slope = g.div(half, root) })
	for name, add := range map[string]func() int32{
		"a factor": func() int32 { return g.mul(g.constant(4), slope) }, "a sign": func() int32 { return g.neg(slope) },
	} {
		i := add()
		if i == slope || g.of[i] != root || g.place[i] != g.place[root] || g.place[i].From != 7 {
			t.Errorf("%s of the slope of node %d is laid to %d at %+v", name, root, g.of[i], g.place[i])
		}
	}
	// Outside of derivatives an operation is its own.
	own := g.mul(g.constant(3), g.X().e[0])
	if i := g.mul(g.constant(2), own); g.of[i] != i || g.place[i] != (Place{}) {
		t.Errorf("a product is laid to %d at %+v", g.of[i], g.place[i])
	}
	if g.cause != -1 || g.here != (Place{}) {
		t.Errorf("the graph is left within node %d at %+v", g.cause, g.here)
	}
}

// A matrix has rows and columns, both at least one: no two negative numbers make one, nor more than may be of either.
func TestShapesOfMatrices(t *testing.T) {
	g := NewGraph(6)
	for shape, ok := range map[[2]int]bool{
		{2, 3}: true, {6, 1}: true, {1, 6}: true, {-2, -3}: false, {-1, -6}: false, {0, 6}: false, {6, 0}: false,
		{2, 2}: false, {1 << 33, 6 >> 1}: false, {MaxElements + 1, 0}: false,
	} {
		if got := fails(func() { g.X().Reshape(shape[0], shape[1]) }); (got == "") != ok ||
			!ok && !strings.Contains(got, "a vector of 6 cannot become") {
			t.Errorf("%v: %q", shape, got)
		}
	}
	for formula, want := range map[string]string{
		"norm(i in 0..1)":           "takes one formula after it, not 0",
		"norm(i in 0..1, 1, 2)":     "takes one formula after it, not 2",
		"sum(i in 0..1, j in 0..1)": "not 0", "vector(i in 0..1, j in 0..1, 1, 2, 3)": "not 3",
		"sqrt(i in 0..1, 1)": "sqrt takes no range", "norm(i in 0..1, x)": "norm over a range takes numbers",
	} {
		testkit.Refused(t, testkit.Err(NewScope(g).Parse(formula)), want, formula)
	}
}

// What cannot be read at all is marked from where it goes wrong to behind it; where that is nowhere,
// at the beginning, with no length.
func TestPlacesOfSyntax(t *testing.T) {
	deep := strings.Repeat("(", MaxNesting+1)
	for formula, want := range map[string][2]int{
		"": {0, 0}, "  ": {0, 0}, "1 \xff": {0, 0}, deep + "1": {MaxNesting, MaxNesting + 1},
		"äö + " + deep + "1": {MaxNesting + 5, MaxNesting + 6}, "1 ) 2": {2, 3}, "(1": {1, 2}, "1 +": {2, 3},
		"1e999": {4, 5}, "a $ b": {2, 3},
	} {
		_, err := NewScope(NewGraph(2)).Parse(formula)
		var e *Error
		if !errors.As(err, &e) || [2]int{e.From, e.To} != want || e.Formula != formula {
			t.Errorf("%.20q: %+v, want the place %v", formula, e, want)
		}
	}
	// Of ranges alone the words around them, which are not the author's, have no place.
	for ranges, want := range map[string][2]int{
		"i in 0..3, j": {11, 12}, "": {0, 0}, "i in ": {4, 5}, "k in 5..1": {6, 8},
	} {
		err := NewScope(NewGraph(2)).ForEach(ranges, func() error { return nil })
		var e *Error
		if !errors.As(err, &e) || [2]int{e.From, e.To} != want || e.Formula != ranges {
			t.Errorf("%q: %+v, want the place %v", ranges, e, want)
		}
	}
}

// Steps are counted before they are taken: the elements of what a range adds up, and x.
func TestStepsAreCounted(t *testing.T) {
	steps := func(formula string) int {
		s := NewScope(NewGraph(1000))
		testkit.Must(s.Parse(formula))
		return *s.steps
	}
	if n := steps("x[0]"); n < 1000 {
		t.Errorf("x of 1000 elements is counted as %d steps", n)
	}
	if n := steps("norm(sum(i in 0..49, x))") - steps("norm(sum(i in 0..9, x))"); n < 40*1000 {
		t.Errorf("40 more vectors of 1000 in a sum are counted as %d steps", n)
	}
	// A determinant of 8 rows takes about 64·2⁸ steps.
	if n := steps("det(reshape(x[0:64], 8, 8))") - steps("len(reshape(x[0:64], 8, 8))"); n < 63<<8 || n > 65<<8 {
		t.Errorf("a determinant of 8 rows is counted as %d steps", n)
	}
}

// Every function refuses one argument more than it takes, and one fewer, and not what it takes.
func TestArity(t *testing.T) {
	takes := map[string][2]int{"angle": {2, 3}, "dihedral": {4, 4}, "reshape": {3, 3}, "where": {3, 3},
		"max": {1, -1}, "min": {1, -1}}
	for _, name := range []string{"atan2", "dot", "cross", "distance", "times"} {
		takes[name] = [2]int{2, 2}
	}
	for name := range functions {
		least, most := 1, 1
		if n, ok := takes[name]; ok {
			least, most = n[0], n[1]
		}
		refused := func(n int) bool {
			arguments := strings.TrimSuffix(strings.Repeat("1, ", n), ", ")
			_, err := NewScope(NewGraph(2)).Parse(name + "(" + arguments + ")")
			return err != nil && strings.Contains(err.Error(), fmt.Sprintf("%s takes", name)) &&
				strings.Contains(err.Error(), fmt.Sprintf(", not %d: ", n))
		}
		if least > 1 && !refused(least-1) || refused(least) {
			t.Errorf("%s takes %d arguments", name, least)
		}
		if most > 0 && (refused(most) || !refused(most+1)) {
			t.Errorf("%s takes at most %d arguments", name, most)
		}
	}
}

// What is built in Go after a formula has no place in it.
func TestPlaceEndsWithTheFormula(t *testing.T) {
	g := NewGraph(2)
	testkit.Must(NewScope(g).Parse("x[0] + 1"))
	p := testkit.Must(g.Compile(Sqrt(g.X().At(1))))
	if f := p.Fault([]float64{1, -1}, 0); f == nil || f.Place != (Place{}) {
		t.Errorf("the fault of what no formula says: %+v", f)
	}
}

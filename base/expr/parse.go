package expr

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// plain makes the parser treat every name as an ordinary function: the language's own built-ins are not ours.
var plain = func() conf.FunctionsTable {
	t := conf.FunctionsTable{}
	for _, f := range builtin.Builtins {
		t[f.Name] = f
	}
	return t
}()

// tuples are names in brackets before "in": (i, j) in edges. The parser reads them as a list.
var tuples = regexp.MustCompile(`\((\s*\pL[\pL\pN_]*(?:\s*,\s*\pL[\pL\pN_]*)*\s*)\)(\s+in\s)`)

// syntax parses text whose first skip runes are not the author's.
func syntax(text string, skip int) (n ast.Node, err error) {
	fail := func(from, to int, format string, args ...any) error {
		return &Error{Formula: text, From: max(0, from-skip), To: max(0, to-skip),
			Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case len(text) > MaxText:
		return nil, &Error{Formula: text[:0], Message: fmt.Sprintf("a formula of %d bytes; at most %d are allowed",
			len(text), MaxText)}
	case !utf8.ValidString(text):
		return nil, fail(0, 0, "the formula is not UTF-8 text")
	case strings.TrimSpace(text) == "":
		return nil, fail(0, 0, "an empty formula")
	}
	if at := tooDeep(text); at >= 0 {
		return nil, fail(at, at+1, "more than %d brackets inside each other", MaxNesting)
	}
	defer func() { // a fault of the parser must not end the program
		if r := recover(); r != nil {
			n, err = nil, fail(0, 0, "the formula cannot be read")
		}
	}()
	tree, err := parser.ParseWithConfig(tuples.ReplaceAllString(text, "[$1]$2"), &conf.Config{MaxNodes: MaxSyntax,
		Functions: plain, DisableIfOperator: true})
	if err != nil {
		var e *file.Error
		if !errors.As(err, &e) {
			return nil, fail(0, 0, "%v", err)
		}
		return nil, fail(e.From, max(e.To, e.From+1), "%s", message(e.Message))
	}
	return tree.Node, nil
}

func message(m string) string {
	switch {
	case strings.Contains(m, "Token(EOF)"), strings.Contains(m, "token EOF"):
		return "the formula ends too early"
	case strings.Contains(m, "maximum allowed nodes"):
		return fmt.Sprintf("the formula has more than %d parts", MaxSyntax)
	case strings.HasPrefix(m, "unexpected token "):
		token := strings.TrimPrefix(m, "unexpected token ")
		if _, value, ok := strings.Cut(token, "("); ok {
			token = strings.TrimSuffix(value, ")")
		}
		return "unexpected " + token
	}
	return m
}

// tooDeep returns the place where brackets go deeper than MaxNesting, or −1. Other
// recursion of the parser is bounded by MaxText.
func tooDeep(text string) int {
	depth, at := 0, 0
	for _, r := range text {
		switch r {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth > MaxNesting {
			return at
		}
		at++
	}
	return -1
}

// stop is the parser's own panic.
type stop struct{ err *Error }

// A reading evaluates a syntax tree of a text, in a scope.
type reading struct {
	*Scope
	text  string
	skip  int // runes before the author's
	depth int // functions inside each other
}

func (r *reading) failAt(n ast.Node, format string, args ...any) {
	r.place(n)
	at := r.g.here
	panic(stop{&Error{Formula: r.text, From: at.From, To: at.To, Message: fmt.Sprintf(format, args...)}})
}

// place notes which part of the text is being built.
func (r *reading) place(n ast.Node) {
	l := n.Location()
	r.g.here = Place{r.text, max(0, l.From-r.skip), max(0, l.To-r.skip)}
}

func (r *reading) work(n ast.Node, steps int) {
	if *r.steps += steps; *r.steps > MaxSteps {
		r.failAt(n, "the formulas expand to more than %d operations", MaxSteps)
	}
}

var infix = map[string]func(a, b Value) Value{
	"+": Value.Add, "-": Value.Sub, "*": Value.Mul, "/": Value.Div, "^": Value.Pow, "**": Value.Pow,
}

// eval returns the value of a syntax tree. Sums and products lean to the left,
// so a long one is deep; Go's stack grows to hold MaxSyntax levels.
func (r *reading) eval(n ast.Node) Value {
	r.work(n, 1)
	switch n := n.(type) {
	case *ast.IntegerNode:
		return r.g.Const(float64(n.Value))
	case *ast.FloatNode:
		if !finite(n.Value) {
			r.failAt(n, "%v is not a number of a formula", n.Value)
		}
		return r.g.Const(n.Value)
	case *ast.IdentifierNode:
		return r.named(n)
	case *ast.UnaryNode:
		v := r.eval(n.Node)
		r.sized(n, v.Size())
		switch n.Operator {
		case "-":
			return v.Neg()
		case "+":
			return v
		}
	case *ast.BinaryNode:
		return r.binary(n)
	case *ast.MemberNode:
		return r.member(n)
	case *ast.SliceNode:
		return r.slice(n)
	case *ast.ArrayNode:
		return r.collect(n, r.all(n.Nodes))
	case *ast.CallNode:
		return r.call(n)
	case *ast.VariableDeclaratorNode:
		v := r.eval(n.Value)
		return r.with(n, n.Name, v, func() Value { return r.eval(n.Expr) })
	case *ast.StringNode:
		r.failAt(n, "text has no place in a formula")
	}
	r.failAt(n, "formulas do not have this; they have arithmetic, functions, ranges, slices and let")
	panic("unreachable")
}

// sized notes the place and counts the elements of an operation to come.
func (r *reading) sized(n ast.Node, elements int) {
	r.work(n, elements)
	r.place(n)
}

func (r *reading) named(n *ast.IdentifierNode) Value {
	r.place(n)
	if v, ok := r.names[n.Value]; ok {
		if v.g == nil { // LetStep
			r.failAt(n, NoNext)
		}
		return v
	}
	switch n.Value {
	case "x":
		if r.x.g == nil {
			r.work(n, r.g.dim)
			*r.x = r.g.X().Slice(0, r.dim)
		}
		return *r.x
	case "dim":
		return r.g.Const(float64(r.dim))
	case "pi":
		return r.g.Const(math.Pi)
	}
	if f, ok := functions[n.Value]; ok {
		r.failAt(n, "%s is a function: %s", n.Value, f.form)
	}
	if n.Value == r.defining {
		r.failAt(n, "%q is defined by itself: definitions cannot be recursive", n.Value)
	}
	r.failAt(n, "unknown name %q%s", n.Value, r.nearest(n.Value, false))
	panic("unreachable")
}

// with evaluates body with a name that hides outer ones of its kind.
func (r *reading) with(n ast.Node, name string, v Value, body func() Value) Value {
	old, had := r.names[name]
	delete(r.names, name)
	if err := r.Define(name, v); err != nil {
		r.failAt(n, "%s: %s", name, err.(*Error).Message)
	}
	defer func() {
		if had {
			r.names[name] = old
		} else {
			delete(r.names, name)
		}
	}()
	return body()
}

func (r *reading) binary(n *ast.BinaryNode) Value {
	switch n.Operator {
	case "<", ">", "<=", ">=", "==", "!=":
		r.failAt(n, "a comparison inside a formula; one may stand alone between two sides (for a >= 0 or "+
			"b >= 0 write max(a, b) >= 0)")
	case "in", "..":
		r.failAt(n, "a range can only come first in functions such as sum, min and vector: sum(i in 0..3, x[i])")
	}
	a, b := r.eval(n.Left), r.eval(n.Right)
	size := max(a.Size(), b.Size())
	if n.Operator == "*" && !a.IsScalar() && !b.IsScalar() {
		size = a.Size() * max(1, b.Size()/max(1, b.Len()))
	}
	r.sized(n, size)
	if n.Operator == "%" {
		d := b.integer("the divisor of %")
		if d <= 0 {
			r.failAt(n, "%% takes a positive divisor, not %d", d)
		}
		return r.g.Const(float64(((a.integer("the dividend of %") % d) + d) % d))
	}
	do, ok := infix[n.Operator]
	if !ok {
		r.failAt(n, "formulas do not have the operator %q", n.Operator)
	}
	return do(a, b)
}

func (r *reading) member(n *ast.MemberNode) Value {
	if _, text := n.Property.(*ast.StringNode); text || n.Optional {
		r.failAt(n, "formulas have no fields")
	}
	v := r.eval(n.Node)
	i := r.index(n.Property)
	r.sized(n, 1)
	if name := called(n.Node); name != "" && !v.IsScalar() && (i < 0 || i >= v.Len()) {
		r.failAt(n, "index %d out of range: %s, %s, has indices 0 to %d", i, name, v.shape, v.Len()-1)
	}
	return v.At(i)
}

// called returns the name of an array for messages, or "a row of" and the array's name; "" if it has none.
func called(n ast.Node) string {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return n.Value
	case *ast.MemberNode:
		if of := called(n.Node); of != "" {
			return "a row of " + of
		}
	}
	return ""
}

func (r *reading) index(n ast.Node) int {
	v := r.eval(n)
	r.place(n)
	return v.integer("an index")
}

func (r *reading) slice(n *ast.SliceNode) Value {
	v := r.eval(n.Node)
	from, to := 0, v.Len()
	if n.From != nil {
		from = r.index(n.From)
	}
	if n.To != nil {
		to = r.index(n.To)
	}
	r.sized(n, 1)
	return v.Slice(from, to)
}

func (r *reading) all(nodes []ast.Node) []Value {
	values := make([]Value, len(nodes))
	for i, e := range nodes {
		values[i] = r.eval(e)
	}
	return values
}

// collect makes a vector of numbers, or a matrix of vectors of one length.
func (r *reading) collect(n ast.Node, values []Value) Value {
	size := 0
	for _, v := range values {
		size += v.Size()
	}
	r.sized(n, size)
	if len(values) > 0 && values[0].shape.rank == 1 {
		return Stack(values...)
	}
	for _, v := range values {
		if !v.IsScalar() {
			failf("a vector of %s", v.shape)
		}
	}
	return Join(values...)
}

func isRange(n ast.Node) bool {
	b, ok := n.(*ast.BinaryNode)
	return ok && b.Operator == "in"
}

// ranges runs do for every combination of the first count arguments, each "name in from..to", "name in vector" or
// "(i, j) in matrix", later ones inside earlier ones, until it returns false.
func (r *reading) ranges(args []ast.Node, count int, do func() bool) bool {
	if count == 0 {
		return do()
	}
	b, ok := args[0].(*ast.BinaryNode)
	if !ok || b.Operator != "in" {
		r.failAt(args[0], "expected a range such as j in 0..6")
	}
	names := []ast.Node{b.Left}
	if list, ok := b.Left.(*ast.ArrayNode); ok {
		names = list.Nodes
	}
	for _, n := range names {
		name, ok := n.(*ast.IdentifierNode)
		if !ok {
			r.failAt(b, "expected a range such as j in 0..6, or (i, j) in edges")
		}
		if r.coordinates[name.Value] {
			r.failAt(n, "the index %s has the name of a coordinate", name.Value)
		}
	}
	rows, at := r.domain(b, len(names))
	r.work(b.Right, rows*len(names)) // counted before it is expanded
	var bind func(row, k int) bool
	bind = func(row, k int) (more bool) {
		if k == len(names) {
			return r.ranges(args[1:], count-1, do)
		}
		r.with(names[k], names[k].(*ast.IdentifierNode).Value, at(row, k), func() Value {
			more = bind(row, k+1)
			return Value{}
		})
		return more
	}
	for row := range rows {
		if !bind(row, 0) {
			return false
		}
	}
	return true
}

// domain returns what the names of a range run over: how many rows, and in each the value of name k.
func (r *reading) domain(b *ast.BinaryNode, names int) (rows int, at func(row, k int) Value) {
	if bounds, ok := b.Right.(*ast.BinaryNode); ok && bounds.Operator == ".." && names == 1 {
		from, to := r.index(bounds.Left), r.index(bounds.Right)
		if to < from-1 {
			r.failAt(bounds, "the range %d..%d runs backwards", from, to)
		}
		if to-from >= MaxElements {
			r.failAt(bounds, "the range %d..%d has more than %d indices", from, to, MaxElements)
		}
		return to - from + 1, func(row, _ int) Value { return r.g.Const(float64(from + row)) }
	}
	v, name := r.eval(b.Right), cmp.Or(called(b.Right), "the list")
	if rows = v.Len(); v.IsScalar() {
		r.failAt(b, "expected a range such as j in 0..6, or an array")
	} else if width := v.Size() / max(rows, 1); width != names {
		r.failAt(b, "%s is %s: %d indices in each row; expected %d", name, v.shape, width, names)
	}
	return rows, func(row, k int) Value {
		i := v.Element(row*names + k)
		if c, ok := i.Constant(); !ok || c < 0 || c != math.Trunc(c) || c > 1<<52 {
			what := "a number that depends on x"
			if ok {
				what = fmt.Sprint(c)
			}
			r.failAt(b.Right, "row %d of %s (from 0) has %s; expected whole numbers of at least 0", row, name, what)
		}
		return i
	}
}

func (r *reading) call(n *ast.CallNode) Value {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		r.failAt(n, "formulas have no methods")
	}
	if w := r.words[callee.Value]; w != nil {
		return r.word(n, w)
	}
	if callee.Value == "next" && r.seq != nil {
		return r.next(n)
	}
	m := r.macros[callee.Value]
	if m != nil && m.order < r.order {
		return r.apply(n, m)
	}
	f, ok := functions[callee.Value]
	if !ok {
		if _, value := r.names[callee.Value]; value {
			r.failAt(n, "%s is a value, not a function; elements are %s[…]", callee.Value, callee.Value)
		}
		if m != nil && m.order == r.order {
			r.failAt(n, "%s calls itself: definitions cannot be recursive", m.form)
		} else if m != nil {
			r.failAt(n, "%s is defined later: a definition sees those before it, so none is recursive", m.form)
		}
		r.failAt(n, "unknown function %q%s", callee.Value, r.nearest(callee.Value, true))
	}
	count := 0
	for count < len(n.Arguments) && isRange(n.Arguments[count]) {
		count++
	}
	if count > 0 {
		return r.over(n, callee.Value, f, count)
	}
	args := r.all(n.Arguments)
	if len(args) < f.min || f.max >= 0 && len(args) > f.max {
		r.failAt(n, "%s takes %s, not %d: %s", callee.Value, f.arity(), len(args), f.form)
	}
	r.sized(n, f.steps(args))
	return f.do(args)
}

// over calls a function over ranges, its first count arguments: of numbers as of
// the vector that they make, of vectors element by element.
func (r *reading) over(n *ast.CallNode, name string, f function, count int) Value {
	if !f.ranges {
		r.failAt(n, "%s takes no range: %s", name, f.form)
	}
	if len(n.Arguments) != count+1 {
		r.failAt(n, "%s over a range takes one formula after it, not %d", name, len(n.Arguments)-count)
	}
	var items []Value
	r.ranges(n.Arguments, count, func() bool {
		items = append(items, r.eval(n.Arguments[count]))
		return true
	})
	r.place(n)
	switch {
	case len(items) == 0 && f.empty == nil:
		r.failAt(n, "%s over an empty range", name)
	case len(items) == 0:
		return f.empty(r.g)
	case items[0].IsScalar() || name == "vector":
		all := r.collect(n, items)
		r.sized(n, all.Size())
		return f.do([]Value{all})
	case f.fold == nil:
		r.failAt(n, "%s over a range takes numbers, not %s", name, items[0].shape)
	}
	total := items[0]
	for _, v := range items[1:] {
		r.sized(n, v.Size())
		total = f.fold(total, v)
	}
	return total
}

func (r *reading) word(n *ast.CallNode, make maker) Value {
	const steps = 1000 // or so
	r.sized(n, steps)
	word := ""
	if len(n.Arguments) == 1 {
		switch a := n.Arguments[0].(type) {
		case *ast.IdentifierNode:
			word = a.Value
		case *ast.StringNode:
			word = a.Value
		}
	}
	v, err := make(r.Scope, word)
	if err != nil {
		r.failAt(n, "%v", err)
	}
	return v
}

// apply calls a function, which sees its arguments and what was defined before it.
func (r *reading) apply(n *ast.CallNode, m *macro) Value {
	if len(n.Arguments) != len(m.params) {
		r.failAt(n, "%s takes %s, not %d", m.form, arguments(len(m.params)), len(n.Arguments))
	}
	if r.depth >= MaxNesting {
		r.failAt(n, "more than %d functions inside each other", MaxNesting)
	}
	args := r.all(n.Arguments)
	r.work(n, len(m.names)+1)
	inside := *r.Scope
	inside.names, inside.order = maps.Clone(m.names), m.order
	for i, p := range m.params {
		inside.names[p] = args[i]
	}
	return (&reading{&inside, m.text, 0, r.depth + 1}).eval(m.body)
}

// next is the call next(v).
func (r *reading) next(n *ast.CallNode) Value {
	if len(n.Arguments) != 1 {
		r.failAt(n, "next takes one argument, not %d: next(value)", len(n.Arguments))
	}
	v := r.eval(n.Arguments[0])
	nodes := r.g.reach(v.e...)
	r.sized(n, len(nodes)+v.Size())
	at := r.g.copy(&r.g.dag, nodes, func(j int32) int32 {
		if int(j) < r.seq.end-r.seq.length {
			return r.g.variable(int(j) + r.seq.length)
		}
		if r.seq.end == 0 || int(j) < r.seq.end {
			r.failAt(n, NoNext)
		}
		return r.g.variable(int(j))
	})
	moved := Value{r.g, v.shape, make([]int32, len(v.e))}
	for i, e := range v.e {
		moved.e[i] = at(e)
	}
	return moved
}

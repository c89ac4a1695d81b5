package expr

import (
	"cmp"
	"errors"
	"fmt"
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
func (s *Scope) syntax(text string, skip int) (n ast.Node, err error) {
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

func (s *Scope) failAt(n ast.Node, format string, args ...any) {
	s.place(n)
	panic(stop{&Error{Formula: s.text, From: s.at.From, To: s.at.To, Message: fmt.Sprintf(format, args...)}})
}

// place notes which part of the text is being built.
func (s *Scope) place(n ast.Node) {
	l := n.Location()
	s.at = Place{s.text, max(0, l.From-s.skip), max(0, l.To-s.skip)}
	s.g.here = s.at
}

// building runs do, and returns the faults of formulas as errors. Places are moved back by skip runes.
func (s *Scope) building(text string, skip int, do func()) (err error) {
	outer := *s
	s.text, s.skip = text, skip
	defer func() { // a fault may have left the text of a function, and its names
		s.names, s.text, s.skip, s.order, s.calls = outer.names, outer.text, outer.skip, outer.order, outer.calls
		s.g.here = Place{}
		switch r := recover().(type) {
		case nil:
		case stop:
			err = r.err
		case fault:
			err = &Error{Formula: s.at.Formula, From: s.at.From, To: s.at.To, Message: string(r)}
		default:
			panic(r)
		}
	}()
	do()
	return nil
}

func (s *Scope) value(n ast.Node, text string) (v Value, err error) {
	err = s.building(text, 0, func() { v = s.eval(n) })
	return v, err
}

func (s *Scope) work(n ast.Node, steps int) {
	if *s.steps += steps; *s.steps > MaxSteps {
		s.failAt(n, "the formulas expand to more than %d operations", MaxSteps)
	}
}

var infix = map[string]func(a, b Value) Value{
	"+": Value.Add, "-": Value.Sub, "*": Value.Mul, "/": Value.Div, "^": Value.Pow, "**": Value.Pow,
}

// eval returns the value of a syntax tree. Sums and products lean to the left,
// so a long one is deep; Go's stack grows to hold MaxSyntax levels.
func (s *Scope) eval(n ast.Node) Value {
	s.work(n, 1)
	switch n := n.(type) {
	case *ast.IntegerNode:
		return s.g.Const(float64(n.Value))
	case *ast.FloatNode:
		if !finite(n.Value) {
			s.failAt(n, "%v is not a number of a formula", n.Value)
		}
		return s.g.Const(n.Value)
	case *ast.IdentifierNode:
		return s.named(n)
	case *ast.UnaryNode:
		v := s.eval(n.Node)
		s.sized(n, v.Size())
		switch n.Operator {
		case "-":
			return v.Neg()
		case "+":
			return v
		}
	case *ast.BinaryNode:
		return s.binary(n)
	case *ast.MemberNode:
		return s.member(n)
	case *ast.SliceNode:
		return s.slice(n)
	case *ast.ArrayNode:
		return s.collect(n, s.all(n.Nodes))
	case *ast.CallNode:
		return s.call(n)
	case *ast.VariableDeclaratorNode:
		v := s.eval(n.Value)
		return s.with(n, n.Name, v, func() Value { return s.eval(n.Expr) })
	case *ast.StringNode:
		s.failAt(n, "text has no place in a formula")
	}
	s.failAt(n, "formulas do not have this; they have arithmetic, functions, ranges, slices and let")
	panic("unreachable")
}

// sized notes the place and counts the elements of an operation to come.
func (s *Scope) sized(n ast.Node, elements int) {
	s.work(n, elements)
	s.place(n)
}

func (s *Scope) named(n *ast.IdentifierNode) Value {
	s.place(n)
	if v, ok := s.names[n.Value]; ok {
		if v.g == nil { // LetStep
			s.failAt(n, NoNext)
		}
		return v
	}
	switch n.Value {
	case "x":
		if s.x.g == nil {
			s.work(n, s.g.dim)
			s.x = s.g.X().Slice(0, s.dim)
		}
		return s.x
	case "dim":
		return s.g.Const(float64(s.dim))
	case "pi":
		return s.g.Const(math.Pi)
	}
	if f, ok := functions[n.Value]; ok {
		s.failAt(n, "%s is a function: %s", n.Value, f.form)
	}
	if n.Value == s.defining {
		s.failAt(n, "%q is defined by itself: definitions cannot be recursive", n.Value)
	}
	s.failAt(n, "unknown name %q%s", n.Value, s.nearest(n.Value, false))
	panic("unreachable")
}

// with evaluates body with a name that hides outer ones of its kind.
func (s *Scope) with(n ast.Node, name string, v Value, body func() Value) Value {
	names := s.names // a fault inside body may leave those of a function
	old, had := names[name]
	delete(names, name)
	if err := s.Define(name, v); err != nil {
		s.failAt(n, "%s: %s", name, err.(*Error).Message)
	}
	defer func() {
		if had {
			names[name] = old
		} else {
			delete(names, name)
		}
	}()
	return body()
}

func (s *Scope) binary(n *ast.BinaryNode) Value {
	switch n.Operator {
	case "<", ">", "<=", ">=", "==", "!=":
		s.failAt(n, "a comparison inside a formula; one may stand alone between two sides")
	case "in", "..":
		s.failAt(n, "a range can only come first in functions such as sum, min and vector: sum(i in 0..3, x[i])")
	}
	a, b := s.eval(n.Left), s.eval(n.Right)
	size := max(a.Size(), b.Size())
	if n.Operator == "*" && !a.IsScalar() && !b.IsScalar() {
		size = a.Size() * max(1, b.Size()/max(1, b.Len()))
	}
	s.sized(n, size)
	if n.Operator == "%" {
		d := b.integer("the divisor of %")
		if d <= 0 {
			s.failAt(n, "%% takes a positive divisor, not %d", d)
		}
		return s.g.Const(float64(((a.integer("the dividend of %") % d) + d) % d))
	}
	do, ok := infix[n.Operator]
	if !ok {
		s.failAt(n, "formulas do not have the operator %q", n.Operator)
	}
	return do(a, b)
}

func (s *Scope) member(n *ast.MemberNode) Value {
	if _, text := n.Property.(*ast.StringNode); text || n.Optional {
		s.failAt(n, "formulas have no fields")
	}
	v := s.eval(n.Node)
	i := s.index(n.Property)
	s.sized(n, 1)
	if name := called(n.Node); name != "" && !v.IsScalar() && (i < 0 || i >= v.Len()) {
		s.failAt(n, "index %d out of range: %s, %s, has indices 0 to %d", i, name, v.shape, v.Len()-1)
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

func (s *Scope) index(n ast.Node) int {
	v := s.eval(n)
	s.place(n)
	return v.integer("an index")
}

func (s *Scope) slice(n *ast.SliceNode) Value {
	v := s.eval(n.Node)
	from, to := 0, v.Len()
	if n.From != nil {
		from = s.index(n.From)
	}
	if n.To != nil {
		to = s.index(n.To)
	}
	s.sized(n, 1)
	return v.Slice(from, to)
}

func (s *Scope) all(nodes []ast.Node) []Value {
	values := make([]Value, len(nodes))
	for i, e := range nodes {
		values[i] = s.eval(e)
	}
	return values
}

// collect makes a vector of numbers, or a matrix of vectors of one length.
func (s *Scope) collect(n ast.Node, values []Value) Value {
	size := 0
	for _, v := range values {
		size += v.Size()
	}
	s.sized(n, size)
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
func (s *Scope) ranges(args []ast.Node, count int, do func() bool) bool {
	if count == 0 {
		return do()
	}
	b, ok := args[0].(*ast.BinaryNode)
	if !ok || b.Operator != "in" {
		s.failAt(args[0], "expected a range such as j in 0..6")
	}
	names := []ast.Node{b.Left}
	if list, ok := b.Left.(*ast.ArrayNode); ok {
		names = list.Nodes
	}
	for _, n := range names {
		name, ok := n.(*ast.IdentifierNode)
		if !ok {
			s.failAt(b, "expected a range such as j in 0..6, or (i, j) in edges")
		}
		if s.coordinates[name.Value] {
			s.failAt(n, "the index %s has the name of a coordinate", name.Value)
		}
	}
	rows, at := s.domain(b, len(names))
	s.work(b.Right, rows*len(names)) // counted before it is expanded
	var bind func(row, k int) bool
	bind = func(row, k int) (more bool) {
		if k == len(names) {
			return s.ranges(args[1:], count-1, do)
		}
		s.with(names[k], names[k].(*ast.IdentifierNode).Value, at(row, k), func() Value {
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
func (s *Scope) domain(b *ast.BinaryNode, names int) (rows int, at func(row, k int) Value) {
	if bounds, ok := b.Right.(*ast.BinaryNode); ok && bounds.Operator == ".." && names == 1 {
		from, to := s.index(bounds.Left), s.index(bounds.Right)
		if to < from-1 {
			s.failAt(bounds, "the range %d..%d runs backwards", from, to)
		}
		if to-from >= MaxElements {
			s.failAt(bounds, "the range %d..%d has more than %d indices", from, to, MaxElements)
		}
		return to - from + 1, func(row, _ int) Value { return s.g.Const(float64(from + row)) }
	}
	v, name := s.eval(b.Right), cmp.Or(called(b.Right), "the list")
	if rows = v.Len(); v.IsScalar() {
		s.failAt(b, "expected a range such as j in 0..6, or an array")
	} else if width := v.Size() / max(rows, 1); width != names {
		s.failAt(b, "%s is %s: %d indices in each row; expected %d", name, v.shape, width, names)
	}
	return rows, func(row, k int) Value {
		i := v.Element(row*names + k)
		if c, ok := i.Constant(); !ok || c < 0 || c != math.Trunc(c) || c > 1<<52 {
			what := "a number that depends on x"
			if ok {
				what = fmt.Sprint(c)
			}
			s.failAt(b.Right, "row %d of %s (from 0) has %s; expected whole numbers of at least 0", row, name, what)
		}
		return i
	}
}

func (s *Scope) call(n *ast.CallNode) Value {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		s.failAt(n, "formulas have no methods")
	}
	if w := s.words[callee.Value]; w != nil {
		return s.word(n, w)
	}
	if callee.Value == "next" && s.seq != nil {
		return s.next(n)
	}
	m := s.macros[callee.Value]
	if m != nil && m.order < s.order {
		return s.apply(n, m)
	}
	f, ok := functions[callee.Value]
	if !ok {
		if _, value := s.names[callee.Value]; value {
			s.failAt(n, "%s is a value, not a function; elements are %s[…]", callee.Value, callee.Value)
		}
		if m != nil && m.order == s.order {
			s.failAt(n, "%s calls itself: definitions cannot be recursive", m.form)
		} else if m != nil {
			s.failAt(n, "%s is defined later: a definition sees those before it, so none is recursive", m.form)
		}
		s.failAt(n, "unknown function %q%s", callee.Value, s.nearest(callee.Value, true))
	}
	count := 0
	for count < len(n.Arguments) && isRange(n.Arguments[count]) {
		count++
	}
	if count > 0 {
		return s.over(n, callee.Value, f, count)
	}
	args := s.all(n.Arguments)
	if len(args) < f.min || f.max >= 0 && len(args) > f.max {
		s.failAt(n, "%s takes %s, not %d: %s", callee.Value, f.arity(), len(args), f.form)
	}
	s.sized(n, f.steps(args))
	return f.do(args)
}

// over calls a function over ranges, its first count arguments: of numbers as of
// the vector that they make, of vectors element by element.
func (s *Scope) over(n *ast.CallNode, name string, f function, count int) Value {
	if !f.ranges {
		s.failAt(n, "%s takes no range: %s", name, f.form)
	}
	if len(n.Arguments) != count+1 {
		s.failAt(n, "%s over a range takes one formula after it, not %d", name, len(n.Arguments)-count)
	}
	var items []Value
	s.ranges(n.Arguments, count, func() bool {
		items = append(items, s.eval(n.Arguments[count]))
		return true
	})
	s.place(n)
	switch {
	case len(items) == 0 && f.empty == nil:
		s.failAt(n, "%s over an empty range", name)
	case len(items) == 0:
		return f.empty(s.g)
	case items[0].IsScalar() || name == "vector":
		all := s.collect(n, items)
		s.sized(n, all.Size())
		return f.do([]Value{all})
	case f.fold == nil:
		s.failAt(n, "%s over a range takes numbers, not %s", name, items[0].shape)
	}
	total := items[0]
	for _, v := range items[1:] {
		s.sized(n, v.Size())
		total = f.fold(total, v)
	}
	return total
}

package expr

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/expr-lang/expr/ast"

	"github.com/landing-diffusion/landing/internal/text"
)

// A Scope is what the text of formulas can name: the coordinates x, the dimension
// dim, pi, the functions, earlier definitions, and the indices of ranges.
type Scope struct {
	g      *Graph
	names  map[string]Value
	macros map[string]*macro
	words  map[string]maker

	coordinates map[string]bool // names that are coordinates: no index hides them

	order int    // macros before this one may be called
	x     *Value // made on first use
	dim   int    // of x: variables behind it have names of their own
	steps *int   // taken by all formulas so far
	seq   *sequence

	defining string // name of the value whose formula is being parsed
}

// NewScope returns a scope over g without definitions.
func NewScope(g *Graph) *Scope {
	return &Scope{g: g, names: map[string]Value{}, macros: map[string]*macro{}, words: map[string]maker{},
		coordinates: map[string]bool{}, order: math.MaxInt, x: new(Value), dim: g.dim, steps: new(int)}
}

// Graph returns what the scope's formulas are built in.
func (s *Scope) Graph() *Graph { return s.g }

// Named returns the value of a name.
func (s *Scope) Named(name string) (v Value, ok bool) { v, ok = s.names[name]; return v, ok }

// Make runs what defines names in Go. Faults of the builder are errors.
func (s *Scope) Make(do func(*Scope) error) (err error) {
	if fault := s.building(func() { err = do(s) }); fault != nil {
		return fault
	}
	return err
}

// Coordinate names variable j of the graph. An index cannot have its name.
func (s *Scope) Coordinate(name string, j int) error {
	s.coordinates[name] = true
	return s.Define(name, s.g.num(s.g.variable(j)))
}

// A maker makes the value of a word in the scope that calls it.
type maker func(s *Scope, word string) (Value, error)

// Words defines a function of a bare word, or a text: fk(tip), fk("link 7").
func (s *Scope) Words(name string, make maker) error {
	err := s.free(name)
	s.words[name] = make
	return err
}

// NewScopeOf returns a scope in which the last variables of g have the names given: x is
// the others, and dim their number. The error says that a name is none, or taken.
func NewScopeOf(g *Graph, given []string) (*Scope, error) {
	s := NewScope(g)
	if len(given) == 0 {
		return s, nil
	}
	if s.dim -= len(given); s.dim < 0 {
		panic("expr: more names than variables")
	}
	all := g.X()
	for i, name := range given {
		if err := s.Define(name, all.At(g.dim-len(given)+i)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Define names a value. The error says that the name is none, or taken.
func (s *Scope) Define(name string, v Value) error {
	if err := s.free(name); err != nil {
		return err
	}
	s.names[name] = v
	return nil
}

func (s *Scope) free(name string) error {
	_, value := s.names[name]
	_, function := s.macros[name]
	_, word := s.words[name]
	switch {
	case !letters(name):
		return &Error{Name: name, Message: "a name consists of letters, digits and '_', and begins with a letter"}
	case value || function || word:
		return &Error{Name: name, Message: "the name is defined twice"}
	case reserved[name] && !(name == "x" && s.seq != nil), name == "next" && s.seq != nil:
		return &Error{Name: name, Message: "the name is part of the language of formulas"}
	}
	if _, ok := functions[name]; ok {
		return &Error{Name: name, Message: "the name is that of a function"}
	}
	return nil
}

// letters: the text is a name.
func letters(name string) bool {
	for i, r := range name {
		if !unicode.IsLetter(r) && (i == 0 || r != '_' && !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != ""
}

var reserved = map[string]bool{
	"x": true, "dim": true, "pi": true, "in": true, "let": true, "not": true, "and": true, "or": true, "true": true,
	"false": true,
	"nil":   true, "matches": true, "contains": true, "startsWith": true, "endsWith": true,
}

// Let parses a formula and names its value. A name with arguments, "f(a, b)", defines a function, whose formula sees
// its arguments and what was defined before; its faults show where it is called.
func (s *Scope) Let(name, formula string) error {
	if strings.Contains(name, "(") {
		return s.letFunction(name, formula)
	}
	if err := s.free(name); err != nil {
		return err
	}
	s.defining = name
	v, err := s.Parse(formula)
	s.defining = ""
	if err != nil {
		err.(*Error).Name = name
		return err
	}
	s.names[name] = v
	return nil
}

// Parse returns the value of a formula. The error is an *Error.
func (s *Scope) Parse(formula string) (Value, error) {
	n, err := syntax(formula, 0)
	if err != nil {
		return Value{}, err
	}
	return s.value(n, formula)
}

// building runs do, and returns the faults of formulas as errors.
func (s *Scope) building(do func()) (err error) {
	before := s.g.here
	defer func() {
		at := s.g.here
		s.g.here = before
		switch r := recover().(type) {
		case nil:
		case stop:
			err = r.err
		case fault:
			err = &Error{Formula: at.Formula, From: at.From, To: at.To, Message: string(r)}
		default:
			panic(r)
		}
	}()
	do()
	return nil
}

func (s *Scope) value(n ast.Node, text string) (v Value, err error) {
	err = s.building(func() { v = (&reading{Scope: s, text: text}).eval(n) })
	return v, err
}

// A Relation is how the two sides of a formula compare.
type Relation int

// Relations.
const (
	None    Relation = iota // a value alone
	Equal                   // left = right
	AtMost                  // left ≤ right
	AtLeast                 // left ≥ right
)

// Relation parses "left = right", "left <= right", "left >= right" or a value
// alone, and returns left − right, or the value. The error is an *Error.
func (s *Scope) Relation(formula string) (Value, Relation, error) {
	left, right, at, rel := split(formula)
	if rel == None {
		v, err := s.Parse(formula)
		return v, None, err
	}
	sides := [2]Value{}
	for i, text := range []string{left, right} {
		n, err := syntax(text, 0)
		if err == nil {
			sides[i], err = s.value(n, formula)
		}
		if err != nil {
			err.(*Error).Formula = formula
			return Value{}, rel, err
		}
	}
	var v Value
	err := s.building(func() {
		s.g.here = Place{formula, at, at + 1}
		v = sides[0].Sub(sides[1])
	})
	return v, rel, err
}

// split cuts a formula at its relation outside brackets, after its own definitions, which both sides keep. The sides
// keep their places: blanks stand for what is left out.
func split(formula string) (left, right string, at int, rel Relation) {
	r := []rune(formula)
	depth, body, width := 0, 0, 0
	for i, c := range r {
		switch {
		case strings.ContainsRune("([{", c):
			depth++
		case strings.ContainsRune(")]}", c):
			depth--
		case strings.ContainsRune("\"'`", c): // text: the parser says what is wrong
			return formula, "", 0, None
		case depth != 0:
		case c == ';':
			rel, body = None, i+1
		case rel == None && relations[c] != None:
			rel, at, width = relations[c], i, 1
			if i+1 < len(r) && r[i+1] == '=' {
				width = 2
			}
		}
	}
	if rel == None {
		return formula, "", 0, None
	}
	return string(r[:at]), string(r[:body]) + strings.Repeat(" ", at+width-body) + string(r[at+width:]), at, rel
}

var relations = map[rune]Relation{'=': Equal, '<': AtMost, '≤': AtMost, '>': AtLeast, '≥': AtLeast}

// Index parses a formula of definitions and indices alone that is an integer.
func (s *Scope) Index(formula string) (int, error) {
	v, err := s.Parse(formula)
	if err != nil {
		return 0, err
	}
	i := 0
	err = s.building(func() {
		s.g.here = Place{formula, 0, len([]rune(formula))}
		i = v.integer("an index")
	})
	return i, err
}

// ForEach runs do for every combination of the ranges "i in 0..2, j in i..5", bounds included, with the indices
// defined. It stops at the first error; one of its own is an *Error.
func (s *Scope) ForEach(ranges string, do func() error) error {
	const before, after = "ranges(", ")"
	n, err := syntax(before+ranges+after, len(before))
	if err != nil {
		e := err.(*Error)
		if e.Formula = ranges; e.From >= len([]rune(ranges)) { // at the bracket that is not the author's
			e.From, e.To = max(0, len([]rune(ranges))-1), len([]rune(ranges))
			e.Message = "the range ends too early; expected one such as j in 0..6"
		}
		return err
	}
	var stop error
	r := &reading{Scope: s, text: ranges, skip: len(before)}
	err = s.building(func() {
		call, ok := n.(*ast.CallNode)
		if !ok || len(call.Arguments) == 0 {
			r.failAt(n, "expected ranges such as j in 0..6")
		}
		r.ranges(call.Arguments, len(call.Arguments), func() bool {
			stop = do()
			return stop == nil
		})
	})
	if stop != nil {
		return stop
	}
	return err
}

// nearest returns a hint at the known name that is nearest to a mistyped one.
func (s *Scope) nearest(name string, calls bool) string {
	best, at := max(1, len(name)/2)+1, ""
	known := slices.AppendSeq([]string{"x", "dim", "pi"}, maps.Keys(s.names))
	if calls {
		known = slices.AppendSeq(slices.Collect(maps.Keys(functions)), maps.Keys(s.macros))
	}
	slices.Sort(known)
	for _, k := range known {
		if d := text.Edits(strings.ToLower(name), strings.ToLower(k)); d < best && d < len([]rune(name)) {
			best, at = d, k
		}
	}
	if at != "" {
		return fmt.Sprintf("; did you mean %q?", at)
	}
	if calls {
		return ""
	}
	return "; known are " + strings.Join(known, ", ")
}

// macro is a definition with arguments. Its formula sees its arguments and what
// was defined before it, so that it cannot call itself.
type macro struct {
	form   string
	params []string
	body   ast.Node
	text   string
	names  map[string]Value
	order  int
}

// letFunction defines a function by its form, "name(a, b)".
func (s *Scope) letFunction(form, formula string) error {
	name, rest, _ := strings.Cut(form, "(")
	name = strings.TrimSpace(name)
	if err := s.free(name); err != nil {
		return err
	}
	list, ok := strings.CutSuffix(strings.TrimSpace(rest), ")")
	m := &macro{form: form, text: formula, names: maps.Clone(s.names), order: len(s.macros)}
	for _, p := range strings.Split(list, ",") {
		p = strings.TrimSpace(p)
		if !ok || !letters(p) || reserved[p] || strings.Contains(","+strings.Join(m.params, ",")+",", ","+p+",") {
			return &Error{Name: name, Message: "expected a name, or a function such as f(a, b)"}
		}
		m.params = append(m.params, p)
	}
	var err error
	if m.body, err = syntax(formula, 0); err != nil {
		err.(*Error).Name = form
		return err
	}
	s.macros[name] = m
	return nil
}

// NoNext is the message of an error where a formula asks for a step that there is not.
const NoNext = "there is no next step here: next(…) is for formulas between steps that have one"

// A sequence is the first of a graph's variables as steps of one length, one after the other.
type sequence struct{ length, end int }

// Step returns a scope of step l of a sequence: the first `steps` times n variables of the graph, n a step. There x and
// dim are of the step, which may be called x itself, step is l, and next(v) is v with each variable of a step replaced
// by that of the step after it. It knows the definitions of s, and what it expands counts with that of s. x is its x.
func (s *Scope) Step(l, n, steps int) (step *Scope, x Value) {
	if s.x.g == nil {
		*s.x = s.g.X().Slice(0, s.dim)
	}
	x = s.x.Slice(l*n, (l+1)*n)
	t := *s
	t.names, t.macros = maps.Clone(s.names), maps.Clone(s.macros)
	t.x, t.dim, t.seq = &x, n, &sequence{n, n * steps}
	t.names["step"] = s.g.Const(float64(l))
	return &t, x
}

// Alone returns a scope with the definitions of s, but without a next step.
func (s *Scope) Alone() *Scope {
	t := *s
	t.seq = &sequence{length: s.seq.length}
	return &t
}

// LetStep is Let, but a definition that asks for a next step that there is not is an error only where it is used.
func (s *Scope) LetStep(name, formula string) error {
	err := s.Let(name, formula)
	if e, ok := err.(*Error); ok && e.Message == NoNext {
		s.names[name], err = Value{}, nil
	}
	return err
}

package expr

import (
	"maps"
	"strings"

	"github.com/expr-lang/expr/ast"
)

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
	if m.body, err = s.syntax(formula, 0); err != nil {
		err.(*Error).Name = form
		return err
	}
	s.macros[name] = m
	return nil
}

func (s *Scope) apply(n *ast.CallNode, m *macro) Value {
	if len(n.Arguments) != len(m.params) {
		s.failAt(n, "%s takes %s, not %d", m.form, arguments(len(m.params)), len(n.Arguments))
	}
	if s.calls++; s.calls > MaxNesting {
		s.failAt(n, "more than %d functions inside each other", MaxNesting)
	}
	args := s.all(n.Arguments)
	s.work(n, len(m.names)+1)
	names := maps.Clone(m.names)
	for i, p := range m.params {
		names[p] = args[i]
	}
	outerNames, outerText, outerSkip, outerOrder := s.names, s.text, s.skip, s.order
	s.names, s.text, s.skip, s.order = names, m.text, 0, m.order
	v := s.eval(m.body)
	s.names, s.text, s.skip, s.order = outerNames, outerText, outerSkip, outerOrder
	s.calls--
	return v
}

package expr

import (
	"maps"

	"github.com/expr-lang/expr/ast"
)

// NoNext is the message of an error where a formula asks for a step that there is not.
const NoNext = "there is no next step here: next(…) is for formulas between steps that have one"

// A sequence is the first of a graph's variables as steps of one length, one after the other.
type sequence struct{ length, end int }

// Step returns a scope of step l of a sequence: the first `steps` times n variables of the graph, n a step. There x and
// dim are of the step, which may be called x itself, step is l, and next(v) is v with each variable of a step replaced
// by that of the step after it. It knows the definitions of s, and what it expands counts with that of s. x is its x.
func (s *Scope) Step(l, n, steps int) (step *Scope, x Value) {
	if s.x.g == nil {
		s.x = s.g.X().Slice(0, s.dim)
	}
	t := *s
	t.names, t.macros = maps.Clone(s.names), maps.Clone(s.macros)
	t.x, t.dim, t.seq = s.x.Slice(l*n, (l+1)*n), n, &sequence{n, n * steps}
	t.names["step"] = s.g.Const(float64(l))
	return &t, t.x
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

// next is the call next(v).
func (s *Scope) next(n *ast.CallNode) Value {
	if len(n.Arguments) != 1 {
		s.failAt(n, "next takes one argument, not %d: next(value)", len(n.Arguments))
	}
	v := s.eval(n.Arguments[0])
	nodes := s.g.reach(v.e...)
	s.sized(n, len(nodes)+v.Size())
	at := s.g.copy(s.g, nodes, func(j int32) int32 {
		if int(j) < s.seq.end-s.seq.length {
			return s.g.variable(int(j) + s.seq.length)
		}
		if s.seq.end == 0 || int(j) < s.seq.end {
			s.failAt(n, NoNext)
		}
		return s.g.variable(int(j))
	})
	moved := Value{s.g, v.shape, make([]int32, len(v.e))}
	for i, e := range v.e {
		moved.e[i] = at(e)
	}
	return moved
}

package formula

import (
	"fmt"

	"github.com/landing-diffusion/landing/base/expr"
)

// An Entry is a formula, or a family of them, whose value at a point is of interest: a number, where a Component is a
// constraint. Let are definitions of its own, which those after it see too.
type Entry struct {
	Component
	Let Definitions
}

// Numbers are named numbers of a point, by formulas.
type Numbers struct {
	*expr.Program
	Names []string
	Entry []int // which of the entries each is of
}

// NewNumbers compiles entries over points in R^dim, and the coordinates behind them that are given by name. They see
// the definitions of let, those of a set. The error is an *Error, whose key begins with the entry: "[2].expr".
func NewNumbers(dim int, let Definitions, entries []Entry, given ...string) (*Numbers, error) {
	b := NewBuilder(dim + len(given))
	b.many = "numbers"
	scope, err := expr.NewScopeOf(b.Graph, given)
	if err != nil {
		return nil, &Error{"given", err}
	}
	for _, d := range let {
		if err := scope.Let(d.Name, d.Expr); err != nil {
			return nil, &Error{"let." + d.Name, err}
		}
	}
	var list []named
	out := &Numbers{}
	for i, e := range entries {
		at := fmt.Sprintf("[%d]", i)
		for _, d := range e.Let {
			if err := scope.Let(d.Name, d.Expr); err != nil {
				return nil, &Error{at + ".let." + d.Name, err}
			}
		}
		if err := b.family(scope, &list, e.Component, expr.None); err != nil {
			return nil, within(at, err)
		}
		for len(out.Entry) < len(list) {
			out.Entry = append(out.Entry, i)
		}
	}
	var values []expr.Value
	for _, n := range list {
		out.Names, values = append(out.Names, n.name), append(values, n.value)
	}
	if out.Program, err = b.Compile(values...); err != nil {
		return nil, within("[0].expr", err)
	}
	return out, nil
}

package formula

import (
	"errors"
	"fmt"
	"sync"

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
	b, scope, err := begin(dim, let, given)
	if err != nil {
		return nil, err
	}
	b.many = "numbers"
	var list []named
	out := &Numbers{}
	for i, e := range entries {
		at := fmt.Sprintf("[%d]", i)
		if err := e.Let.define(scope, at+".let."); err != nil {
			return nil, err
		}
		if err := b.family(scope, &list, e.Component, expr.None); err != nil {
			return nil, atKey(at, err)
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
		return nil, atKey("[0].expr", err)
	}
	return out, nil
}

// A Potential is f(x) of one formula, with its exact gradient. It is a langevin.Energy,
// and may be used by several goroutines at once.
type Potential struct {
	dim     int
	scratch sync.Pool
}

// NewPotential compiles a formula over points in R^dim, and the coordinates behind them that are given by name. It sees
// the definitions of let. The error is an *Error with the key expr, or that of a definition.
func NewPotential(dim int, let Definitions, text string, given ...string) (*Potential, error) {
	b, scope, err := begin(dim, let, given)
	if err != nil {
		return nil, err
	}
	v, err := scope.Parse(text)
	if err == nil && !v.IsScalar() {
		err = errors.New("a list of numbers; expected one number")
	}
	if err != nil {
		return nil, &Error{"expr", err}
	}
	program, err := b.Compile(v)
	if err != nil {
		return nil, &Error{"expr", err}
	}
	p := &Potential{dim: b.Dim()}
	p.scratch.New = func() any { return program.NewEvaluator() }
	return p, nil
}

func (p *Potential) Gradient(dst, x []float64, n int) {
	e := p.scratch.Get().(*expr.Evaluator)
	e.Jacobians(make([]float64, n), dst[:n*p.dim], x[:n*p.dim], n)
	p.scratch.Put(e)
}

func (p *Potential) Value(dst, x []float64, n int) {
	e := p.scratch.Get().(*expr.Evaluator)
	e.Values(dst[:n], x[:n*p.dim], n)
	p.scratch.Put(e)
}

package formula

import (
	"errors"
	"sync"

	"github.com/landing-diffusion/landing/base/expr"
)

// A Potential is f(x) of one formula, with its exact gradient. It is a langevin.Energy,
// and may be used by several goroutines at once.
type Potential struct {
	program *expr.Program
	dim     int
	scratch sync.Pool
}

// NewPotential compiles a formula over points in R^dim, and the coordinates behind them that are given by name. It sees
// the definitions of let. The error is an *Error with the key expr, or that of a definition.
func NewPotential(dim int, let Definitions, text string, given ...string) (*Potential, error) {
	dim += len(given)
	b := NewBuilder(dim)
	scope, err := expr.NewScopeOf(b.Graph, given)
	if err != nil {
		return nil, &Error{"given", err}
	}
	for _, d := range let {
		if err := scope.Let(d.Name, d.Expr); err != nil {
			return nil, &Error{"let." + d.Name, err}
		}
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
	p := &Potential{program: program, dim: dim}
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

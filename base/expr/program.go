package expr

import (
	"fmt"
	"slices"
	"sync"
)

// A Program is formulas, their gradients and Hessian-vector products, compiled. It
// is safe for concurrent use; its Evaluators compute.
type Program struct {
	d      int
	roots  []int32
	grads  [][]entry
	values *tape
	jac    *tape
	sparse *tape
	length int // of a row of sparse derivatives

	mu   sync.Mutex
	g    *Graph // as far as it has been differentiated
	hv   *tape
	once sync.Once
	bad  error
}

// Compile returns a program whose components are the elements of the values, in
// order. The error is an *Error: the formulas are too large.
func (g *Graph) Compile(values ...Value) (p *Program, err error) {
	defer refuse(&err)
	p = &Program{d: g.dim, g: g.clone()}
	for _, v := range values {
		if v.g != g {
			panic("expr: a value of another graph")
		}
		p.roots = append(p.roots, v.e...)
	}
	p.grads = p.g.gradients(p.roots)
	m := len(p.roots)
	c := p.components()
	p.values = p.g.compile(p.roots).tape([2][]entry{c}, [2]int{m})
	results := slices.Clone(p.roots)
	var dense, packed []entry
	for i, grad := range p.grads {
		for _, e := range grad {
			results = append(results, e.node)
			dense = append(dense, entry{int32(i*p.d) + e.v, e.node})
			packed = append(packed, entry{int32(p.length), e.node})
			p.length++
		}
	}
	code := p.g.compile(results)
	p.jac = code.tape([2][]entry{c, dense}, [2]int{m, m * p.d})
	p.sparse = code.tape([2][]entry{c, packed}, [2]int{m, p.length})
	return p, nil
}

// refuse turns a fault of the builder into an error.
func refuse(err *error) {
	switch r := recover().(type) {
	case nil:
	case fault:
		*err = &Error{Message: string(r)}
	default:
		panic(r)
	}
}

func (p *Program) components() []entry {
	out := make([]entry, len(p.roots))
	for i, r := range p.roots {
		out[i] = entry{int32(i), r}
	}
	return out
}

// Components returns the number of components.
func (p *Program) Components() int { return len(p.roots) }

// Touches returns the coordinates that component i can vary with, ascending.
func (p *Program) Touches(i int) []int {
	out := make([]int, len(p.grads[i]))
	for k, e := range p.grads[i] {
		out[k] = int(e.v)
	}
	return out
}

// Operations returns how many operations values, and values with Jacobians, take a point.
func (p *Program) Operations() (values, jacobians int) { return len(p.values.code), len(p.jac.code) }

// An Evaluator runs a Program at blocks of any number of points. It owns the scratch of the runs, which each of its
// methods makes when first called; one goroutine uses it at a time.
type Evaluator struct {
	p                       *Program
	values, jac, sparse, hv []float64
}

// NewEvaluator returns an evaluator of its own.
func (p *Program) NewEvaluator() *Evaluator { return &Evaluator{p: p} }

func (t *tape) once(s *[]float64) []float64 {
	if *s == nil {
		*s = t.scratch()
	}
	return *s
}

// Values writes all components at each of n points x (n×d): n×c.
func (e *Evaluator) Values(dst, x []float64, n int) {
	p := e.p
	p.fits("x", x, n*p.d)
	p.fits("values", dst, n*len(p.roots))
	p.values.run(p.values.once(&e.values), [2][]float64{dst}, x, nil, p.d, n)
}

// Jacobians writes components and their gradients: n×c and n×c×d.
func (e *Evaluator) Jacobians(values, jac, x []float64, n int) {
	p := e.p
	p.fits("x", x, n*p.d)
	p.fits("values", values, n*len(p.roots))
	p.fits("Jacobians", jac, n*len(p.roots)*p.d)
	p.jac.run(p.jac.once(&e.jac), [2][]float64{values, jac}, x, nil, p.d, n)
}

// Values, Jacobians, SparseJacobians and HessianVectors are those of an Evaluator
// made for the call, for a look from outside the loops.
func (p *Program) Values(dst, x []float64, n int) { p.NewEvaluator().Values(dst, x, n) }

func (p *Program) Jacobians(values, jac, x []float64, n int) {
	p.NewEvaluator().Jacobians(values, jac, x, n)
}

func (p *Program) SparseJacobians(values, jac, x []float64, n int) {
	p.NewEvaluator().SparseJacobians(values, jac, x, n)
}

func (p *Program) HessianVectors(dst, x, v []float64, n int) {
	p.NewEvaluator().HessianVectors(dst, x, v, n)
}

// Support returns Touches of every component.
func (p *Program) Support() [][]int {
	out := make([][]int, len(p.roots))
	for i := range out {
		out[i] = p.Touches(i)
	}
	return out
}

// SparseJacobians is Jacobians with the derivatives along the support alone,
// component by component: n×c and n×(all the support's lengths added).
func (e *Evaluator) SparseJacobians(values, jac, x []float64, n int) {
	p := e.p
	p.fits("x", x, n*p.d)
	p.fits("values", values, n*len(p.roots))
	p.fits("sparse Jacobians", jac, n*p.length)
	p.sparse.run(p.sparse.once(&e.sparse), [2][]float64{values, jac}, x, nil, p.d, n)
}

// HessianVectors writes ∇²c_i(x) v for each component, from n points x and n
// vectors v: n×c×d. The first call differentiates once more.
func (e *Evaluator) HessianVectors(dst, x, v []float64, n int) {
	p := e.p
	p.fits("x", x, n*p.d)
	p.fits("v", v, n*p.d)
	p.fits("Hessian products", dst, n*len(p.roots)*p.d)
	if err := p.Second(); err != nil {
		panic(err)
	}
	p.hv.run(p.hv.once(&e.hv), [2][]float64{dst}, x, v, p.d, n)
}

// Second prepares Hessian-vector products: forward over reverse, the derivative of every gradient along v. The error is
// an *Error: they are too large. Calling it is optional.
func (p *Program) Second() error {
	p.once.Do(func() {
		defer refuse(&p.bad)
		p.mu.Lock()
		defer p.mu.Unlock()
		var at, of []int32
		for i, grad := range p.grads {
			for _, e := range grad {
				at, of = append(at, int32(i*p.d)+e.v), append(of, e.node)
			}
		}
		var outs []entry
		var results []int32
		for k, t := range p.g.forward(of, func(v int32) int32 { return p.g.variable(p.d + int(v)) }) {
			if t != zero {
				outs, results = append(outs, entry{at[k], t}), append(results, t)
			}
		}
		p.hv = p.g.compile(results).tape([2][]entry{outs}, [2]int{len(p.roots) * p.d})
	})
	return p.bad
}

func (p *Program) fits(what string, s []float64, n int) {
	if len(s) < n {
		panic(fmt.Sprintf("expr: %s has %d numbers; expected %d", what, len(s), n))
	}
}

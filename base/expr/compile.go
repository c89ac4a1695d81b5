package expr

import (
	"fmt"
	"slices"
	"sync"
)

// Registers of a chunk should stay in the second-level cache.
const (
	cacheFloats = 24 << 10
	longest     = 120 // points: longer chunks gain nothing
	shortest    = 8
)

// compile lays out the operations that the results need.
func (g *dag) compile(dim int, results []int32) *compiler {
	n := len(g.nodes)
	c := &compiler{g: g, dim: dim, uses: make([]int32, n), at: make([]int32, n), state: make([]int8, n)}
	for _, i := range results {
		c.uses[i]++
	}
	c.count(results)
	c.schedule(results)
	c.allocate(results)
	return c
}

type compiler struct {
	g         *dag
	dim       int     // variables from this one on are given anew at each point
	uses      []int32 // of each node: by how many operations and results
	at        []int32 // of each node: its register
	state     []int8  // of each node: how far it is scheduled
	code      []instr // in nodes, then in registers
	registers int
	loads     []int32 // variables' nodes
	fills     []int32 // constants' nodes
}

// States of a node.
const (
	waiting = 1 // for its operands
	done    = 2
)

func (c *compiler) count(roots []int32) {
	for _, i := range c.g.reach(roots...) {
		if n := c.g.nodes[i]; n.op != opVar {
			c.uses[n.a]++
			if n.b >= 0 {
				c.uses[n.b]++
			}
		}
	}
}

// instruction of a node: products that nothing else reads are joined with the sum above them.
func (c *compiler) instruction(i int32) instr {
	n := c.g.nodes[i]
	in := instr{op: n.op, dst: i, a: n.a, b: n.b, c: -1, d2: -1}
	if n.op != opAdd && n.op != opSub {
		return in
	}
	product := func(j int32) bool { return c.g.is(j, opMul) && c.uses[j] == 1 }
	p, q := product(n.a), product(n.b)
	l, r := c.g.nodes[n.a], c.g.nodes[n.b]
	switch {
	case p && q:
		in = instr{opDot2, i, l.a, l.b, r.a, r.b}
		if n.op == opSub {
			in.op = opCross2
		}
	case p && n.op == opAdd:
		in = instr{opMulAdd, i, l.a, l.b, n.b, -1}
	case p:
		in = instr{opMulSub, i, l.a, l.b, n.b, -1}
	case q && n.op == opAdd:
		in = instr{opMulAdd, i, r.a, r.b, n.a, -1}
	case q:
		in = instr{opSubMul, i, r.a, r.b, n.a, -1}
	}
	return in
}

func (in *instr) operands() [4]int32 {
	o := [4]int32{in.a, in.b, in.c, in.d2}
	if in.op == opSincos {
		o[3] = -1
	}
	return o
}

// schedule writes the code depth first, so that a result is used soon after it is made.
func (c *compiler) schedule(roots []int32) {
	state := c.state
	var stack []int32
	for _, r := range roots {
		stack = append(stack, r)
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			if state[i] == done {
				stack = stack[:len(stack)-1]
				continue
			}
			switch c.g.nodes[i].op {
			case opConst:
				c.fills, state[i] = append(c.fills, i), done
				continue
			case opVar:
				c.loads, state[i] = append(c.loads, i), done
				continue
			}
			in := c.instruction(i)
			if state[i] != waiting {
				state[i] = waiting
				for _, o := range slices.Backward([]int32{in.a, in.b, in.c, in.d2}) {
					if o >= 0 && state[o] != done {
						stack = append(stack, o)
					}
				}
				continue
			}
			c.emit(in)
			state[i] = done
		}
	}
}

// emit joins sin u and cos u into one instruction where both are wanted.
func (c *compiler) emit(in instr) {
	var other op
	switch in.op {
	case opSin:
		other = opCos
	case opCos:
		other = opSin
	}
	if other != opConst {
		if twin, ok := c.g.index[key{other, in.a, -1, 0}]; ok && c.uses[twin] > 0 {
			c.state[twin] = done
			s, k := in.dst, twin
			if in.op == opCos {
				s, k = k, s
			}
			in = instr{op: opSincos, dst: s, a: in.a, b: -1, c: -1, d2: k}
		}
	}
	c.code = append(c.code, in)
}

// allocate gives registers to nodes and frees them after their last reader.
func (c *compiler) allocate(results []int32) {
	next := int32(0)
	fresh := func() int32 { next++; return next - 1 }
	for _, i := range slices.Concat(c.loads, c.fills) {
		c.at[i] = fresh()
	}
	last := make([]int, len(c.at)) // the last instruction that reads a node
	for k := range c.code {
		for _, o := range c.code[k].operands() {
			if o >= 0 {
				last[o] = k
			}
		}
	}
	for _, i := range slices.Concat(c.loads, c.fills, results) {
		last[i] = len(c.code) // never freed
	}
	var free []int32
	take := func(i int32) int32 {
		if n := len(free); n > 0 {
			c.at[i], free = free[n-1], free[:n-1]
		} else {
			c.at[i] = fresh()
		}
		return c.at[i]
	}
	for k := range c.code {
		in := &c.code[k]
		for _, o := range in.operands() {
			if o >= 0 && last[o] == k {
				last[o] = -1 // freed: it may occur twice
				free = append(free, c.at[o])
			}
		}
		reg := func(o int32) int32 {
			if o < 0 {
				return 0
			}
			return c.at[o]
		}
		done := instr{op: in.op, a: reg(in.a), b: reg(in.b), c: reg(in.c)}
		if in.op != opSincos {
			done.d2 = reg(in.d2)
		}
		done.dst = take(in.dst)
		if in.op == opSincos {
			done.d2 = take(in.d2)
		}
		*in = done
	}
	c.registers = int(next)
}

// tape returns the code with its results stored as dsts lists them: dsts[k] holds the places, in rows of strides[k]
// numbers, and their nodes; names are for faults. It chooses the chunk and turns registers into offsets. Registers lie
// an odd number of cache lines apart, so that a row's numbers do not share cache sets.
func (c *compiler) tape(dsts [2][]entry, strides [2]int, names [2]string) *tape {
	t := &tape{strides: strides, names: names}
	rows := c.registers + t.strides[0] + t.strides[1] + len(c.loads)
	t.chunk = min(max(cacheFloats/max(rows, 1), shortest), longest)
	lines := (t.chunk + 7) / 8
	if lines%2 == 0 {
		lines--
	}
	t.chunk = 8 * lines
	t.stride = t.chunk
	t.size = c.registers * t.stride
	offset := func(r int32) int32 { return r * int32(t.stride) }
	for _, in := range c.code {
		t.code = append(t.code, instr{in.op, offset(in.dst), offset(in.a), offset(in.b), offset(in.c), offset(in.d2)})
	}
	for _, i := range c.loads {
		t.loads = append(t.loads, move{int(c.g.nodes[i].a), offset(c.at[i])})
	}
	slices.SortFunc(t.loads, func(a, b move) int { return a.at - b.at })
	t.fromX = len(t.loads)
	for t.fromX > 0 && t.loads[t.fromX-1].at >= c.dim {
		t.fromX--
	}
	for _, i := range c.fills {
		t.fills = append(t.fills, fill{offset(c.at[i]), c.g.nodes[i].c})
	}
	for k, d := range dsts {
		for _, e := range d {
			t.stores[k] = append(t.stores[k], move{e.v, offset(c.at[e.node])})
		}
	}
	return t
}

// A Program is formulas, their gradients and Hessian-vector products, compiled. It
// is safe for concurrent use; its Evaluators compute.
type Program struct {
	d      int
	roots  []int32
	grads  [][]entry
	values *tape
	jac    *tape
	sparse *tape

	mu       sync.Mutex
	g        *dag // as far as it has been differentiated
	hv       *tape
	sparseHV *tape
	once     sync.Once
	bad      error
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
	var components []entry
	for i, r := range p.roots {
		components = append(components, entry{i, r})
	}
	p.values = p.g.compile(p.d, p.roots).tape([2][]entry{components}, [2]int{len(p.roots)}, [2]string{"values"})
	p.jac, p.sparse = p.tapes(components, p.derivatives(), "Jacobians")
	return p, nil
}

// derivatives returns the nodes of grads.
func (p *Program) derivatives() (nodes []int32) {
	for _, grad := range p.grads {
		for _, e := range grad {
			nodes = append(nodes, e.node)
		}
	}
	return nodes
}

// tapes compiles components, if any, and a node for each derivative of grads, 0 where there is none: with rows in full,
// and packed.
func (p *Program) tapes(components []entry, nodes []int32, name string) (full, packed *tape) {
	m, k := len(components), 0
	results := slices.Clone(p.roots[:m])
	var dense, short []entry
	for i, grad := range p.grads {
		for _, e := range grad {
			if at := nodes[k]; at != zero {
				dense, short = append(dense, entry{i*p.d + e.v, at}), append(short, entry{k, at})
				results = append(results, at)
			}
			k++
		}
	}
	c := p.g.compile(p.d, results)
	return c.tape([2][]entry{components, dense}, [2]int{m, len(p.roots) * p.d}, [2]string{"values", name}),
		c.tape([2][]entry{components, short}, [2]int{m, k}, [2]string{"values", "sparse " + name})
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

// Operations returns how many operations values, and values with Jacobians, take a point.
func (p *Program) Operations() (values, jacobians int) { return len(p.values.code), len(p.jac.code) }

// An Evaluator runs a Program at blocks of any number of points. It owns the scratch of the runs, which each of its
// methods makes when first called; one goroutine uses it at a time.
type Evaluator struct {
	p       *Program
	scratch [5][]float64 // by the order of the methods
}

// NewEvaluator returns an evaluator of its own.
func (p *Program) NewEvaluator() *Evaluator { return &Evaluator{p: p} }

func (e *Evaluator) run(k int, t *tape, dst [2][]float64, x, v []float64, n int) {
	fits("x", x, n*e.p.d)
	for i, name := range t.names {
		fits(name, dst[i], n*t.strides[i])
	}
	if e.scratch[k] == nil {
		e.scratch[k] = t.scratch()
	}
	t.run(e.scratch[k], dst, x, v, e.p.d, n)
}

// Values writes all components at each of n points x (n×d): n×c.
func (e *Evaluator) Values(dst, x []float64, n int) {
	e.run(0, e.p.values, [2][]float64{dst}, x, nil, n)
}

// Values makes an Evaluator for one call of Evaluator.Values; loops make their own Evaluator once.
func (p *Program) Values(dst, x []float64, n int) { p.NewEvaluator().Values(dst, x, n) }

// Jacobians writes components and their gradients: n×c and n×c×d.
func (e *Evaluator) Jacobians(values, jac, x []float64, n int) {
	e.run(1, e.p.jac, [2][]float64{values, jac}, x, nil, n)
}

// Support returns the coordinates that each component can vary with, ascending.
func (p *Program) Support() [][]int {
	out := make([][]int, len(p.roots))
	for i, grad := range p.grads {
		out[i] = make([]int, len(grad))
		for k, e := range grad {
			out[i][k] = e.v
		}
	}
	return out
}

// SparseJacobians is Jacobians with the derivatives along the support alone,
// component by component: n×c and n×(all the support's lengths added).
func (e *Evaluator) SparseJacobians(values, jac, x []float64, n int) {
	e.run(2, e.p.sparse, [2][]float64{values, jac}, x, nil, n)
}

// HessianVectors writes ∇²c_i(x) v for each component, from n points x and n vectors v: n×c×d; SparseHessianVectors
// along the support alone, laid out as by SparseJacobians. The first call differentiates once more.
func (e *Evaluator) HessianVectors(dst, x, v []float64, n int) {
	fits("v", v, n*e.p.d)
	e.run(3, e.second().hv, [2][]float64{nil, dst}, x, v, n)
}

func (e *Evaluator) SparseHessianVectors(dst, x, v []float64, n int) {
	fits("v", v, n*e.p.d)
	e.run(4, e.second().sparseHV, [2][]float64{nil, dst}, x, v, n)
}

func (e *Evaluator) second() *Program {
	if err := e.p.Second(); err != nil {
		panic(err)
	}
	return e.p
}

// Second prepares Hessian-vector products: forward over reverse, the derivative of every gradient along v. The error is
// an *Error: they are too large. Calling it is optional.
func (p *Program) Second() error {
	p.once.Do(func() {
		defer refuse(&p.bad)
		p.mu.Lock()
		defer p.mu.Unlock()
		along := func(v int32) int32 { return p.g.variable(p.d + int(v)) }
		p.hv, p.sparseHV = p.tapes(nil, p.g.forward(p.derivatives(), along), "Hessian products")
	})
	return p.bad
}

func fits(what string, s []float64, n int) {
	if len(s) < n {
		panic(fmt.Sprintf("expr: %s has %d numbers; expected %d", what, len(s), n))
	}
}

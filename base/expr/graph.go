// Package expr holds formulas of x ∈ R^d as data: a graph of scalar operations in which equal sub-expressions are one
// node. Formulas are built in Go or parsed from text, differentiated symbolically, and compiled to a tape that
// evaluates a block of points, instruction by instruction over chunks of points.
//
// It knows nothing of constraints; package constraint/formula makes sets of formulas.
//
// # Conventions where a derivative does not exist
//
//   - max(a, b) and min(a, b) have the derivative of the first argument where
//     both are equal; over more arguments, of the first among equals.
//   - relu(u) = max(0, u), so relu'(0) = 0; abs'(0) = 0.
//   - Everything else follows IEEE arithmetic: √0 and acos(±1) have infinite
//     derivatives, atan2(0, 0) has NaN ones. A factor of 0 does not mask them:
//     max(1, √u) has a NaN derivative at u = 0. Program.Fault names the place.
//
// # Exactness
//
// Simplifications are those that hold in floating-point arithmetic for all finite values, up to the sign of a zero: 0 +
// u, 1·u, 0·u, u − u, −(−u), u + u = 2u, products of powers of two, and constants folded. Sums are added in the order
// in which they are written.
package expr

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Limits. A formula that exceeds one is refused with an *Error; none can run code, loop for ever or exhaust memory.
const (
	MaxText     = 1 << 14 // bytes of one formula
	MaxNesting  = 200     // brackets inside brackets
	MaxSyntax   = 10_000  // nodes of one formula's syntax tree
	MaxSteps    = 1 << 22 // operations that expanding all formulas of a scope may take
	MaxElements = 1 << 18 // numbers in one vector, matrix or range
	MaxNodes    = 1 << 21 // distinct operations in a graph, derivatives included; 100 bytes each
	MaxDet      = 10      // rows of a determinant: its expansion has n·2ⁿ⁻¹ products
	MaxPower    = 64      // integer powers up to this are products
)

// A Graph holds the operations of formulas in d variables. Equal operations are one node. A Graph is not safe for
// concurrent use; the Programs compiled from it are.
type Graph struct {
	dim int
	dag
}

// A dag is operations on numbers, by their places in nodes. It simplifies what is added, and differentiates it.
type dag struct {
	nodes []node
	place []Place // where a formula first asked for the node
	of    []int32 // the node whose derivative asked for it; itself if a formula did
	index map[key]int32

	here  Place // of the operation being added
	cause int32 // node being differentiated, or −1
}

// node is one operation. Operands have smaller numbers than the node.
type node struct {
	op   op
	a, b int32   // operands, −1 where there is none; of opVar, a is the variable
	c    float64 // of opConst
}

type key struct {
	op   op
	a, b int32
	bits uint64
}

// A Place is a stretch of a formula's text, in runes. Formula is empty for operations that were built in Go.
type Place struct {
	Formula  string
	From, To int
}

// The first nodes of every graph.
const zero, one int32 = 0, 1

// NewGraph returns an empty graph of formulas in dim ≥ 0 variables.
func NewGraph(dim int) *Graph {
	if dim < 0 {
		panic(fmt.Sprintf("expr: dimension %d", dim))
	}
	g := &Graph{dim, dag{index: map[key]int32{}, cause: -1}}
	g.constant(0)
	g.constant(1)
	return g
}

// Dim returns d.
func (g *Graph) Dim() int { return g.dim }

func (g *dag) clone() *dag {
	c := *g
	c.nodes, c.place, c.of = slices.Clone(g.nodes), slices.Clone(g.place), slices.Clone(g.of)
	c.index = maps.Clone(g.index)
	return &c
}

// push returns the node of that operation, adding it if it is new.
func (g *dag) push(n node) int32 {
	k := key{n.op, n.a, n.b, math.Float64bits(n.c)}
	if i, ok := g.index[k]; ok {
		return i
	}
	if len(g.nodes) >= MaxNodes {
		panic(fault(fmt.Sprintf("the formulas and their derivatives need more than %d operations", MaxNodes)))
	}
	i := int32(len(g.nodes))
	of := g.cause
	if of < 0 {
		of = i
	}
	g.nodes, g.place, g.of = append(g.nodes, n), append(g.place, g.here), append(g.of, of)
	g.index[k] = i
	return i
}

// instead adds what takes the place of node i: faults are laid to the same operation of the formula.
func (g *dag) instead(i int32, add func() int32) (j int32) {
	if g.of[i] == i {
		return add()
	}
	g.differentiate(i, func() { j = add() })
	return j
}

func (g *dag) constant(c float64) int32 { return g.push(node{op: opConst, a: -1, b: -1, c: c}) }
func (g *dag) variable(i int) int32     { return g.push(node{op: opVar, a: int32(i), b: -1}) }

func (g *dag) isConst(i int32) (float64, bool) {
	n := &g.nodes[i]
	return n.c, n.op == opConst
}

func (g *dag) is(i int32, o op) bool { return g.nodes[i].op == o }

// powerOfTwo: multiplying by c is exact, over- and underflow apart.
func powerOfTwo(c float64) bool {
	f, _ := math.Frexp(math.Abs(c))
	return f == 0.5
}

// fold evaluates an operation on constants, unless the result is not finite: then
// the operation stays, so that Fault finds it.
func (g *dag) fold(o op, a, b int32) (int32, bool) {
	u, ok := g.isConst(a)
	if !ok {
		return 0, false
	}
	v := 0.0
	if b >= 0 {
		if v, ok = g.isConst(b); !ok {
			return 0, false
		}
	}
	if c := apply(o, u, v); c-c == 0 {
		return g.constant(c), true
	}
	return 0, false
}

func (g *dag) add(a, b int32) int32 {
	if c, ok := g.fold(opAdd, a, b); ok {
		return c
	}
	switch {
	case a == zero:
		return b
	case b == zero:
		return a
	case a == b:
		return g.mul(g.constant(2), a)
	case g.is(b, opNeg):
		return g.sub(a, g.nodes[b].a)
	case g.is(a, opNeg):
		return g.sub(b, g.nodes[a].a)
	}
	return g.push(node{op: opAdd, a: min(a, b), b: max(a, b)})
}

func (g *dag) sub(a, b int32) int32 {
	if c, ok := g.fold(opSub, a, b); ok {
		return c
	}
	switch {
	case b == zero:
		return a
	case a == zero:
		return g.neg(b)
	case a == b:
		return zero
	case g.is(b, opNeg):
		return g.add(a, g.nodes[b].a)
	}
	return g.push(node{op: opSub, a: a, b: b})
}

func (g *dag) mul(a, b int32) int32 {
	if c, ok := g.fold(opMul, a, b); ok {
		return c
	}
	if _, ok := g.isConst(b); ok {
		a, b = b, a
	}
	if c, ok := g.isConst(a); ok {
		n := g.nodes[b]
		switch {
		case c == 0:
			return zero
		case c == 1:
			return b
		case c == -1:
			return g.neg(b)
		case n.op == opNeg:
			return g.mul(g.constant(-c), n.a)
		case n.op == opMul || n.op == opDiv: // c(k·u) and c(k/u)
			if k, ok := g.isConst(n.a); ok && (powerOfTwo(c) || n.op == opMul && powerOfTwo(k)) {
				return g.instead(b, func() int32 { return g.binary(n.op, g.constant(c*k), n.b) })
			}
		}
	}
	switch {
	case g.is(a, opNeg):
		return g.neg(g.mul(g.nodes[a].a, b))
	case g.is(b, opNeg):
		return g.neg(g.mul(a, g.nodes[b].a))
	}
	if c, ok := g.isConst(a); ok && c != 0 {
		return g.push(node{op: opMul, a: a, b: b})
	}
	return g.push(node{op: opMul, a: min(a, b), b: max(a, b)})
}

func (g *dag) div(a, b int32) int32 {
	if c, ok := g.fold(opDiv, a, b); ok {
		return c
	}
	if c, ok := g.isConst(b); ok && powerOfTwo(c) && powerOfTwo(1/c) {
		return g.mul(g.constant(1/c), a)
	}
	switch {
	case a == zero && b != zero:
		return zero
	case g.is(a, opNeg):
		return g.neg(g.div(g.nodes[a].a, b))
	case g.is(b, opNeg):
		return g.neg(g.div(a, g.nodes[b].a))
	}
	return g.push(node{op: opDiv, a: a, b: b})
}

func (g *dag) neg(a int32) int32 {
	if c, ok := g.fold(opNeg, a, -1); ok {
		return c
	}
	n := g.nodes[a]
	switch n.op {
	case opNeg:
		return n.a
	case opSub:
		return g.sub(n.b, n.a)
	case opMul, opDiv:
		if c, ok := g.isConst(n.a); ok {
			return g.instead(a, func() int32 { return g.binary(n.op, g.constant(-c), n.b) })
		}
	}
	return g.push(node{op: opNeg, a: a, b: -1})
}

// pow is aᵇ: products for integers up to MaxPower, √ for ½.
func (g *dag) pow(a, b int32) int32 {
	if c, ok := g.fold(opPow, a, b); ok {
		return c
	}
	if c, ok := g.isConst(b); ok {
		switch {
		case c == 0.5:
			return g.unary(opSqrt, a)
		case c == math.Trunc(c) && math.Abs(c) <= MaxPower:
			p := g.power(a, int(math.Abs(c)))
			if c < 0 {
				return g.div(one, p)
			}
			return p
		}
	}
	return g.push(node{op: opPow, a: a, b: b})
}

// power is aⁿ by squaring: a² is a·a, a³ is a²·a.
func (g *dag) power(a int32, n int) int32 {
	switch {
	case n == 0:
		return one
	case n == 1:
		return a
	case n%2 == 1:
		return g.mul(g.power(a, n-1), a)
	}
	h := g.power(a, n/2)
	return g.mul(h, h)
}

func (g *dag) unary(o op, a int32) int32 {
	if o == opNeg {
		return g.neg(a)
	}
	if c, ok := g.fold(o, a, -1); ok {
		return c
	}
	return g.push(node{op: o, a: a, b: -1})
}

func (g *dag) binary(o op, a, b int32) int32 {
	switch o {
	case opAdd:
		return g.add(a, b)
	case opSub:
		return g.sub(a, b)
	case opMul:
		return g.mul(a, b)
	case opDiv:
		return g.div(a, b)
	case opPow:
		return g.pow(a, b)
	}
	if c, ok := g.fold(o, a, b); ok {
		return c
	}
	if a == b && (o == opMax || o == opMin) {
		return a
	}
	return g.push(node{op: o, a: a, b: b})
}

// An Operation is one line of a listing: its result is the number i of the line.
type Operation struct {
	Name string  // "x", "constant", or what it does: "+", "sqrt", …
	A, B int     // lines of its operands, −1 where there is none; of "x" A is the coordinate
	C    float64 // of a constant
}

// Listing returns the operations of formulas, operands first, and the line of each formula. Constant parts are numbers,
// rounded as the program uses them.
func (g *Graph) Listing(formulas []Value) (lines []Operation, at []int) {
	line := make([]int, len(g.nodes)) // 0: not needed
	for _, f := range formulas {
		line[f.e[0]] = 1
	}
	for i := len(line) - 1; i >= 0; i-- {
		if n := g.nodes[i]; line[i] > 0 && n.op > opVar {
			if line[n.a] = 1; n.b >= 0 {
				line[n.b] = 1
			}
		}
	}
	for i, n := range g.nodes {
		if line[i] == 0 {
			continue
		}
		o := Operation{n.op.String(), int(n.a), -1, n.c}
		if n.op > opVar {
			if o.A = line[n.a]; n.b >= 0 {
				o.B = line[n.b]
			}
		}
		line[i], lines = len(lines), append(lines, o)
	}
	for _, f := range formulas {
		at = append(at, line[f.e[0]])
	}
	return lines, at
}

// On returns the formulas at the vector x, each a scalar of the graph of x.
func (p *Program) On(x Value) (out []Value) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := x.g.copy(p.g, p.g.reach(p.roots...), func(j int32) int32 { return x.e[j] })
	for _, r := range p.roots {
		out = append(out, x.g.num(at(r)))
	}
	return out
}

// copy adds nodes of another graph, or of g, with their variables replaced. It returns where they are.
func (g *dag) copy(from *dag, nodes []int32, variable func(j int32) int32) func(i int32) int32 {
	to := make(map[int32]int32, len(nodes))
	at := func(i int32) int32 {
		if c, ok := from.isConst(i); ok {
			return g.constant(c)
		}
		return to[i]
	}
	for _, i := range nodes {
		switch n := from.nodes[i]; {
		case n.op == opVar:
			to[i] = variable(n.a)
		case n.b < 0:
			to[i] = g.unary(n.op, at(n.a))
		default:
			to[i] = g.binary(n.op, at(n.a), at(n.b))
		}
	}
	return at
}

// Pi returns π itself, which no constant is.
func (g *Graph) Pi() Value {
	return g.num(g.mul(g.constant(4), g.push(node{op: opAtan, a: one, b: -1})))
}

// Direction returns the angle of the vector (c, s) itself, not rounded.
func (g *Graph) Direction(s, c float64) Value {
	return g.num(g.push(node{op: opAtan2, a: g.constant(s), b: g.constant(c)}))
}

// Graph returns the graph that v is of.
func (v Value) Graph() *Graph { return v.g }

// Missing returns what stands in a list of formulas for one that cannot be written.
func (g *Graph) Missing() Value { return g.num(g.constant(math.NaN())) }

// Missing reports whether v is that.
func (v Value) Missing() bool { c, ok := v.g.isConst(v.e[0]); return ok && c != c }

// Elements returns the elements of values, one after the other.
func Elements(values ...Value) (all []Value) {
	for _, v := range values {
		for i := range v.e {
			all = append(all, v.Element(i))
		}
	}
	return all
}

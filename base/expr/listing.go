package expr

import "math"

// An Operation is one line of a listing: its result is the number i of the line.
type Operation struct {
	Name string  // "x", "constant", or what it does: "+", "sqrt", …
	A, B int     // lines of its operands, −1 where there is none; of "x" A is the coordinate
	C    float64 // of a constant
}

// Listing returns the operations of the formulas, operands first, and the line of each formula. Constant parts are
// numbers, rounded as the program uses them.
func (p *Program) Listing() (lines []Operation, at []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := map[int32]int{-1: -1}
	var put func(i int32) int
	put = func(i int32) int {
		if k, ok := line[i]; ok {
			return k
		}
		n := p.g.nodes[i]
		o := Operation{Name: n.op.String(), A: int(n.a), B: -1, C: n.c}
		if n.op > opVar {
			o.A, o.B = line[n.a], line[n.b]
		}
		lines = append(lines, o)
		line[i] = len(lines) - 1
		return line[i]
	}
	for _, i := range p.g.reach(p.roots...) { // constants are not among them
		if n := p.g.nodes[i]; n.op > opVar {
			for _, operand := range []int32{n.a, n.b} {
				if operand >= 0 {
					put(operand)
				}
			}
		}
		put(i)
	}
	for _, r := range p.roots {
		at = append(at, put(r))
	}
	return lines, at
}

// On returns the formulas with the vector x in place of the variables, each a scalar of the graph of x.
func (p *Program) On(x Value) []Value {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := x.g
	to := map[int32]int32{}
	at := func(i int32) int32 {
		if p.g.is(i, opConst) {
			return g.constant(p.g.nodes[i].c)
		}
		return to[i]
	}
	for _, i := range p.g.reach(p.roots...) {
		switch n := p.g.nodes[i]; {
		case n.op == opVar:
			to[i] = x.e[n.a]
		case n.b < 0:
			to[i] = g.unary(n.op, at(n.a))
		default:
			to[i] = g.binary(n.op, at(n.a), at(n.b))
		}
	}
	out := make([]Value, len(p.roots))
	for i, r := range p.roots {
		out[i] = g.num(at(r))
	}
	return out
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

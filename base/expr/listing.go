package expr

import "math"

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
func (g *Graph) copy(from *Graph, nodes []int32, variable func(j int32) int32) func(i int32) int32 {
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

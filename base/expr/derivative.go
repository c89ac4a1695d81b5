package expr

import (
	"maps"
	"slices"
)

// partials returns the nodes of ∂i/∂a and ∂i/∂b, −1 where an operand is missing
// or the derivative is zero. A square is not asked for: see reverse.
func (g *dag) partials(i int32) (da, db int32) {
	n := g.nodes[i]
	a, b := n.a, n.b
	c := g.constant
	da, db = -1, -1
	switch n.op {
	case opNeg:
		da = c(-1)
	case opSqrt:
		da = g.div(c(0.5), i)
	case opExp:
		da = i
	case opLog:
		da = g.div(one, a)
	case opSin:
		da = g.unary(opCos, a)
	case opCos:
		da = g.neg(g.unary(opSin, a))
	case opTan:
		da = g.add(one, g.mul(i, i))
	case opAsin:
		da = g.div(one, g.unary(opSqrt, g.mul(g.sub(one, a), g.add(one, a))))
	case opAcos:
		da = g.neg(g.div(one, g.unary(opSqrt, g.mul(g.sub(one, a), g.add(one, a)))))
	case opAtan:
		da = g.div(one, g.add(one, g.mul(a, a)))
	case opSinh:
		da = g.unary(opCosh, a)
	case opCosh:
		da = g.unary(opSinh, a)
	case opTanh:
		da = g.sub(one, g.mul(i, i))
	case opAbs:
		da = g.unary(opSign, a)
	case opSoftplus:
		da = g.unary(opLogistic, a)
	case opLogistic:
		da = g.mul(i, g.sub(one, i))
	case opAdd:
		da, db = one, one
	case opSub:
		da, db = one, c(-1)
	case opMul:
		da, db = b, a
	case opDiv:
		da = g.div(one, b)
		db = g.neg(g.mul(i, da))
	case opPow:
		if _, ok := g.isConst(a); !ok {
			da = g.mul(b, g.pow(a, g.sub(b, one)))
		}
		if _, ok := g.isConst(b); !ok {
			db = g.mul(i, g.unary(opLog, a))
		}
	case opAtan2: // of (y, x)
		r := g.div(one, g.add(g.mul(a, a), g.mul(b, b)))
		da, db = g.mul(b, r), g.neg(g.mul(a, r))
	case opMin:
		da, db = g.binary(opGE, b, a), g.binary(opGT, a, b)
	case opMax:
		da, db = g.binary(opGE, a, b), g.binary(opGT, b, a)
	case opKeep:
		db = g.binary(opGE, a, zero)
	}
	return da, db
}

// differentiate runs do as part of the differentiation of node i: what it adds is blamed on i.
func (g *dag) differentiate(i int32, do func()) {
	here, cause := g.here, g.cause
	g.here, g.cause = g.place[i], g.of[i]
	do()
	g.here, g.cause = here, cause
}

// entry is one non-zero derivative: of a component, in variable v. Of results, v is the place in a row.
type entry struct {
	v    int
	node int32
}

// reach returns the nodes under the roots, ascending, constants left out.
func (g *dag) reach(roots ...int32) []int32 {
	var out []int32
	seen := make(map[int32]bool)
	stack := slices.Clone(roots)
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n := g.nodes[i]
		if n.op == opConst || seen[i] {
			continue
		}
		seen[i] = true
		out = append(out, i)
		if n.op == opVar {
			continue
		}
		stack = append(stack, n.a)
		if n.b >= 0 {
			stack = append(stack, n.b)
		}
	}
	slices.Sort(out)
	return out
}

// reverse returns the gradient of a node, ascending in the variables, and the number of operations under it: one sweep
// from the node down, whose cost is a few times that number.
func (g *dag) reverse(root int32) (grad []entry, size int) {
	under := g.reach(root)
	adjoint := make(map[int32]int32, len(under))
	adjoint[root] = one
	give := func(to, what int32) {
		if g.is(to, opConst) {
			return
		}
		if was, ok := adjoint[to]; ok {
			what = g.add(was, what)
		}
		adjoint[to] = what
	}
	for _, i := range slices.Backward(under) {
		ā, n := adjoint[i], g.nodes[i]
		if _, ok := adjoint[i]; !ok || ā == zero {
			continue
		}
		if n.op == opVar {
			grad = append(grad, entry{int(n.a), ā})
			continue
		}
		g.differentiate(i, func() {
			if n.op == opMul && n.a == n.b {
				give(n.a, g.mul(g.mul(g.constant(2), ā), n.a))
				return
			}
			da, db := g.partials(i)
			if da >= 0 {
				give(n.a, g.mul(ā, da))
			}
			if db >= 0 {
				give(n.b, g.mul(ā, db))
			}
		})
	}
	slices.SortFunc(grad, func(a, b entry) int { return a.v - b.v })
	return grad, len(under)
}

// forward returns the derivatives of the roots along the direction whose component in variable v is seed(v).
func (g *dag) forward(roots []int32, seed func(v int32) int32) []int32 {
	tangent := map[int32]int32{}
	of := func(i int32) int32 { // zero where there is none
		return tangent[i]
	}
	for _, i := range g.reach(roots...) {
		n := g.nodes[i]
		if n.op == opVar {
			if t := seed(n.a); t != zero {
				tangent[i] = t
			}
			continue
		}
		ȧ, ḃ := of(n.a), zero
		if n.b >= 0 {
			ḃ = of(n.b)
		}
		if ȧ == zero && ḃ == zero {
			continue
		}
		g.differentiate(i, func() {
			t := zero
			if n.op == opMul && n.a == n.b {
				t = g.mul(g.mul(g.constant(2), n.a), ȧ)
			} else {
				da, db := g.partials(i)
				if da >= 0 {
					t = g.mul(da, ȧ)
				}
				if db >= 0 {
					t = g.add(t, g.mul(db, ḃ))
				}
			}
			if t != zero {
				tangent[i] = t
			}
		})
	}
	out := make([]int32, len(roots))
	for i, r := range roots {
		out[i] = of(r)
	}
	return out
}

// gradients returns the gradients of the roots: a reverse sweep for each root or,
// where that leaves fewer operations, a forward sweep for each variable.
func (g *dag) gradients(roots []int32) [][]entry {
	back := make([][]entry, len(roots))
	vars := map[int]bool{}
	shared, swept := len(g.reach(roots...)), 0
	for i, r := range roots {
		grad, size := g.reverse(r)
		back[i] = grad
		swept += size
		for _, e := range grad {
			vars[e.v] = true
		}
	}
	if len(vars)*shared > 4*swept { // forward sweeps take at most the left, reverse ones about the right
		return back
	}
	ahead := make([][]entry, len(roots))
	for _, v := range slices.Sorted(maps.Keys(vars)) {
		along := func(u int32) int32 {
			if int(u) == v {
				return one
			}
			return zero
		}
		for i, t := range g.forward(roots, along) {
			if t != zero {
				ahead[i] = append(ahead[i], entry{v, t})
			}
		}
	}
	if operations(g, roots, ahead) < operations(g, roots, back) {
		return ahead
	}
	return back
}

func operations(g *dag, roots []int32, grads [][]entry) int {
	ends := slices.Clone(roots)
	for _, grad := range grads {
		for _, e := range grad {
			ends = append(ends, e.node)
		}
	}
	return len(g.reach(ends...))
}

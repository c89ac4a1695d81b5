package expr

import (
	"fmt"
	"math"
	"math/bits"
)

// Elementary functions, of a number or of each element of a vector.

func Sqrt(v Value) Value { return v.each(opSqrt) }
func Exp(v Value) Value  { return v.each(opExp) }
func Log(v Value) Value  { return v.each(opLog) }
func Sin(v Value) Value  { return v.each(opSin) }
func Cos(v Value) Value  { return v.each(opCos) }
func Tan(v Value) Value  { return v.each(opTan) }
func Asin(v Value) Value { return v.each(opAsin) }
func Acos(v Value) Value { return v.each(opAcos) }
func Atan(v Value) Value { return v.each(opAtan) }
func Sinh(v Value) Value { return v.each(opSinh) }
func Cosh(v Value) Value { return v.each(opCosh) }
func Tanh(v Value) Value { return v.each(opTanh) }

// Abs is |v|; its derivative at 0 is 0.
func Abs(v Value) Value { return v.each(opAbs) }

// Relu is max(0, v); its derivative at 0 is 0.
func Relu(v Value) Value { return pair(opMax, v.g.num(zero), v) }

// Softplus is log(1 + eᵛ).
func Softplus(v Value) Value { return v.each(opSoftplus) }

// Logistic is 1/(1 + e⁻ᵛ).
func Logistic(v Value) Value { return v.each(opLogistic) }

// Atan2 is the angle of the point (x, y), in (−π, π].
func Atan2(y, x Value) Value { return pair(opAtan2, y, x) }

// Radians converts degrees.
func Radians(v Value) Value { return pair(opMul, v, v.g.Const(math.Pi/180)) }

// Max and Min take several values element by element, or the elements of one
// vector. Among equals the first counts for the derivative.
func Max(v ...Value) Value { return extreme(opMax, v) }
func Min(v ...Value) Value { return extreme(opMin, v) }

func extreme(o op, v []Value) Value {
	if len(v) == 1 {
		w := v[0]
		if v = nil; w.Size() == 0 {
			failf("%s of no elements", o)
		}
		for i := range w.Size() {
			v = append(v, w.Element(i))
		}
	}
	m := v[0]
	for _, w := range v[1:] {
		m = pair(o, m, w)
	}
	return m
}

// Where is v where t ≥ 0, else w, element by element. Both must have a derivative: 0 does not mask NaN.
func Where(t, v, w Value) Value {
	return pair(opKeep, t, v).Add(pair(opKeep, pair(opGT, t.g.Const(0), t).Sub(t.g.Const(0.5)), w))
}

// Sum adds all elements, in order.
func Sum(v Value) Value {
	s := zero
	for _, i := range v.e {
		s = v.g.add(s, i)
	}
	return v.g.num(s)
}

// Prod multiplies all elements, in order.
func Prod(v Value) Value {
	p := one
	for _, i := range v.e {
		p = v.g.mul(p, i)
	}
	return v.g.num(p)
}

// Dot is Σ v_i w_i over all elements of equal shapes.
func Dot(v, w Value) Value {
	if v.shape != w.shape {
		failf("dot: shapes do not fit, %s and %s", v.shape, w.shape)
	}
	return Sum(pair(opMul, v, w))
}

// Norm is the Euclidean norm of a vector, the Frobenius norm of a matrix.
func Norm(v Value) Value {
	if v.shape.rank == 0 {
		return Abs(v)
	}
	return Sqrt(Dot(v, v))
}

// Distance is ‖v − w‖.
func Distance(v, w Value) Value { return Norm(v.Sub(w)) }

// Cross is the cross product in R³; in R² the number v₀w₁ − v₁w₀.
func Cross(v, w Value) Value {
	if v.shape.rank != 1 || v.shape != w.shape || v.shape.c != 2 && v.shape.c != 3 {
		failf("cross takes two vectors of 3 (or of 2), not %s and %s", v.shape, w.shape)
	}
	sameGraph(v, w)
	g := v.g
	minor := func(i, j int) int32 { return g.sub(g.mul(v.e[i], w.e[j]), g.mul(v.e[j], w.e[i])) }
	if v.shape.c == 2 {
		return g.num(minor(0, 1))
	}
	return Value{g, v.shape, []int32{minor(1, 2), minor(2, 0), minor(0, 1)}}
}

// Angle is the angle between two vectors, in [0, π]: atan2(‖v × w‖, v·w) in R² and R³, Kahan's 2 atan2(‖v|w| − w|v|‖,
// ‖v|w| + w|v|‖) elsewhere. Its derivative does not exist where the vectors are parallel.
func Angle(v, w Value) Value {
	if v.shape.rank != 1 || v.shape != w.shape {
		failf("angle takes two vectors of one length, not %s and %s", v.shape, w.shape)
	}
	if v.shape.c == 2 || v.shape.c == 3 {
		return Atan2(Norm(Cross(v, w)), Dot(v, w))
	}
	a, b := v.Mul(Norm(w)), w.Mul(Norm(v))
	return v.g.Const(2).Mul(Atan2(Norm(a.Sub(b)), Norm(a.Add(b))))
}

// Dihedral is the angle of the torsion p–q–r–s about q–r in (−π, π], with the
// sign of chemistry's convention (IUPAC): 0 for cis, positive clockwise.
func Dihedral(p, q, r, s Value) Value {
	for _, v := range []Value{p, q, r, s} {
		if v.shape != vectorOf(3) {
			failf("dihedral takes four points in R³, one is %s", v.shape)
		}
	}
	a, b, c := q.Sub(p), r.Sub(q), s.Sub(r)
	n := Cross(b, c)
	return Atan2(Norm(b).Mul(Dot(a, n)), Dot(Cross(a, b), n))
}

// Transpose of a matrix.
func Transpose(m Value) Value {
	if m.shape.rank != 2 {
		failf("transpose takes a matrix, not %s", m.shape)
	}
	r, c := m.shape.r, m.shape.c
	e := make([]int32, len(m.e))
	for i := range r {
		for j := range c {
			e[j*r+i] = m.e[i*c+j]
		}
	}
	return Value{m.g, shape{2, c, r}, e}
}

// Trace of a square matrix.
func Trace(m Value) Value {
	n := square("trace", m)
	s := zero
	for i := range n {
		s = m.g.add(s, m.e[i*n+i])
	}
	return m.g.num(s)
}

// Identity is the n×n unit matrix.
func (g *Graph) Identity(n int) Value {
	if n < 1 || n > MaxElements || n*n > MaxElements {
		failf("a unit matrix with %d rows", n)
	}
	e := make([]int32, n*n)
	for i := range n {
		e[i*n+i] = one
	}
	return Value{g, shape{2, n, n}, e}
}

func square(what string, m Value) int {
	if m.shape.rank != 2 || m.shape.r != m.shape.c {
		failf("%s takes a square matrix, not %s", what, m.shape)
	}
	return m.shape.r
}

// matmul multiplies matrices, or a matrix and a vector on either side.
func matmul(a, b Value) Value {
	sameGraph(a, b)
	r, k, c := a.shape.r, a.shape.c, b.shape.c
	inner := b.shape.r
	if b.shape.rank == 1 { // a column
		inner, c = c, 1
	}
	if k != inner {
		failf("*: shapes do not fit, %s and %s", a.shape, b.shape)
	}
	if r*c > MaxElements {
		failf("*: a product of %d×%d; at most %d elements are allowed", r, c, MaxElements)
	}
	e := make([]int32, r*c)
	for i := range r {
		for j := range c {
			s := zero
			for l := range k {
				if a.e[i*k+l] == zero || b.e[l*c+j] == zero {
					continue
				}
				s = a.g.add(s, a.g.mul(a.e[i*k+l], b.e[l*c+j]))
			}
			e[i*c+j] = s
		}
	}
	switch {
	case b.shape.rank == 1:
		return Value{a.g, vectorOf(r), e}
	case a.shape.rank == 1:
		return Value{a.g, vectorOf(c), e}
	}
	return Value{a.g, shape{2, r, c}, e}
}

// Det is the determinant of a square matrix of at most MaxDet rows, by expansion along the rows with every minor
// computed once: no division, so it is exact and smooth at singular matrices too.
func Det(m Value) Value {
	n := square("det", m)
	if n > MaxDet {
		failf("det of %s; at most %d rows are allowed", m.shape, MaxDet)
	}
	minors := map[uint]int32{0: one} // of the last rows, by their set of columns
	for size := 1; size <= n; size++ {
		row := m.e[(n-size)*n : (n-size+1)*n]
		next := map[uint]int32{}
		for set := uint(1); set < 1<<n; set++ {
			if bits.OnesCount(set) != size {
				continue
			}
			s, odd := zero, false
			for j := range n {
				if set&(1<<j) == 0 {
					continue
				}
				term := m.g.mul(row[j], minors[set&^(1<<j)])
				if odd {
					s = m.g.sub(s, term)
				} else {
					s = m.g.add(s, term)
				}
				odd = !odd
			}
			next[set] = s
		}
		minors = next
	}
	return m.g.num(minors[1<<n-1])
}

// function is one of the language's functions.
type function struct {
	min, max int                    // arguments; max < 0 means any number
	form     string                 // an example of its use
	do       func([]Value) Value    // on checked arity
	ranges   bool                   // may begin with ranges
	fold     func(a, b Value) Value // joins vectors over a range
	empty    func(*Graph) Value     // over an empty range
	cost     func([]Value) int      // steps, if not the number of elements
}

func (f function) arity() string {
	switch {
	case f.max < 0:
		return fmt.Sprintf("at least %d", f.min)
	case f.min == f.max:
		return arguments(f.min)
	}
	return fmt.Sprintf("%d or %d arguments", f.min, f.max)
}

func arguments(n int) string {
	if n == 1 {
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", n)
}

func (f function) steps(args []Value) int {
	if f.cost != nil {
		return f.cost(args)
	}
	n := 1
	for _, a := range args {
		n += a.Size()
	}
	return n
}

var functions = map[string]function{}

func init() {
	for name, do := range map[string]func(Value) Value{
		"sqrt": Sqrt, "exp": Exp, "log": Log, "sin": Sin, "cos": Cos, "tan": Tan, "asin": Asin, "acos": Acos,
		"atan": Atan,
		"sinh": Sinh, "cosh": Cosh, "tanh": Tanh, "abs": Abs, "relu": Relu, "softplus": Softplus, "logistic": Logistic,
		"radians": Radians, "trace": Trace, "transpose": Transpose, "flat": Value.Flat,
	} {
		functions[name] = function{min: 1, max: 1, form: name + "(u)", do: func(a []Value) Value { return do(a[0]) }}
	}
	two := func(name, form string, do func(a, b Value) Value) {
		functions[name] = function{min: 2, max: 2, form: form, do: func(a []Value) Value { return do(a[0], a[1]) }}
	}
	two("atan2", "atan2(y, x)", Atan2)
	two("dot", "dot(u, v)", Dot)
	two("cross", "cross(u, v)", Cross)
	two("distance", "distance(p, q)", Distance)
	two("times", "times(u, v)", Value.Times)
	functions["where"] = function{min: 3, max: 3, form: "where(t, u, v): u where t >= 0, else v",
		do: func(a []Value) Value { return Where(a[0], a[1], a[2]) }}
	const angle = "angle(u, v) between vectors, or angle(p, q, r) at the point q"
	functions["angle"] = function{min: 2, max: 3, form: angle, do: func(a []Value) Value {
		if len(a) == 2 {
			return Angle(a[0], a[1])
		}
		return Angle(a[0].Sub(a[1]), a[2].Sub(a[1]))
	}}
	functions["dihedral"] = function{min: 4, max: 4, form: "dihedral(p, q, r, s)", do: func(a []Value) Value {
		return Dihedral(a[0], a[1], a[2], a[3])
	}}
	functions["sum"] = function{min: 1, max: 1, form: "sum(v) or sum(i in 0..3, x[i])", ranges: true, fold: Value.Add,
		do: func(a []Value) Value { return Sum(a[0]) }, empty: func(g *Graph) Value { return g.Const(0) }}
	functions["prod"] = function{min: 1, max: 1, form: "prod(v) or prod(i in 0..3, x[i])", ranges: true,
		fold: Value.Times,
		do:   func(a []Value) Value { return Prod(a[0]) }, empty: func(g *Graph) Value { return g.Const(1) }}
	functions["max"] = function{min: 1, max: -1, form: "max(a, b), max(v) or max(i in 0..3, x[i])", ranges: true,
		fold: func(a, b Value) Value { return Max(a, b) }, do: func(a []Value) Value { return Max(a...) }}
	functions["min"] = function{min: 1, max: -1, form: "min(a, b), min(v) or min(i in 0..3, x[i])", ranges: true,
		fold: func(a, b Value) Value { return Min(a, b) }, do: func(a []Value) Value { return Min(a...) }}
	functions["norm"] = function{min: 1, max: 1, form: "norm(v) or norm(i in 0..3, x[i])", ranges: true,
		do: func(a []Value) Value { return Norm(a[0]) }, empty: func(g *Graph) Value { return g.Const(0) }}
	functions["vector"] = function{min: 1, max: 1, form: "vector(i in 0..3, x[2*i])", ranges: true,
		do: func(a []Value) Value { return a[0] }}
	functions["len"] = function{min: 1, max: 1, form: "len(v)",
		do: func(a []Value) Value { return a[0].g.Const(float64(a[0].Len())) }}
	functions["reshape"] = function{min: 3, max: 3, form: "reshape(v, rows, columns)", do: func(a []Value) Value {
		return a[0].Reshape(a[1].integer("the number of rows"), a[2].integer("the number of columns"))
	}}
	functions["identity"] = function{min: 1, max: 1, form: "identity(n)", do: func(a []Value) Value {
		return a[0].g.Identity(a[0].integer("the number of rows"))
	}}
	functions["det"] = function{min: 1, max: 1, form: "det(M)", do: func(a []Value) Value { return Det(a[0]) },
		cost: func(a []Value) int { return 1 + a[0].Size()<<min(a[0].Len(), MaxDet) }}
}

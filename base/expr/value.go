package expr

import (
	"fmt"
	"math"
)

// A Value is a scalar, vector or matrix of formulas. Operations on Values of
// different graphs, or of shapes that do not fit, panic.
type Value struct {
	g     *Graph
	shape shape
	e     []int32 // row by row
}

// shape: a scalar has rank 0, a vector rank 1 and c elements, a matrix r rows of c elements.
type shape struct{ rank, r, c int }

var scalar = shape{0, 1, 1}

func vectorOf(n int) shape { return shape{1, 1, n} }

func (s shape) size() int { return s.r * s.c }

func (s shape) String() string {
	switch s.rank {
	case 0:
		return "a number"
	case 1:
		return fmt.Sprintf("a vector of %d", s.c)
	}
	return fmt.Sprintf("a %d×%d matrix", s.r, s.c)
}

// fault is a panic of the builder: a mistake of the Go programmer, or, where a
// Scope parses, one of the formula's author.
type fault string

func (f fault) Error() string { return "expr: " + string(f) }

func failf(format string, args ...any) { panic(fault(fmt.Sprintf(format, args...))) }

// Const returns a number.
func (g *Graph) Const(c float64) Value {
	if c-c != 0 {
		failf("%v is not a number of a formula", c)
	}
	return g.num(g.constant(c))
}

// Array returns constants: a vector, or with rows and columns given a matrix, row by row.
func (g *Graph) Array(c []float64, shape ...int) Value {
	if len(c) > MaxElements {
		failf("an array of %d numbers; at most %d are allowed", len(c), MaxElements)
	}
	v := Value{g, vectorOf(len(c)), make([]int32, len(c))}
	for i := range c {
		v.e[i] = g.Const(c[i]).e[0]
	}
	if len(shape) == 2 {
		return v.Reshape(shape[0], shape[1])
	}
	return v
}

func (g *Graph) num(i int32) Value { return Value{g, scalar, []int32{i}} }

// X returns the vector of all d variables.
func (g *Graph) X() Value {
	e := make([]int32, g.dim)
	for i := range e {
		e[i] = g.variable(i)
	}
	return Value{g, vectorOf(g.dim), e}
}

// Len returns the number of elements of a scalar or vector, and of rows of a matrix.
func (v Value) Len() int {
	if v.shape.rank == 2 {
		return v.shape.r
	}
	return v.shape.c
}

// Size returns the number of elements.
func (v Value) Size() int { return len(v.e) }

// IsScalar: the value is a single number, not a vector of one.
func (v Value) IsScalar() bool { return v.shape.rank == 0 }

// Element returns element i of all elements, row by row, as a scalar.
func (v Value) Element(i int) Value { return v.g.num(v.e[i]) }

// Constant returns the number that v is, if it does not depend on x.
func (v Value) Constant() (float64, bool) {
	if v.shape.rank != 0 {
		return 0, false
	}
	return v.g.isConst(v.e[0])
}

// At returns element i of a vector, or row i of a matrix.
func (v Value) At(i int) Value {
	n := v.Len()
	switch {
	case v.shape.rank == 0:
		failf("a number has no elements")
	case i < 0 || i >= n:
		failf("index %d out of range: %s has indices 0 to %d", i, v.shape, n-1)
	case v.shape.rank == 1:
		return v.g.num(v.e[i])
	}
	c := v.shape.c
	return Value{v.g, vectorOf(c), v.e[i*c : (i+1)*c]}
}

// Slice returns elements (or rows) from to to−1.
func (v Value) Slice(from, to int) Value {
	n := v.Len()
	switch {
	case v.shape.rank == 0:
		failf("a number has no elements")
	case from < 0 || to > n || from > to:
		failf("slice [%d:%d] out of range: %s has bounds 0 to %d", from, to, v.shape, n)
	case v.shape.rank == 1:
		return Value{v.g, vectorOf(to - from), v.e[from:to]}
	}
	c := v.shape.c
	return Value{v.g, shape{2, to - from, c}, v.e[from*c : to*c]}
}

// Reshape returns the elements, row by row, as a rows×cols matrix.
func (v Value) Reshape(rows, cols int) Value {
	if rows < 1 || cols < 1 || rows > MaxElements || cols > MaxElements || rows*cols != len(v.e) {
		failf("%s cannot become a %d×%d matrix", v.shape, rows, cols)
	}
	return Value{v.g, shape{2, rows, cols}, v.e}
}

// Flat returns the elements, row by row, as a vector.
func (v Value) Flat() Value { return Value{v.g, vectorOf(len(v.e)), v.e} }

// Join returns the elements of all values, one after the other, as a vector.
func Join(values ...Value) Value {
	if len(values) == 0 {
		failf("a vector needs at least one element")
	}
	var e []int32
	for _, v := range values {
		sameGraph(values[0], v)
		e = append(e, v.e...)
	}
	if len(e) > MaxElements {
		failf("a vector of %d elements; at most %d are allowed", len(e), MaxElements)
	}
	return Value{values[0].g, vectorOf(len(e)), e}
}

// Stack returns the matrix whose rows are the given vectors.
func Stack(rows ...Value) Value {
	for _, r := range rows {
		if r.shape.rank != 1 || r.shape != rows[0].shape {
			failf("rows of a matrix must be vectors of one length, not %s beside %s", rows[0].shape, r.shape)
		}
	}
	return Join(rows...).Reshape(len(rows), rows[0].shape.c)
}

func sameGraph(a, b Value) {
	if a.g != b.g {
		failf("values of different graphs")
	}
}

// each applies an operation of one operand to every element.
func (v Value) each(o op) Value {
	if v.shape.rank == 2 && o != opNeg && o != opAbs {
		failf("%s of %s; it takes a number or a vector (flat(…) makes one)", o, v.shape)
	}
	e := make([]int32, len(v.e))
	for i, a := range v.e {
		e[i] = v.g.unary(o, a)
	}
	return Value{v.g, v.shape, e}
}

// pair applies an operation to elements of equal shapes, or of one shape and a number.
func pair(o op, a, b Value) Value {
	sameGraph(a, b)
	s := a.shape
	if s.rank == 0 {
		s = b.shape
	} else if b.shape.rank != 0 && a.shape != b.shape {
		failf("%s: shapes do not fit, %s and %s", o, a.shape, b.shape)
	}
	e := make([]int32, s.size())
	for i := range e {
		e[i] = a.g.binary(o, a.e[i*min(1, a.shape.rank)], b.e[i*min(1, b.shape.rank)])
	}
	return Value{a.g, s, e}
}

// Add, Sub: equal shapes, or a number and any shape.
func (v Value) Add(w Value) Value { return pair(opAdd, v, w) }
func (v Value) Sub(w Value) Value { return pair(opSub, v, w) }

// Neg returns −v.
func (v Value) Neg() Value { return v.each(opNeg) }

// Mul multiplies numbers, a number with any shape, matrices, or a matrix with a
// vector. For two vectors there are Dot, Cross and Times.
func (v Value) Mul(w Value) Value {
	if v.shape.rank == 0 || w.shape.rank == 0 {
		return pair(opMul, v, w)
	}
	if v.shape.rank == 1 && w.shape.rank == 1 {
		failf("*: two vectors; write dot(a, b), cross(a, b) or times(a, b)")
	}
	return matmul(v, w)
}

// Times multiplies element by element.
func (v Value) Times(w Value) Value { return pair(opMul, v, w) }

// Div divides by a number, or element by element.
func (v Value) Div(w Value) Value {
	if c, ok := w.Constant(); ok && c == 0 {
		failf("division by zero")
	}
	return pair(opDiv, v, w)
}

// Pow raises each element of a number or vector to a power. Integer powers up to
// MaxPower are products, so that their bases may be negative.
func (v Value) Pow(w Value) Value {
	if v.shape.rank == 2 || w.shape.rank == 2 {
		failf("^: powers of matrices are not formulas; multiply them")
	}
	return pair(opPow, v, w)
}

func (v Value) integer(what string) int {
	c, ok := v.Constant()
	switch {
	case v.shape.rank != 0:
		failf("%s must be an integer, not %s", what, v.shape)
	case !ok:
		failf("%s must not depend on x", what)
	case c != math.Trunc(c) || math.Abs(c) > 1<<52:
		failf("%s must be an integer, not %v", what, c)
	}
	return int(c)
}

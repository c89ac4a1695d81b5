package expr

import (
	"fmt"
	"maps"
	"slices"
)

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

// Functions returns the names of the functions that formulas can call, sorted, each with an example.
func Functions() (names, forms []string) {
	names = slices.Sorted(maps.Keys(functions))
	for _, n := range names {
		forms = append(forms, functions[n].form)
	}
	return names, forms
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
	const angle = "angle(u, v) between vectors, or angle(p, q, r) at the point q"
	functions["angle"] = function{min: 2, max: 3, form: angle, do: func(a []Value) Value {
		if len(a) == 2 {
			return Angle(a[0], a[1])
		}
		return AngleAt(a[0], a[1], a[2])
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

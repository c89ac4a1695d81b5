package proof

import (
	"slices"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/interval"
)

type box = interval.Interval

// A line is one operation, or a variable: its operands are earlier lines, −1 where there is none.
type line struct {
	do   func(a, b box) (v, da, db box)
	a, b int32 // of a variable, a is the coordinate
	kind
}

// A kind is what a line does.
type kind uint8

const (
	constant kind = iota
	variable
	function
)

// functions are the operations with slopes: the value at a and b, and its derivatives by them.
var functions = map[string]func(a, b box) (v, da, db box){
	"+": func(a, b box) (v, da, db box) { return interval.Add(a, b), one, one },
	"-": func(a, b box) (v, da, db box) { return interval.Sub(a, b), one, interval.Point(-1) },
	"*": func(a, b box) (v, da, db box) { return interval.Mul(a, b), b, a },
	"²": of(interval.Square, func(a, _ box) box { return interval.Scale(2, a) }),
	"−": of(interval.Neg, func(_, _ box) box { return interval.Point(-1) }),
	"/": func(a, b box) (v, da, db box) {
		v, da = interval.Div(a, b), interval.Div(one, b)
		return v, da, interval.Neg(interval.Mul(v, da))
	},
	"^": func(a, b box) (v, da, db box) {
		v = interval.Pow(a, b)
		return v, interval.Mul(b, interval.Div(v, a)), interval.Mul(v, interval.Log(a))
	},
	"atan2": func(a, b box) (v, da, db box) {
		r := interval.Add(interval.Square(a), interval.Square(b))
		return interval.Atan2(a, b), interval.Div(b, r), interval.Neg(interval.Div(a, r))
	},
	"min": func(a, b box) (v, da, db box) {
		s := interval.Scale(0.5, side(interval.Sub(b, a)))
		return interval.Min(a, b), interval.Add(half, s), interval.Sub(half, s)
	},
	"max": func(a, b box) (v, da, db box) {
		s := interval.Scale(0.5, side(interval.Sub(a, b)))
		return interval.Max(a, b), interval.Add(half, s), interval.Sub(half, s)
	},
	">": func(a, b box) (v, da, db box) { // 1 or 0, nothing where it jumps
		switch {
		case a.Lo > b.Hi:
			return one, da, db
		case a.Hi <= b.Lo:
			return v, da, db
		}
		return interval.Nothing, da, db
	},
	"where": func(a, b box) (v, da, db box) { // b where a ≥ 0, else 0
		switch {
		case a.Lo >= 0:
			return b, da, one
		case a.Hi < 0:
			return v, da, db
		}
		return interval.Nothing, da, db
	},
	"sin":  func(a, _ box) (v, da, _ box) { v, da = interval.Sincos(a); return v, da, v },
	"cos":  func(a, _ box) (v, da, _ box) { s, c := interval.Sincos(a); return c, interval.Neg(s), v },
	"sqrt": of(interval.Sqrt, func(_, v box) box { return interval.Div(half, v) }),
	"exp":  of(interval.Exp, func(_, v box) box { return v }),
	"log":  of(interval.Log, func(a, _ box) box { return interval.Div(one, a) }),
	"tan":  of(interval.Tan, func(_, v box) box { return interval.Add(one, interval.Square(v)) }),
	"asin": of(interval.Asin, func(a, _ box) box { return interval.Div(one, interval.Across(a)) }),
	"acos": of(interval.Acos, func(a, _ box) box { return interval.Div(interval.Point(-1), interval.Across(a)) }),
	"atan": of(interval.Atan, func(a, _ box) box {
		return interval.Div(one, interval.Add(one, interval.Square(a)))
	}),
	"sinh":     of(interval.Sinh, func(a, _ box) box { return interval.Cosh(a) }),
	"cosh":     of(interval.Cosh, func(a, _ box) box { return interval.Sinh(a) }),
	"tanh":     of(interval.Tanh, func(_, v box) box { return interval.Sub(one, interval.Square(v)) }),
	"abs":      of(interval.Abs, func(a, _ box) box { return side(a) }),
	"softplus": of(interval.Softplus, func(a, _ box) box { return interval.Logistic(a) }),
	"logistic": of(interval.Logistic, func(_, v box) box { return interval.Mul(v, interval.Sub(one, v)) }),
}

func of(f func(a box) box, slope func(a, v box) box) func(a, b box) (v, da, db box) {
	return func(a, _ box) (v, da, _ box) {
		v = f(a)
		return v, slope(a, v), v
	}
}

var one, half = interval.Point(1), interval.Point(0.5)

// side is the generalised derivative of |a|: the mean value theorem holds with all of [−1, 1] at a kink.
func side(a box) box {
	switch {
	case a.Lo > 0:
		return one
	case a.Hi < 0:
		return interval.Point(-1)
	}
	return box{Lo: -1, Hi: 1}
}

// A tape is formulas as lines. It is read only.
type tape struct {
	lines []line
	fixed []box     // values of lines that depend on no variable, which are constants
	under [][]int32 // the lines below each formula, from its own down; no constants
	vars  [][]int32 // and the variables among these, in the same order
}

func newTape(listing []expr.Operation, at []int) *tape {
	n, t := len(listing), &tape{}
	p := pass{tape: t, da: make([]box, n), db: make([]box, n)}
	for i, o := range listing {
		l, name := line{a: int32(o.A), b: int32(o.B)}, o.Name
		switch {
		case name == "x":
			l.kind = variable
		case name == "*" && o.A == o.B:
			name, l.b = "²", -1
			fallthrough
		case name != "constant":
			if name == "-" && o.B < 0 {
				name = "−"
			}
			l.kind, l.do = function, functions[name]
		}
		t.lines, p.value = append(t.lines, l), append(p.value, interval.Point(o.C))
		still := func(i int32) bool { return i < 0 || t.lines[i].kind == constant }
		if l.kind == function && still(l.a) && still(l.b) {
			p.step(i, nil)
			t.lines[i].kind = constant
		}
	}
	t.fixed = p.value
	seen := make([]int, n) // by which formula, from 1
	for k, r := range at {
		var under []int32
		for stack := []int32{int32(r)}; len(stack) > 0; {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if i < 0 || seen[i] == k+1 || t.lines[i].kind == constant {
				continue
			}
			seen[i], under = k+1, append(under, i)
			if l := t.lines[i]; l.kind != variable {
				stack = append(stack, l.a, l.b)
			}
		}
		slices.Sort(under)
		slices.Reverse(under)
		vars := slices.DeleteFunc(slices.Clone(under), func(i int32) bool { return t.lines[i].kind != variable })
		t.under, t.vars = append(t.under, under), append(t.vars, vars)
	}
	return t
}

// A pass is the scratch of a tape at one box.
type pass struct {
	*tape
	value, da, db, adjoint []box // by line
}

func (t *tape) newPass() pass {
	n := len(t.lines)
	return pass{t, slices.Clone(t.fixed), make([]box, n), make([]box, n), make([]box, n)}
}

// evaluate encloses the value of every line over the box x, and the slopes of functions.
func (p *pass) evaluate(x []box) {
	for i := range p.lines {
		p.step(i, x)
	}
}

func (p *pass) step(i int, x []box) {
	switch l := &p.lines[i]; l.kind {
	case variable:
		p.value[i] = x[l.a]
	case function:
		b := box{}
		if l.b >= 0 {
			b = p.value[l.b]
		}
		p.value[i], p.da[i], p.db[i] = l.do(p.value[l.a], b)
	}
}

// gradient encloses the derivatives of formula k over the box of evaluate, along vars[k]: a sweep from its line down.
func (p *pass) gradient(dst []box, k int) {
	for _, i := range p.under[k] {
		p.adjoint[i] = box{}
	}
	p.adjoint[p.under[k][0]] = one
	for _, i := range p.under[k] {
		if l := &p.lines[i]; l.kind == variable {
			dst[0], dst = p.adjoint[i], dst[1:]
		} else if p.give(l.a, interval.Mul(p.adjoint[i], p.da[i])); l.b >= 0 {
			p.give(l.b, interval.Mul(p.adjoint[i], p.db[i]))
		}
	}
}

// give adds to the adjoint of a line.
func (p *pass) give(to int32, what box) {
	switch {
	case p.lines[to].kind == constant:
	case p.adjoint[to] == box{}:
		p.adjoint[to] = what
	default:
		p.adjoint[to] = interval.Add(p.adjoint[to], what)
	}
}

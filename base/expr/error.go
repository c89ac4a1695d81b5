package expr

import (
	"fmt"
	"math"
)

// An Error says what is wrong with a formula, and where.
type Error struct {
	Name     string // the component or definition whose formula it is, if known
	Formula  string // the text; empty for formulas built in Go
	From, To int    // the place in it, in runes
	Message  string
}

// Column returns the place's column, in runes from 1.
func (e *Error) Column() int { return e.From + 1 }

// Error is one line: name, fault, formula and column.
func (e *Error) Error() string {
	s := e.Message
	if e.Name != "" {
		s = e.Name + ": " + s
	}
	if e.Formula == "" {
		return s
	}
	return fmt.Sprintf("%s, at column %d of %q", s, e.Column(), window(e.Formula, e.From))
}

// window cuts a long formula to the part around a place.
func window(text string, at int) string {
	const width = 80
	r := []rune(text)
	if len(r) <= width {
		return text
	}
	from := min(max(0, at-width/2), len(r)-width)
	s := string(r[from : from+width])
	if from > 0 {
		s = "…" + s
	}
	if from+width < len(r) {
		s += "…"
	}
	return s
}

// A NonFinite is an operation whose value or derivative at a point is not finite though its operands are.
type NonFinite struct {
	Component  int       // of the program
	Operation  string    // as a formula writes it
	Operands   []float64 // at the point
	Value      float64   // what came out
	Derivative bool      // the derivative is not finite; the value is
	Place      Place     // where the formula has the operation
}

func (f *NonFinite) Error() string {
	var s string
	switch function := f.Operation[0] >= 'a'; {
	case len(f.Operands) == 0:
		s = f.Operation
	case len(f.Operands) == 1:
		s = fmt.Sprintf("%s(%v)", f.Operation, f.Operands[0])
	case function:
		s = fmt.Sprintf("%s(%v, %v)", f.Operation, f.Operands[0], f.Operands[1])
	default:
		s = fmt.Sprintf("%v %s %v", f.Operands[0], f.Operation, f.Operands[1])
	}
	if f.Operation == "/" && f.Operands[1] == 0 {
		s += " divides by zero"
	} else if f.Derivative {
		s += fmt.Sprintf(" has the derivative %v", f.Value)
	} else {
		s += fmt.Sprintf(" is %v", f.Value)
	}
	if f.Place.Formula == "" {
		return s
	}
	return fmt.Sprintf("%s, at column %d of %q", s, f.Place.From+1, window(f.Place.Formula, f.Place.From))
}

// Fault returns the first operation of component i whose value, or whose part in the gradient, is not finite at the
// point x while its operands are, or nil. A coordinate that is not finite is itself such an operation. Fault is slow:
// it is for messages.
func (p *Program) Fault(x []float64, i int) *NonFinite {
	fits("x", x, p.d)
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.g
	roots := []int32{p.roots[i]}
	for _, e := range p.grads[i] {
		roots = append(roots, e.node)
	}
	at := map[int32]float64{}
	get := func(i int32) float64 {
		if i < 0 {
			return 0
		}
		if c, ok := g.isConst(i); ok {
			return c
		}
		return at[i]
	}
	// Ascending, so values come before the derivatives that were made of them.
	for _, k := range g.reach(roots...) {
		n := g.nodes[k]
		if n.op == opVar {
			if at[k] = x[n.a]; !finite(at[k]) {
				return &NonFinite{Component: i, Operation: fmt.Sprintf("x[%d]", n.a), Value: at[k]}
			}
			continue
		}
		a, b := get(n.a), get(n.b)
		at[k] = apply(n.op, a, b)
		if finite(at[k]) || !finite(a) || !finite(b) {
			continue
		}
		n = g.nodes[g.of[k]]
		f := &NonFinite{Component: i, Operation: n.op.String(), Value: at[k], Derivative: g.of[k] != k,
			Place: g.place[k]}
		f.Operands = append(f.Operands, get(n.a))
		if n.b >= 0 {
			f.Operands = append(f.Operands, get(n.b))
		}
		return f
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

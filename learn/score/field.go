package score

import "github.com/landing-diffusion/landing/base/kernel"

// A Field evaluates a model as a score s_θ(x, p̃, t). One goroutine uses it at a time.
type Field[T kernel.Float] struct {
	model Model[T]
	ws    Workspace[T]
	in    []T

	guidance float64
	rows     int64 // that the network has seen
	own      [1]Ask
}

// Rows returns how many rows the network has seen in all: two a point with guidance.
func (f *Field[T]) Rows() int64 { return f.rows }

// NewField makes a score of m, with its present parameters, for blocks of up to rows points.
func NewField[T kernel.Float](m Model[T], rows int) *Field[T] { return NewFields(m, rows, 1)[0] }

// NewFields makes scores for as many goroutines, which share a packed model.
func NewFields[T kernel.Float](m Model[T], rows, goroutines int) []*Field[T] {
	return NewGuided(m, m.Pack(false), rows, goroutines, 0)
}

// NewGuided is NewFields of a model that is packed already, with classifier-free guidance of
// strength w (Ho and Salimans 2022): the score is
//
//	(1 + w) s_θ(x, p̃, t) − w s_θ(x, p̃, t with the condition hidden),
//
// of a network that can do without (Reading.Null), unless w is 0.
func NewGuided[T kernel.Float](m Model[T], packed Packed[T], rows, goroutines int, w float64) []*Field[T] {
	fields := make([]*Field[T], goroutines)
	for i := range fields {
		fields[i] = &Field[T]{model: m, ws: packed.NewWorkspace(rows, false), in: make([]T, rows*m.In()), guidance: w}
	}
	return fields
}

// An Ask is a call for scores at N rows X, P (N×d each; P nil without momentum) and a time: Dst is N×d.
type Ask struct {
	Dst, X, P []float64
	N         int
	T         float64
}

// Eval writes s at n rows x, p (n×d each; p nil without momentum): n×d.
func (f *Field[T]) Eval(dst, x, p []float64, n int, t float64) {
	f.own[0] = Ask{dst, x, p, n, t}
	f.EvalAll(f.own[:])
}

// EvalAll is Eval of several calls in one pass, which together have no more rows than there is room for.
// Each gets the numbers that Eval gives it: a row's output does not depend on the rows beside it.
func (f *Field[T]) EvalAll(asks []Ask) {
	s, d := f.pass(asks, false), f.model.Out()
	for _, a := range asks {
		m := f.model.Gain(a.T)
		for i, v := range s[:a.N*d] {
			a.Dst[i] = m * float64(v)
		}
		s = s[a.N*d:]
	}
	if f.guidance == 0 {
		return
	}
	s = f.pass(asks, true)
	for _, a := range asks {
		m := f.model.Gain(a.T)
		for i, v := range s[:a.N*d] {
			a.Dst[i] = (1+f.guidance)*a.Dst[i] - f.guidance*(m*float64(v))
		}
		s = s[a.N*d:]
	}
}

// pass returns the network's outputs.
func (f *Field[T]) pass(asks []Ask, null bool) []T {
	d, w, row := f.model.Out(), f.model.In(), 0
	for _, a := range asks {
		for i := range a.N {
			at := Input{X: a.X[i*d : (i+1)*d], T: a.T, Item: -1, Null: null}
			if a.P != nil {
				at.P = a.P[i*d : (i+1)*d]
			}
			f.model.Row(f.in[row*w:(row+1)*w], at)
			row++
		}
	}
	f.rows += int64(row)
	return f.ws.Forward(f.in, row)
}

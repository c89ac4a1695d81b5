package score

import "github.com/landing-diffusion/landing/kernel"

// A Field evaluates a model as a score s_θ(x, p̃, t). One goroutine uses it at
// a time.
type Field[T kernel.Float] struct {
	model Model[T]
	ws    Workspace[T]
	in    []T

	guidance float64
	rows     int64 // that the network has seen
}

// Rows returns how many rows the network has seen in all: two a point with guidance.
func (f *Field[T]) Rows() int64 { return f.rows }

// NewField makes a score of m, with its present parameters, for blocks of up to rows
// points.
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

// Eval writes s at n rows x, p (n×d each; p nil without momentum): n×d.
func (f *Field[T]) Eval(dst, x, p []float64, n int, t float64) {
	m := f.model.Gain(t)
	for i, v := range f.pass(x, p, n, t, false) {
		dst[i] = m * float64(v)
	}
	if f.guidance == 0 {
		return
	}
	for i, v := range f.pass(x, p, n, t, true) {
		dst[i] = (1+f.guidance)*dst[i] - f.guidance*(m*float64(v))
	}
}

// pass returns the network's outputs.
func (f *Field[T]) pass(x, p []float64, n int, t float64, null bool) []T {
	d, w := f.model.Out(), f.model.In()
	f.rows += int64(n)
	for i := range n {
		at := Input{X: x[i*d : (i+1)*d], T: t, Item: -1, Null: null}
		if p != nil {
			at.P = p[i*d : (i+1)*d]
		}
		f.model.Row(f.in[i*w:(i+1)*w], at)
	}
	return f.ws.Forward(f.in, n)
}

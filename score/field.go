package score

import "github.com/landing-diffusion/landing/kernel"

// A Field evaluates a model as a score s_θ(x, p̃, t). One goroutine uses it at
// a time.
type Field[T kernel.Float] struct {
	model Model[T]
	ws    Workspace[T]
	in    []T
}

// NewField makes a score of m, with its present parameters, for blocks of up to rows
// points.
func NewField[T kernel.Float](m Model[T], rows int) *Field[T] { return NewFields(m, rows, 1)[0] }

// NewFields makes scores for as many goroutines, which share a packed model.
func NewFields[T kernel.Float](m Model[T], rows, goroutines int) []*Field[T] {
	packed, fields := m.Pack(false), make([]*Field[T], goroutines)
	for i := range fields {
		fields[i] = &Field[T]{m, packed.NewWorkspace(rows, false), make([]T, rows*m.In())}
	}
	return fields
}

// Eval writes s at n rows x, p (n×d each; p nil without momentum): n×d.
func (f *Field[T]) Eval(dst, x, p []float64, n int, t float64) {
	d, w := f.model.Out(), f.model.In()
	for i := range n {
		at := Input{X: x[i*d : (i+1)*d], T: t, Item: -1}
		if p != nil {
			at.P = p[i*d : (i+1)*d]
		}
		f.model.Row(f.in[i*w:(i+1)*w], at)
	}
	m := f.model.Gain(t)
	for i, v := range f.ws.Forward(f.in, n) {
		dst[i] = m * float64(v)
	}
}

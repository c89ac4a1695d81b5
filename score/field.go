package score

import "github.com/landing-diffusion/landing/kernel"

// A Field evaluates a network as a score s_θ(x, p̃, t). One goroutine uses it at
// a time.
type Field[T kernel.Float] struct {
	net     *Packed[T]
	reading Reading
	ws      *Workspace[T]
	in      []T
}

// NewField makes a score of net, with its present weights, for blocks of up to
// rows points.
func NewField[T kernel.Float](net *MLP[T], rows int, r Reading) *Field[T] {
	return net.Pack(false).NewField(rows, r)
}

// NewField makes a score for blocks of up to rows points; several may share a
// packed network.
func (p *Packed[T]) NewField(rows int, r Reading) *Field[T] {
	return &Field[T]{net: p, reading: r, ws: p.net.NewForward(rows), in: make([]T, rows*p.net.In())}
}

// Eval writes s at n rows x, p (n×d each; p nil without momentum): n×d.
func (f *Field[T]) Eval(dst, x, p []float64, n int, t float64) {
	d, w := f.net.net.Out(), f.net.net.In()
	f.reading.check(w, d, p != nil)
	for i := range n {
		var pi []float64
		if p != nil {
			pi = p[i*d : (i+1)*d]
		}
		Row(f.in[i*w:(i+1)*w], f.reading, x[i*d:(i+1)*d], pi, t)
	}
	m := f.reading.scale(t)
	for i, v := range f.net.Forward(f.ws, f.in, n) {
		dst[i] = m * float64(v)
	}
}

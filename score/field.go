package score

import (
	"fmt"

	"github.com/landing-diffusion/landing/kernel"
)

// A Field evaluates a network as a score s_θ(x, p̃, t): rows (x, p̃, t), or (x, t)
// without momentum, as network input. One goroutine uses it at a time.
type Field[T kernel.Float] struct {
	net *Packed[T]
	ws  *Workspace[T]
	in  []T
}

// NewField makes a score of net, with its present weights, for blocks of up to
// rows points.
func NewField[T kernel.Float](net *MLP[T], rows int) *Field[T] {
	return net.Pack(false).NewField(rows)
}

// NewField makes a score for blocks of up to rows points; several may share a
// packed network.
func (p *Packed[T]) NewField(rows int) *Field[T] {
	return &Field[T]{net: p, ws: p.net.NewForward(rows), in: make([]T, rows*p.net.In())}
}

// Eval writes s at n rows x, p (n×d each; p nil without momentum): n×d.
func (f *Field[T]) Eval(dst, x, p []float64, n int, t float64) {
	d, w := f.net.net.Out(), f.net.net.In()
	if want := InputWidth(d, p != nil); want != w {
		panic(fmt.Sprintf("score: a row has %d numbers but the network takes %d", want, w))
	}
	for i := range n {
		var pi []float64
		if p != nil {
			pi = p[i*d : (i+1)*d]
		}
		Input(f.in[i*w:(i+1)*w], x[i*d:(i+1)*d], pi, t)
	}
	for i, v := range f.net.Forward(f.ws, f.in, n) {
		dst[i] = float64(v)
	}
}

// InputWidth returns the width of a network's input row for points in R^d.
func InputWidth(d int, momentum bool) int {
	if momentum {
		return 2*d + 1
	}
	return d + 1
}

// Input writes one network row (x, p, t); p may be nil.
func Input[T kernel.Float](dst []T, x, p []float64, t float64) {
	for j, v := range x {
		dst[j] = T(v)
	}
	for j, v := range p {
		dst[len(x)+j] = T(v)
	}
	dst[len(x)+len(p)] = T(t)
}

package score

import (
	"fmt"

	"github.com/landing-diffusion/landing/base/kernel"
)

// mlpPacked has the weights of an MLP laid out for products.
type mlpPacked[T kernel.Float] struct {
	m       *mlpModel[T]
	weights []*kernel.Weights[T]
}

func (p *mlpPacked[T]) Update(layer int) { p.weights[layer].Set(p.m.net.Weight(layer)) }

// mlpWorkspace holds the activations of up to rows rows.
type mlpWorkspace[T kernel.Float] struct {
	*mlpPacked[T]
	rows    int
	act     [][]T // act[l]: input of layer l, rows×Sizes[l]; act[0] is the caller's
	pre     [][]T // pre[l]: output of layer l before SiLU
	d, e    []T   // gradients with respect to layer outputs; nil for forward passes alone
	scratch []T
}

func (p *mlpPacked[T]) NewWorkspace(rows int, gradients bool) Workspace[T] {
	sizes, layers := p.m.net.Sizes, p.m.net.Layers()
	ws := &mlpWorkspace[T]{mlpPacked: p, rows: rows, act: make([][]T, layers), pre: make([][]T, layers)}
	widest, scratch := 0, 0
	for l := range layers {
		widest = max(widest, sizes[l+1])
		scratch = max(scratch, kernel.Scratch[T](rows, sizes[l+1], sizes[l]))
	}
	ws.scratch = make([]T, scratch)
	if !gradients { // all layers share their memory, which then stays in the caches
		act, pre := make([]T, rows*widest), make([]T, rows*widest)
		for l := range layers {
			ws.act[l], ws.pre[l] = act, pre
		}
		return ws
	}
	wide := 0
	for l := range layers {
		if l > 0 {
			ws.act[l] = make([]T, rows*sizes[l])
			wide = max(wide, sizes[l])
		}
		ws.pre[l] = make([]T, rows*sizes[l+1])
	}
	ws.d, ws.e = make([]T, rows*wide), make([]T, rows*wide)
	return ws
}

func (ws *mlpWorkspace[T]) Forward(in []T, n int) []T {
	m := ws.m.net
	if n > ws.rows || len(in) < n*m.In() {
		panic(fmt.Sprintf("score: %d rows from %d numbers in a workspace of %d rows", n, len(in), ws.rows))
	}
	ws.act[0] = in
	last := m.Layers() - 1
	for l := range last {
		kernel.MulTransposed(ws.pre[l], ws.act[l], ws.weights[l], n, ws.scratch)
		kernel.BiasSiLU(ws.act[l+1], ws.pre[l], m.Bias(l), n, m.Sizes[l+1])
	}
	kernel.MulTransposed(ws.pre[last], ws.act[last], ws.weights[last], n, ws.scratch)
	kernel.AddRow(ws.pre[last], m.Bias(last), n, m.Out())
	return ws.pre[last][:n*m.Out()]
}

func (ws *mlpWorkspace[T]) Backward(grad, dout []T, n int, add bool) {
	if ws.d == nil {
		panic("score: Backward in a workspace for Forward alone")
	}
	m := ws.m.net
	d, e, spare := dout, ws.d, ws.e
	for l := m.Layers() - 1; l >= 0; l-- {
		in, out := m.Sizes[l], m.Sizes[l+1]
		w, b := layer(m.Sizes, grad, l)
		if !add {
			clear(b)
		}
		kernel.AddRows(b, d, n, out)
		kernel.AddGradient(w, d, ws.act[l], n, out, in, add, ws.m.precision, ws.scratch)
		if l == 0 {
			return
		}
		kernel.MulWeights(e, d, ws.weights[l], n, ws.scratch)
		kernel.SiLUGrad(e[:n*in], ws.pre[l-1])
		d, e, spare = e, spare, e
	}
}

package score

import (
	"fmt"

	"github.com/landing-diffusion/landing/kernel"
)

// A Packed network has its weights laid out for its passes: as they were when
// Update was last called. Between updates any number of goroutines may use it,
// each with its own Workspace.
type Packed[T kernel.Float] struct {
	net     *MLP[T]
	weights []*kernel.Weights[T]
}

// Pack lays out the network's present weights, for Forward and, if gradients,
// for Backward.
func (m *MLP[T]) Pack(gradients bool) *Packed[T] {
	p := &Packed[T]{net: m}
	for l := range m.Layers() {
		// Nobody asks for the gradient of the network's input.
		p.weights = append(p.weights, kernel.NewWeights[T](m.Sizes[l+1], m.Sizes[l], gradients && l > 0, m.Precision))
		p.Update(l)
	}
	return p
}

// Update takes over the present weights of layer l.
func (p *Packed[T]) Update(l int) { p.weights[l].Set(p.net.Weight(l)) }

// A Workspace holds the activations of up to Rows rows. One goroutine uses it at
// a time; passes allocate nothing.
type Workspace[T kernel.Float] struct {
	rows    int
	act     [][]T // act[l]: input of layer l, rows×Sizes[l]; act[0] is the caller's
	pre     [][]T // pre[l]: output of layer l before SiLU
	d, e    []T   // gradients with respect to layer outputs
	scratch []T
	forward bool // no room for Backward
}

// NewWorkspace makes room for passes over rows rows.
func (m *MLP[T]) NewWorkspace(rows int) *Workspace[T] {
	ws := &Workspace[T]{rows: rows, act: make([][]T, m.Layers()), pre: make([][]T, m.Layers())}
	wide, scratch := 0, 0
	for l := range m.Layers() {
		in, out := m.Sizes[l], m.Sizes[l+1]
		if l > 0 {
			ws.act[l] = make([]T, rows*in)
			wide = max(wide, in)
		}
		ws.pre[l] = make([]T, rows*out)
		scratch = max(scratch, kernel.Scratch[T](rows, out, in))
	}
	ws.d, ws.e, ws.scratch = make([]T, rows*wide), make([]T, rows*wide), make([]T, scratch)
	return ws
}

// NewForward makes room for Forward alone: all layers share their memory, which
// then stays in the caches.
func (m *MLP[T]) NewForward(rows int) *Workspace[T] {
	ws := &Workspace[T]{rows: rows, act: make([][]T, m.Layers()), pre: make([][]T, m.Layers()), forward: true}
	wide, scratch := 0, 0
	for l := range m.Layers() {
		wide = max(wide, m.Sizes[l+1])
		scratch = max(scratch, kernel.Scratch[T](rows, m.Sizes[l+1], m.Sizes[l]))
	}
	act, pre := make([]T, rows*wide), make([]T, rows*wide)
	for l := range m.Layers() {
		ws.act[l], ws.pre[l] = act, pre
	}
	ws.scratch = make([]T, scratch)
	return ws
}

// Forward returns the network's output on n rows of input, n×Out. The result
// and what Backward needs live in ws until the next pass; in must stay as it is
// until Backward.
func (p *Packed[T]) Forward(ws *Workspace[T], in []T, n int) []T {
	m := p.net
	if n > ws.rows || len(in) < n*m.In() {
		panic(fmt.Sprintf("score: %d rows from %d numbers in a workspace of %d rows", n, len(in), ws.rows))
	}
	ws.act[0] = in
	last := m.Layers() - 1
	for l := range last {
		kernel.MulTransposed(ws.pre[l], ws.act[l], p.weights[l], n, ws.scratch)
		kernel.BiasSiLU(ws.act[l+1], ws.pre[l], m.Bias(l), n, m.Sizes[l+1])
	}
	kernel.MulTransposed(ws.pre[last], ws.act[last], p.weights[last], n, ws.scratch)
	kernel.AddRow(ws.pre[last], m.Bias(last), n, m.Out())
	return ws.pre[last][:n*m.Out()]
}

// Backward computes the gradient of a loss, laid out as the network's
// parameters, from the loss's gradient with respect to the output of the last
// Forward, n×Out. It adds it to grad, or sets grad to it unless add. Sums over
// rows run in row order.
func (p *Packed[T]) Backward(ws *Workspace[T], grad, dout []T, n int, add bool) {
	if ws.forward {
		panic("score: Backward in a workspace for Forward alone")
	}
	m := p.net
	d, e, spare := dout, ws.d, ws.e
	for l := m.Layers() - 1; l >= 0; l-- {
		in, out := m.Sizes[l], m.Sizes[l+1]
		w, b := layer(m.Sizes, grad, l)
		if !add {
			clear(b)
		}
		kernel.AddRows(b, d, n, out)
		kernel.AddGradient(w, d, ws.act[l], n, out, in, add, m.Precision, ws.scratch)
		if l == 0 {
			return
		}
		kernel.MulWeights(e, d, p.weights[l], n, ws.scratch)
		kernel.SiLUGrad(e[:n*in], ws.pre[l-1])
		d, e, spare = e, spare, e
	}
}

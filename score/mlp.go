// Package score holds the networks s_θ(x, p̃, t) that learn the backward
// process: their forward pass, the gradients of their parameters, and their
// weights as named arrays.
//
// It knows nothing of losses or processes. Rows are independent of each other.
package score

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/kernel"
	"github.com/landing-diffusion/landing/keyed"
)

// An MLP is a multilayer perceptron with SiLU between its linear layers
// y = x Wᵀ + b, W stored out×in.
type MLP[T kernel.Float] struct {
	Sizes  []int // widths: input, hidden layers, output
	Params []T   // W_0, b_0, W_1, b_1, …
}

// NewMLP makes a network with the given widths and weights and biases uniform on
// ±1/√in, a function of the seed alone.
func NewMLP[T kernel.Float](sizes []int, seed uint64) *MLP[T] {
	m := alloc[T](sizes)
	for l := range m.Layers() {
		bound := 1 / math.Sqrt(float64(sizes[l]))
		for part, dst := range [][]T{m.Weight(l), m.Bias(l)} {
			u := make([]float64, len(dst))
			keyed.New(seed, keyed.InitWeights, uint64(l)).Uniforms(u, uint64(part), 0)
			for i, v := range u {
				dst[i] = T(bound * (2*v - 1))
			}
		}
	}
	return m
}

func alloc[T kernel.Float](sizes []int) *MLP[T] {
	if len(sizes) < 2 {
		panic(fmt.Sprintf("score: an MLP needs an input and an output width, not %v", sizes))
	}
	n := 0
	for l := range len(sizes) - 1 {
		n += (sizes[l] + 1) * sizes[l+1]
	}
	return &MLP[T]{Sizes: append([]int(nil), sizes...), Params: make([]T, n)}
}

// With returns the same architecture over other parameters, such as an average
// of them.
func (m *MLP[T]) With(params []T) *MLP[T] {
	if len(params) != len(m.Params) {
		panic(fmt.Sprintf("score: %d parameters for a network of %d", len(params), len(m.Params)))
	}
	return &MLP[T]{Sizes: m.Sizes, Params: params}
}

// Layers returns the number of linear layers.
func (m *MLP[T]) Layers() int { return len(m.Sizes) - 1 }

// In and Out return the widths of a row of input and of output.
func (m *MLP[T]) In() int  { return m.Sizes[0] }
func (m *MLP[T]) Out() int { return m.Sizes[len(m.Sizes)-1] }

// Weight returns W_l, out×in, and Bias returns b_l; both are backed by Params.
func (m *MLP[T]) Weight(l int) []T { w, _ := layer(m.Sizes, m.Params, l); return w }

// Bias returns b_l.
func (m *MLP[T]) Bias(l int) []T { _, b := layer(m.Sizes, m.Params, l); return b }

func layer[T any](sizes []int, params []T, l int) (w, b []T) {
	o := 0
	for i := range l {
		o += (sizes[i] + 1) * sizes[i+1]
	}
	nw := sizes[l] * sizes[l+1]
	return params[o : o+nw], params[o+nw : o+nw+sizes[l+1]]
}

// A Workspace holds the activations of up to Rows rows. One goroutine uses it at
// a time; passes allocate nothing.
type Workspace[T kernel.Float] struct {
	rows  int
	act   [][]T // act[l]: input of layer l, rows×Sizes[l]; act[0] is the caller's
	pre   [][]T // pre[l]: output of layer l before SiLU
	d, e  []T   // gradients with respect to layer outputs
	trans []T   // a transposed operand
	other []T
}

// NewWorkspace makes room for passes over rows rows.
func (m *MLP[T]) NewWorkspace(rows int) *Workspace[T] {
	ws := &Workspace[T]{rows: rows, act: make([][]T, m.Layers()), pre: make([][]T, m.Layers())}
	wide, square := 0, 0
	for l := range m.Layers() {
		in, out := m.Sizes[l], m.Sizes[l+1]
		if l > 0 {
			ws.act[l] = make([]T, rows*in)
		}
		ws.pre[l] = make([]T, rows*out)
		wide, square = max(wide, in, out), max(square, in*out)
	}
	ws.d, ws.e = make([]T, rows*wide), make([]T, rows*wide)
	ws.trans, ws.other = make([]T, max(square, rows*wide)), make([]T, rows*wide)
	return ws
}

// Forward returns the network's output on n rows of input, n×Out. The result
// and what Backward needs live in ws until the next pass; in must stay as it is
// until Backward.
func (m *MLP[T]) Forward(ws *Workspace[T], in []T, n int) []T {
	if n > ws.rows || len(in) < n*m.In() {
		panic(fmt.Sprintf("score: %d rows from %d numbers in a workspace of %d rows", n, len(in), ws.rows))
	}
	ws.act[0] = in
	for l := range m.Layers() {
		kernel.MulNT(ws.pre[l], ws.act[l], m.Weight(l), n, m.Sizes[l+1], m.Sizes[l], false)
		if l+1 < m.Layers() {
			kernel.BiasSiLU(ws.act[l+1], ws.pre[l], m.Bias(l), n, m.Sizes[l+1])
		} else {
			kernel.AddRow(ws.pre[l], m.Bias(l), n, m.Sizes[l+1])
		}
	}
	return ws.pre[m.Layers()-1][:n*m.Out()]
}

// Backward adds the gradient of a loss to grad, laid out as Params, from the
// loss's gradient with respect to the output of the last Forward, n×Out. Sums
// over rows run in row order.
func (m *MLP[T]) Backward(ws *Workspace[T], grad, dout []T, n int) {
	d, e := ws.d, ws.e
	copy(d, dout[:n*m.Out()])
	for l := m.Layers() - 1; l >= 0; l-- {
		in, out := m.Sizes[l], m.Sizes[l+1]
		w, b := layer(m.Sizes, grad, l)
		kernel.AddRows(b, d, n, out)
		kernel.Transpose(ws.trans, d, n, out)
		kernel.Transpose(ws.other, ws.act[l], n, in)
		kernel.MulNT(w, ws.trans, ws.other, out, in, n, true) // dW += dᵀ a
		if l == 0 {
			return
		}
		kernel.Transpose(ws.trans, m.Weight(l), out, in)
		kernel.MulNT(e, d, ws.trans, n, in, out, false) // d W
		kernel.SiLUGrad(e[:n*in], ws.pre[l-1])
		d, e = e, d
	}
}

// Tensors returns params, laid out as m's, as arrays named
// layer_0.weight, layer_0.bias, …
func (m *MLP[T]) Tensors(params []T) []arrayfile.Named {
	var out []arrayfile.Named
	for l := range m.Layers() {
		w, b := layer(m.Sizes, params, l)
		name := fmt.Sprintf("layer_%d.", l)
		out = append(out,
			arrayfile.Named{Name: name + "weight", Array: array(w, m.Sizes[l+1], m.Sizes[l])},
			arrayfile.Named{Name: name + "bias", Array: array(b, m.Sizes[l+1])})
	}
	return out
}

func array[T kernel.Float](data []T, shape ...int) arrayfile.Array {
	a := arrayfile.Array{Shape: shape}
	switch v := any(data).(type) {
	case []float32:
		a.Float32 = v
	case []float64:
		a.Float64 = v
	}
	return a
}

// FromLayers builds a network from arrays named prefix0SUFFIXweight,
// prefix0SUFFIXbias, … with SUFFIX "." or "_", as trained elsewhere.
func FromLayers[T kernel.Float](arrays map[string]arrayfile.Array, prefix string) (*MLP[T], error) {
	find := func(l int, part string) (arrayfile.Array, bool) {
		for _, sep := range []string{".", "_"} {
			if a, ok := arrays[fmt.Sprintf("%s%d%s%s", prefix, l, sep, part)]; ok {
				return a, true
			}
		}
		return arrayfile.Array{}, false
	}
	var sizes []int
	var values [][]float64
	for l := 0; ; l++ {
		w, ok := find(l, "weight")
		if !ok {
			break
		}
		b, ok := find(l, "bias")
		if !ok || len(w.Shape) != 2 || len(b.Shape) != 1 || b.Shape[0] != w.Shape[0] {
			return nil, fmt.Errorf("score: layer %d has weight of shape %v and bias of shape %v; want out×in and out", l, w.Shape, b.Shape)
		}
		if l == 0 {
			sizes = []int{w.Shape[1]}
		} else if sizes[l] != w.Shape[1] {
			return nil, fmt.Errorf("score: layer %d takes %d inputs but layer %d has %d outputs", l, w.Shape[1], l-1, sizes[l])
		}
		sizes = append(sizes, w.Shape[0])
		values = append(values, w.AsFloat64(), b.AsFloat64())
	}
	if sizes == nil {
		return nil, fmt.Errorf("score: no array named %s0.weight", prefix)
	}
	m := alloc[T](sizes)
	o := 0
	for _, v := range values {
		for _, x := range v {
			m.Params[o] = T(x)
			o++
		}
	}
	return m, nil
}

package score

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/onnx"
)

// An MLP is the weights of a multilayer perceptron: linear layers
// y = x Wᵀ + b, W stored out×in. As a Model it has SiLU between them.
type MLP[T kernel.Float] struct {
	Sizes  []int // widths: input, hidden layers, output
	Params []T   // W_0, b_0, W_1, b_1, …
}

// NewMLP makes a network with the given widths and weights and biases uniform on ±1/√in, a function of the seed alone.
func NewMLP[T kernel.Float](sizes []int, seed uint64) *MLP[T] {
	m := alloc[T](sizes)
	for l := range m.Layers() {
		bound := 1 / math.Sqrt(float64(sizes[l]))
		for part, dst := range [][]T{m.Weight(l), m.Bias(l)} {
			u := make([]float64, len(dst))
			keyed.Layers.Stream(seed, uint64(l)).Uniforms(u, uint64(part), 0)
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

// Layers returns the number of linear layers.
func (m *MLP[T]) Layers() int { return len(m.Sizes) - 1 }

// In and Out return the widths of a row of input and of output.
func (m *MLP[T]) In() int  { return m.Sizes[0] }
func (m *MLP[T]) Out() int { return m.Sizes[len(m.Sizes)-1] }

// Weight returns W_l, out×in, backed by Params.
func (m *MLP[T]) Weight(l int) []T { w, _ := layer(m.Sizes, m.Params, l); return w }

// Bias returns b_l, backed by Params.
func (m *MLP[T]) Bias(l int) []T { _, b := layer(m.Sizes, m.Params, l); return b }

func layer[T any](sizes []int, params []T, l int) (w, b []T) {
	o := 0
	for i := range l {
		o += (sizes[i] + 1) * sizes[i+1]
	}
	nw := sizes[l] * sizes[l+1]
	return params[o : o+nw], params[o+nw : o+nw+sizes[l+1]]
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
			return nil, fmt.Errorf("score: layer %d has weight of shape %v and bias of shape %v; want out×in and out",
				l, w.Shape, b.Shape)
		}
		if l == 0 {
			sizes = []int{w.Shape[1]}
		} else if sizes[l] != w.Shape[1] {
			return nil, fmt.Errorf("score: layer %d takes %d inputs but layer %d has %d outputs",
				l, w.Shape[1], l-1, sizes[l])
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

// Model returns the network, over the same parameters, read as r says, with passes whose products may run in precision
// p. It panics if the reading's rows are not as wide as the network's input.
func (m *MLP[T]) Model(r Reading, p kernel.Precision) Model[T] {
	d := m.Out()
	for _, momentum := range []bool{false, true} {
		if r.Width(d, momentum) == m.In() {
			return m.ReadBy(reader[T]{r, d, momentum}, p)
		}
	}
	panic(fmt.Sprintf("score: a row has %d numbers, with momentum %d, but the network takes %d",
		r.Width(d, false), r.Width(d, true), m.In()))
}

// ReadBy is Model with rows of r's, as wide as the network's input.
func (m *MLP[T]) ReadBy(r Reader[T], p kernel.Precision) Model[T] {
	if r.In() != m.In() {
		panic(fmt.Sprintf("score: a row has %d numbers, but the network takes %d", r.In(), m.In()))
	}
	return &mlpModel[T]{r, m, p}
}

// mlpModel is the Model of an MLP; each of its parts is a layer.
type mlpModel[T kernel.Float] struct {
	Reader[T]
	net       *MLP[T]
	precision kernel.Precision
}

func (m *mlpModel[T]) Out() int                    { return m.net.Out() }
func (m *mlpModel[T]) Parameters() []T             { return m.net.Params }
func (m *mlpModel[T]) Precision() kernel.Precision { return m.precision }
func (m *mlpModel[T]) Parts() int                  { return m.net.Layers() }

func (m *mlpModel[T]) With(parameters []T) Model[T] {
	if len(parameters) != len(m.net.Params) {
		panic(fmt.Sprintf("score: %d parameters for a network of %d", len(parameters), len(m.net.Params)))
	}
	return &mlpModel[T]{m.Reader, &MLP[T]{m.net.Sizes, parameters}, m.precision}
}

func (m *mlpModel[T]) Matrices() (hidden []Matrix) {
	at, sizes := 0, m.net.Sizes
	for l := range m.net.Layers() {
		if l > 0 && l < m.net.Layers()-1 {
			hidden = append(hidden, Matrix{at, sizes[l+1], sizes[l]})
		}
		at += (sizes[l] + 1) * sizes[l+1]
	}
	return hidden
}

// Tensors names the arrays layer_0.weight, layer_0.bias, …
func (m *mlpModel[T]) Tensors(parameters []T) []arrayfile.Named {
	var out []arrayfile.Named
	sizes := m.net.Sizes
	for l := range m.net.Layers() {
		w, b := layer(sizes, parameters, l)
		name := fmt.Sprintf("layer_%d.", l)
		out = append(out, arrayfile.Named{Name: name + "weight", Array: arrayfile.Of(w, sizes[l+1], sizes[l])},
			arrayfile.Named{Name: name + "bias", Array: arrayfile.Of(b, sizes[l+1])})
	}
	return out
}

func (m *mlpModel[T]) Read(arrays map[string]arrayfile.Array) ([]T, error) {
	net, err := FromLayers[T](arrays, "layer_")
	if err != nil {
		return nil, err
	}
	if !slices.Equal(net.Sizes, m.net.Sizes) {
		return nil, fmt.Errorf("the checkpoint's network has widths %v; expected %v", net.Sizes, m.net.Sizes)
	}
	return net.Params, nil
}

func (m *mlpModel[T]) Pack(gradients bool) Packed[T] {
	p := &mlpPacked[T]{m: m}
	sizes := m.net.Sizes
	for l := range m.net.Layers() {
		// Nobody asks for the gradient of the network's input.
		p.weights = append(p.weights, kernel.NewWeights[T](sizes[l+1], sizes[l], gradients && l > 0, m.precision))
		p.Update(l)
	}
	return p
}

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

// GraphForward implements Graphed.
func (m *mlpModel[T]) GraphForward(g *onnx.Graph, row onnx.Value) onnx.Value {
	return GraphMLP(g, m.net, row)
}

// GraphMLP is the pass of an MLP with SiLU between its layers, with parameters named as in checkpoints.
func GraphMLP[T float32 | float64](g *onnx.Graph, net *MLP[T], x onnx.Value) onnx.Value {
	named := (&mlpModel[T]{net: net}).Tensors(net.Params)
	for l := range net.Layers() {
		if l > 0 {
			x = g.SiLU(x)
		}
		w, b := net.Weight(l), net.Bias(l)
		x = g.Linear(x, onnx.Parameter(g, named[2*l].Name, w, net.Sizes[l+1], net.Sizes[l]),
			onnx.Parameter(g, named[2*l+1].Name, b, net.Sizes[l+1]))
	}
	return x
}

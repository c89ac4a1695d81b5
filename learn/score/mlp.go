package score

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
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

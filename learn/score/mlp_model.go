package score

import (
	"fmt"
	"slices"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
)

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

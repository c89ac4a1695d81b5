package score

import "github.com/landing-diffusion/landing/internal/onnx"

// GraphRow implements Graphed, if the reader does.
func (m *mlpModel[T]) GraphRow(at Symbols) (onnx.Value, error) {
	of, ok := m.Reader.(interface {
		GraphRow(at Symbols) (onnx.Value, error)
	})
	if !ok {
		return onnx.Value{}, &GraphError{"its reader has no GraphRow (score.Graphed)"}
	}
	return of.GraphRow(at)
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

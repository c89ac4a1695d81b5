package scoretest

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/internal/onnx"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/onnxrun"
)

// graph checks that the ONNX file of a model's graph, read back and computed operator by operator, has the
// model's scores: hidden conditions too, where there are any.
func (s *suite) graph(t *testing.T) {
	if _, ok := s.m.(score.Graphed); !ok {
		t.Skip("the model has no graph")
	}
	Graph(t, s.m, s.momentum, func(i int) score.Input { return s.probe(i) }, score.Times{Step: 0.1, N: 30}, onnx.Double,
		1e-11)
}

// Graph checks the graph of m, with numbers of a type, at points of a batch: to so much of the largest score,
// or 1.
func Graph[T float32 | float64](t *testing.T, m score.Model[T], momentum bool, probe func(i int) score.Input,
	times score.Times, wide onnx.Type, tolerance float64) {
	t.Helper()
	g := testkit.Must(score.Graph(m, momentum, times, wide))
	file := testkit.Must(g.Encode("test", nil))
	model := testkit.Must(onnxrun.Decode(file))
	d, w, n := m.Out(), m.In(), rows
	ws := m.Pack(false).NewWorkspace(n, false)
	hides := false
	for _, p := range model.Inputs {
		hides = hides || p.Name == score.GraphHidden
	}
	for _, hidden := range []bool{false, true} {
		if hidden && !hides {
			break
		}
		tensor := func(dims ...int) *onnxrun.Tensor { return &onnxrun.Tensor{Type: int64(wide), Dims: dims} }
		x, p, at, null := tensor(n, d), tensor(n, d), tensor(n), tensor(n)
		in, gains := make([]T, n*w), make([]float64, n)
		for i := range n {
			probe := probe(i)
			if wide == onnx.Float { // points in the precision of the network's input
				for _, v := range [][]float64{probe.X, probe.P} {
					for j := range v {
						v[j] = float64(float32(v[j]))
					}
				}
			}
			x.X, p.X = append(x.X, probe.X...), append(p.X, probe.P...)
			at.X, null.X = append(at.X, probe.T), append(null.X, 0)
			if hidden && i%2 == 0 {
				null.X[i], probe.Null = 1, true
			}
			m.Row(in[i*w:(i+1)*w], probe)
			gains[i] = m.Gain(probe.T)
		}
		inputs := map[string]*onnxrun.Tensor{score.GraphX: x, score.GraphT: at}
		if momentum {
			inputs[score.GraphP] = p
		}
		if hides {
			inputs[score.GraphHidden] = null
		}
		if len(inputs) != len(model.Inputs) {
			t.Fatalf("the graph has %d inputs, want %d", len(model.Inputs), len(inputs))
		}
		out := testkit.Must(model.Run(inputs))
		want, largest := ws.Forward(in, n), 1.0
		for i, v := range want {
			largest = max(largest, math.Abs(gains[i/d]*float64(v)))
		}
		for i, v := range want {
			s := gains[i/d] * float64(v)
			if got := out[score.GraphScore].X[i]; !(math.Abs(got-s) <= tolerance*largest) {
				t.Fatalf("hidden %v, row %d: score %d of the graph is %v, want %v", hidden, i/d, i%d, got, s)
			}
		}
	}
}

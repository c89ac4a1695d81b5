package temporal

import (
	"math"
	"os"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Outputs and gradients of the same network made of PyTorch's layers, in float64, to 1e-12 of
// their size: tools/bench/rivals/torch_temporal.py wrote them.
func TestTorch(t *testing.T) {
	all := func(c *score.Config) {
		c.Held, c.Momentum, c.Octaves, c.TimeOctaves = 2, true, 2, 2
		c.Dim += c.Held
	}
	for name, sizes := range map[string]struct {
		steps, width int
		options      score.Options
		change       func(*score.Config)
	}{
		"plain": {8, 2, nil, func(*score.Config) {}},
		"all":   {5, 3, score.Options{"channels": 2, "levels": 3, "reach": 2, "embedding": 5}, all},
	} {
		t.Run(name, func(t *testing.T) {
			c := config(t, sizes.steps, sizes.width, sizes.options)
			c.Horizon = 0.5
			sizes.change(&c)
			g := read(t, name)
			var m score.Model[float64] = New[float64](c)
			θ := testkit.Must(m.Read(g))
			m = m.With(θ)
			times := g["t"].AsFloat64()
			n, d, w := len(times), c.Dim, m.In()
			in := make([]float64, n*w)
			for i, time := range times {
				at := score.Input{X: g["x"].AsFloat64()[i*d : (i+1)*d], T: time}
				if c.Momentum {
					at.P = g["p"].AsFloat64()[i*d : (i+1)*d]
				}
				m.Row(in[i*w:(i+1)*w], at)
			}
			ws := m.Pack(true).NewWorkspace(n, true)
			y := ws.Forward(in, n)
			near(t, "output", y, g["y"].AsFloat64())
			weight, grad := make([]float64, len(y)), make([]float64, len(θ))
			for i := range weight {
				weight[i] = math.Cos(float64(i + 1))
			}
			ws.Backward(grad, weight, n, false)
			for _, a := range m.Tensors(grad) {
				near(t, a.Name, a.Array.AsFloat64(), g["grad."+a.Name].AsFloat64())
			}
		})
	}
}

func read(t *testing.T, name string) map[string]arrayfile.Array {
	t.Helper()
	f := testkit.Must(os.Open("testdata/" + name + ".npz"))
	defer f.Close()
	info := testkit.Must(f.Stat())
	return testkit.Must(arrayfile.DecodeNPZ(f, info.Size()))
}

func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	size, worst := 0.0, 0.0
	for i, v := range want {
		size, worst = max(size, math.Abs(v)), max(worst, math.Abs(got[i]-v))
	}
	if !(worst <= 1e-12*(1+size)) {
		t.Errorf("%s: off by %.3g of %.3g", what, worst, size)
	}
}

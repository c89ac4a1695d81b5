package score

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/internal/onnx"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/onnxrun"
)

// Functions of time in graphs: at the steps of a process, between them, and beyond the ends as at the ends.
func TestCourse(t *testing.T) {
	times := Times{Step: 0.25, N: 8}
	table := []float64{5, 3, 2, 4, 4, 8, 1, 0.5}
	for name, f := range map[string]func(t float64) float64{
		"constant": func(float64) float64 { return 3 },
		"linear": func(t float64) float64 {
			u := min(max(t/0.25-1, 0), 7)
			k := min(int(u), 6)
			return (1-(u-float64(k)))*table[k] + (u-float64(k))*table[k+1]
		},
		"levels": func(t float64) float64 { return table[int(min(max(t/0.6, 0), 7))] },
		"jump at a step": func(t float64) float64 {
			if t <= 1 {
				return 2
			}
			return -7
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, wide := range []onnx.Type{onnx.Double, onnx.Float} {
				g := onnx.New("course", wide)
				v := testkit.Must(Symbols{Graph: g, T: g.Input("t", onnx.Batch), Times: times}.Course("f", f))
				g.Output("f", v, onnx.Batch)
				file := testkit.Must(g.Encode("", nil))
				m := testkit.Must(onnxrun.Decode(file))
				at := []float64{0.25, 0.5, 0.51, 0.75, 0.8, 1, 1.0009765625, 1.1, 1.25, 1.5, 1.75, 1.9, 1.99, 2}
				out, err := m.Run(map[string]*onnxrun.Tensor{"t": {Type: int64(wide), Dims: []int{len(at)}, X: at}})
				testkit.OK(t, err)
				tolerance := 1e-14
				if wide == onnx.Float {
					tolerance = 1e-6
				}
				for i, v := range out["f"].X {
					if want := f(at[i]); !(math.Abs(v-want) <= tolerance*(1+math.Abs(want))) {
						t.Errorf("type %d: at %v it is %v, want %v", wide, at[i], v, want)
					}
				}
			}
		})
	}
	for name, f := range map[string]func(t float64) float64{
		"smooth": math.Sin, "no number": func(float64) float64 { return math.NaN() },
		"pole": func(t float64) float64 { return 1 / (t - 1) },
	} {
		g := onnx.New("course", onnx.Double)
		_, err := Symbols{Graph: g, T: g.Input("t", onnx.Batch), Times: times}.Course("its gain", f)
		if e := new(GraphError); !errors.As(err, &e) || !strings.Contains(err.Error(), "its gain") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A model that has no graph is refused by name.
func TestNoGraph(t *testing.T) {
	plain := NewMLP[float32]([]int{4, 3}, 1).Model(Reading{}, kernel.Float32)
	_, err := Graph(struct{ Model[float32] }{plain}, false, Times{Step: 1, N: 1}, onnx.Double)
	if e := new(GraphError); !errors.As(err, &e) || !strings.Contains(err.Error(), "GraphForward") {
		t.Errorf("got %v", err)
	}
}

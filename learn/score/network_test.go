package score

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/onnx"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/onnxrun"
)

// The zero Config is the network of problem files: 4 hidden layers of 128, waves of length 2 and a
// horizon of 1; what is given stays.
func TestNetworkDefaults(t *testing.T) {
	c, err := MLPKind.Resolve(Config{Dim: 3})
	if err != nil || c.Width != 128 || c.Layers != 4 || len(c.Options) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if r := c.Reading(); r.Wavelength != 2 || r.Horizon != 1 || r.Octaves != 0 || r.TimeOctaves != 0 {
		t.Errorf("read as %+v", r)
	}
	c, err = MLPKind.Resolve(Config{Dim: 3, Width: 7, Layers: 1, Wavelength: 5, Horizon: 4, Octaves: 3, TimeOctaves: 2})
	if r := c.Reading(); err != nil || c.Width != 7 || c.Layers != 1 || r.Wavelength != 5 || r.Horizon != 4 ||
		r.Octaves != 3 || r.TimeOctaves != 2 {
		t.Errorf("%+v, read as %+v, %v", c, r, err)
	}
}

// A network has the parameters that were counted before it was made, and the layers asked for.
func TestParametersAreCounted(t *testing.T) {
	for _, c := range []Config{
		{Dim: 1, Width: 1, Layers: 1}, {Dim: 3, Momentum: true, Width: 5, Layers: 2},
		{Dim: 2, Width: 4, Layers: 3, Octaves: 2, TimeOctaves: 1, Null: true,
			Given: Standard{[]float64{0}, []float64{1}}},
	} {
		m := MLPKind.New(c)
		if got, want := len(m.Parameters()), MLPKind.Parameters(c); float64(got) != want {
			t.Errorf("%+v: %d parameters, counted %v", c, got, want)
		}
		if m.Parts() != c.Layers+1 || m.Out() != c.Dim || m.In() != c.Reading().Width(c.Dim, c.Momentum) ||
			len(m.Matrices()) != c.Layers-1 {
			t.Errorf("%+v: %d layers from %d to %d, %d matrices", c, m.Parts(), m.In(), m.Out(), len(m.Matrices()))
		}
	}
}

// Options are numbers within their limits, whole where they must be, and no others.
func TestOptions(t *testing.T) {
	has := []Option{{Name: "share", Default: 0.5, Lowest: 0, Most: 1},
		{Name: "size", Default: 3, Lowest: 1, Most: 8, Whole: true}}
	for _, c := range []struct {
		o     Options
		fault string
	}{
		{nil, ""}, {Options{"share": 0, "size": 8}, ""}, {Options{"share": 1, "size": 1}, ""},
		{Options{"share": -1e-9}, "option share is -1e-09; expected a number in [0, 1]"},
		{Options{"share": 1.5}, "option share is 1.5; expected a number in [0, 1]"},
		{Options{"share": math.NaN()}, "option share is NaN; expected a number in [0, 1]"},
		{Options{"size": 9}, "option size is 9; expected a whole number in [1, 8]"},
		{Options{"size": 0}, "option size is 0; expected a whole number in [1, 8]"},
		{Options{"size": 2.5}, "option size is 2.5; expected a whole number in [1, 8]"},
		{Options{"zeal": 1, "yarn": 1}, "option yarn: there is no such option; those of net are share, size"},
	} {
		got, err := c.o.Resolve("net", has)
		if c.fault != "" {
			if e := (*OptionError)(nil); !errors.As(err, &e) || err.Error() != c.fault || got != nil {
				t.Errorf("%v: %v, want %q", c.o, err, c.fault)
			}
			continue
		}
		want := Options{"share": 0.5, "size": 3}
		for name, v := range c.o {
			want[name] = v
		}
		if err != nil || len(got) != 2 || got["share"] != want["share"] || got["size"] != want["size"] {
			t.Errorf("%v: %v, %v", c.o, got, err)
		}
	}
	if _, err := (Options{"a": 1}).Resolve("plain", nil); err == nil || err.Error() !=
		"option a: there is no such option; plain has none" {
		t.Errorf("an option of a kind without any: %v", err)
	}
}

// Layers are read in their order by either way to name them, and refused where shapes do not fit.
func TestFromLayers(t *testing.T) {
	of := func(shape ...int) arrayfile.Array {
		n := 1
		for _, k := range shape {
			n *= k
		}
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(100*n + i)
		}
		return arrayfile.Of(v, shape...)
	}
	for _, sep := range []string{".", "_"} {
		net, err := FromLayers[float64](map[string]arrayfile.Array{
			"l0" + sep + "weight": of(4, 3), "l0" + sep + "bias": of(4), "l1" + sep + "weight": of(2, 4),
			"l1" + sep + "bias": of(2), "l3" + sep + "weight": of(9, 9),
		}, "l")
		if err != nil || !slices.Equal(net.Sizes, []int{3, 4, 2}) || net.Weight(0)[5] != 1205 ||
			net.Bias(0)[3] != 403 ||
			net.Weight(1)[7] != 807 || net.Bias(1)[1] != 201 || len(net.Params) != 12+4+8+2 {
			t.Errorf("%q: %+v, %v", sep, net, err)
		}
	}
	for want, arrays := range map[string]map[string]arrayfile.Array{
		"no array named l0.weight": {"l1.weight": of(2, 2), "l1.bias": of(2)},
		"layer 0 has weight of shape [2 3] and bias of shape []; want out×in and out": {"l0.weight": of(2, 3)},
		"layer 0 has weight of shape [2 3] and bias of shape [3]; want out×in and out": {
			"l0.weight": of(2, 3), "l0.bias": of(3)},
		"layer 0 has weight of shape [6] and bias of shape [6]; want out×in and out": {
			"l0.weight": of(6), "l0.bias": of(6)},
		"layer 0 has weight of shape [2 3] and bias of shape [2 1]; want out×in and out": {
			"l0.weight": of(2, 3), "l0.bias": of(2, 1)},
		"layer 1 takes 3 inputs but layer 0 has 2 outputs": {
			"l0.weight": of(2, 3), "l0.bias": of(2), "l1.weight": of(2, 3), "l1.bias": of(2)},
	} {
		testkit.Refused(t, testkit.Err(FromLayers[float64](arrays, "l")), want)
	}
	m := NewMLP[float64]([]int{3, 4, 2}, 1).Model(Reading{}, kernel.Float32)
	other := NewMLP[float64]([]int{3, 5, 2}, 1).Model(Reading{}, kernel.Float32)
	arrays := map[string]arrayfile.Array{}
	for _, a := range m.Tensors(m.Parameters()) {
		arrays[a.Name] = a.Array
	}
	if got, err := m.Read(arrays); err != nil || !slices.Equal(got, m.Parameters()) {
		t.Errorf("its own tensors are read as %v, %v", got, err)
	}
	testkit.Refused(t, testkit.Err(other.Read(arrays)), "widths [3 4 2]; expected [3 5 2]", "another network's tensors")
}

// Rows, parameters and workspaces of another size are a programmer's mistake; all that there is room for is not.
func TestRefusedSizes(t *testing.T) {
	net := NewMLP[float64]([]int{3, 4, 2}, 1)
	m := net.Model(Reading{}, kernel.Float32)
	ws := m.Pack(true).NewWorkspace(5, true)
	of := func(n int) []float64 { return make([]float64, n) }
	r := NewReader[float64](Reading{}, 2, true)
	for name, c := range map[string]struct {
		f       func()
		refused bool
	}{
		"all rows":           {func() { ws.Forward(of(15), 5) }, false},
		"more rows":          {func() { ws.Forward(of(18), 6) }, true},
		"few numbers":        {func() { ws.Forward(of(14), 5) }, true},
		"no layer":           {func() { NewMLP[float64]([]int{3}, 1) }, true},
		"one layer":          {func() { NewMLP[float64]([]int{3, 1}, 1) }, false},
		"parameters":         {func() { m.With(of(len(net.Params))) }, false},
		"fewer parameters":   {func() { m.With(of(len(net.Params) - 1)) }, true},
		"a wider row":        {func() { net.Model(Reading{TimeOctaves: 1}, kernel.Float32) }, true},
		"row by a reader":    {func() { net.ReadBy(NewReader[float64](Reading{}, 2, false), kernel.Float32) }, false},
		"wider by a reader":  {func() { net.ReadBy(r, kernel.Float32) }, true},
		"a row":              {func() { r.Row(of(5), Input{X: of(2), P: of(2)}) }, false},
		"a row of a shorter": {func() { r.Row(of(5), Input{X: of(1), P: of(1)}) }, true},
		"a row without p":    {func() { r.Row(of(5), Input{X: of(2)}) }, true},
		"a hidden condition": {func() { r.Row(of(5), Input{X: of(2), P: of(2), Null: true}) }, true},
		"hidden, where known": {func() {
			NewReader[float64](Reading{Null: true}, 2, true).Row(of(6), Input{X: of(2), P: of(2), Null: true})
		}, false},
	} {
		func() {
			defer func() {
				if refused := recover() != nil; refused != c.refused {
					t.Errorf("%s: refused %v", name, refused)
				}
			}()
			c.f()
		}()
	}
}

// First weights are their layer's stream of the seed, weights first, then biases: checkpoints of two
// machines begin alike.
func TestFirstWeightsAreKeyed(t *testing.T) {
	m := NewMLP[float64]([]int{4, 3, 2}, 5)
	for l := range 2 {
		for part, got := range [][]float64{m.Weight(l), m.Bias(l)} {
			u := make([]float64, len(got))
			keyed.Layers.Stream(5, uint64(l)).Uniforms(u, uint64(part), 0)
			for i, v := range u {
				testkit.Near(t, got[i], (2*v-1)/math.Sqrt(float64(m.Sizes[l])), 1e-15,
					"layer %d, part %d: number %d", l, part, i)
			}
		}
	}
}

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
				at := []float64{0.25, 0.5, 0.51, 0.75, 0.8, 1, 1.0009765625, 1.1, 1.25, 1.5, 1.75, 1.9, 1.99, 2}
				out, err := onnxrun.Run(g, map[string]*onnxrun.Tensor{"t": {Type: wide, Dims: []int{len(at)}, X: at}})
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

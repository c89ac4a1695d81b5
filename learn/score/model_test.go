package score_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/scoretest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func TestMLPConforms(t *testing.T) {
	plain := score.Reading{}
	rich := score.Reading{Octaves: 2, Wavelength: 3, Gain: func(t float64) float64 { return 2 + t }}
	for _, r := range []score.Reading{plain, rich} {
		for _, momentum := range []bool{false, true} {
			sizes := []int{r.Width(3, momentum), 6, 5, 4, 3}
			scoretest.Run(t, score.NewMLP[float64](sizes, 1).Model(r, kernel.Float32), momentum)
		}
	}
	scoretest.Kind(t, score.MLPKind, score.Config{
		Dim: 3, Momentum: true, Width: 8, Octaves: 1, Seed: 1, Precision: kernel.BFloat16,
	})
}

// The zero values of a Config are what it says they are.
func TestZeroReading(t *testing.T) {
	r := score.Config{TimeOctaves: 1, Octaves: 1}.Reading()
	if r.Horizon != 1 || r.Wavelength != 2 || r.Start != nil || r.Gain != nil {
		t.Errorf("a zero Config reads by %+v", r)
	}
	testkit.Equal(t, score.NewReader[float64](r, 2, true).Gain(0.3), 1, "the gain")
	c := score.Config{Octaves: 3, Wavelength: 5, TimeOctaves: 2, Horizon: 7, Still: []int{4}}
	c.Start, c.Gain = func(float64) (float64, float64) { return 2, 3 }, func(float64) float64 { return 6 }
	r = c.Reading()
	if b, v := r.Start(0); b != 2 || v != 3 || r.Gain(0) != 6 || r.Octaves != 3 || r.Wavelength != 5 ||
		r.TimeOctaves != 2 || r.Horizon != 7 || len(r.Still) != 1 {
		t.Errorf("%+v reads by %+v", c, r)
	}
}

// The matrices between hidden layers are those of the hidden layers, out×in each.
func TestMLPMatrices(t *testing.T) {
	m := score.NewMLP[float64]([]int{4, 6, 5, 7, 3}, 1)
	model := m.Model(score.Reading{}, kernel.Float32)
	for i, w := range model.Matrices() {
		weight := m.Weight(i + 1)
		if w.Out != m.Sizes[i+2] || w.In != m.Sizes[i+1] || &model.Parameters()[w.At] != &weight[0] {
			t.Errorf("matrix %d is %+v, of widths %v", i, w, m.Sizes)
		}
	}
	testkit.Equal(t, len(model.Matrices()), 2)
}

// The MLP reads points by their center and unit, in every precision.
func TestUnit(t *testing.T) {
	for p := range kernel.BFloat16 + 1 {
		for _, c := range []score.Config{
			{Dim: 3, Width: 24, Layers: 2},
			{Dim: 4, Width: 24, Layers: 3, Momentum: true, Octaves: 4, Wavelength: 3, TimeOctaves: 2, Share: true,
				Start: func(t float64) (b, v float64) { return t / 3, t / 50 }, Still: []int{3}, Null: true,
				Given: score.Standard{Mean: []float64{0.5}, Scale: []float64{3}}},
			{Dim: 3, Width: 24, Layers: 2, Momentum: true, Scales: []float64{0.01, 0, 4},
				Start: func(t float64) (b, v float64) { return t / 3, t / 50 }},
		} {
			c.Precision, c.Seed = p, 2
			scoretest.Unit(t, score.MLPKind, c)
		}
	}
}

// Arrays are read by name into those of the same shape, whatever their numbers are kept as; one that is missing, or of
// another shape with as many numbers, is named, and what is beside them is not asked for.
func TestReadTensors(t *testing.T) {
	single, double := make([]float32, 6), make([]float64, 2)
	want := []arrayfile.Named{
		{Name: "a", Array: arrayfile.Of(single, 2, 3)}, {Name: "b", Array: arrayfile.Of(double, 2)},
	}
	arrays := map[string]arrayfile.Array{
		"a": arrayfile.Of([]float64{1, 2, 3, 4, 5, 6}, 2, 3), "b": arrayfile.Of([]float32{7, 8}, 2),
		"c": arrayfile.Of([]float32{9}, 1),
	}
	if err := score.ReadTensors(arrays, want); err != nil || !slices.Equal(single, []float32{1, 2, 3, 4, 5, 6}) ||
		!slices.Equal(double, []float64{7, 8}) {
		t.Errorf("%v and %v, %v", single, double, err)
	}
	arrays["a"] = arrayfile.Of([]float64{1, 2, 3, 4, 5, 6}, 3, 2)
	if err := score.ReadTensors(arrays, want); err == nil || err.Error() != "array a has shape [3 2]; expected [2 3]" {
		t.Errorf("another shape: %v", err)
	}
	delete(arrays, "a")
	if err := score.ReadTensors(arrays, want); err == nil || err.Error() != "there is no array a" {
		t.Errorf("none: %v", err)
	}
}

// A network takes rows of its own width and as many parameters as it has, and refuses others by
// their numbers; an MLP has an input and an output.
func TestNetworksThatDoNotFit(t *testing.T) {
	refusal := func(f func()) (message string) {
		defer func() { message, _ = recover().(string) }()
		f()
		return ""
	}
	read := score.Reading{}
	plain, momentum := read.Width(3, false), read.Width(3, true)
	net := func(in int) *score.MLP[float64] { return score.NewMLP[float64]([]int{in, 4, 3}, 1) }
	count := len(net(plain).Params)
	reader := func(momentum bool) score.Reader[float64] { return score.NewReader[float64](read, 3, momentum) }
	with := func(more int) { net(plain).Model(read, kernel.Float32).With(make([]float64, count+more)) }
	for name, c := range map[string]struct {
		f    func()
		want string
	}{
		"plain":           {func() { net(plain).Model(read, kernel.Float32) }, ""},
		"momentum":        {func() { net(momentum).Model(read, kernel.Float32) }, ""},
		"another width":   {func() { net(momentum+1).Model(read, kernel.Float32) }, "score: a row has"},
		"another reader":  {func() { net(plain).ReadBy(reader(true), kernel.Float32) }, "but the network takes"},
		"its reader":      {func() { net(plain).ReadBy(reader(false), kernel.Float32) }, ""},
		"its parameters":  {func() { with(0) }, ""},
		"more parameters": {func() { with(1) }, "parameters for a network of"},
		"no output":       {func() { score.NewMLP[float64]([]int{3}, 1) }, "needs an input and an output"},
		"one layer":       {func() { score.NewMLP[float64]([]int{3, 2}, 1) }, ""},
	} {
		if got := refusal(c.f); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

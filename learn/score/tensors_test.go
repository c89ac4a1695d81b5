package score_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/learn/score"
)

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

package temporal

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/scoretest"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

// wave returns n numbers of size 1, none of them special, whose sums do not cancel.
func wave[T kernel.Float](n int, ω float64) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(float32(math.Sin(ω * float64(i+1) * float64(i+1))))
	}
	return x
}

// More rows than pass at once, and sequences longer than a block of windows, give each row the
// bits that it has alone, and the sum of their gradients.
func TestChunks(t *testing.T) {
	for _, L := range []int{40, 150, 1100} {
		rows := 2*max(1, chunkSteps/L) + 1
		c := config(t, L, 1, score.Options{"channels": 2, "levels": 3, "embedding": 3})
		m := New[float64](c)
		w, packed := m.In(), m.Pack(true)
		in, dout := wave[float64](rows*w, 0.7), wave[float64](rows*L, 1.3)
		all, one := packed.NewWorkspace(rows, true), packed.NewWorkspace(1, true)
		y, grad := all.Forward(in, rows), make([]float64, len(m.θ))
		all.Backward(grad, dout, rows, false)
		alone := append([]float64(nil), packed.NewWorkspace(rows, false).Forward(in, rows)...)
		sum := make([]float64, len(m.θ))
		for i := range rows {
			for j, v := range one.Forward(in[i*w:(i+1)*w], 1) {
				if y[i*L+j] != v || alone[i*L+j] != v {
					t.Fatalf("L = %d, row %d of %d has %v and %v, alone %v", L, i, rows, y[i*L+j], alone[i*L+j], v)
				}
			}
			one.Backward(sum, dout[i*L:(i+1)*L], 1, true)
		}
		near(t, "gradient", grad, sum)
	}
}

// Errors of float32 and bfloat16 passes, forward and backward, against float64 with the same
// weights: relative rms errors of the order of the unit roundoff, 2⁻²⁴, 2⁻¹⁶ and 2⁻⁸, as for
// the MLP. In float32 a row has the bits that it has alone.
func TestPrecision(t *testing.T) {
	const L, rows = 10, 110
	c := config(t, L, 14, score.Options{"channels": 32, "embedding": 64, "levels": 3})
	c.Momentum, c.TimeOctaves = true, 5
	exact, single := New[float64](c), New[float32](c)
	for i, v := range single.θ {
		exact.θ[i] = float64(v)
	}
	in, dout := wave[float64](rows*exact.In(), 0.7), wave[float64](rows*c.Dim, 1.3)
	ws, want := exact.Pack(true).NewWorkspace(rows, true), make([]float64, len(exact.θ))
	y := append([]float64(nil), ws.Forward(in, rows)...)
	ws.Backward(want, dout, rows, false)
	limits := map[kernel.Precision]float64{kernel.Float32: 1e-6, kernel.BFloat16x3: 1e-5, kernel.BFloat16: 5e-3}
	for p, limit := range limits {
		single.precision = p
		packed := single.Pack(true)
		ws, grad := packed.NewWorkspace(rows, true), make([]float32, len(single.θ))
		in, dout := wave[float32](rows*exact.In(), 0.7), wave[float32](rows*c.Dim, 1.3)
		got := append([]float32(nil), ws.Forward(in, rows)...)
		ws.Backward(grad, dout, rows, false)
		ey, eg := distance(got, y), distance(grad, want)
		t.Logf("%s, %v: relative rms error of the output %.2g, of the gradient %.2g", kernel.Name(), p, ey, eg)
		if !(ey <= limit) || !(eg <= limit) {
			t.Errorf("%v: %.2g and %.2g, above %g", p, ey, eg, limit)
		}
		one, w := packed.NewWorkspace(1, false), single.In()
		for i := range rows {
			for j, v := range one.Forward(in[i*w:(i+1)*w], 1) {
				if got[i*c.Dim+j] != v {
					t.Fatalf("%v: row %d differs alone", p, i)
				}
			}
		}
		if n := testing.AllocsPerRun(3, func() {
			ws.Forward(in, rows)
			ws.Backward(grad, dout, rows, true)
		}); n != 0 {
			t.Errorf("%v: passes allocate %v times", p, n)
		}
	}
}

// distance is ‖a − b‖/‖b‖.
func distance(a []float32, b []float64) float64 {
	d, s := 0.0, 0.0
	for i, v := range b {
		d += (float64(a[i]) - v) * (float64(a[i]) - v)
		s += v * v
	}
	return math.Sqrt(d / s)
}

// What a step says reaches as far as convolutions and levels carry it, and no farther.
func TestReach(t *testing.T) {
	for _, c := range []struct {
		options score.Options
		far     int // steps that a change is seen at on either side of it
	}{
		{score.Options{"levels": 1, "reach": 0}, 0},
		{score.Options{"levels": 1, "reach": 1}, 3}, // head, and two convolutions of the block
		{score.Options{"levels": 1, "reach": 2}, 6},
		{score.Options{"levels": 1, "blocks": 2}, 5},
	} {
		const L, at = 21, 10
		m := New[float64](config(t, L, 1, c.options))
		in := wave[float64](m.In(), 0.7)
		ws := m.Pack(false).NewWorkspace(1, false)
		before := append([]float64(nil), ws.Forward(in, 1)...)
		in[at] += 0.5
		for l, v := range ws.Forward(in, 1) {
			if near := max(l-at, at-l) <= c.far; (v != before[l]) != near {
				t.Errorf("%v: the change of step %d is seen at step %d: %v", c.options, at, l, !near)
			}
		}
	}
	m := New[float64](config(t, 21, 1, score.Options{"levels": 3}))
	in := wave[float64](m.In(), 0.7)
	ws := m.Pack(false).NewWorkspace(1, false)
	before := append([]float64(nil), ws.Forward(in, 1)...)
	in[0] += 0.5
	if got := ws.Forward(in, 1); got[20] == before[20] {
		t.Error("with three levels the first step does not reach the last of 21")
	}
}

// First weights and biases are uniform on ±1/√inputs, a convolution's inputs being those of all
// its steps: as large as that, no larger, with the variance 1/(3 inputs), which as many numbers
// tell to 4.5 standard errors (rate 7·10⁻⁶ each). The last layer is no exception.
func TestFirstWeights(t *testing.T) {
	m := New[float64](config(t, 12, 3, score.Options{"channels": 32, "embedding": 64}))
	for _, l := range m.layers {
		in := float64(l.taps * l.in)
		parts := map[string][]float64{"weight": m.θ[l.w : l.w+l.weights()], "bias": m.θ[l.b : l.b+l.biases]}
		for name, part := range parts {
			most, sq, n := 0.0, 0.0, float64(len(part))
			for _, v := range part {
				most, sq = max(most, math.Abs(v)), sq+v*v
			}
			if n > 0 && (most > 1/math.Sqrt(in) || math.Abs(sq/n*in-1./3) > 4.5*math.Sqrt(4./45/n)) {
				t.Errorf("%s.%s: the largest is %.3f/√in, the mean square %.3f/in", l.name, name, most*math.Sqrt(in),
					sq/n*in)
			}
		}
	}
}

// Muon moves all convolutions and what turns the time into e, but for what reads the row and
// what writes the output, scales and shifts: they are whole arrays of checkpoints.
func TestMatrices(t *testing.T) {
	m := New[float64](config(t, 6, 2, score.Options{"levels": 2}))
	at := map[int]string{}
	for _, l := range m.layers {
		at[l.w] = l.name
	}
	var names []string
	for _, w := range m.Matrices() {
		names = append(names, at[w.At])
	}
	want := "time_1 down_0.0.first down_0.0.second halve_0 down_1.0.first down_1.0.second up_0.0.first up_0.0.second " +
		"up_0.0.side"
	testkit.Equal(t, strings.Join(names, " "), want, "matrices")
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		dim, held, steps int
		own              float64
		want             string
	}{
		{140, 0, 10, 0, ""}, {143, 3, 10, 0, ""}, {12, 0, 0, 4, ""}, {12, 0, 5, 4, ""},
		{12, 0, 0, 0, "network.options.steps"}, {13, 0, 4, 0, "13 coordinates are not 4 steps"},
		{4, 4, 2, 0, "0 coordinates are not 2 steps"}, {12, 0, 0, 1e6, "not 1000000 steps"},
	} {
		k := score.Config{Dim: c.dim, Held: c.held, Steps: c.steps, Options: score.Options{"steps": c.own}}
		if got := fits(k); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
	testkit.Refused(t, testkit.Err(Kind.Resolve(score.Config{Options: score.Options{"channels": 2.5}})),
		"channels is 2.5; expected a whole number in [1, 2048]", "half a channel")
}

// The number of parameters of the largest network that options allow is counted, and not made.
func TestParametersOfTheLargest(t *testing.T) {
	c := score.Config{Dim: 2e6, Steps: 1e6, Momentum: true, Options: score.Options{}}
	for _, o := range Kind.Options {
		c.Options[o.Name] = o.Most
	}
	var n float64
	allocated := testing.AllocsPerRun(1, func() { n = Kind.Parameters(c) })
	if !(n > 1e12 && n < 1e14) || allocated > 5000 {
		t.Errorf("%v parameters, after %v allocations", n, allocated)
	}
}

// config is a small network for `steps` steps of `width` numbers, with every option.
func config(t testing.TB, steps, width int, options score.Options) score.Config {
	c := score.Config{Dim: steps * width, Steps: steps, Seed: 1, Wavelength: 2, Horizon: 1, Options: score.Options{
		"channels": 3, "embedding": 4}}
	for name, v := range options {
		c.Options[name] = v
	}
	c = testkit.Must(Kind.Resolve(c))
	return c
}

func TestConforms(t *testing.T) {
	for _, c := range []struct {
		name         string
		steps, width int
		options      score.Options
		change       func(*score.Config)
	}{
		{"plain", 6, 2, nil, nil},
		{"one step", 1, 3, score.Options{"levels": 3}, nil},
		{"odd", 5, 2, score.Options{"levels": 3, "reach": 2}, func(c *score.Config) { c.Momentum = true }},
		{"flat", 4, 1, score.Options{"levels": 1, "reach": 0}, nil},
		{"deep", 3, 2, score.Options{"blocks": 2}, func(c *score.Config) {
			c.Momentum, c.Octaves, c.TimeOctaves, c.Gain = true, 2, 3, func(t float64) float64 { return 1 + t }
		}},
		{"held", 3, 2, nil, func(c *score.Config) {
			c.Held, c.Octaves = 2, 1
			c.Dim += c.Held
			c.Given = score.Standard{Mean: []float64{1, 2}, Scale: []float64{3, 0.5}}
			c.Null, c.TimeOctaves = true, 2
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := config(t, c.steps, c.width, c.options)
			if c.change != nil {
				c.change(&k)
			}
			scoretest.Run(t, New[float64](k), k.Momentum)
			scoretest.Kind(t, Kind, k)
			scoretest.Unit(t, Kind, k)
		})
	}
}

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
	return golden.Decode(t, testkit.Must(os.ReadFile("testdata/"+name+".npz")))
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

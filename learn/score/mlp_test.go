package score

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The gradient of every parameter against central differences by slope: the
// error falls with the square of the step until round-off.
func TestBackward(t *testing.T) {
	m := NewMLP[float64]([]int{4, 5, 6, 3}, 1)
	const n = 3
	in, weight := make([]float64, n*4), make([]float64, n*3)
	for i := range in {
		in[i] = math.Sin(float64(3*i + 1))
	}
	for i := range weight {
		weight[i] = math.Cos(float64(2*i + 1))
	}
	net := pack(m, kernel.Float32, true)
	ws := net.NewWorkspace(n, true)
	loss := func() (s float64) { // Σ w y + ½ y²
		for l := range m.Layers() {
			net.Update(l)
		}
		for i, y := range ws.Forward(in, n) {
			s += weight[i]*y + y*y/2
		}
		return s
	}
	loss()
	dout := make([]float64, n*3)
	for i, y := range ws.(*mlpWorkspace[float64]).pre[2][:n*3] {
		dout[i] = weight[i] + y
	}
	grad := make([]float64, len(m.Params))
	for i := range grad {
		grad[i] = math.NaN()
	}
	ws.Backward(grad, dout, n, false)
	for i := range m.Params {
		at := m.Params[i]
		diff := func(h float64) float64 {
			m.Params[i] = at + h
			up := loss()
			m.Params[i] = at - h
			down := loss()
			m.Params[i] = at
			return math.Abs((up-down)/(2*h) - grad[i])
		}
		coarse, fine := diff(1e-2), diff(1e-3)
		if fine > 1e-10 && fine > coarse/50 || fine > 1e-5 {
			t.Errorf("parameter %d: error %.3g at step 1e-2 and %.3g at 1e-3", i, coarse, fine)
		}
	}
	again := make([]float64, len(grad))
	for i := range again {
		again[i] = 1
	}
	loss()
	ws.Backward(again, dout, n, true)
	for i := range again {
		if math.Abs(again[i]-1-grad[i]) > 1e-14*(1+math.Abs(grad[i])) {
			t.Fatal("Backward does not add")
		}
	}
}

// pack packs a network whose rows need be no reading's.
func pack[T kernel.Float](m *MLP[T], p kernel.Precision, gradients bool) Packed[T] {
	return (&mlpModel[T]{net: m, precision: p}).Pack(gradients)
}

// precisions runs a test in each precision that this machine computes.
func precisions(t *testing.T, f func(t *testing.T, p kernel.Precision)) {
	for p := range kernel.BFloat16 + 1 {
		if kernel.Effective(p) == p {
			t.Run(p.String(), func(t *testing.T) { f(t, p) })
		}
	}
}

// A row's output has the same bits in any block.
func TestForwardRowsAreIndependent(t *testing.T) {
	precisions(t, testForwardRowsAreIndependent)
}

func testForwardRowsAreIndependent(t *testing.T, p kernel.Precision) {
	m := NewMLP[float32]([]int{7, 33, 33, 3}, 2)
	const n = 19
	in := make([]float32, n*7)
	for i := range in {
		in[i] = float32(math.Sin(float64(i)))
	}
	net := pack(m, p, false)
	all := append([]float32(nil), net.NewWorkspace(n, false).Forward(in, n)...)
	ws := net.NewWorkspace(n, false)
	for i := range n {
		for j, v := range ws.Forward(in[i*7:(i+1)*7], 1) {
			if v != all[i*3+j] {
				t.Fatalf("row %d differs alone", i)
			}
		}
	}
}

// The gradient of a network as wide as the volcano recipe's against that in float64. Rounding errors of products add up
// like noise, so the relative error is of the order of the unit roundoff, 2⁻²⁴, 2⁻¹⁶ and 2⁻⁸; measured were, for
// gradients, 2.5e-7, 3.6e-6 and 1.9e-3.
func TestPrecisionOfGradient(t *testing.T) {
	const n = 256
	sizes := []int{7, 512, 512, 512, 512, 512, 3}
	exact := NewMLP[float64](sizes, 3)
	in, dout := make([]float64, n*7), make([]float64, n*3)
	for i := range in {
		in[i] = float64(float32(math.Sin(float64(3*i + 1))))
	}
	for i := range dout {
		dout[i] = float64(float32(math.Cos(float64(2*i + 1))))
	}
	m := NewMLP[float32](sizes, 3)
	for i, v := range m.Params {
		exact.Params[i] = float64(v)
	}
	want, y := gradient(exact, kernel.Float32, in, dout)
	precisions(t, func(t *testing.T, p kernel.Precision) {
		got, z := gradient(m, p, in, dout)
		eg, ey := distance(got, want), distance(z, y)
		t.Logf("%s: relative rms error of the output %.2g, of the gradient %.2g", kernel.Name(), ey, eg)
		limits := map[kernel.Precision]float64{kernel.Float32: 1e-6, kernel.BFloat16x3: 1e-5, kernel.BFloat16: 5e-3}
		if limit := limits[p]; eg > limit || ey > limit {
			t.Errorf("above %g", limit)
		}
	})
}

// gradient returns the gradient of parameters and the output of a pass.
func gradient[T kernel.Float](m *MLP[T], p kernel.Precision, in, dout []float64) (grad, out []T) {
	convert := func(x []float64) []T {
		y := make([]T, len(x))
		for i, v := range x {
			y[i] = T(v)
		}
		return y
	}
	n := len(in) / m.In()
	ws := pack(m, p, true).NewWorkspace(n, true)
	grad, out = make([]T, len(m.Params)), append(out, ws.Forward(convert(in), n)...)
	ws.Backward(grad, convert(dout), n, false)
	return grad, out
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

// A workspace for forward passes alone gives the same bits, and refuses the other
// pass; layers differ in width both ways, as they share memory.
func TestForwardAlone(t *testing.T) {
	m := NewMLP[float32]([]int{7, 40, 16, 33, 3}, 2)
	const n = 19
	in := make([]float32, n*7)
	for i := range in {
		in[i] = float32(math.Sin(float64(i)))
	}
	net := pack(m, kernel.Float32, true)
	ws := net.NewWorkspace(n, false)
	want := net.NewWorkspace(n, true).Forward(in, n)
	for range 2 {
		for i, v := range ws.Forward(in, n) {
			if v != want[i] {
				t.Fatalf("number %d is %v, not %v", i, v, want[i])
			}
		}
	}
	defer func() {
		testkit.Equal(t, recover(), "score: Backward in a workspace for Forward alone", "Backward")
	}()
	ws.Backward(make([]float32, len(m.Params)), make([]float32, n*3), n, false)
}

func TestPassesAllocateNothing(t *testing.T) {
	precisions(t, testPassesAllocateNothing)
}

func testPassesAllocateNothing(t *testing.T, p kernel.Precision) {
	m := NewMLP[float32]([]int{7, 16, 16, 3}, 2).Model(Reading{}, p)
	in, grad, dout := make([]float32, 56), make([]float32, len(m.Parameters())), make([]float32, 24)
	ws := m.Pack(true).NewWorkspace(8, true)
	if n := testing.AllocsPerRun(20, func() {
		ws.Forward(in, 8)
		ws.Backward(grad, dout, 8, true)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	f := NewField(m, 8)
	x, s := make([]float64, 24), make([]float64, 24)
	testkit.Equal(t, testing.AllocsPerRun(20, func() { f.Eval(s, x, x, 8, 0.5) }), 0)
}

// The first weights and biases of a layer are uniform on ±1/√in, in its inputs: as large as that, no larger, with the
// variance 1/(3 in). A thousand numbers show 15 % of this variance at 4.5 standard errors (rate 7·10⁻⁶ each). From the
// outputs it would be 4 and 16 times as much.
func TestFirstWeights(t *testing.T) {
	m := NewMLP[float64]([]int{64, 256, 64, 4}, 3)
	for l := range m.Layers() {
		in := float64(m.Sizes[l])
		for name, part := range map[string][]float64{"weights": m.Weight(l), "biases": m.Bias(l)} {
			most, sq := 0.0, 0.0
			for _, v := range part {
				most, sq = max(most, math.Abs(v)), sq+v*v
			}
			n := float64(len(part))
			// A uniform number's square has mean 1/3 and standard deviation √(4/45).
			if e := math.Abs(sq/n*in - 1./3); most > 1/math.Sqrt(in) || e > 4.5*math.Sqrt(4./45/n) {
				t.Errorf("layer %d, %s: the largest is %.3f/√in, the mean square %.3f/in", l, name, most*math.Sqrt(in),
					sq/n*in)
			}
		}
	}
	if n := NewMLP[float64]([]int{64, 256, 64, 4}, 4); n.Params[0] == m.Params[0] {
		t.Error("another seed has the same weights")
	}
}

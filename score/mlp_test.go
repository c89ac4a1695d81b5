package score

import (
	"math"
	"testing"
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
	ws, net := m.NewWorkspace(n), m.Pack(true)
	loss := func() (s float64) { // Σ w y + ½ y²
		for l := range m.Layers() {
			net.Update(l)
		}
		for i, y := range net.Forward(ws, in, n) {
			s += weight[i]*y + y*y/2
		}
		return s
	}
	loss()
	dout := make([]float64, n*3)
	for i, y := range ws.pre[2][:n*3] {
		dout[i] = weight[i] + y
	}
	grad := make([]float64, len(m.Params))
	for i := range grad {
		grad[i] = math.NaN()
	}
	net.Backward(ws, grad, dout, n, false)
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
	net.Backward(ws, again, dout, n, true)
	for i := range again {
		if math.Abs(again[i]-1-grad[i]) > 1e-14*(1+math.Abs(grad[i])) {
			t.Fatal("Backward does not add")
		}
	}
}

// A row's output has the same bits in any block.
func TestForwardRowsAreIndependent(t *testing.T) {
	m := NewMLP[float32]([]int{7, 33, 33, 3}, 2)
	const n = 19
	in := make([]float32, n*7)
	for i := range in {
		in[i] = float32(math.Sin(float64(i)))
	}
	net := m.Pack(false)
	all := append([]float32(nil), net.Forward(m.NewWorkspace(n), in, n)...)
	ws := m.NewWorkspace(n)
	for i := range n {
		for j, v := range net.Forward(ws, in[i*7:(i+1)*7], 1) {
			if v != all[i*3+j] {
				t.Fatalf("row %d differs alone", i)
			}
		}
	}
}

func TestPassesAllocateNothing(t *testing.T) {
	m := NewMLP[float32]([]int{7, 16, 16, 3}, 2)
	ws, in, grad, dout := m.NewWorkspace(8), make([]float32, 56), make([]float32, len(m.Params)), make([]float32, 24)
	net := m.Pack(true)
	if n := testing.AllocsPerRun(20, func() {
		net.Forward(ws, in, 8)
		net.Backward(ws, grad, dout, 8, true)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	f := NewField(m, 8)
	x, s := make([]float64, 24), make([]float64, 24)
	if n := testing.AllocsPerRun(20, func() { f.Eval(s, x, x, 8, 0.5) }); n != 0 {
		t.Errorf("%v allocations in Field", n)
	}
}

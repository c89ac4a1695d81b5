package score

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The derivatives of a field along directions are those of central differences, which fall with the
// square of the step, whatever the network reads; its values are those of Eval.
func TestEvalAlong(t *testing.T) {
	const n, k, d = 3, 2, 3
	gain := func(t float64) float64 { return 2 + t }
	for name, r := range map[string]Reading{
		"plain": {}, "waves": {Octaves: 3, Wavelength: 1.5, Gain: gain},
		"unit": {Octaves: 2, Wavelength: 2, Center: []float64{1, -2, 0.5}, Unit: 0.4, TimeOctaves: 2, Horizon: 1},
		"condition": {Octaves: 2, Wavelength: 3, Unit: 2, Given: Standard{Mean: []float64{0.3}, Scale: []float64{0.6}},
			Null: true},
		"start": {Octaves: 2, Wavelength: 3, Still: []int{1},
			Start: func(t float64) (b, v float64) { return 0, 0.05 * t }},
	} {
		m := NewMLP[float64]([]int{r.Width(d, false), 17, 9, d}, 4).Model(r, kernel.Float32)
		f := NewField(m, n*(1+k))
		x, v := make([]float64, n*d), make([]float64, n*k*d)
		for i := range x {
			x[i] = math.Sin(float64(3*i + 1))
		}
		for i := range v {
			v[i] = math.Cos(float64(2*i + 1))
		}
		s, along, want := make([]float64, n*d), make([]float64, n*k*d), make([]float64, n*d)
		if !f.EvalAlong(s, along, x, v, n, k, 0.3) {
			t.Fatalf("%s: no derivatives", name)
		}
		f.Eval(want, x, nil, n, 0.3)
		for i, w := range want {
			testkit.Near(t, s[i], w, 1e-14, "%s: value %d", name, i)
		}
		off := func(h float64) (worst float64) {
			up, down, at := make([]float64, d), make([]float64, d), make([]float64, d)
			for i := range n {
				for j := range k {
					e := v[(i*k+j)*d : (i*k+j+1)*d]
					for c, u := range e {
						at[c] = x[i*d+c] + h*u
					}
					f.Eval(up, at, nil, 1, 0.3)
					for c, u := range e {
						at[c] = x[i*d+c] - h*u
					}
					f.Eval(down, at, nil, 1, 0.3)
					for c := range d {
						worst = max(worst, math.Abs((up[c]-down[c])/(2*h)-along[(i*k+j)*d+c]))
					}
				}
			}
			return worst
		}
		if coarse, fine := off(1e-3), off(1e-4); fine > coarse/50 && fine > 1e-9 || fine > 1e-3 {
			t.Errorf("%s: derivatives are off by %.3g at step 1e-3 and %.3g at 1e-4", name, coarse, fine)
		}
		testkit.Equal(t, testing.AllocsPerRun(5, func() { f.EvalAlong(s, along, x, v, n, k, 0.3) }), 0, "%s", name)
	}
}

// In float32 and lower precisions the derivatives are those of float64 up to their round-off, and a
// guided field tells none.
func TestEvalAlongPrecisions(t *testing.T) {
	r := Reading{Octaves: 2, Wavelength: 2, Null: true}
	exact := NewMLP[float64]([]int{r.Width(3, false), 33, 40, 3}, 2)
	single := NewMLP[float32](exact.Sizes, 2)
	for i, v := range single.Params {
		exact.Params[i] = float64(v)
	}
	x, v := []float64{0.25, -0.5, 0.75}, []float64{1, 0.5, -0.25, 0, 1, 0.5}
	s, want, got := make([]float64, 3), make([]float64, 6), make([]float64, 6)
	NewField(exact.Model(r, kernel.Float32), 3).EvalAlong(s, want, x, v, 1, 2, 0.5)
	precisions(t, func(t *testing.T, p kernel.Precision) {
		limit := map[kernel.Precision]float64{kernel.Float32: 1e-5, kernel.BFloat16x3: 1e-4, kernel.BFloat16: 0.1}[p]
		NewField(single.Model(r, p), 3).EvalAlong(s, got, x, v, 1, 2, 0.5)
		for i, w := range want {
			testkit.Near(t, got[i], w, limit, "derivative %d", i)
		}
	})
	m := single.Model(r, kernel.Float32)
	if NewGuided(m, m.Pack(false), 3, 1, 0.5)[0].EvalAlong(s, got, x, v, 1, 2, 0.5) {
		t.Error("a guided field tells derivatives of another one")
	}
}

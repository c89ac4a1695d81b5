package score

import (
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Calls that are evaluated in one pass get the numbers that each gets alone, with guidance too.
func TestEvalAll(t *testing.T) {
	const d = 3
	for _, w := range []float64{0, 0.7} {
		r := Reading{Gain: func(t float64) float64 { return 1 + t }}
		if w != 0 {
			r.Given, r.Null = Standard{Mean: []float64{0.1}, Scale: []float64{2}}, true
		}
		m := NewMLP[float32]([]int{r.Width(d, true), 16, 16, d}, 1).Model(r, kernel.Float32)
		f := NewGuided(m, m.Pack(false), 64, 1, w)[0]
		var asks []Ask
		var want [][]float64
		for i, n := range []int{1, 7, 32, 2} {
			x, p := make([]float64, n*d), make([]float64, n*d)
			for j := range x {
				x[j], p[j] = float64((i+3*j)%7)/7, float64((i+5*j)%11)/11
			}
			alone := make([]float64, n*d)
			f.Eval(alone, x, p, n, float64(i)/4)
			want = append(want, alone)
			asks = append(asks, Ask{make([]float64, n*d), x, p, n, float64(i) / 4})
		}
		f.EvalAll(asks)
		for i, a := range asks {
			testkit.EqualSlices(t, a.Dst, want[i], "guidance %v: call %d", w, i)
		}
		if w == 0 && slices.Equal(want[0], want[1][:d]) {
			t.Error("the calls do not differ")
		}
		testkit.Equal(t, testing.AllocsPerRun(10, func() { f.Eval(asks[0].Dst, asks[0].X, asks[0].P, 1, 0) }), 0)
	}
}

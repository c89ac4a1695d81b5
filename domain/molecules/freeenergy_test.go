package molecules

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/judge/metric"
)

// A free energy is that of its counts, with the error of a share; bins without counts have none.
func TestEnergy(t *testing.T) {
	b := metric.Bins{Lo: 0, Hi: 4, N: 4}
	var values []float64
	for k, n := range []int{100, 300, 0, 600} {
		values = append(values, slices.Repeat([]float64{float64(k) + 0.3}, n)...)
	}
	e := energyOf("x", b, append(values, 9, -1, math.NaN())) // outside: not counted
	for k, q := range []float64{0.1, 0.3, 0, 0.6} {
		if q == 0 {
			if !math.IsNaN(e.Y[k]) || !math.IsNaN(e.Lo[k]) {
				t.Errorf("an empty bin has %v", e.Y[k])
			}
			continue
		}
		f, σ := -math.Log(4*q), math.Sqrt((1-q)/(1000*q))
		if math.Abs(e.Y[k]-f) > 1e-12 || math.Abs(e.Hi[k]-f-1.96*σ) > 1e-12 || math.Abs(e.Lo[k]-f+1.96*σ) > 1e-12 ||
			e.X[k] != float64(k)+0.5 {
			t.Errorf("bin %d: %v [%v, %v] at %v, want %v ± %v", k, e.Y[k], e.Lo[k], e.Hi[k], e.X[k], f, 1.96*σ)
		}
	}
}

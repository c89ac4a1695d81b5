package kernel

import (
	"testing"
	"time"
)

// The peak is one: nothing beats it, and a product of matrices that lie in the caches comes near.
func TestMultiplyAdd(t *testing.T) {
	each(t, func(t *testing.T) {
		const n, m = 28, 256
		a, c, w := fill[float32](n*m, 1), make([]float32, n*m), NewWeights[float32](m, m, false, Float32)
		w.Set(fill[float32](m*m, 2))
		scratch := make([]float32, Scratch[float32](n, m, m))
		fastest := func(f func()) (s float64) {
			s = 1
			for range 200 {
				start := time.Now()
				f()
				s = min(s, time.Since(start).Seconds())
			}
			return s
		}
		operations := 0.0
		peak := fastest(func() { operations = MultiplyAdd() })
		product := fastest(func() { MulTransposed(c, a, w, n, scratch) })
		share := 2 * n * m * m / product / (operations / peak)
		if peak > 0.01 || share > 1.1 || share < 0.2 {
			t.Errorf("%.3g operations took %.3g s; a product reaches %.2f of that", operations, peak, share)
		}
	})
}

// Each link of the twelve chains is a ← a/2 + 2 from a = 0, …, 11.
func TestPortableChains(t *testing.T) {
	for n, want := range []float32{66, 57, 52.5} {
		if got := portableChains(n); got != want {
			t.Errorf("%d links: %v, want %v", n, got, want)
		}
	}
}

package metric

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// With fewer rows than coordinates the products of rows give the same directions.
func TestPrincipalOfManyCoordinates(t *testing.T) {
	const n, d, most = 30, 600, 4
	x := make([]float64, n*d)
	for i := range n {
		keyed.New(4, keyed.Probe, 0).Normals(x[i*d:(i+1)*d], uint64(i), 0)
		for j := range 50 {
			x[i*d+j] += 20 * float64(i%3)
		}
	}
	mean, axes, share := Principal(x, d, most)
	if len(axes) != most || !(share > 0.5 && share < 1) {
		t.Fatalf("%d axes with %v of the variance", len(axes), share)
	}
	var variance [2]float64
	norm := 0.0
	for i := range n {
		for k := range variance {
			y := Project(x[i*d:(i+1)*d], mean, axes[k])
			variance[k] += y * y / n
		}
	}
	for _, v := range axes[0] {
		norm += v * v
	}
	// Between groups: 50 coordinates of variance 20²·2/3.
	if math.Abs(norm-1) > 1e-12 || variance[0] < 50*400*2/3 || variance[0] < 10*variance[1] {
		t.Errorf("a direction of length² %v with variance %v, the next %v", norm, variance[0], variance[1])
	}
}

// The covariance's directions and those of the rows' products are one: rows once, and each
// twice, which is more rows than coordinates.
func TestPrincipalBothWays(t *testing.T) {
	const n, d = 20, 30
	x := make([]float64, n*d)
	for i := range x {
		x[i] = math.Sin(float64(i*i)) * float64(1+i%d)
	}
	mean, a, share := Principal(x, d, 3)
	again, b, whole := Principal(append(append([]float64{}, x...), x...), d, 3)
	if math.Abs(share-whole) > 1e-12 || len(a) != 3 || len(b) != 3 {
		t.Fatalf("shares %v and %v, %d and %d axes", share, whole, len(a), len(b))
	}
	for j := range d {
		if math.Abs(mean[j]-again[j]) > 1e-12 {
			t.Fatalf("mean %d: %v and %v", j, mean[j], again[j])
		}
		for k := range a {
			testkit.Near(t, a[k][j], b[k][j], 1e-9, "axis %d, entry %d", k, j)
		}
	}
}

package zoo_test

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// On and off the z-axis the rank is 2, whether g is active or not, and Π is the
// projector on the axis: constant, so continuous, where G + ridge would let go.
func TestRedundantAxis(t *testing.T) {
	const n = 500
	x := make([]float64, 3*n)
	keyed.New(1, keyed.Probe, 31).Normals(x, 0, 0)
	for i := range n { // scales 1 to 1e-15, and Σ itself
		scale := math.Pow(10, -float64(i%16))
		if i%17 == 0 {
			scale = 0
		}
		x[3*i] *= scale
		x[3*i+1] *= scale
	}
	b := geometry.New(zoo.RedundantAxis{}, n, 0)
	testkit.OK(t, b.At(x, n))
	v, active := make([]float64, 3*n), 0
	keyed.New(1, keyed.Probe, 32).Normals(v, 0, 0)
	w := append([]float64(nil), v...)
	b.Tangent(w, w)
	for i := range n {
		if b.Rank(i) != 2 {
			t.Fatalf("rank %d at %v", b.Rank(i), x[3*i:3*i+3])
		}
		active += b.Active(i) - 2
		if math.Abs(w[3*i]) > 1e-14 || math.Abs(w[3*i+1]) > 1e-14 || math.Abs(w[3*i+2]-v[3*i+2]) > 1e-14 {
			t.Fatalf("Π%v = %v at %v", v[3*i:3*i+3], w[3*i:3*i+3], x[3*i:3*i+3])
		}
	}
	if active < n/4 || active > 3*n/4+n/17 {
		t.Errorf("g is active at %d of %d points", active, n)
	}
}

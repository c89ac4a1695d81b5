package metric_test

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	. "github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The directions find what sets points apart from the uniform law: the mean of one
// mode, and the axis of two whose means cancel.
func TestDirections(t *testing.T) {
	const d = 20
	u := make([]float64, 2000*d)
	for i := range 2000 {
		zoo.Sphere{D: d}.SampleUniform(u[i*d:(i+1)*d], keyed.New(3, keyed.Probe, 2), uint64(i))
	}
	if v := Directions(testkit.Cluster(1000, d, false), u, d)[0]; v[0] < 0.99 {
		t.Errorf("one mode: cosine %v", v[0])
	}
	two := Directions(testkit.Cluster(1000, d, true), u, d)
	if v := two[1]; math.Abs(v[0]) < 0.99 {
		t.Errorf("two modes: cosine %v", v[0])
	}
	for i, v := range two[1:] {
		for j, w := range two[1 : i+2] {
			want := 0.0
			if i == j {
				want = 1
			}
			testkit.Near(t, dense.Dot(v, w), want, 1e-12, "directions %d and %d: product", i, j)
		}
	}
	if n := len(Directions([]float64{1, 0, 1, 0}, []float64{1, 0, 1, 0}, 2)); n != 0 {
		t.Errorf("%d directions between equal points", n)
	}
}

package points

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/keyed"
)

// Points about a line of R³ and a plane in it: the first component is the line's
// direction, the second the plane's, the third does not vary and is none.
func TestComponents(t *testing.T) {
	const n = 400
	u, v := [3]float64{2. / 3, 2. / 3, 1. / 3}, [3]float64{-1 / math.Sqrt2, 1 / math.Sqrt2, 0}
	x := make([]float64, 3*n)
	for i := range n {
		z := make([]float64, 2)
		keyed.New(3, keyed.Probe, 0).Normals(z, uint64(i), 0)
		for j := range 3 {
			x[3*i+j] = 5 + 10*z[0]*u[j] + z[1]*v[j]
		}
	}
	mean, axes, share := principal(x, 3)
	if len(axes) != 2 || math.Abs(share-1) > 1e-12 {
		t.Fatalf("%d axes with %v of the variance", len(axes), share)
	}
	for j := range 3 {
		// The sampling error of a direction is about (1/10)/√400.
		if math.Abs(axes[0][j]-u[j]) > 0.03 || math.Abs(axes[1][j]-v[j]) > 0.05 {
			t.Errorf("axes %v, want %v and %v", axes, u, v)
		}
	}
	o := Components(x, 3)
	if o.List[1].Name != "principal component 2" || o.List[1].File != "component-2" || o.List[0].N != 60 {
		t.Errorf("%+v", o.List)
	}
	got := make([]float64, 4)
	o.Values(got, x[:6], 2)
	for i := range 2 {
		for k, a := range axes {
			want := 0.0
			for j := range 3 {
				want += (x[3*i+j] - mean[j]) * a[j]
			}
			if math.Abs(got[2*i+k]-want) > 1e-12 {
				t.Errorf("component %d of point %d is %v, want %v", k+1, i, got[2*i+k], want)
			}
		}
	}
	if Components([]float64{1, 2, 1, 2}, 2) != nil {
		t.Error("rows that do not vary have components")
	}
}

// With more coordinates than rows the products of rows give the same directions.
func TestComponentsOfManyCoordinates(t *testing.T) {
	const n, d = 30, maxRows + 100
	x := make([]float64, n*d)
	for i := range n {
		keyed.New(4, keyed.Probe, 0).Normals(x[i*d:(i+1)*d], uint64(i), 0)
		for j := range 50 {
			x[i*d+j] += 20 * float64(i%3)
		}
	}
	mean, axes, share := principal(x, d)
	if len(axes) != most || !(share > 0.5 && share < 1) {
		t.Fatalf("%d axes with %v of the variance", len(axes), share)
	}
	var variance [2]float64
	norm := 0.0
	for i := range n {
		for k := range variance {
			y := project(x[i*d:(i+1)*d], mean, axes[k])
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

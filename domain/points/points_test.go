package points

import (
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/kept"
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
	mean, axes, share := metric.Principal(x, 3, most)
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

// Each factor of a product is drawn by its own coordinates, and their names. One of a single coordinate has no picture,
// and of very many factors the others are named.
func TestDrawProduct(t *testing.T) {
	set := constraint.Product(constraint.Factor{Name: "ball", Set: zoo.Sphere{D: 3}}, zoo.Euclidean{D: 1},
		constraint.Factor{Name: "ring", Set: zoo.Sphere{D: 2}})
	var many []constraint.Set
	for range 10 {
		many = append(many, zoo.Sphere{D: 2})
	}
	for _, c := range []struct {
		set   constraint.Set
		x     []float64
		names []string
	}{
		{set, []float64{1, 0, 0, 5, 0, 1, 0, 1, 0, 6, 1, 0}, nil},
		{set, []float64{1, 0, 0, 5, 0, 1, 0, 1, 0, 6, 1, 0}, strings.Split("abcdef", "")},
		{zoo.Sphere{D: 3}, []float64{1, 0, 0, 0, 1, 0}, strings.Split("uvw", "")},
		{zoo.Sphere{D: 3}, []float64{1, 0, 0, 0, 1, 0}, nil},
	} {
		d := testkit.Must(New(domain.Input{Set: c.set, Data: c.x, Train: c.x, Names: c.names}))
		kept.Domain(t, d, c.x, c.x[c.set.Dim():], c.set.Dim(), "")
	}
	x := make([]float64, 40) // nothing varies
	d := testkit.Must(New(domain.Input{Set: constraint.Product(many...), Data: x, Train: x}))
	d.Draw(kept.Canvas{T: t}, domain.View{Dim: 20, Data: x, Samples: x})
}

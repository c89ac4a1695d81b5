package points

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/judge/figure"
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

// canvas keeps what is drawn.
type canvas struct {
	domain.Canvas
	names, titles, svg, notes []string
}

func (c *canvas) Add(name string, ref figure.FigureRef, pic figure.Picture) {
	var b bytes.Buffer
	if err := pic.WriteSVG(&b); err != nil {
		panic(err)
	}
	c.names, c.titles, c.svg = append(c.names, name), append(c.titles, ref.Title), append(c.svg, b.String())
}

func (c *canvas) Note(remark string) { c.notes = append(c.notes, remark) }

// Of a product each factor is drawn by its own coordinates; one of a single coordinate has
// no picture, and of very many factors the others are named.
func TestDrawProduct(t *testing.T) {
	drawn := func(set constraint.Set, x []float64, names ...string) *canvas {
		t.Helper()
		d := testkit.Must(New(domain.Input{Set: set, Data: x, Train: x, Names: names}))
		c := &canvas{}
		d.Draw(c, domain.View{Dim: set.Dim(), Data: x, Samples: x})
		if n := set.Dim(); len(x) > n { // that vary
			kept.Domain(t, d, x, x[n:], n, "")
		}
		return c
	}
	set := constraint.Product(constraint.Factor{Name: "ball", Set: zoo.Sphere{D: 3}}, zoo.Euclidean{D: 1},
		constraint.Factor{Name: "ring", Set: zoo.Sphere{D: 2}})
	c := drawn(set, []float64{1, 0, 0, 5, 0, 1, 0, 1, 0, 6, 1, 0})
	if got := strings.Join(c.names, " "); got != "points-0 points-2" {
		t.Fatalf("drawn are %s", got)
	}
	if c.titles[1] != "Data and samples: ring" || !strings.Contains(c.svg[1], ">x[4]<") ||
		!strings.Contains(c.svg[1], ">x[5]<") || strings.Contains(c.svg[1], ">x[0]<") ||
		strings.Count(c.svg[1], "<circle") != 2*2+2 || !strings.Contains(c.svg[0], ">x[2]<") {
		t.Errorf("%v", c.titles)
	}
	named := drawn(set, []float64{1, 0, 0, 5, 0, 1, 0, 1, 0, 6, 1, 0}, "a", "b", "c", "d", "e", "f")
	if !strings.Contains(named.svg[1], ">e<") || !strings.Contains(named.svg[1], ">f<") {
		t.Error("a factor is drawn without the names of its coordinates")
	}
	if c := drawn(zoo.Sphere{D: 3}, []float64{1, 0, 0, 0, 1, 0}, "u", "v", "w"); !strings.Contains(c.svg[1], ">w<") {
		t.Error("points are drawn without the names of their coordinates")
	}
	var many []constraint.Set
	for range 10 {
		many = append(many, zoo.Sphere{D: 2})
	}
	c = drawn(constraint.Product(many...), make([]float64, 40))
	if len(c.names) != 8 || len(c.notes) != 1 || c.notes[0] != "The first 8 of 10 factors of the set are drawn." {
		t.Errorf("%v, %v", c.names, c.notes)
	}
	if c := drawn(zoo.Sphere{D: 3}, []float64{1, 0, 0, 0, 1, 0}); strings.Join(c.names, " ") != "space points" {
		t.Errorf("of a sphere %v", c.names)
	}
}

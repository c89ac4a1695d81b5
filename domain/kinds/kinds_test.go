package kinds

import (
	"bytes"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/kept"
	"github.com/landing-diffusion/landing/tools/testkit/octahedron"
)

// A kind is found by data.kind and the set; factors of a product are no set of theirs.
func TestOf(t *testing.T) {
	so3 := testkit.Must(zoo.NewOrthogonal(3, zoo.OrthogonalOptions{Special: true}))
	sphere := zoo.Sphere{D: 3, R: 1}
	for _, c := range []struct {
		data string
		set  constraint.Set
		want string
		ok   bool
	}{
		{"earth", sphere, "earth", true}, {"demo", sphere, "earth", true}, {"points", sphere, "points", true},
		{"points", so3, "rotation", true}, {"points", octahedron.Surface(), "surface", true},
		{"molecule", zoo.Sphere{D: 12, R: 1}, "molecule", true}, {"molecule", zoo.Sphere{D: 4, R: 1}, "molecule",
			false},
		{"earth", so3, "earth", false}, {"moon", sphere, "", false},
	} {
		k, ok := Of(c.data, c.set)
		if k.Name != c.want || ok != c.ok || ok && k.Data != c.data {
			t.Errorf("%s on %s: %q, %v", c.data, constraint.Name(c.set), k.Name, ok)
		}
	}
	if !slices.Equal(Names(), []string{"earth", "points", "molecule", "trajectory", "demo"}) ||
		!slices.Equal(Extensions(), []string{".npy", ".csv", ".parquet", ".pdb", ".xyz", ".sdf", ".dcd", ".json"}) {
		t.Errorf("%v, %v", Names(), Extensions())
	}
}

// Published distances keep their names and numbers.
func TestPublished(t *testing.T) {
	pool := testkit.Pool(t, 2)
	so3 := testkit.Must(zoo.NewOrthogonal(3, zoo.OrthogonalOptions{Special: true}))
	sphere := zoo.Sphere{D: 3, R: 1}
	draws := func(set constraint.Set, stream uint64) []float64 {
		x := make([]float64, 200*set.Dim())
		for i := range 200 {
			set.Capabilities().SampleUniform(x[i*set.Dim():][:set.Dim()], keyed.New(5, keyed.Probe, stream), uint64(i))
		}
		return x
	}
	for _, c := range []struct {
		data  string
		set   constraint.Set
		parts int
		want  func(a, b []float64) float64
	}{
		{"earth", sphere, 0, metric.EarthJSD},
		{"points", so3, 4, func(a, b []float64) float64 {
			_, mean := metric.TraceJSD(metric.PowerTraces(nil, a, 3), metric.PowerTraces(nil, b, 3))
			return mean
		}},
	} {
		k, _ := Of(c.data, c.set)
		d := testkit.Must(k.New(domain.Input{Set: c.set, Pool: pool}))
		a, b := draws(c.set, 1), draws(c.set, 2)
		got := d.Distance.Compare(d.Distance.Marks(a), d.Distance.Marks(b))
		if got[0] != c.want(a, b) || len(got) != 1+c.parts || len(d.Distance.Parts) != c.parts ||
			d.Distance.Name != "Jensen–Shannon distance" {
			t.Errorf("%s: %v of %q", k.Name, got, d.Distance.Name)
		}
		kept.Domain(t, d, a, b, c.set.Dim(), "")
		width, dim := len(d.Observables.List), c.set.Dim()
		all, one := make([]float64, 200*width), make([]float64, width)
		d.Observables.Values(all, a, 200)
		for i := range 200 { // the numbers of a row are its own
			d.Observables.Values(one, a[i*dim:(i+1)*dim], 1)
			testkit.EqualSlices(t, all[i*width:(i+1)*width], one, "%s: row %d", k.Name, i)
		}
	}
	rotations, _ := Of("points", so3)
	so := testkit.Must(rotations.New(domain.Input{Set: so3, Pool: pool}))
	for k, want := range [][2]string{
		{"tr X", "trace-1"}, {"tr X²", "trace-2"}, {"tr X⁴", "trace-4"}, {"tr X⁵", "trace-5"},
	} {
		if o := so.Observables.List[k]; o.Name != want[0] || o.File != want[1] || so.Distance.Parts[k] != want[0] {
			t.Errorf("observable %d is %+v, part %q", k, o, so.Distance.Parts[k])
		}
	}
	earth, _ := Of("earth", sphere)
	d := testkit.Must(earth.New(domain.Input{Set: sphere, Pool: pool}))
	var b bytes.Buffer
	if err := d.Writer(".csv")(&b, arrayfile.RowsOf([]float64{0, 0, 1, 0, -1, 0}, 3)); err != nil ||
		b.String() != "latitude,longitude\n90.00000000,0.00000000\n0.00000000,-90.00000000\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

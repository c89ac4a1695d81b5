package metric

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

// The published evaluation's values, of its own projections of the published data.
func TestPlaneGolden(t *testing.T) {
	g := golden.Read(t, "robot_pca_T10.npz")
	all := g["proj"].AsFloat64()
	first := all[:2*200]
	var even []float64
	for i := 0; i < len(all); i += 4 {
		even = append(even, all[i:i+2]...)
	}
	p := Around(all, 60, 0.2)
	for _, c := range []struct {
		name string
		x    []float64
	}{{"jsd_first200", first}, {"jsd_even", even}} {
		want := g[c.name].AsFloat64()[0]
		testkit.Near(t, p.JSD(c.x, all), want, 1e-12, "%s", c.name)
	}
}

// Two points in the ends of one cell are one law, in two cells two; what is outside counts at
// the edge, and what is not finite apart from all.
func TestPlane(t *testing.T) {
	p := Plane{Hi: [2]float64{4, 2}, N: 2}
	most, nan := math.Sqrt(math.Ln2), math.NaN()
	for _, c := range []struct {
		a, b [2]float64
		want float64
	}{
		{[2]float64{0, 0}, [2]float64{1.99, 0.99}, 0}, {[2]float64{1.99, 0}, [2]float64{2, 0}, most},
		{[2]float64{0, 0.99}, [2]float64{0, 1}, most}, {[2]float64{4, 2}, [2]float64{3, 1.5}, 0},
		{[2]float64{-9, 9}, [2]float64{0, 1.5}, 0}, {[2]float64{nan, 0}, [2]float64{0, math.Inf(1)}, 0},
		{[2]float64{nan, 0}, [2]float64{0, 0}, most},
	} {
		testkit.Near(t, p.JSD(c.a[:], c.b[:]), c.want, 1e-9, "%v and %v", c.a, c.b)
	}
	if !math.IsNaN(p.JSD(nil, []float64{0, 0})) {
		t.Error("no point has a distance")
	}
	// A quarter of the points in another cell: by hand with p = (1, 0), q = (¾, ¼).
	got := p.JSD([]float64{0, 0, 0, 0, 0, 0, 0, 0}, []float64{0, 0, 0, 0, 0, 0, 3, 0})
	want := math.Sqrt((math.Log(1/0.875) + 0.75*math.Log(0.75/0.875) + 0.25*math.Log(0.25/0.125)) / 2)
	testkit.Near(t, got, want, 1e-9)
}

func TestAround(t *testing.T) {
	p := Around([]float64{1, 5, 3, 5, math.NaN(), 9, 2, math.Inf(1)}, 60, 0.2)
	if !slices.Equal([]float64{p.Lo[0], p.Hi[0], p.Lo[1], p.Hi[1]}, []float64{1 - 0.4, 3 + 0.4, 4.5, 5.5}) ||
		p.N != 60 {
		t.Errorf("%+v", p)
	}
	if p := Around(nil, 1, 1); p.Lo != [2]float64{} || p.Hi != [2]float64{1, 1} {
		t.Errorf("of nothing %+v", p)
	}
}

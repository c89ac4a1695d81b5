package metric

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
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

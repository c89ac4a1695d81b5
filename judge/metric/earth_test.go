package metric

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

// unit returns the unit vector of a latitude and a longitude in degrees.
func unit(lat, lon float64) []float64 {
	sinLat, cosLat := math.Sincos(lat * (math.Pi / 180))
	sinLon, cosLon := math.Sincos(lon * (math.Pi / 180))
	return []float64{cosLat * cosLon, cosLat * sinLon, sinLat}
}

func TestEarthHistogram(t *testing.T) {
	for _, c := range []struct {
		lat, lon float64
		i, j     int
	}{
		{-89.9, -179.9, 0, 0},
		{89.9, 179.9, 29, 29},
		{0.1, 0.1, 15, 15},
		{-0.1, -0.1, 14, 14},
		{-78.5, 11.9, 1, 15},
		{48.1, 11.6, 23, 15},
		{0, 0, 15, 15},    // an edge belongs to the bin above it
		{90, 0, 29, 15},   // but for the last
		{20, 180, 18, 29}, // likewise
		{20, -180, 18, 0}, // the date line has two sides
		{-90, 0, 0, 15},   // cos(−90°) is not quite 0
		{6, 12, 16, 16},   // edges that sines may miss by a bit
		{-66, -132, 4, 4},
		{54, 168, 24, 29},
		{-42, -108, 8, 6},
		{84, 156, 29, 28},
		{36, -24, 21, 13},
		{5.9999, 12, 15, 16},
	} {
		for _, scale := range []float64{1, 1 + 1e-9, 0.9, 1e3} { // off the sphere
			x := unit(c.lat, c.lon)
			floats.Scale(scale, x)
			h := EarthHistogram(x)
			if floats.Sum(h) != 1 || h[30*c.i+c.j] != 1 {
				at := floats.MaxIdx(h)
				t.Errorf("(%g°, %g°)·%g is in bin (%d, %d), want (%d, %d)", c.lat, c.lon, scale, at/30, at%30, c.i, c.j)
			}
		}
	}
}

// Every edge of whole degrees falls into the bin above it, whatever the sines did to it.
func TestEarthHistogramEdges(t *testing.T) {
	for i := 1; i < EarthBins; i++ {
		for j := 1; j < EarthBins; j++ {
			if h := EarthHistogram(unit(float64(6*i-90), float64(12*j-180))); h[EarthBins*i+j] != 1 {
				t.Fatalf("the lower corner of bin (%d, %d) is outside it", i, j)
			}
		}
	}
}

func TestEarthHistogramOfFinitePoints(t *testing.T) {
	x := append(unit(10, 20), math.NaN(), 0, 1, 0, math.Inf(1), 0)
	x = append(x, unit(-10, 20)...)
	if got := floats.Sum(EarthHistogram(x)); got != 2 {
		t.Errorf("%g points counted, want the 2 finite ones", got)
	}
}

// Uniform points: cells of a band are equally likely, and a band between two
// latitudes has the share (sin b − sin a)/2 of the sphere (Archimedes).
func TestEarthHistogramOfUniformPoints(t *testing.T) {
	const n = 60000
	h := EarthHistogram(normals(3*n, 3))
	var chi2 float64
	for i := range EarthBins {
		a, b := float64(6*i-90)*(math.Pi/180), float64(6*i-84)*(math.Pi/180)
		want := n * (math.Sin(b) - math.Sin(a)) / 2
		got := floats.Sum(h[EarthBins*i : EarthBins*(i+1)])
		chi2 += (got - want) * (got - want) / want
	}
	// χ² with 29 degrees of freedom exceeds 85 with probability 2e-7.
	if chi2 > 85 {
		t.Errorf("χ² of the 30 latitude bands is %.1f", chi2)
	}
}

func TestEarthJSD(t *testing.T) {
	a := append(unit(10, 20), unit(50, -70)...)
	b := unit(-30, 100)
	near(t, "of a set with itself", EarthJSD(a, a), 0, 0)
	near(t, "of two disjoint sets", EarthJSD(a, b), math.Sqrt(math.Ln2), 1e-5)
	near(t, "with half of the set", EarthJSD(a, a[:3]), JSDistance([]float64{1, 1}, []float64{1, 0}), 1e-7)
	if EarthJSD(a, b) >= math.Sqrt(math.Ln2) {
		t.Error("the empty bins were not raised")
	}
	isNaN(t, "with no points", EarthJSD(a, nil))
}

func TestJSDistance(t *testing.T) {
	root := math.Sqrt
	for _, c := range []struct {
		name string
		p, q []float64
		want float64
	}{
		{"disjoint", []float64{1, 0}, []float64{0, 1}, root(math.Ln2)},
		{"disjoint, not normalised", []float64{3, 0, 5}, []float64{0, 9, 0}, root(math.Ln2)},
		{"equal up to a factor", []float64{1, 2, 3}, []float64{7, 14, 21}, 0},
		// m = (3/4, 1/4): ½ ln(4/3) + ½(½ ln(2/3) + ½ ln 2).
		{"by hand", []float64{1, 0}, []float64{1, 1}, root(0.5*math.Log(4./3) + 0.25*math.Log(2./3) + 0.25*math.Ln2)},
		// scipy.spatial.distance.jensenshannon, version 1.x.
		{"scipy", []float64{1, 2, 3, 0}, []float64{4, 0, 3, 3}, 0.5068325763746837},
	} {
		near(t, c.name, JSDistance(c.p, c.q), c.want, 1e-15)
		near(t, c.name+", swapped", JSDistance(c.q, c.p), c.want, 1e-15)
	}
	if got := JSDistance([]float64{0.1, 0.7, 0.3}, []float64{0.1, 0.7, 0.3}); got != 0 {
		t.Errorf("of equal histograms: %g", got)
	}
}

// Close histograms, p = ½(1 ± δ) against ½: the divergence is δ²/8 (1 + O(δ²)).
// A sum of logarithms would lose all digits from δ = 1e-8 on.
func TestJSDivergenceOfCloseHistograms(t *testing.T) {
	for _, d := range []float64{1e-3, 1e-6, 1e-9, 1e-12} {
		// p(1±δ) as binary numbers, so that δ is what is tested.
		p := []float64{1 + d, 1 - d}
		delta := (p[0] - p[1]) / 2
		got := JSDivergence(p, []float64{1, 1})
		near(t, "ratio to δ²/8", got/(delta*delta/8), 1, 1e-3*math.Abs(d)+2e-3*math.Min(1, 1e-13/d))
	}
}

// The two forms of a term agree where they meet, and a metric has triangles.
func TestJSDistanceIsAMetric(t *testing.T) {
	const bins = 7
	u := uniforms(300*bins, 1)
	for i := 0; i+3*bins <= len(u); i += 3 * bins {
		p, q, r := u[i:i+bins], u[i+bins:i+2*bins], u[i+2*bins:i+3*bins]
		pq, qr, pr := JSDistance(p, q), JSDistance(q, r), JSDistance(p, r)
		if pq < 0 || pq > math.Sqrt(math.Ln2) {
			t.Fatalf("distance %g is out of range", pq)
		}
		if pr > pq+qr+1e-15 {
			t.Fatalf("%g > %g + %g", pr, pq, qr)
		}
	}
	for _, p := range []float64{0.3, 0.75, 0.7500001, 0.9, 1 - 1e-10} {
		q := 1 - p
		want := p*math.Log(2*p) + q*math.Log(2*q)
		near(t, "term", jsTerm(p, q), want, 1e-15)
	}
}

func TestJSDivergenceOfNoHistogram(t *testing.T) {
	ok := []float64{1, 2}
	for _, p := range [][]float64{{0, 0}, {1, -1}, {2, -1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		isNaN(t, "JSDivergence", JSDivergence(p, ok))
		isNaN(t, "JSDivergence", JSDivergence(ok, p))
	}
	isNaN(t, "JSDivergence of no bins", JSDivergence(nil, nil))
}

// Nearest faces, distances, counts and the divergence on the published bunny.
func TestGoldenFaces(t *testing.T) {
	g := golden.Read(t, "mesh_bunny.npz")
	m := testkit.Must(mesh.Read(testkit.Shared(t, "data/mesh/bunny.ply")))
	data := testkit.Must(arrayfile.ReadNPY(testkit.Shared(t, "data/mesh/bunny_eigfn100.npy")))
	tree, x := mesh.NewTree(m), data.AsFloat64()
	wantFace, wantDistance := g["face"].AsFloat64(), g["dist"].AsFloat64()
	for i, want := range wantFace {
		f, _, d := tree.Nearest([3]float64(x[3*i : 3*i+3]))
		if f != int(want) || math.Abs(d-wantDistance[i]) > 1e-12 {
			t.Errorf("row %d: face %d at %v, want %v at %v", i, f, d, want, wantDistance[i])
		}
	}
	testkit.Near(t, m.Area(), g["area"].AsFloat64()[0], 1e-9, "area")
	faces := make([]float64, len(x)/3)
	NearestFaces(faces, x, tree)
	count := make([]float64, 5000)
	for _, f := range faces {
		count[int(f)]++
	}
	// 45 of the 50 000 rows are straight above or below two faces whose squared distances differ by less than 1e-8; the
	// last bit of a cosine puts 13 of them on the further one.
	for f, want := range g["counts"].AsFloat64() {
		testkit.Equal(t, count[f], want, "face %d", f)
	}
}

func TestFaceJSD(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{0, 1, 1}, []float64{1, 0, 1}, 0},
		{[]float64{0}, []float64{1, 2}, math.Ln2},
		{[]float64{0, 1}, []float64{1}, 0.25*math.Log(2) + 0.25*math.Log(2./3) + 0.5*math.Log(4./3)},
		{nil, []float64{1}, math.NaN()},
		{[]float64{0, math.NaN(), 1}, []float64{math.NaN(), 1},
			0.25*math.Log(2) + 0.25*math.Log(2./3) + 0.5*math.Log(4./3)},
		{[]float64{math.NaN()}, []float64{1}, math.NaN()},
	} {
		got := FaceJSD(c.a, c.b, 3)
		if !(math.Abs(got-c.want) < 1e-10) && !(math.IsNaN(c.want) && math.IsNaN(got)) {
			t.Errorf("%v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// Points that are not finite, or too far for a distance, have no face.
func TestNearestFacesOfFailedPoints(t *testing.T) {
	tree := mesh.NewTree(ball.Mesh(1))
	x := []float64{math.NaN(), 0, 0, 0, 1, 0, 0, math.Inf(1), 0, 1e200, 0, 1, 0, 0, 2}
	got := make([]float64, 5)
	NearestFaces(got, x, tree)
	for i, v := range got {
		if failed := i != 1 && i != 4; math.IsNaN(v) != failed {
			t.Errorf("point %v: face %v", x[3*i:3*i+3], v)
		}
	}
	if v := FaceJSD(got, got[1:2], 32); !(v > 0) {
		t.Errorf("divergence %v", v)
	}
}

// The 1e-12 is added to shares, not to counts: of 1000 points each, apart, the
// divergence is below ln 2 by as much as of 1.
func TestFaceJSDShares(t *testing.T) {
	a, b := make([]float64, 1000), make([]float64, 1000)
	for i := range b {
		b[i] = 1
	}
	want := JSDivergence([]float64{1 + 1e-12, 1e-12}, []float64{1e-12, 1 + 1e-12})
	if got := FaceJSD(a, b, 2); math.Abs(got-want) > 1e-15 || math.Ln2-want < 1e-11 {
		t.Errorf("ln 2 − %.3g, want ln 2 − %.3g", math.Ln2-got, math.Ln2-want)
	}
}

// Two faces with all points of one set each: with the e = 1e-12 of the published evaluation in the empty ones the
// divergence is ln 2 less the entropy of (1, e)/(1 + e) but for e².
func TestFaceJSDOfEmptyFaces(t *testing.T) {
	const e = 1e-12
	if got, want := FaceJSD([]float64{0}, []float64{1}, 2), math.Ln2-e*(1-math.Log(e)); math.Abs(got-want) > 1e-14 {
		t.Errorf("ln 2 − %.5g, want ln 2 − %.5g", math.Ln2-got, math.Ln2-want)
	}
}

// By hand: two values a side in four bins, one bin shared.
func TestBinsByHand(t *testing.T) {
	h := Bins{Lo: 0, Hi: 4, N: 4}
	// Shares (½, ½, 0, 0) and (0, ½, 0, ½): half of the mass is apart, ln 2 of divergence.
	near(t, "JSD", h.JSD([]float64{0.5, 1.5}, []float64{1.25, 3}), math.Sqrt(0.5*math.Ln2), 1e-15)
	near(t, "JSD of equals", h.JSD([]float64{0.5, 1.5, 9}, []float64{1.5, 9, 0.5}), 0, 0)
	// One of four values is not finite on one side: its bin of the same width holds ¼, the others differ by as much.
	nan := math.NaN()
	lost := h.JSD([]float64{0.5, 0.5, 0.5, nan}, []float64{0.5, 0.5, 0.5, 0.5})
	near(t, "JSD with a value that is not finite", lost, JSDistance([]float64{3, 1}, []float64{4, 0}), 1e-15)
	isNaN(t, "JSD of nothing", h.JSD(nil, []float64{1}))
	near(t, "JSD of values that are all one", Bins{N: 3}.JSD([]float64{2, 2}, []float64{2}), 0, 0)
	near(t, "JSD of no finite value", Bins{N: 3}.JSD([]float64{nan}, []float64{nan}), 0, 0)
	if got := h.Shares([]float64{-1, 0, 1, 3.9, 4, 9, nan, 2}); !slices.Equal(got,
		[]float64{0.25, 0.125, 0.125, 0.375}) {
		t.Errorf("shares %v: those outside are not in the bins at the ends", got)
	}
}

// Ranges that follow from huge values, or are given so, neither overflow nor panic.
func TestBinsOfHugeValues(t *testing.T) {
	huge := []float64{-1.7e308, 1.7e308, 0, 1e299, math.MaxFloat64}
	for _, h := range []Bins{{N: 10}, {N: 10, Lo: -1.7e308, Hi: 1.7e308}, {N: 10, Lo: -math.MaxFloat64, Hi: 0}} {
		if got := h.Over(huge).Shares(huge); math.Abs(mass(got)-1) > 1e-12 || got[0] == 0 || got[9] == 0 {
			t.Errorf("%+v: shares %v", h, got)
		}
	}
	if d := (Bins{N: 10}).JSD(huge, []float64{0, 1}); !(d > 0) {
		t.Errorf("JSD %v", d)
	}
	if p := Around([]float64{-1.7e308, 0, 1.7e308, 1}, 4, 0.1); math.IsInf(p.Hi[0]-p.Lo[0], 0) {
		t.Errorf("the plane %+v", p)
	}
}

// A circular number has the same bin after a period, to the right and to the left; one that is not has that of the end.
func TestBinsWrap(t *testing.T) {
	h := Bins{Lo: -math.Pi, Hi: math.Pi, N: 60, Circular: true}
	for _, v := range []float64{-3.1, -1, 0, 0.02, 3.1} {
		for _, turns := range []float64{-2, -1, 1, 5} {
			testkit.Equal(t, h.Bin(v+turns*2*math.Pi), h.Bin(v), "%v after %v turns is in bin", v, turns)
		}
	}
	if h.Bin(math.Pi) != 0 || h.Bin(-math.Pi) != 0 || h.Bin(math.Nextafter(math.Pi, 0)) != 59 {
		t.Error("the ends of the period are not one place")
	}
	h.Circular = false
	if h.Bin(math.Pi) != 59 || h.Bin(-7) != 0 || h.Bin(7) != 59 {
		t.Error("values outside the range are not in the bins at its ends")
	}
}

// The published numbers on alanine dipeptide: 60 bins, clipped, density + 1e-6. The numbers are numpy's (histogram with
// density=True, then scipy's jensenshannon) between the halves of the 500 golden rows.
func TestBinsAsPublished(t *testing.T) {
	rows := golden.Read(t, "md_jsd.npz")
	for _, c := range []struct {
		name string
		bins Bins
		want float64
	}{
		{"psi", Bins{Lo: 120, Hi: 180, N: 60, Empty: 1e-6}, 0.18593621456684922},
		{"rmsd", Bins{Lo: -0.05, Hi: 0.6, N: 60, Empty: 1e-6}, 0.18606160069005212},
	} {
		x := rows[c.name].AsFloat64()
		near(t, c.name, c.bins.JSD(x[:250], x[250:]), c.want, 1e-9)
	}
}

// The distance depends on neither order nor unit, and is symmetric.
func TestBinsSymmetries(t *testing.T) {
	const n = 500
	x, y := normals(n, 1), normals(n, 2)
	h := Bins{Lo: -3, Hi: 3, N: 60, Empty: 1e-7}
	want := h.JSD(x, y)
	order := make([]int, n)
	keyed.New(1, keyed.Probe, 3).Permutation(order, 0, 0)
	mixed := make([]float64, n)
	for i, k := range order {
		mixed[i] = x[k]
	}
	near(t, "JSD of a permutation", h.JSD(mixed, y), want, 0)
	near(t, "JSD the other way", h.JSD(y, x), want, 1e-15)
	degrees := Bins{Lo: -3 * 64, Hi: 3 * 64, N: 60, Empty: 1e-7 / 64} // a power of two: no round-off
	for _, v := range [][]float64{x, y} {
		for i := range v {
			v[i] *= 64
		}
	}
	near(t, "JSD in another unit", degrees.JSD(x, y), want, 1e-14)
}

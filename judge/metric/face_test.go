package metric

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

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

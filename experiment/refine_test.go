package experiment

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Rows near the upper half of the circle come to the nearest point of it; rows beyond the
// edge or far from it are left out by the component, and counted.
func TestRefine(t *testing.T) {
	const n = 500
	x := make([]float64, 2*n)
	for i := range n {
		noise := make([]float64, 2)
		keyed.New(4, keyed.Probe, 0).Normals(noise, uint64(i), 0)
		s, c := math.Sincos(1.2 * math.Pi * float64(i) / n)
		r := 1 + 0.04*noise[0]
		x[2*i], x[2*i+1] = r*c, r*s
	}
	dir := t.TempDir()
	f := testkit.Must(os.Create(filepath.Join(dir, "x.npy")))
	testkit.OK(t, arrayfile.EncodeNPY(f, arrayfile.Of(x, n, 2)))
	testkit.OK(t, f.Close())
	load := func(set, tolerance string) *problem.Problem {
		p := testkit.Must(problem.Load([]byte("data: {kind: points, path: "+f.Name()+"}\nprior: empirical\nset: "+set),
			"p.yaml", "", problem.ParseSettings("data.tolerance="+tolerance)))
		return p
	}
	_, spread := metric.Spread(x, 2) // of a coordinate √½ of it
	for tolerance, edge := range map[string]float64{"0.001": 0.001, "auto": 0.01 * spread / math.Sqrt2} {
		refineHalf(t, load(`{dim: 2, equality: [{name: circle, expr: "x[0]^2 + x[1]^2 = 1"}], `+
			`inequality: [{name: up, expr: "x[1] >= 0"}]}`, tolerance), x, edge)
	}
	pool := testkit.Pool(t, 1)
	far := load(`{kind: sphere, dim: 2, radius: 5}`, "auto")
	if _, err := Refine(t.Context(), far, 0.1, 0, pool); fault.KindOf(err) != fault.Data ||
		!strings.Contains(err.Error(), "none of 500 rows can be brought to Σ: 500 violate") {
		t.Errorf("far data: %v", err)
	}
	three := load(`{kind: sphere, dim: 3}`, "auto")
	if _, err := Refine(t.Context(), three, 0.1, 0, pool); fault.KindOf(err) != fault.Data {
		t.Errorf("data of another dimension: %v", err)
	}
}

// Rows that do not reach Σ are stuck: reflections near O(2) are in no rotation group, and at x = 1 the cubic, which is
// 0.05 there, has no slope to follow.
func TestRefineStuck(t *testing.T) {
	const n, lost = 60, 20
	matrices, cubic := make([]float64, 0, 4*n), make([]float64, 0, 2*n)
	for i := range n {
		s, c := math.Sincos(float64(i))
		sign, x := 1.0, -2.01
		if i < lost {
			sign, x = -1, 1
		}
		matrices = append(matrices, 1.01*c, -sign*s, s, sign*c)
		cubic = append(cubic, x, s)
	}
	for _, c := range []struct {
		set string
		x   []float64
	}{
		{"{kind: special_orthogonal, n: 2}", matrices},
		{`{dim: 2, equality: [{name: cubic, expr: "x[0]^3 - 3*x[0] + 2.05 = 0"}]}`, cubic},
	} {
		path := filepath.Join(t.TempDir(), "x.npy")
		f := testkit.Must(os.Create(path))
		testkit.OK(t, arrayfile.EncodeNPY(f, arrayfile.Of(c.x, n, len(c.x)/n)))
		testkit.OK(t, f.Close())
		p := testkit.Must(problem.Load([]byte("data: {kind: points, path: "+path+"}\nprior: empirical\nset: "+c.set),
			"p.yaml", "", nil))
		r, err := Refine(t.Context(), p, 0.1, 0, testkit.Pool(t, 2))
		if err != nil || r.Stuck != lost || r.Kept != n-lost {
			t.Errorf("%s: %+v, %v", c.set, r, err)
		}
	}
}

// refineHalf brings rows x to the upper half of the circle, those that are below by at most edge.
func refineHalf(t *testing.T, half *problem.Problem, x []float64, edge float64) {
	n := len(x) / 2
	want := make([]float64, 0, 2*n)
	var below, far int
	for i := range n {
		r := math.Hypot(x[2*i], x[2*i+1])
		switch off := math.Abs(r*r - 1); { // the violations of the two conditions
		case off > 0.1 && off > -x[2*i+1]:
			far++
		case -x[2*i+1] > edge:
			below++
		default:
			want = append(want, x[2*i]/r, x[2*i+1]/r)
		}
	}
	var first *Refined
	for _, workers := range []int{1, 3} {
		pool := testkit.Pool(t, workers)
		r := testkit.Must(Refine(t.Context(), half, 0.1, 0, pool))
		if r.Points != n || r.Kept != len(want)/2 || len(r.Left) != 2 || r.Left[0].Component != "circle" ||
			r.Left[0].Rows != far || r.Left[1].Rows != below || r.Stuck != 0 || far < 10 || below < 50 {
			t.Errorf("%+v; want %d far, %d below", r, far, below)
		}
		if !(r.Violation < 1e-12) || !(r.Moved.Median > 0.01 && r.Moved.Worst < 0.06) {
			t.Errorf("violation %v, moved %+v", r.Violation, r.Moved)
		}
		// Down to the edge a row may move along it; elsewhere it is the nearest point.
		for i, v := range r.X {
			if math.Abs(v-want[i]) > 1.1*edge+1e-3 {
				t.Fatalf("coordinate %d is %v, want %v", i, v, want[i])
			}
		}
		if first == nil {
			first = r
		}
		for i, v := range r.X {
			if v != first.X[i] {
				t.Fatal("the result depends on the workers")
			}
		}
		if got := r.Losses(); !strings.Contains(got, `violate "circle" too much`) || !strings.Contains(got, `"up"`) {
			t.Errorf("%q", got)
		}
	}
}

package paper

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/run"
)

// affine is the score s = A x + B p, whose Jacobians are A and B.
type affine struct{ a, b [4]float64 }

func (s affine) Eval(dst, x, p []float64, n int, _ float64) {
	for i := range n {
		for j := range 2 {
			dst[2*i+j] = s.a[2*j]*x[2*i] + s.a[2*j+1]*x[2*i+1] + s.b[2*j]*p[2*i] + s.b[2*j+1]*p[2*i+1]
		}
	}
}

// The norm is that of A without momentum and of B with it, the score as if nobody looked, and what it is asked at
// stays as it is.
func TestProbe(t *testing.T) {
	s := affine{[4]float64{1, -2, 0.5, 4}, [4]float64{0, 3, -6, 2}}
	x, p := []float64{0.3, -1, 2, 0.7, 5, 5}, []float64{1, 1, -0.2, 0.4, 0, 0}
	for _, c := range []struct {
		momentum bool
		want     float64
	}{{false, math.Sqrt(1 + 4 + 0.25 + 16)}, {true, math.Sqrt(9 + 36 + 4)}} {
		q := &probe{Score: s, d: 2, momentum: c.momentum, at: map[float64]*moment{}, a: make([]float64, 6),
			b: make([]float64, 6)}
		got, plain := make([]float64, 6), make([]float64, 6)
		xs, ps := append([]float64{}, x...), append([]float64{}, p...)
		q.Eval(got, xs, ps, 3, 0.5)
		q.Eval(got, xs, ps, 2, 0.5)
		s.Eval(plain, x, p, 3, 0.5)
		for i := range got {
			if got[i] != plain[i] || xs[i] != x[i] || ps[i] != p[i] {
				t.Fatalf("number %d: score %v, want %v; at %v, %v", i, got[i], plain[i], xs[i], ps[i])
			}
		}
		m := q.at[0.5]
		if norm := math.Sqrt(m.sum / float64(m.n)); m.n != 5 || math.Abs(norm-c.want) > 1e-9 {
			t.Errorf("momentum %v: %v of %d rows, want %v", c.momentum, norm, m.n, c.want)
		}
	}
}

// Failed paths are counted once for each refresh, of epochs that repeat the count.
func TestFailedPaths(t *testing.T) {
	var records []run.Record
	for epoch, failed := range []int{3, 3, 3, 0, 0, 0, 5} {
		data := fmt.Sprintf(`{"epoch": %d, "failed": %d}`, epoch+1, failed)
		records = append(records, run.Record{Kind: "epoch", Data: json.RawMessage(data)},
			run.Record{Kind: "evaluation", Data: json.RawMessage(`{"epoch": 1, "failed": 100}`)})
	}
	if failed, refreshes := failedPaths(records, 3); failed != 8 || refreshes != 3 {
		t.Errorf("%d failed in %d refreshes; want 8 in 3", failed, refreshes)
	}
}

// Violations are sums over constraints and means over points: the unit sphere in R³ and walls at ±0.5.
func TestViolations(t *testing.T) {
	wall, err := zoo.NewBox([]float64{-0.5, -0.5, -0.5}, []float64{0.5, 0.5, 0.5})
	if err != nil {
		t.Fatal(err)
	}
	ball := zoo.Sphere{D: 3}
	set := constraint.All(ball, wall)
	x := []float64{1, 0, 0, 0, 2, 1, 0.1, -0.1, 0}
	e, values := set.NewEvaluator(1), make([]float64, len(constraint.Components(set)))
	var abs, square float64
	for i := range 3 {
		e.Values(values, x[3*i:3*i+3], 1)
		abs, square = abs+math.Abs(values[0])/3, square+values[0]*values[0]/3
	}
	f := figures{}
	f.violations(set, x)
	// Beyond the walls are 0.5; 1.5 and 0.5; nothing.
	if got := f[GPlus]; math.Abs(got-2.5/3) > 1e-15 {
		t.Errorf("g⁺ is %v, want %v", got, 2.5/3)
	}
	if math.Abs(f[AbsH]-abs) > 1e-15 || math.Abs(f[SquareH]-square) > 1e-14 || abs < 0.1 ||
		math.Abs(square-abs*abs) < 0.1 {
		t.Errorf("|h| is %v, want %v; Σh² %v, want %v", f[AbsH], abs, f[SquareH], square)
	}
	f = figures{}
	f.violations(ball, x)
	if _, ok := f[GPlus]; ok {
		t.Error("a set without inequalities has a figure of them")
	}
}

// Files are found where the paper's repository has them, or side by side; what is missing is named with the place
// to get it, once for each.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	put := func(name string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, nil, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	put("earth/flood.csv")
	put("L20_paths.npy")
	put("mesh/spot_sdf.npz")
	put("mesh/spot.ply")
	for cell, want := range map[string]string{"flood/ULLA": "earth/flood.csv", "arm20/ULLA": "L20_paths.npy",
		"demo/ULLA/N=20": ""} {
		data, _, err := cells[cell].files(dir, "")
		if want != "" {
			want = filepath.Join(dir, want)
		}
		if err != nil || data != want {
			t.Errorf("%s: %q, %v; want %q", cell, data, err, want)
		}
	}
	put("spot_eigfn50.npy")
	data, settings, err := cells["spot50/OLLA"].files(dir, "")
	if err != nil || data != filepath.Join(dir, "spot_eigfn50.npy") || len(settings) != 2 ||
		settings[0] != "set.weights="+filepath.Join(dir, "mesh/spot_sdf.npz") {
		t.Errorf("spot50: %q, %q, %v", data, settings, err)
	}
	due := func(names ...string) (out []Due) {
		for _, name := range names {
			out = append(out, Due{cells[name], 1})
		}
		return out
	}
	var e *DataError
	_, err = (&Config{Data: dir}).Plan(due("fire/ULLA", "fire/OLLA", "alanine/ULLA", "so10-3/ULLA"), false)
	if !errors.As(err, &e) || e.File != "fire.csv" || strings.Count(err.Error(), "recipe ") != 2 ||
		!strings.Contains(e.Error(), "github.com/KraitGit/efficient-constrained-diffusion") ||
		!strings.Contains(err.Error(), "dipeptide_refined_phi_psiwin.npy is not in "+dir) {
		t.Errorf("needs %v", err)
	}
	if _, err := new(Config).Plan(due("fire/ULLA"), false); !errors.As(err, &e) ||
		!strings.Contains(err.Error(), "fire.csv is needed: --data names the folder") {
		t.Errorf("without a folder: %v", err)
	}
}

// A row names the commit of its program; of one that knows none the program itself.
func TestBuild(t *testing.T) {
	if got := build("v1.2.3"); got != "v1.2.3" {
		t.Errorf("%q", got)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("development, program %x", sha256.Sum256(data))[:33]
	if got := build("development"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Each figure is the one of its name, and what is not known is none.
func TestJudged(t *testing.T) {
	v := &judge.Evaluation{Epoch: 7, Samples: 200, Failed: 5, Network: 51,
		JSD: &judge.JSD{Score: metric.Score{Full: 0.1, HeldOut: 0.2, Floor: metric.Floor{Mean: 0.3, SD: 0.4},
			HeldOutFloor: 0.5}, Parts: []judge.Part{{Name: Psi, Score: metric.Score{Full: 0.6}},
			{Name: "another", Score: metric.Score{Full: 9}}, {Name: RMSD, Score: metric.Score{Full: 0.7}}}},
		Nearest: metric.Copies{Ratio: 0.8}, MMD: metric.TwoSample{Statistic: metric.NaN},
		Seconds: judge.Seconds{Train: 11, Simulate: 12, Generate: 13},
		Steps:   &judge.Steps{Equalities: 0.9, Inequalities: 0.95}}
	want := figures{Distance: 0.1, HeldOut: 0.2, Floor: 0.3, FloorSD: 0.4, HeldOutFloor: 0.5, Psi: 0.6, RMSD: 0.7,
		Copies: 0.8, Evaluations: 51, Failed: 0.025, Samples: 200, Epochs: 7, Train: 11, Simulate: 12, Generate: 13,
		AreaH: 0.9, AreaG: 0.95}
	got := figures{}
	got.judged(v)
	for name, x := range got {
		if math.Abs(x-want[name]) > 1e-7 || x == 0 {
			t.Errorf("%s is %v, want %v", name, x, want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d figures, want %d: %v", len(got), len(want), got)
	}
	got = figures{}
	if got.judged(&judge.Evaluation{Samples: 1}); got[Samples] != 1 {
		t.Errorf("%v", got)
	}
	if _, ok := got[Distance]; ok {
		t.Error("a distance where none is defined")
	}
}

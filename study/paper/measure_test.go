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
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/sweep"
	"github.com/landing-diffusion/landing/tools/testkit"
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
	wall := testkit.Must(zoo.NewBox([]float64{-0.5, -0.5, -0.5}, []float64{0.5, 0.5, 0.5}))
	ball := zoo.Sphere{D: 3}
	set := constraint.All(ball, wall)
	x := []float64{1, 0, 0, 0, 2, 1, 0.1, -0.1, 0}
	e, values := set.NewEvaluator(1), make([]float64, len(constraint.Components(set)))
	var abs, square float64
	for i := range 3 {
		e.Values(values, x[3*i:3*i+3], 1)
		abs, square = abs+math.Abs(values[0])/3, square+values[0]*values[0]/3
	}
	f := map[string]float64{}
	violations(f, set, x)
	// Beyond the walls are 0.5; 1.5 and 0.5; nothing.
	testkit.Near(t, f[GPlus], 2.5/3, 1e-15, "g⁺")
	if math.Abs(f[AbsH]-abs) > 1e-15 || math.Abs(f[SquareH]-square) > 1e-14 || abs < 0.1 ||
		math.Abs(square-abs*abs) < 0.1 {
		t.Errorf("|h| is %v, want %v; Σh² %v, want %v", f[AbsH], abs, f[SquareH], square)
	}
	f = map[string]float64{}
	violations(f, ball, x)
	if _, ok := f[GPlus]; ok {
		t.Error("a set without inequalities has a figure of them")
	}
}

// Files are found where the paper's repository has them, or side by side; what is missing is named with the place
// to get it, once for each.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"earth/flood.csv", "L20_paths.npy", "mesh/spot_sdf.npz", "mesh/spot.ply",
		"spot_eigfn50.npy"} {
		path := filepath.Join(dir, name)
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, nil, 0o666)))
	}
	c := Config{Data: dir}
	for name, want := range map[string]string{"flood": "earth/flood.csv", "arm20": "L20_paths.npy", "demo": "",
		"spot50": "spot_eigfn50.npy"} {
		if want != "" {
			want = filepath.Join(dir, want)
		}
		p := sweep.Problem{Name: name}
		if err := c.find(t.Context(), &p, ""); err != nil || p.Data != want {
			t.Errorf("%s: %q, %v; want %q", name, p.Data, err, want)
		}
		if name == "spot50" && (len(p.Set) != 2 || p.Set[0].Text != fmt.Sprintf("set.weights=%q",
			filepath.Join(dir, "mesh/spot_sdf.npz"))) {
			t.Errorf("spot50: %v", p.Set)
		}
	}
	plans := func(c *Config, exhibits ...string) error {
		e, err := Named(exhibits)
		testkit.OK(t, err)
		_, err = c.Plans(t.Context(), e, nil, t.TempDir())
		return err
	}
	var e *DataError
	c.Only = []string{"fire/ULLA$", "fire/OLLA", "alanine/ULLA$", "so10-3/ULLA$"}
	if err := plans(&c, "table1", "table7", "figure-8"); !errors.As(err, &e) || e.File != "fire.csv" ||
		strings.Count(err.Error(), "recipe ") != 2 ||
		!strings.Contains(e.Error(), "github.com/KraitGit/efficient-constrained-diffusion") ||
		!strings.Contains(err.Error(), "dipeptide_refined_phi_psiwin.npy is not in "+dir) {
		t.Errorf("needs %v", err)
	}
	if err := plans(&Config{Only: []string{"fire/ULLA$"}}, "table1"); !errors.As(err, &e) ||
		!strings.Contains(err.Error(), "fire.csv is needed: --data-dir names the folder") {
		t.Errorf("without a folder: %v", err)
	}
}

// A row names the commit of its program; of one that knows none the program itself.
func TestBuild(t *testing.T) {
	testkit.Equal(t, build("v1.2.3"), "v1.2.3")
	self := testkit.Must(os.Executable())
	data := testkit.Must(os.ReadFile(self))
	want := fmt.Sprintf("development, program %x", sha256.Sum256(data))[:33]
	testkit.Equal(t, build("development"), want)
}

// Each figure is the one of its name, and what is not known is none.
func TestValue(t *testing.T) {
	r := Row{Entry: compare.Entry{Row: compare.Row{Samples: 200, Failed: 5, Copies: metric.Copies{Ratio: 0.8},
		Distance: &compare.Distance{Score: metric.Score{Full: 0.1, HeldOut: 0.2,
			Floor: metric.Floor{Mean: 0.3, SD: 0.4}, HeldOutFloor: 0.5}}},
		Cost:    compare.Cost{Train: 11, Simulate: 12, Generate: 13},
		Figures: map[string]float64{Psi: 0.6}}}
	for name, want := range map[string]float64{Distance: 0.1, HeldOut: 0.2, Floor: 0.3, HeldOutFloor: 0.5, Psi: 0.6,
		Copies: 0.8, Failed: 0.025, Train: 11, Simulate: 12} {
		if got, ok := r.value(name); !ok || math.Abs(got-want) > 1e-7 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	none := Row{Entry: compare.Entry{Row: compare.NoRow("", compare.Label{}, "", "", ""), Cost: compare.NoCost()}}
	for _, name := range []string{Distance, Floor, HeldOut, HeldOutFloor, Psi, Copies, Failed, Train, Simulate, AbsH} {
		if got, ok := none.value(name); ok {
			t.Errorf("%s is %v where nothing is known", name, got)
		}
	}
}

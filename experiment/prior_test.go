package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/keyed"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/run"
)

// written makes an experiment of a problem's text and rows of data.
func written(t *testing.T, text string, rows [][]float64) (*Experiment, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.csv")
	var b strings.Builder
	for _, r := range rows {
		for j, v := range r {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%.17g", v)
		}
		b.WriteByte('\n')
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := problem.Load([]byte(text), "test.yaml", "", []string{"data.path=" + path, "train.epochs=2", "network.width=8", "network.layers=1", "train.batch=8"})
	if err != nil {
		t.Fatal(err)
	}
	pool := parallel.New(2)
	t.Cleanup(pool.Close)
	return New(p, pool)
}

// states returns the prior's states.
func states(t *testing.T, e *Experiment) [][]float64 {
	t.Helper()
	if _, err := e.prior(context.Background()); err != nil {
		t.Fatal(err)
	}
	var out [][]float64
	d := e.Process.Set.Dim()
	for i := 0; i < len(e.uniform.States); i += d {
		out = append(out, e.uniform.States[i:i+d])
	}
	return out
}

// torusRows are points on a torus of radii 2 and 0.6, all in one quarter of it.
func torusRows() [][]float64 {
	var rows [][]float64
	u := make([]float64, 2)
	for i := range 100 {
		keyed.New(1, keyed.Probe, 5).Uniforms(u, uint64(i), 0)
		a, b := u[0]*math.Pi/2, u[1]
		rows = append(rows, []float64{(2 + 0.6*math.Cos(b)) * math.Cos(a), (2 + 0.6*math.Cos(b)) * math.Sin(a), 0.6 * math.Sin(b)})
	}
	return rows
}

const torusText = `
name: torus
set:
  dim: 3
  equality:
    - {name: tube, expr: "sqrt((norm(x[0:2]) - 2)^2 + x[2]^2) - 0.6"}
`

// The chains find the uniform law of the torus, whose angle φ of the tube has
// density ∝ R + r cos φ, so E cos φ = r/(2R) = 0.15, and not a flat φ; from data
// that lies in one quarter. The mean of cos φ has standard error about
// 0.7/√400 = 0.035 by the effective draws asked for; the limit is 4 of them (a false alarm
// rate below 1e-4, at fixed seeds).
func TestUniformPriorByChains(t *testing.T) {
	e, err := written(t, torusText, torusRows())
	if err != nil {
		t.Fatal(err)
	}
	var cos, x []float64
	for _, s := range states(t, e) {
		ρ := math.Hypot(s[0], s[1])
		cos = append(cos, (ρ-2)/0.6)
		x = append(x, s[0])
		if h := math.Hypot(ρ-2, s[2]) - 0.6; math.Abs(h) > 1e-12 {
			t.Fatalf("a state of the prior has h = %g", h)
		}
	}
	m := e.Mixing
	if len(cos) != m.Draws-m.Lost || float64(m.Rhat) > mixedRhat || m.ESS < mixedESS || e.Warning != "" {
		t.Errorf("%d states, %+v, %s", len(cos), *m, e.Warning)
	}
	if got := stat.Mean(cos, nil); math.Abs(got-0.15) > 0.14 {
		t.Errorf("E cos φ = %.3f, want 0.15", got)
	}
	if got := stat.Mean(x, nil); math.Abs(got) > 4*1.5/math.Sqrt(float64(m.ESS)) {
		t.Errorf("E x = %.3f, want 0", got)
	}
}

// The prior is a function of the seed, whatever the number of workers; training
// makes it first and records how far the chains came.
func TestUniformPriorIsRecorded(t *testing.T) {
	const text = "name: circle\nset: {dim: 2, equality: [{name: r, expr: \"norm(x) - 1\"}]}\n"
	rows := [][]float64{}
	for i := range 20 {
		rows = append(rows, []float64{math.Cos(float64(i)), math.Sin(float64(i))})
	}
	var first []float64
	for _, workers := range []int{1, 3} {
		e, err := written(t, text, rows)
		if err != nil {
			t.Fatal(err)
		}
		e.Pool = parallel.New(workers)
		defer e.Pool.Close()
		f, err := run.Create(filepath.Join(t.TempDir(), "r"), false)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Begin(f, []byte(text), []string{"test"}); err != nil {
			t.Fatal(err)
		}
		defer f.Unlock()
		stopped, stop := context.WithCancel(context.Background())
		stop()
		var status run.Status
		if err := e.Train(stopped, "", Observer{}); !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled while the chains run: %v", err)
		}
		if err := f.ReadJSON(run.StatusFile, &status); err != nil || status.State != "interrupted" {
			t.Errorf("status %+v, %v; want interrupted", status, err)
		}
		heard := false
		if err := e.Train(context.Background(), "", Observer{Prior: func(m Mixing) { heard = m == *e.Mixing }}); err != nil {
			t.Fatal(err)
		}
		records, err := f.Metrics()
		if err != nil || len(records) == 0 || records[0].Kind != "prior" || !heard {
			t.Fatalf("records %v, %v, heard %v", records, err, heard)
		}
		if first == nil {
			first = e.uniform.States
			keptPrior(t, f, first)
		}
		if !slices.Equal(first, e.uniform.States) {
			t.Error("the prior depends on the number of workers")
		}
	}
}

// keptPrior opens a run whose prior was made: it is read, not made again, and a
// damaged file is refused by name.
func keptPrior(t *testing.T, f *run.Folder, want []float64) {
	t.Helper()
	pool := parallel.New(1)
	defer pool.Close()
	for _, damaged := range []bool{false, true} {
		if damaged {
			if err := os.Truncate(f.Path(run.PriorFile), 1000); err != nil {
				t.Fatal(err)
			}
		}
		e, err := Open(f.Dir, "", pool)
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.prior(context.Background())
		var fault *run.FolderError
		switch {
		case damaged && (!errors.As(err, &fault) || !strings.Contains(err.Error(), run.PriorFile)):
			t.Errorf("a damaged prior: %v", err)
		case !damaged && (err != nil || e.Mixing != nil || !slices.Equal(e.uniform.States, want)):
			t.Errorf("the kept prior has %d numbers, want %d; made again: %v; %v", len(e.uniform.States), len(want), e.Mixing != nil, err)
		}
	}
}

// With inequalities: a spherical cap, whose height is uniform on [0.2, 1].
func TestUniformPriorInside(t *testing.T) {
	const text = `
name: cap
set:
  dim: 3
  equality: [{name: radius, expr: "norm(x) - 1"}]
  inequality: [{name: height, expr: "x[2] >= 0.2"}]
`
	e, err := written(t, text, [][]float64{{0, 0, 1}, {0.6, 0, 0.8}, {0, 0.6, 0.8}, {0, -0.6, 0.8}})
	if err != nil {
		t.Fatal(err)
	}
	var z []float64
	for _, s := range states(t, e) {
		z = append(z, s[2])
		if s[2] < 0.2-1e-12 || math.Abs(math.Hypot(math.Hypot(s[0], s[1]), s[2])-1) > 1e-12 {
			t.Fatalf("state %v is not on the cap", s)
		}
	}
	// Standard deviation 0.8/√12, 400 effective draws: 4 standard errors are 0.046.
	if got := stat.Mean(z, nil); math.Abs(got-0.6) > 0.046 {
		t.Errorf("mean height %.3f, want 0.6; %+v", got, *e.Mixing)
	}
	if got := stat.StdDev(z, nil); math.Abs(got-0.8/math.Sqrt(12)) > 0.04 {
		t.Errorf("standard deviation of the height %.3f, want 0.231", got)
	}
}

// Data in a narrow part of Σ, far from its edge: an arc of ±120°, and data within
// 6° of its middle. The first rounds choose the step and ε of those that count.
func TestUniformPriorFromNarrowData(t *testing.T) {
	const text = `
name: arc
set:
  dim: 2
  equality: [{name: radius, expr: "norm(x) - 1"}]
  inequality: [{name: floor, expr: "x[0] >= -0.5"}]
`
	var rows [][]float64
	for i := range 20 {
		θ := 0.01 * float64(i-10)
		rows = append(rows, []float64{math.Cos(θ), math.Sin(θ)})
	}
	e, err := written(t, text, rows)
	if err != nil {
		t.Fatal(err)
	}
	var angle []float64
	for _, s := range states(t, e) {
		angle = append(angle, math.Atan2(s[1], s[0]))
	}
	// θ is uniform on ±2π/3, of standard deviation 1.209. Four standard errors of
	// the mean at 400 effective draws are 0.24; of the standard deviation,
	// 4·1.209·√(0.8/4/400) = 0.11. At fixed seeds a false alarm has odds below 1e-3.
	if got := stat.Mean(angle, nil); math.Abs(got) > 0.24 {
		t.Errorf("mean angle %.3f, want 0; %+v", got, *e.Mixing)
	}
	if got := stat.StdDev(angle, nil); math.Abs(got-2*math.Pi/math.Sqrt(27)) > 0.11 {
		t.Errorf("standard deviation of the angle %.3f, want 1.209; %+v", got, *e.Mixing)
	}
}

// Two circles: chains stay on theirs, and the prior is refused with the figure;
// a higher limit accepts it with a warning.
func TestUniformPriorThatDoesNotMix(t *testing.T) {
	const text = `
name: circles
uniform: {max_steps: 2000}
set:
  dim: 3
  equality:
    - {name: circle, expr: "x[0]^2 + x[1]^2 - 1"}
    - {name: planes, expr: "x[2]^2 - 1"}
`
	rows := [][]float64{}
	for i := range 40 {
		rows = append(rows, []float64{math.Cos(float64(i)), math.Sin(float64(i)), float64(1 - 2*(i%2))})
	}
	e, err := written(t, text, rows)
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.prior(context.Background())
	var mixing *MixingError
	if !errors.As(err, &mixing) || mixing.Worst != 2 || mixing.Limit != 1.05 || float64(mixing.Rhat) < 2 || !strings.Contains(err.Error(), "disconnected") {
		t.Fatalf("got %v", err)
	}
	e.Problem.Uniform.MaxRhat = math.Inf(1)
	if _, err := e.prior(context.Background()); err != nil || !strings.Contains(e.Warning, "x[2]") {
		t.Errorf("%v, warning %q", err, e.Warning)
	}
}

// What is auto is chosen once: the run folder holds numbers and reasons, and
// opens with the same.
func TestChosenIsRecorded(t *testing.T) {
	const text = `
name: window
prior: empirical
process: {method: OLLA, landing: {mode: explicit, rate: auto}, repulsion: auto}
set:
  dim: 3
  equality: [{name: radius, expr: "norm(x) - 1"}]
  inequality: [{name: height, expr: "x[2] >= 0.2"}]
`
	e, err := written(t, text, [][]float64{{0, 0, 1}, {0.6, 0, 0.8}, {0, 0.6, 0.8}, {0, -0.6, 0.8}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := run.Create(filepath.Join(t.TempDir(), "r"), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Begin(f, []byte(text), []string{"test"}); err != nil {
		t.Fatal(err)
	}
	defer f.Unlock()
	α, ε := e.Process.Landing.Rate, e.Process.Repulsion
	if α <= 0 || ε <= 0 || ε > 0.3 { // at most a quarter of the window, which is about 1 deep
		t.Errorf("α = %v, ε = %v", α, ε)
	}
	var m run.Manifest
	if err := f.ReadJSON(run.ManifestFile, &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Chosen) != 2 || m.Chosen[0].Key != "process.landing.rate" || m.Chosen[0].Value != α || m.Chosen[1].Key != "process.repulsion" || m.Chosen[1].Value != ε || m.Chosen[1].Reason == "" {
		t.Errorf("manifest %+v", m.Chosen)
	}
	again, err := Open(f.Dir, "", e.Pool)
	if err != nil {
		t.Fatal(err)
	}
	if again.Process.Landing.Rate != α || again.Process.Repulsion != ε || again.Problem.Process.Repulsion.IsAuto() {
		t.Errorf("opened with α = %v, ε = %v", again.Process.Landing.Rate, again.Process.Repulsion)
	}
}

// The empirical prior holds the last states of good forward paths from training
// rows, with noise that training never uses. They are simulated once; a share of
// failed paths above train.max_failed is an error that names it.
func TestEmpiricalPrior(t *testing.T) {
	for _, method := range []string{"ULLA", "OLLA-P"} {
		e := begin(t, "prior=empirical", "process.method="+method, "process.steps=4", "process.horizon=0.4", "process.sigma={min: 1, max: 1.3}", "train.max_failed=0.1")
		prior, err := e.prior(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		got := prior.(langevin.Empirical).States
		var paths langevin.Paths
		sim := langevin.NewSimulator(e.Process, e.Pool, 64)
		if _, err := sim.Forward(context.Background(), &paths, e.train, e.Problem.Seed, priorRefresh); err != nil {
			t.Fatal(err)
		}
		var want []float64
		failed := 0
		for i := range paths.Count {
			if paths.Failed[i] {
				failed++
				continue
			}
			want = append(want, paths.At(i, 4)...)
		}
		if !slices.Equal(got, want) || (method == "OLLA-P") != (failed > 0) || priorRefresh < 1<<32 {
			t.Errorf("%s: %d states of %d good ones, %d failed", method, len(got)/3, len(want)/3, failed)
		}
		if again, err := e.prior(context.Background()); err != nil || &again.(langevin.Empirical).States[0] != &got[0] {
			t.Errorf("%s: the prior is simulated again, %v", method, err)
		}
		e.empirical, e.Problem.Train.MaxFailed = langevin.Empirical{}, 0
		var few *PriorError
		if _, err := e.prior(context.Background()); errors.As(err, &few) != (failed > 0) || failed > 0 && (few.Lost != failed || few.Of != paths.Count || !strings.Contains(err.Error(), "forward paths") || !strings.Contains(err.Error(), "train.max_failed")) {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// Draws of chains that cannot be projected are left out and counted; a share above
// generate.max_failed, or all of them, is an error that names it.
func TestLostDraws(t *testing.T) {
	const text = "name: circle\nset: {dim: 2, equality: [{name: r, expr: \"x[0]^2 + x[1]^2 - 1\"}]}\n"
	e, err := written(t, text, [][]float64{{1, 0}, {0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	x, n := e.projected(&langevin.Draws{Dim: 2, X: []float64{3, 0, 0, 0, 0, -0.5, nan, 1}}) // the gradient vanishes at 0
	if n != 2 || len(x) != 4 || math.Abs(x[0]-1) > 1e-12 || math.Abs(x[3]+1) > 1e-12 {
		t.Errorf("%d lost, left are %v", n, x)
	}
	for _, c := range []struct {
		lost, of int
		limit    float64
		fails    bool
	}{{1, 100, 0.01, false}, {2, 100, 0.01, true}, {0, 10, 0, false}, {10, 10, 1, true}, {9, 10, 1, false}} {
		var few *PriorError
		err := lost("draws of chains", c.lost, c.of, c.limit, "generate.max_failed")
		if errors.As(err, &few) != c.fails || c.fails && !strings.Contains(err.Error(), fmt.Sprintf("%d of %d draws of chains failed", c.lost, c.of)) {
			t.Errorf("%d of %d with limit %v: %v", c.lost, c.of, c.limit, err)
		}
	}
}

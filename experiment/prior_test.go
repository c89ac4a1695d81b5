package experiment

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// written makes an experiment of a problem's text and rows of data.
func written(t *testing.T, text string, rows [][]float64) (*Loaded, error) {
	t.Helper()
	return ofRows(t, text, rows, "train.epochs=2", "network.width=8", "network.layers=1", "train.batch=8")
}

// ofRows loads a problem whose data are the rows.
func ofRows(t *testing.T, text string, rows [][]float64, settings ...string) (*Loaded, error) {
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
	testkit.OK(t, os.WriteFile(path, []byte(b.String()), 0o666))
	p, err := problem.Load([]byte(text), "test.yaml", "", problem.ParseSettings(append(settings, "data.path="+path)...))
	testkit.OK(t, err)
	pool := parallel.New(2)
	t.Cleanup(pool.Close)
	return Load(t.Context(), p, pool, nil)
}

// The prior is a function of the seed, whatever the number of workers; training
// makes it first and records how far the chains came.
func TestUniformPriorIsRecorded(t *testing.T) {
	const text = "name: circle\nprior: uniform\nset: {dim: 2, equality: [{name: r, expr: \"norm(x) - 1\"}]}\n"
	rows := [][]float64{}
	for i := range 20 {
		rows = append(rows, []float64{math.Cos(float64(i)), math.Sin(float64(i))})
	}
	var first []float64
	for _, workers := range []int{1, 3} {
		l := testkit.Must(written(t, text, rows))
		l.Pool = parallel.New(workers)
		defer l.Pool.Close()
		f := testkit.Must(run.Create(filepath.Join(t.TempDir(), "r"), false))
		e := testkit.Must(l.Begin(f, []byte(text), []string{"test"}))
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
		var made Prior
		testkit.OK(t, e.Train(context.Background(), "", Observer{Prior: func(p Prior) { made = p }}))
		records, err := f.Metrics()
		if err != nil || len(records) == 0 || records[0].Kind != "prior" || made.Kind != "chains" ||
			made.Mixing == nil {
			t.Fatalf("records %v, %v, heard %+v", records, err, made)
		}
		if first == nil {
			first = made.states()
			keptPrior(t, f, first)
		}
		testkit.EqualSlices(t, first, made.states(), "the prior depends on the number of workers")
	}
}

// keptPrior opens a run whose prior was made: it is read, not made again, and a damaged file is refused by name.
func keptPrior(t *testing.T, f *run.Folder, want []float64) {
	t.Helper()
	pool := testkit.Pool(t, 1)
	whole := testkit.Must(os.ReadFile(f.Path(run.PriorFile)))
	nan := slices.Clone(whole)
	binary.LittleEndian.PutUint64(nan[len(nan)-8:], math.Float64bits(math.NaN()))
	for name, data := range map[string][]byte{"whole": whole, "cut": whole[:1000], "NaN": nan} {
		testkit.OK(t, os.WriteFile(f.Path(run.PriorFile), data, 0o666))
		damaged := name != "whole"
		e := testkit.Must(Open(t.Context(), f.Dir, "", pool, nil))
		prior, err := e.Prior(context.Background(), nil)
		switch {
		case damaged && (fault.KindOf(err) != fault.Run || !strings.Contains(err.Error(), run.PriorFile)):
			t.Errorf("a damaged prior: %v", err)
		case !damaged && (err != nil || prior.Mixing != nil || !slices.Equal(prior.states(), want)):
			t.Errorf("the kept prior is another, or made again: %+v, %v", prior, err)
		}
	}
}

// Two circles: chains stay on theirs, and the prior is refused with the figure;
// a higher limit accepts it with a warning.
func TestUniformPriorThatDoesNotMix(t *testing.T) {
	const text = `
name: circles
prior: uniform
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
	testkit.OK(t, err)
	_, err = e.Prior(context.Background(), nil)
	if fault.KindOf(err) != fault.Check || !strings.Contains(err.Error(), "at x[2], above uniform.max_rhat = 1.05") {
		t.Fatalf("got %v", err)
	}
	e.Problem.Uniform.MaxRhat = math.Inf(1)
	if p, err := e.Prior(context.Background(), nil); err != nil || !strings.Contains(p.Warning, "x[2]") {
		t.Errorf("%+v, %v", p, err)
	}
}

// What is auto is chosen once: the run folder holds numbers and reasons, and opens with the same.
func TestChosenIsRecorded(t *testing.T) {
	const text = `
name: window
defaults: fixed
prior: empirical
process: {method: OLLA, landing: {mode: explicit, rate: auto}, walls: paper, repulsion: auto}
set:
  dim: 3
  equality: [{name: radius, expr: "norm(x) - 1"}]
  inequality: [{name: height, expr: "x[2] >= 0.2"}]
`
	l := testkit.Must(written(t, text, [][]float64{{0, 0, 1}, {0.6, 0, 0.8}, {0, 0.6, 0.8}, {0, -0.6, 0.8}}))
	e := job.Begin[*Run](t, l, []byte(text))
	α, ε := e.Process.Landing.Rate, e.Process.Repulsion
	if α <= 0 || ε <= 0 || ε > 0.3 { // at most a quarter of the window, which is about 1 deep
		t.Errorf("α = %v, ε = %v", α, ε)
	}
	var m run.Manifest
	testkit.OK(t, e.Folder.ReadJSON(run.ManifestFile, &m))
	if len(m.Chosen) != 2 || m.Chosen[0].Key != "process.landing.rate" || m.Chosen[0].Value != α ||
		m.Chosen[1].Key != "process.repulsion" || m.Chosen[1].Value != ε || m.Chosen[1].Reason == "" {
		t.Errorf("manifest %+v", m.Chosen)
	}
	again := testkit.Must(Open(t.Context(), e.Folder.Dir, "", e.Pool, nil))
	if again.Process.Landing.Rate != α || again.Process.Repulsion != ε || again.Problem.Process.Repulsion.IsAuto() {
		t.Errorf("opened with α = %v, ε = %v", again.Process.Landing.Rate, again.Process.Repulsion)
	}
}

// A run says in config.yaml which walls it was made with; one that does not say, of a
// version before there was a choice, opens with those of the paper.
func TestWallsAreRecorded(t *testing.T) {
	const text = `
name: window
prior: empirical
set:
  dim: 3
  equality: [{name: radius, expr: "norm(x) - 1"}]
  inequality: [{name: height, expr: "x[2] >= 0.2"}]
`
	l := testkit.Must(written(t, text, [][]float64{{0, 0, 1}, {0.6, 0, 0.8}, {0, 0.6, 0.8}, {0, -0.6, 0.8}}))
	f := testkit.Must(run.Create(filepath.Join(t.TempDir(), "r"), false))
	testkit.Must(l.Begin(f, []byte(text), []string{"test"}))
	f.Unlock()
	open := func(want langevin.Walls) {
		t.Helper()
		if r, err := Open(t.Context(), f.Dir, "", l.Pool, nil); err != nil || r.Process.Walls != want {
			t.Errorf("%v, want %v walls", err, want)
		}
	}
	open(langevin.ElasticWalls)
	config := testkit.Must(f.Read(run.ConfigFile))
	before, after, ok := strings.Cut(string(config), "  walls: elastic\n")
	if !ok {
		t.Fatalf("no walls in %s", config)
	}
	var m run.Manifest
	testkit.OK(t, f.ReadJSON(run.ManifestFile, &m))
	config = []byte(before + after)
	m.Config = run.Hash(config)
	testkit.OK(t, errors.Join(os.Remove(f.Path(run.ConfigFile)), os.Remove(f.Path(run.ManifestFile)),
		f.Write(run.ConfigFile, config), f.WriteJSON(run.ManifestFile, m)))
	open(langevin.PaperWalls)
}

// The empirical prior holds the last states of good forward paths from training rows, with noise that training never
// uses: of all rows equally often, and of few rows until there are 10 000, each time with other noise. A share of
// failed paths above train.max_failed is an error that names it.
func TestEmpiricalPrior(t *testing.T) {
	defer func(n int) { PriorEnds = n }(PriorEnds)
	PriorEnds = 10_000
	for _, method := range []string{"ULLA", "OLLA-P"} {
		e := begin(t, "prior=empirical", "process.method="+method, "process.steps=4", "process.horizon=0.4",
			"process.sigma={min: 1, max: 1.3}", "train.max_failed=0.1")
		prior := testkit.Must(e.Prior(context.Background(), nil))
		got := prior.states()
		var paths langevin.Paths
		sim := langevin.NewSimulator(e.Process, e.Pool, 64)
		rows := len(e.TrainRows) / 3
		each := 1 + 9999/rows
		if each < 2 {
			t.Fatalf("%d rows are not few", rows)
		}
		testkit.Must(sim.Forward(context.Background(), &paths, slices.Repeat(e.TrainRows, each), e.Problem.Seed,
			keyed.PriorPaths.At(0)))
		if slices.Equal(paths.At(0, 4), paths.At(rows, 4)) {
			t.Errorf("%s: two paths of a row end in one state", method)
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
		if !slices.Equal(got, want) || (method == "OLLA-P") != (failed > 0) || keyed.PriorPaths.At(0) < 1<<32 {
			t.Errorf("%s: %d states of %d good ones, %d failed", method, len(got)/3, len(want)/3, failed)
		}
		if again, err := e.Prior(context.Background(), nil); err != nil || !slices.Equal(again.states(), got) {
			t.Errorf("%s: the prior is another one at the second call, %v", method, err)
		}
		e.Problem.Train.MaxFailed = 0
		says := fmt.Sprintf("%d of %d forward paths", failed, paths.Count)
		if _, err := e.Prior(context.Background(), nil); (err != nil) != (failed > 0) || failed > 0 &&
			!(strings.Contains(err.Error(), says) && strings.Contains(err.Error(), "train.max_failed")) {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// Paths of many numbers leave an empirical prior with fewer ends of a row, and with one at
// least; rows enough need one each.
func TestPriorPaths(t *testing.T) {
	defer func(n int) { PriorEnds = n }(PriorEnds)
	PriorEnds = 10_000
	e := begin(t, "prior=empirical")
	rows := e.TrainRows
	for _, c := range []struct{ rows, steps, want int }{
		{3, 50, 3 * 3334}, {3, 19_999, 3 * 111}, {3, 9_999_999, 3}, {len(rows) / 3, 50, 0},
	} {
		e.Learned, e.Process.Schedule.N = rows[:3*c.rows], c.steps
		if c.want == 0 {
			c.want = c.rows * (1 + 9999/c.rows)
		}
		testkit.Equal(t, priorPaths(e.Loaded), c.want, "%d rows, %d steps", c.rows, c.steps)
	}
	e.Learned = slices.Repeat(rows, 1+10_000/(len(rows)/3))
	e.Process.Schedule.N = 50
	rows = e.Learned
	all := len(rows) / 3
	testkit.Equal(t, priorPaths(e.Loaded), all)
	// Of a set whose paths take long, 2³⁹ multiply-adds, or 10 000 ends.
	set := e.Process.Set
	for _, c := range []struct {
		rows int
		work float64
		want int
	}{
		{all, priorWork / 50 / float64(all), all},
		{all, priorWork / 50 / 10_100, 10_100},
		{all, priorWork, 10_000},
		{400, priorWork, 400 * 25},
	} {
		e.Learned, e.Process.Set = rows[:3*c.rows], constrainttest.Working(set, c.work)
		testkit.Equal(t, priorPaths(e.Loaded), c.want, "%d rows, %g multiply-adds a step", c.rows, c.work)
	}
}

// A share of lost draws above the limit, or all of them, is an error that names its key.
func TestLostDraws(t *testing.T) {
	for _, c := range []struct {
		lost, of int
		limit    float64
		fails    bool
	}{{1, 100, 0.01, false}, {2, 100, 0.01, true}, {0, 10, 0, false}, {10, 10, 1, true}, {9, 10, 1, false}} {
		err := lost("draws of chains", c.lost, c.of, c.limit, "some.key")
		if (err != nil) != c.fails || c.fails && !strings.Contains(err.Error(),
			fmt.Sprintf("%d of %d draws of chains failed a projection, above the allowed share %g (some.key)",
				c.lost, c.of,
				c.limit)) {
			t.Errorf("%d of %d with limit %v: %v", c.lost, c.of, c.limit, err)
		}
	}
}

// After a long training that prepared few paths, samples begin at the end of a path from each row, also if it was
// interrupted there. A short one, and one that ended before, keep what they have.
func TestStartLawOfAllRows(t *testing.T) {
	few := []string{"prior=empirical", "train.preparation=0.01", "train.refresh=1", "train.batch=512",
		"process.steps=5"}
	ends := func(r *Run) []float64 {
		return testkit.Must(readStates(r.Folder, run.EndsFile, r.Data.D))
	}
	whole, broken := begin(t, append(few, "train.epochs=9")...), begin(t, append(few, "train.epochs=9")...)
	short := begin(t, append(few, "train.epochs=2")...)
	rows, prepared := whole.TrainRows, priorPaths(whole.Loaded)*whole.Data.D
	if prepared >= len(rows) {
		t.Fatalf("%d numbers are prepared, of %d", prepared, len(rows))
	}
	testkit.OK(t, whole.Train(t.Context(), "", Observer{}))
	testkit.Equal(t, len(ends(whole)), len(rows))

	ctx, stop := context.WithCancel(t.Context())
	trained := 0
	err := broken.Train(ctx, "", Observer{Epoch: func(e train.Epoch) { trained = e.Epoch }, Doing: func(string) {
		if trained == 9 {
			stop()
		}
	}})
	if !train.Interrupted(err) || len(ends(broken)) != prepared {
		t.Fatalf("%v, %d numbers of ends", err, len(ends(broken)))
	}
	testkit.OK(t, broken.Train(t.Context(), "", Observer{}))
	testkit.EqualSlices(t, ends(broken), ends(whole), "ends after an interruption")

	testkit.OK(t, short.Train(t.Context(), "", Observer{}))
	testkit.Equal(t, len(ends(short)), prepared)
	file := whole.Folder.Path(run.EndsFile)
	over := &run.Folder{Dir: whole.Folder.Dir, Force: true}
	testkit.OK(t, saveStates(over, run.EndsFile, ends(whole)[:prepared], whole.Data.D))
	testkit.OK(t, whole.Train(t.Context(), "", Observer{}))
	if len(ends(whole)) != prepared {
		t.Errorf("an ended training changes %s", file)
	}
}

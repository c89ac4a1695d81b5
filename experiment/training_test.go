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
	"sync/atomic"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// An interruption keeps the state of that moment, also during an evaluation.
func TestInterruptedTraining(t *testing.T) {
	e := begin(t, "train.epochs=5", "train.evaluate_every=1")
	ctx, cancel := context.WithCancel(context.Background())
	err := e.Train(ctx, "", Observer{Epoch: func(x train.Epoch) {
		if x.Epoch == 2 {
			cancel()
		}
	}})
	if !train.Interrupted(err) {
		t.Fatalf("got %v", err)
	}
	trained, err := e.Trained("")
	if err != nil || trained.State.Epoch != 2 {
		t.Errorf("kept epoch %d, %v", trained.State.Epoch, err)
	}
	var status run.Status
	if err := e.Folder.ReadJSON(run.StatusFile, &status); err != nil || status.State != "interrupted" ||
		status.Epoch != 2 {
		t.Errorf("%+v, %v", status, err)
	}
	testkit.OK(t, e.Train(context.Background(), "", Observer{}))
	records := testkit.Must(e.Folder.Metrics())
	epochs, evaluations := run.Decode[train.Epoch](records, "epoch"), run.Decode[judge.Progress](records, "evaluation")
	if len(epochs) != 5 || epochs[4].Epoch != 5 || len(evaluations) < 4 || math.IsNaN(float64(evaluations[0].JSD)) {
		t.Errorf("%d epochs and %d evaluations are recorded", len(epochs), len(evaluations))
	}
}

// A training that ends by a fault of the program says so in its folder.
func TestPanicInTraining(t *testing.T) {
	e := begin(t, "train.epochs=5")
	defer func() {
		s := statusOf(t, e)
		if recover() == nil || s.State != "failed" || !strings.Contains(s.Message, "no such luck") {
			t.Errorf("after a panic: %+v", s)
		}
	}()
	e.Train(t.Context(), "", Observer{Epoch: func(train.Epoch) { panic("no such luck") }})
}

// An evaluation without samples has neither distance nor violation.
func TestProgressWithoutSamples(t *testing.T) {
	e := begin(t)
	p := e.Reference().Progress(&judge.Samples{X: make([]float64, 6), Dim: 3, Lost: []bool{true, true}}, train.State{})
	if p.Failed != 2 || !math.IsNaN(float64(p.JSD)) || !math.IsNaN(float64(p.Violation)) {
		t.Errorf("%+v", p)
	}
	samples := &judge.Samples{X: []float64{0, 0, 1, 0, 0, 2}, Dim: 3, Lost: make([]bool, 2)}
	p = e.Reference().Progress(samples, train.State{})
	if p.Failed != 0 || math.IsNaN(float64(p.JSD)) || p.Violation != 1 {
		t.Errorf("%+v", p)
	}
}

// byChains makes a run whose uniform prior is made by chains, or read from the folder.
func byChains(t *testing.T, settings ...string) *Run {
	return begin(t, append([]string{"set.kind=formula", `set.equality=[{name: radius, expr: "norm(x) = 1"}]`},
		settings...)...)
}

func statusOf(t *testing.T, e *Run) run.Status {
	t.Helper()
	var status run.Status
	testkit.OK(t, e.Folder.ReadJSON(run.StatusFile, &status))
	return status
}

// Backward paths that break down in an evaluation are recorded, and training goes on to its end.
func TestEvaluationThatBreaksDown(t *testing.T) {
	e := byChains(t, "train.evaluate_every=1")
	testkit.OK(t, saveStates(e.Folder, run.PriorFile, []float64{math.MaxFloat64, 0, 1}, 3))
	var heard []judge.Progress
	testkit.OK(t, e.Train(context.Background(), "", Observer{Evaluation: func(p judge.Progress) {
		heard = append(heard, p)
	}}))
	records := testkit.Must(e.Folder.Metrics())
	evaluations := run.Decode[judge.Progress](records, "evaluation")
	if len(evaluations) != 2 || len(heard) != 2 {
		t.Fatalf("%d evaluations are recorded, %d heard of", len(evaluations), len(heard))
	}
	for _, p := range evaluations {
		if !math.IsNaN(float64(p.JSD)) || !math.IsNaN(float64(p.Violation)) || !strings.HasPrefix(p.Fault,
			"backward simulation broke down at sample ") {
			t.Errorf("%+v", p)
		}
	}
	if s := statusOf(t, e); s.State != "trained" || s.Epoch != 2 {
		t.Errorf("%+v", s)
	}
}

// Whatever stops the loop, the status says so, and what was trained is kept.
func TestTrainingThatFails(t *testing.T) {
	e := begin(t, "train.epochs=5", "train.checkpoint_every=1000")
	err := e.Train(context.Background(), "", Observer{Epoch: func(x train.Epoch) {
		if x.Epoch == 2 { // metrics.jsonl cannot be appended to any more
			testkit.OK(t, os.Rename(e.Folder.Path(run.MetricsFile), e.Folder.Path("moved")))
			testkit.OK(t, os.Mkdir(e.Folder.Path(run.MetricsFile), 0o777))
		}
	}})
	if err == nil || !strings.Contains(err.Error(), run.MetricsFile) {
		t.Fatalf("got %v", err)
	}
	if s := statusOf(t, e); s.State != "failed" || s.Epoch != 3 || s.Message != err.Error() {
		t.Errorf("%+v", s)
	}
	if trained, err := e.Trained(""); err != nil || trained.State.Epoch != 3 {
		t.Errorf("kept epoch %d, %v", trained.State.Epoch, err)
	}
}

// Where the checkpoint of an interruption cannot be written, that is the error: not all is kept.
func TestInterruptedAndNotSaved(t *testing.T) {
	e := begin(t, "train.epochs=5", "train.checkpoint_every=1000")
	ctx, cancel := context.WithCancel(context.Background())
	err := e.Train(ctx, "", Observer{Epoch: func(x train.Epoch) {
		if x.Epoch == 2 {
			cancel()
			testkit.OK(t, os.RemoveAll(e.Folder.Path("checkpoints")))
			testkit.OK(t, os.WriteFile(e.Folder.Path("checkpoints"), nil, 0o666))
		}
	}})
	var fault *os.PathError
	if !errors.As(err, &fault) || train.Interrupted(err) {
		t.Errorf("got %v", err)
	}
	if s := statusOf(t, e); s.State != "failed" || s.Message == "" {
		t.Errorf("%+v", s)
	}
}

// begun returns a small run on the demo's data, not trained yet, that trains so long; with what it is made of.
func begun(t *testing.T, long string) (*Run, *Loaded, *run.Folder) {
	t.Helper()
	p, err := problem.Load([]byte("data: {kind: demo}\nset: {kind: sphere, dim: 3}\ndefaults: fixed\nprior: uniform\n"+
		"network: {width: 4, layers: 1}\ntrain: {"+long+", times_per_path: 1, batch: 2048}"), "p.yaml", "", nil)
	testkit.OK(t, err)
	pool := parallel.New(2)
	t.Cleanup(pool.Close)
	l := testkit.Must(Load(t.Context(), p, pool, nil))
	f := testkit.Must(run.Create(t.TempDir()+"/r", false))
	r := testkit.Must(l.Begin(f, nil, nil))
	return r, l, f
}

// An evaluation that a folder keeps is read back with what it is of; one of other weights or of another problem is
// told as such, and a newer one takes its place.
func TestKeptEvaluation(t *testing.T) {
	r, _, f := begun(t, "epochs: 1")
	testkit.OK(t, r.Train(t.Context(), "", Observer{}))
	if k, stale, err := KeptEvaluation(r); k != nil || stale != "" || err != nil {
		t.Fatalf("before any: %+v, %q, %v", k, stale, err)
	}
	trained := testkit.Must(r.Trained(""))
	prior := testkit.Must(r.Prior(t.Context(), nil))
	s := testkit.Must(r.Generate(t.Context(), trained, prior, 40, 0, 1, nil))
	v := testkit.Must(r.Evaluate(t.Context(), s, trained.State, nil))
	if v.Network != 50 || v.MMD.N != 40 || !(v.MMD.Statistic > v.MMD.Mean) {
		t.Errorf("%v evaluations a sample of 50 steps; MMD %+v", v.Network, v.MMD)
	}
	testkit.OK(t, KeepEvaluation(r, v, trained.State, 1, errors.New("something")))
	k, stale, err := KeptEvaluation(r)
	if err != nil || stale != "" || k.Fault != "something" || k.Samples != 40 || k.JSD.Full != v.JSD.Full ||
		k.JSD.Mean != v.JSD.Mean || k.Seed != 1 || k.MMD.Statistic != v.MMD.Statistic || k.MMD.PValue != v.MMD.PValue ||
		k.Network != 50 || k.Component[0] != v.Component[0] || k.Verdict.Title() != v.Verdict.Title() {
		t.Errorf("read back %+v, %q, %v", k, stale, err)
	}
	testkit.OK(t, KeepEvaluation(r, v, trained.State, 2, errors.New("something")))
	if k, stale, err = KeptEvaluation(r); err != nil || stale != "" || k.Seed != 2 {
		t.Errorf("the newer one: %+v, %q, %v", k, stale, err)
	}
	if says := Standing(r, trained); v.Verdict.Grade != verdict.NotGood || len(says) != 1 ||
		!strings.Contains(says[0], "not good (") {
		t.Errorf("samples of one update: %+v, %q", v.Verdict, says)
	}
	testkit.OK(t, f.SetStatus(run.Status{State: "interrupted"}))
	if says := Standing(r, trained); len(says) != 2 || !strings.Contains(says[0], "interrupted: these are weights of "+
		"epoch 1") {
		t.Errorf("a training that was stopped: %q", says)
	}
	path := f.Path(run.EvaluationFile)
	whole := testkit.Must(os.ReadFile(path))
	for change, want := range map[string]string{
		`"updates": 1|"updates": 7`:                      "of weights after 7 updates, the newest have 1",
		`"config_sha256": "|"config_sha256": "another `:  "of another problem",
		`"grade": "not good"|"good": false`:              ErrEarlier.Error(),
		`"remedy": {|"remedy": "landing train", "is": {`: ErrEarlier.Error(),
	} {
		from, to, _ := strings.Cut(change, "|")
		if !strings.Contains(string(whole), from) {
			t.Fatalf("no %s in the file", from)
		}
		testkit.OK(t, os.WriteFile(path, []byte(strings.Replace(string(whole), from, to, 1)), 0o666))
		if _, stale, err := KeptEvaluation(r); err != nil || !strings.Contains(stale, want) {
			t.Errorf("%s: %q, %v", to, stale, err)
		}
		if says := fmt.Sprint(Standing(r, trained)); strings.Contains(says, want) != (want == ErrEarlier.Error()) {
			t.Errorf("%s: %s", to, says)
		}
	}
	testkit.OK(t, os.WriteFile(path, whole[:len(whole)/2], 0o666))
	if _, _, err := KeptEvaluation(r); fault.KindOf(err) != fault.Run {
		t.Errorf("half a file: %v", err)
	}
}

// Weights that nothing was learned by draw no samples.
func TestNothingTrained(t *testing.T) {
	r, l, f := begun(t, "max_seconds: 1")
	l.loading = 2 * time.Second // all of the budget
	if err := r.Train(t.Context(), "", Observer{}); err == nil || !strings.Contains(err.Error(), "the budget") {
		t.Fatalf("%v; expected that the budget is spent", err)
	}
	if names, err := f.Checkpoints().Names(); err != nil || len(names) != 1 {
		t.Fatalf("checkpoints %q, %v; expected one", names, err)
	}
	if _, err := r.Trained(""); fault.KindOf(err) != fault.Run {
		t.Errorf("%v; expected that there is nothing to draw by", err)
	}
}

// Check and training report columns of angles in R^d, with the command that turns them into circles. They report
// neither coordinates that take a part of a circle, nor coordinates of an equality.
func TestSeams(t *testing.T) {
	pool := testkit.Pool(t, 1)
	file := filepath.Join(t.TempDir(), "two angles.csv")
	for name, c := range testkit.Ordered(map[string]struct {
		reach float64 // of the second column
		set   string
		want  string
	}{
		"two":  {179.8, "{kind: euclidean, dim: 2}", "x[0], x[1] take all angles of a circle, in degrees"},
		"one":  {120, "{kind: euclidean, dim: 2}", "x[0] takes all angles of a circle, in degrees"},
		"line": {179.8, `{dim: 2, equality: [{name: line, expr: "x[0] = x[1]"}]}`, ""},
	}) {
		var rows strings.Builder
		for i := range 120 {
			u := 2*float64(i)/119 - 1
			fmt.Fprintf(&rows, "%v,%v\n", 179.8*u, c.reach*u)
		}
		testkit.OK(t, os.WriteFile(file, []byte(rows.String()), 0o666))
		text := fmt.Sprintf("data: {kind: points, path: %q}\nset: %s\nprocess: {steps: 5}\n", file, c.set)
		p := testkit.Must(problem.Load([]byte(text), "p.yaml", "", nil))
		r, err := Examine(t.Context(), p, pool, nil)
		if r == nil {
			t.Fatal(err)
		}
		keepFindings(t, r)
		told := warned(r, "angles")
		l := testkit.Must(Load(t.Context(), p, pool, nil))
		faults := strings.Join(l.Domain.Faults, "\n")
		if c.want == "" {
			if told != "" || strings.Contains(faults, "angles") {
				t.Errorf("%s: %q, %q", name, told, faults)
			}
			continue
		}
		command := fmt.Sprintf("landing init '%s' --angles %s --clean 'two angles-angles.csv' "+
			"-o 'two angles-angles.yaml'", file, map[string]string{"two": "0,1", "one": "0"}[name])
		if !strings.HasPrefix(told, c.want) || !strings.HasSuffix(told, command) || !strings.Contains(faults, told) {
			t.Errorf("%s: %q, %q", name, told, faults)
		}
	}
}

// A trained model is packed once for all calls that draw from it, and draws as one packed anew.
func TestPackedOnce(t *testing.T) {
	r, m := trainedRun(t)
	counted := &counted{Model: m.Model}
	once := &Trained{Model: counted, State: m.State}
	for range 3 {
		got := testkit.Must(drawn(t, r, once, 20))
		want, err := drawn(t, r, &Trained{Model: m.Model, State: m.State}, 20)
		if err != nil || !slices.Equal(got.X, want.X) {
			t.Fatalf("draws differ: %v", err)
		}
	}
	testkit.Equal(t, counted.packs.Load(), 1, "packed")
}

// counted counts how often a model is packed.
type counted struct {
	score.Model[float32]
	packs atomic.Int32
}

func (c *counted) Pack(gradients bool) score.Packed[float32] {
	c.packs.Add(1)
	return c.Model.Pack(gradients)
}

// Every worker has as many blocks, of about one size and never above the most.
func TestBlockRows(t *testing.T) {
	for workers := 1; workers <= 7; workers++ {
		pool := parallel.New(workers)
		l := &Loaded{Pool: pool}
		for n := 1; n < 1500; n++ {
			rows := blockRows(l, n)
			blocks := parallel.Blocks(n, rows)
			if rows < 1 || rows > generateRows {
				t.Fatalf("%d samples, %d workers: %d rows", n, workers, rows)
			}
			// The fewest rows that the busiest worker can have, but for the rounding of rows.
			busiest := rows * parallel.Blocks(blocks, workers)
			if busiest > parallel.Blocks(n, workers)+n/generateRows+1 {
				t.Fatalf("%d samples, %d workers: %d rows, %d for one worker", n, workers, rows, busiest)
			}
		}
		pool.Close()
	}
	pool := testkit.Pool(t, 2)
	l := &Loaded{Pool: pool}
	for n, want := range map[int]int{1: 1, 2: 1, 3: 2, 64: 32, 256: 128, 257: 65, 100000: 128} {
		testkit.Equal(t, blockRows(l, n), want, "%d samples", n)
	}
}

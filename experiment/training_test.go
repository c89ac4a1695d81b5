package experiment

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/learn/train"
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

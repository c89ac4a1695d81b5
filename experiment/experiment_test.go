package experiment

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/train"
)

// begin starts a tiny experiment on the data in the binary.
func begin(t *testing.T, settings ...string) *Experiment {
	t.Helper()
	data, origin, err := problem.Source("demo")
	if err != nil {
		t.Fatal(err)
	}
	settings = append([]string{"train.epochs=2", "network.width=8", "network.layers=1", "train.times_per_path=2"}, settings...)
	p, err := problem.Load(data, origin, "", settings)
	if err != nil {
		t.Fatal(err)
	}
	pool := parallel.New(2)
	t.Cleanup(pool.Close)
	e, err := New(p, pool)
	if err != nil {
		t.Fatal(err)
	}
	f, err := run.Create(filepath.Join(t.TempDir(), "r"), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Begin(f, data, []string{"test"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Unlock)
	return e
}

// A memoriser scores the floor against all data, and shows as one.
func TestMemoriserShows(t *testing.T) {
	e := begin(t)
	x := append([]float64(nil), e.train...)
	v, err := e.Evaluate(&Samples{X: x, Dim: 3, Lost: make([]bool, len(x)/3)}, train.State{})
	if err != nil {
		t.Fatal(err)
	}
	if v.Nearest.Copied != 1 || v.Nearest.Ratio != 0 {
		t.Errorf("copied share %v, ratio %v", v.Nearest.Copied, v.Nearest.Ratio)
	}
	// The training rows themselves are closer to the data than draws from them.
	if v.JSD.Full > v.JSD.Floor || v.JSD.Full <= 0 || v.JSD.Uniform < 5*v.JSD.Floor {
		t.Errorf("distances %+v", v.JSD)
	}
}

// Training sees the training rows and nothing else.
func TestHeldOutRowsAreHeldOut(t *testing.T) {
	e := begin(t)
	seen := make([]int, e.Data.N)
	for _, part := range [][]int{e.Split.Train, e.Split.Val, e.Split.Test} {
		for _, i := range part {
			seen[i]++
		}
	}
	for i, n := range seen {
		if n != 1 {
			t.Fatalf("row %d is in %d parts", i, n)
		}
	}
	for a, i := range e.Split.Train {
		for j := range 3 {
			if e.train[3*a+j] != e.Data.X[3*i+j] {
				t.Fatal("the training rows are not those of the split")
			}
		}
	}
	if len(e.train)+len(e.heldOut) != len(e.Data.X) {
		t.Error("rows are missing")
	}
}

// Samples off the set by more than generate.max_violation fail the check; lost
// samples count against generate.max_failed and are not scored.
func TestChecks(t *testing.T) {
	e := begin(t)
	x := append([]float64(nil), e.train[:30]...)
	x[9] += 1e-6
	s := &Samples{X: x, Dim: 3, Lost: make([]bool, 10)}
	var bad *ViolationError
	if _, err := e.Evaluate(s, train.State{}); !errors.As(err, &bad) || bad.Sample != 3 || bad.Component != "radius" {
		t.Errorf("got %v", err)
	}
	s.Lost[3] = true
	v, err := e.Evaluate(s, train.State{})
	if err != nil || v.Failed != 1 || v.Samples != 10 {
		t.Errorf("%+v, %v", v, err)
	}
	s.Lost = []bool{true, true, true, true, true, true, true, true, true, true}
	if v, err := e.Evaluate(s, train.State{}); err != nil || v.Failed != 10 {
		t.Errorf("%+v, %v", v, err)
	}
}

// The state at which training was interrupted is the one that is kept, also
// when the interruption comes in the course of an evaluation.
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
	_, state, err := e.Load("")
	if err != nil || state.Epoch != 2 {
		t.Errorf("kept epoch %d, %v", state.Epoch, err)
	}
	var status run.Status
	if err := e.Folder.ReadJSON(run.StatusFile, &status); err != nil || status.State != "interrupted" || status.Epoch != 2 {
		t.Errorf("%+v, %v", status, err)
	}
	if err := e.Train(context.Background(), "", Observer{}); err != nil {
		t.Fatal(err)
	}
	records, err := e.Folder.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	epochs, evaluations := decode(records)
	if len(epochs) != 5 || epochs[4].Epoch != 5 || len(evaluations) < 4 || math.IsNaN(float64(evaluations[0].JSD)) {
		t.Errorf("%d epochs and %d evaluations are recorded", len(epochs), len(evaluations))
	}
}

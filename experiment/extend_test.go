package experiment

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

var short = []string{"train.batch=512", "train.checkpoint_every=1e6", "train.refresh=10", "process.steps=10",
	"train.anneal=0.5", "train.plateau.factor=0"}

// trainTo trains a run to its end and returns the learning rates of its epochs.
func trainTo(t *testing.T, r *Run, o Observer) (rates []float64) {
	t.Helper()
	heard := o.Epoch
	o.Epoch = func(x train.Epoch) {
		rates = append(rates, x.Rate)
		if heard != nil {
			heard(x)
		}
	}
	testkit.OK(t, r.Train(context.Background(), "", o))
	return rates
}

// extended is the run, extended with settings.
func extended(t *testing.T, r *Run, settings ...string) *Run {
	t.Helper()
	return testkit.Must(r.Extend(problem.ParseSettings(settings...), "", []string{"test"}))
}

// The rate of an extended run begins where the rate of a run of the larger number of epochs would be, and ends at 0.
// The first end stays as it was. A process that is killed during the extension resumes to the same bytes.
func TestExtendAFinishedRun(t *testing.T) {
	e := begin(t, append(short, "train.epochs=8")...)
	trainTo(t, e, Observer{})
	first, before := weightsOf(t, e)
	names := testkit.Must(e.Folder.Checkpoints().Names())
	end := names[len(names)-1]
	q := extended(t, e, "train.epochs=10", "train.checkpoint_every=0")
	noted := copyRun(t, q) // killed before any training
	var half string
	rates := trainTo(t, q, Observer{Checkpoint: func(epoch int) {
		if epoch == 9 {
			half = copyRun(t, q)
		}
	}})
	weights, state := weightsOf(t, q)
	if state.Epoch != 10 || state.Extended != 1 || len(rates) != 2 || state.Averaged <= before.Averaged {
		t.Fatalf("%+v, rates %v", state, rates)
	}
	// One batch an epoch would be the first one's rate; here the last batch's is recorded.
	const rate = 5e-3
	batches := float64(before.Updates) / 8
	for i, r := range rates {
		at := 8 + float64(i) + (batches-1)/batches
		if want := rate * (1 - at/10) / 0.5; math.Abs(r-want) > 1e-12 {
			t.Errorf("the rate of epoch %d is %v, want %v", 9+i, r, want)
		}
	}
	old, err := os.ReadFile(q.Folder.Path("checkpoints/" + end + "/weights.safetensors"))
	if err != nil || run.Hash(old) != first {
		t.Errorf("the first end is lost or another: %v", err)
	}
	if _, err := q.Trained(end); err != nil {
		t.Errorf("the first end: %v", err)
	}
	m := manifestOf(t, q)
	if len(m.Extensions) != 1 || m.Extensions[0].After != 8 || m.Extensions[0].Checkpoint != end ||
		m.Extensions[0].Settings[0] != "train.epochs=10" {
		t.Errorf("%+v", m.Extensions)
	}
	for name, dir := range map[string]string{"before": noted, "on the way": half} {
		r := testkit.Must(Open(t.Context(), dir, "", e.Pool, nil))
		testkit.Equal(t, r.Problem.Train.Epochs, 10, "killed %s: the problem", name)
		trainTo(t, r, Observer{})
		if got, s := weightsOf(t, r); got != weights || s.Extended != 1 {
			t.Errorf("killed %s: other weights after %d epochs", name, s.Epoch)
		}
	}
	// Many checkpoints later the first end is still there.
	longer := extended(t, q, "train.epochs=16")
	trainTo(t, longer, Observer{})
	if names, err = longer.Folder.Checkpoints().Names(); err != nil || names[0] != end || len(names) != 5 {
		t.Errorf("checkpoints %v, %v; the first should be %s", names, err, end)
	}
}

// A run that stops before its rate falls, and is extended, is the same as a run with the larger number from the start.
func TestExtendAStoppedRun(t *testing.T) {
	e := begin(t, append(short, "train.epochs=8")...)
	ctx, cancel := context.WithCancel(context.Background())
	err := e.Train(ctx, "", Observer{Epoch: func(x train.Epoch) {
		if x.Epoch == 3 {
			cancel()
		}
	}})
	if !train.Interrupted(err) {
		t.Fatal(err)
	}
	trainTo(t, extended(t, e, "train.epochs=12"), Observer{})
	got, _ := weightsOf(t, e)
	whole := begin(t, append(short, "train.epochs=12")...)
	trainTo(t, whole, Observer{})
	if want, _ := weightsOf(t, whole); got != want {
		t.Error("other weights than those of a run of 12 epochs")
	}
}

// A finished run goes on for a time: as many epochs as fill it by what they took, which the
// manifest says; the number gives the same bytes without a clock.
func TestExtendForATime(t *testing.T) {
	e := begin(t, append(short, "train.epochs=8")...)
	c := &ticking{epoch: everySecond}
	trainTo(t, c.of(e), c.observe(nil))
	plain := copyRun(t, e)
	_, before := weightsOf(t, e)
	if before.Spent != 8 {
		t.Fatalf("%v s are spent", before.Spent)
	}
	q := extended(t, e, "train.max_seconds=20")
	trainTo(t, q, c.observe(nil))
	weights, state := weightsOf(t, q)
	m := manifestOf(t, q)
	if state.Spent > 28 || state.Spent < 26 || len(m.Clock) == 0 || m.Clock[0].After > 10 {
		t.Fatalf("%d epochs in %v s, %+v", state.Epoch, state.Spent, m.Clock)
	}
	r := testkit.Must(Open(t.Context(), plain, "", e.Pool, nil))
	fields := strings.Fields(m.Clock[len(m.Clock)-1].Repeat)
	if len(fields) < 3 {
		t.Fatalf("%+v", m.Clock)
	}
	r = extended(t, r, fields[1])
	trainTo(t, r, Observer{})
	if got, s := weightsOf(t, r); got != weights {
		t.Errorf("%s gives other weights after %d epochs", fields[1], s.Epoch)
	}
}

// The error of an invalid extension names the setting, and nothing is recorded.
func TestExtendRefuses(t *testing.T) {
	e := begin(t, append(short, "train.epochs=2")...)
	trainTo(t, e, Observer{})
	for setting, want := range map[string]string{
		"train.batch=64":          "train.batch: a run cannot continue with another value: what was trained",
		"network.width=16":        "network.width: a run cannot continue",
		"process.steps=20":        "process.steps: a run cannot continue",
		"generate.max_failed=0.1": "--set of landing generate",
		"train.anneal=0.2":        "expected it with train.epochs or --for",
		"train.epochs=2":          "train.epochs is 2; expected more than the 2 that are trained",
		"train.epochs=0":          "train.epochs is 0; expected a number above 0",
		"train.max_seconds=0.1":   "train.max_seconds is 0.1; expected 0, or a number in",
		"train.nonsense=1":        "there is no such key",
	} {
		_, err := e.Extend(problem.ParseSettings(setting), "", nil)
		var key *problem.KeyError
		if !errors.As(err, &key) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", setting, err, want)
		}
	}
	if m := manifestOf(t, e); m.Extensions != nil {
		t.Errorf("noted: %+v", m.Extensions)
	}
}

package experiment

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/processor"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// ticking is a clock: each epoch takes the seconds that the function epoch returns, and nothing else takes time.
type ticking struct {
	at    time.Time
	epoch func(epoch int) float64 // seconds
}

// of makes a run go by the clock.
func (c *ticking) of(r *Run) *Run {
	r.now, r.loading = func() time.Time { return c.at }, 0
	return r
}

func (c *ticking) observe(also func(train.Epoch)) Observer {
	return Observer{Epoch: func(e train.Epoch) {
		c.at = c.at.Add(time.Duration(c.epoch(e.Epoch) * float64(time.Second)))
		if also != nil {
			also(e)
		}
	}}
}

func everySecond(int) float64 { return 1 }

// alone is a clock that one goroutine at a time looks at: workers ask whether time is left.
func alone(now func() time.Time) func() time.Time {
	var m sync.Mutex
	return func() time.Time {
		m.Lock()
		defer m.Unlock()
		return now()
	}
}

// budgeted begins a run with a budget.
func budgeted(t *testing.T, settings ...string) *Run {
	return begin(t, append([]string{"train.max_seconds=20", "train.epochs=0", "train.anneal=0.5", "train.batch=512",
		"train.checkpoint_every=1e6", "train.refresh=10", "process.steps=10"}, settings...)...)
}

// weightsOf returns the newest checkpoint's weights as they lie on disk, and its state.
func weightsOf(t *testing.T, r *Run) (string, train.State) {
	t.Helper()
	names, err := r.Folder.Checkpoints().Names()
	if err != nil || len(names) == 0 {
		t.Fatalf("no checkpoint: %v", err)
	}
	data := testkit.Must(os.ReadFile(r.Folder.Path("checkpoints/" + names[len(names)-1] + "/weights.safetensors")))
	trained := testkit.Must(r.Trained(""))
	return run.Hash(data), trained.State
}

func manifestOf(t *testing.T, r *Run) run.Manifest {
	t.Helper()
	var m run.Manifest
	testkit.OK(t, r.Folder.ReadJSON(run.ManifestFile, &m))
	return m
}

// A training with a budget fills it and records what came from the clock; the keys that it
// records give the same bytes without a clock.
func TestBudgetRepeats(t *testing.T) {
	e := budgeted(t)
	c := &ticking{epoch: everySecond}
	testkit.OK(t, c.of(e).Train(context.Background(), "", c.observe(nil)))
	weights, state := weightsOf(t, e)
	m := manifestOf(t, e)
	if len(m.Clock) == 0 {
		t.Fatal("the manifest has nothing of the clock")
	}
	last := m.Clock[len(m.Clock)-1]
	if last.Key != "train.epochs" || last.Value != float64(state.Epoch) || state.Epoch < 18 || state.Epoch > 20 ||
		state.Spent != float64(state.Epoch) || !strings.HasPrefix(last.Reason, "20 s at 1 s an epoch") {
		t.Errorf("%+v, %d epochs in %v s", last, state.Epoch, state.Spent)
	}
	if s := statusOf(t, e); s.State != "trained" || s.Epoch != state.Epoch || s.Epochs != state.Epoch {
		t.Errorf("%+v", s)
	}
	again := budgeted(t, strings.Fields(last.Repeat)...)
	testkit.OK(t, again.Train(context.Background(), "", Observer{}))
	if got, s := weightsOf(t, again); got != weights || s.Epoch != state.Epoch {
		t.Errorf("%s gives other weights after %d epochs", last.Repeat, s.Epoch)
	}
	if m := manifestOf(t, again); m.Clock != nil {
		t.Errorf("without a budget a clock decided %v", m.Clock)
	}
}

// copyRun copies a run folder as it is, which is what a process that is killed now leaves.
func copyRun(t *testing.T, r *Run) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "killed")
	testkit.OK(t, os.CopyFS(dir, os.DirFS(r.Folder.Dir)))
	return dir
}

// A training that is killed goes on by what was decided: to the same weights if the machine
// is as fast, and to the end of its budget in any case.
func TestBudgetSurvivesKill(t *testing.T) {
	e := budgeted(t)
	c := &ticking{epoch: everySecond}
	killed := map[int]string{}
	at := []int{1, 3, 14}
	o := c.observe(nil)
	o.Checkpoint = func(epoch int) {
		if slices.Contains(at, epoch) {
			killed[epoch] = copyRun(t, e)
		}
	}
	e.Problem.Train.CheckpointEvery = 0 // every epoch
	testkit.OK(t, c.of(e).Train(context.Background(), "", o))
	weights, state := weightsOf(t, e)
	if len(killed) != len(at) {
		t.Fatalf("%d checkpoints were seen", len(killed))
	}
	for epoch, dir := range killed {
		r := testkit.Must(Open(t.Context(), dir, "", e.Pool, nil))
		c := &ticking{epoch: everySecond}
		testkit.OK(t, c.of(r).Train(context.Background(), "", c.observe(nil)))
		got, s := weightsOf(t, r)
		if got != weights || s.Epoch != state.Epoch || s.Spent != state.Spent || len(s.Clock) != len(state.Clock) {
			t.Errorf("killed after epoch %d: %d epochs in %v s by %v; want %d in %v by %v", epoch, s.Epoch, s.Spent,
				s.Clock, state.Epoch, state.Spent, state.Clock)
		}
		if m := manifestOf(t, r); len(m.Clock) != len(s.Clock) {
			t.Errorf("killed after epoch %d: the manifest has %v", epoch, m.Clock)
		}
		slow, err := Open(t.Context(), copyRun(t, r), "", e.Pool, nil) // all trained: nothing is done
		testkit.OK(t, err)
		testkit.OK(t, slow.Train(context.Background(), "", Observer{}))
		if got, _ := weightsOf(t, slow); got != weights {
			t.Error("a finished training went on")
		}
	}
}

// Where the machine becomes slower while the rate falls, the run ends in its budget with a
// rate of about 0, and says that keys alone do not repeat it.
func TestBudgetOnASlowerMachine(t *testing.T) {
	e := budgeted(t, "train.max_seconds=40")
	c := &ticking{epoch: func(epoch int) float64 {
		if epoch > 27 {
			return 2
		}
		return 1
	}}
	var rates []float64
	testkit.OK(t, c.of(e).Train(context.Background(), "",
		c.observe(func(x train.Epoch) { rates = append(rates, x.Rate) })))
	_, state := weightsOf(t, e)
	m := manifestOf(t, e)
	last := m.Clock[len(m.Clock)-1]
	if state.Spent > 40 || state.Epoch >= 36 || last.Repeat != "" || last.Value != float64(state.Epoch) {
		t.Errorf("%d epochs in %v s, %+v", state.Epoch, state.Spent, last)
	}
	if first, end := rates[0], rates[len(rates)-1]; !(end < 0.35*first) {
		t.Errorf("the rate falls from %v to %v", first, end)
	}
}

// A budget that ends within an epoch ends the training there; in the first epoch it is an
// error, and what was trained is kept.
func TestBudgetEndsInAnEpoch(t *testing.T) {
	wholeDemo(t)
	e := budgeted(t)
	at := time.Time{}
	e.loading, e.now = 0, alone(func() time.Time {
		at = at.Add(7 * time.Second)
		return at
	})
	testkit.Refused(t, e.Train(context.Background(), "", Observer{}), "the budget of 20 s ended in the first epoch")
	if s := statusOf(t, e); s.State != "failed" || s.Epoch != 0 || !strings.Contains(s.Message, "first epoch") {
		t.Errorf("%+v", s)
	}

	e = budgeted(t, "train.batch=64")
	c := &ticking{epoch: everySecond}
	c.of(e)
	jump := false
	plain := e.now
	asked := 0
	e.now = alone(func() time.Time {
		if jump {
			if asked++; asked > 12 {
				return plain().Add(time.Hour)
			}
		}
		return plain()
	})
	testkit.OK(t, e.Train(context.Background(), "", c.observe(func(x train.Epoch) { jump = x.Epoch == 5 })))
	_, state := weightsOf(t, e)
	if state.Epoch != 5 || state.Step == 0 || statusOf(t, e).State != "trained" {
		t.Errorf("%+v, %+v", state, statusOf(t, e))
	}
	m := manifestOf(t, e)
	if last := m.Clock[len(m.Clock)-1]; !strings.Contains(last.Reason, "the budget ended in epoch 6") ||
		last.Repeat != "" {
		t.Errorf("%+v", last)
	}
}

// An observer that only waits takes no time of the processor's clock, and takes all of the wall's.
func TestProcessorClock(t *testing.T) {
	if !processor.Measured {
		t.Skip("processor time is not measured on this system")
	}
	const most, pause = 80, 45 * time.Millisecond
	for _, clock := range []string{"wall", "processor"} {
		r := budgeted(t, "train.clock="+clock, "train.max_seconds=3", "train.batch=64")
		ctx, cancel := context.WithCancel(context.Background())
		waited := time.Duration(0)
		err := r.Train(ctx, "", Observer{Epoch: func(e train.Epoch) {
			time.Sleep(pause)
			if waited += pause; waited >= most*pause {
				cancel()
			}
		}})
		cancel()
		if clock == "wall" && (err != nil || waited > 3*time.Second) {
			t.Errorf("by the wall's clock a training of 3 s waited %v (%v)", waited, err)
		}
		if clock == "processor" && waited < 3100*time.Millisecond {
			t.Errorf("by the processor's clock a training of 3 s ended after %v of waiting (%v)", waited, err)
		}
	}
}

// What is simulated before the first epoch, and in a refresh, takes at most a tenth of a budget each. What is chosen is
// in the problem, so a run that goes on is the same.
func TestPreparationFitsBudget(t *testing.T) {
	data, origin, err := problem.Source("demo")
	testkit.OK(t, err)
	load := func(settings ...string) *Loaded {
		settings = append(settings, "train.stop=held_out_loss", "train.max_seconds=3600")
		p := testkit.Must(problem.Load(data, origin, "", problem.ParseSettings(settings...)))
		return testkit.Must(Load(t.Context(), p, testkit.Pool(t, 2), nil))
	}
	l := load()
	all, chosen := priorPaths(l), len(l.Chosen)
	_, held, _ := heldOutCounts(l)
	if l.Problem.Train.Preparation != 0 || l.Problem.Train.Paths != 0 {
		t.Errorf("an hour is short: %+v", l.Problem.Train)
	}
	q := *l.Problem
	q.Train.MaxSeconds, l.Problem = 1e-6, &q
	testkit.OK(t, l.spare(t.Context(), func(string) {}))
	_, few, seen := heldOutCounts(l)
	if tr := l.Problem.Train; tr.Preparation != leastShare || few+seen > tr.Paths || tr.Paths != fewestPaired ||
		priorPaths(l) != fewestEnds || all < 900 || few >= held || few == 0 ||
		l.before(l.Method.Source(l.Learned, l.Pool)) > 400 ||
		l.Method.Source(l.Learned, l.Pool).Items() != fewestPaired {
		t.Errorf("%+v: %d of %d ends, %d of %d held-out paths", tr, priorPaths(l), all, few, held)
	}
	if c := l.Chosen[chosen:]; len(c) != 2 || c[0].Key != problem.KeyTrainPreparation ||
		c[1].Key != problem.KeyTrainPaths {
		t.Errorf("chosen: %v", c)
	}
	if l = load("train.preparation=0.5"); priorPaths(l) != all/2 || len(l.Chosen) != chosen {
		t.Errorf("half of %d ends: %d, %v", all, priorPaths(l), l.Chosen)
	}
	l = load("process.method=few-ULLA")
	q = *l.Problem
	q.Train.MaxSeconds, l.Problem = 1e-6, &q
	testkit.OK(t, l.spare(t.Context(), func(string) {}))
	testkit.Equal(t, l.Problem.Train.Paths, 0, "paths of a few-step method")
}

package compare

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// small is a run of two epochs.
func small(t *testing.T, pool *parallel.Pool) (*experiment.Run, *experiment.Trained) {
	t.Helper()
	text, _, err := problem.Source("demo")
	testkit.OK(t, err)
	p := testkit.Must(problem.Load(text, "demo", "fixed", problem.ParseSettings("network.width=8", "network.layers=1",
		"train.epochs=2",
		"train.times_per_path=2", "prior=uniform")))
	l := testkit.Must(experiment.Load(t.Context(), p, pool, nil))
	f := testkit.Must(run.Create(filepath.Join(t.TempDir(), "r"), false))
	r := testkit.Must(l.Begin(f, text, nil))
	t.Cleanup(f.Unlock)
	testkit.OK(t, r.Train(t.Context(), "", experiment.Observer{}))
	trained := testkit.Must(r.Trained(""))
	return r, trained
}

// The judgement has the requested samples, compares where generation begins with where paths end, and has the requested
// checks on the way. An interruption is an error, after the samples too.
func TestJudge(t *testing.T) {
	pool := testkit.Pool(t, 2)
	r, trained := small(t, pool)
	drawn := 0
	by := experiment.Judging{Trained: trained, Samples: 60, Seed: r.Problem.Seed}
	asked := by
	asked.Diagnose, asked.Tick = true, func(done int) { drawn = done }
	x, v, fault, err := experiment.Judge(t.Context(), r, asked)
	if err != nil || fault != nil || x.N() != 60 || v.Samples != 60 || drawn != 60 {
		t.Fatalf("%v, %v, %d drawn, %+v", err, fault, drawn, v)
	}
	if v.Start == nil || v.Start.Paths < 60 || v.Steps == nil {
		t.Errorf("start %+v, steps %v", v.Start, v.Steps)
	}
	if c, s := Of(r, v, trained.State, "").Cost, v.Seconds; s.Simulate <= 0 || c.Train != s.Train ||
		c.Simulate != s.Simulate || c.Generate != s.Generate {
		t.Errorf("a cost of %+v, of seconds %+v", c, s)
	}
	if _, v, _, err := experiment.Judge(t.Context(), r, by); err != nil || v.Steps != nil {
		t.Errorf("nobody asked for steps: %v, %v", err, v)
	}
	ctx, stop := context.WithCancel(t.Context())
	by.Tick = func(done int) {
		if done == by.Samples {
			stop()
		}
	}
	if _, _, _, err := experiment.Judge(ctx, r, by); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted after the last sample: %v", err)
	}
}

// A cost is of this machine and of now.
func TestCostHere(t *testing.T) {
	var c Cost
	c.Here()
	m := run.ThisMachine()
	if age := time.Since(c.Ended); age < -time.Second || age > time.Hour || c.Ended.Nanosecond() != 0 ||
		c.Ended.Location() != time.UTC {
		t.Errorf("it ended at %v", c.Ended)
	}
	if c.CPU != m.CPU || c.Cores != m.Cores || c.Kernel != m.Kernel || c.Cores < 1 {
		t.Errorf("of %+v, this machine is %+v", c, m)
	}
}

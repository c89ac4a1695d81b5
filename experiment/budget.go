package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// stopwatch counts the seconds of a call, and those that its evaluations and its held-out distances
// took.
type stopwatch struct {
	now       func() time.Time
	start     time.Time
	before    float64 // seconds of earlier calls, and of loading
	evaluated float64
	judged    float64
}

// spent returns the seconds of all calls.
func (w *stopwatch) spent() float64 { return w.before + w.now().Sub(w.start).Seconds() }

// limited is a context that is also done when a budget is spent.
type limited struct {
	context.Context
	over func() bool
}

func (l limited) Err() error {
	if err := l.Context.Err(); err != nil {
		return err
	}
	if l.over() {
		return context.DeadlineExceeded
	}
	return nil
}

// limitedTo returns the context of a training within its budget, if that is not 0.
func limitedTo(ctx context.Context, budget float64, w *stopwatch) context.Context {
	if budget == 0 {
		return ctx
	}
	return limited{ctx, func() bool { return w.spent() >= budget }}
}

// pace begins to time epochs, where there is a budget.
func (t *training) pace() {
	if s := t.trainer.State; s.Budget > 0 {
		k := t.run.Problem.Train
		t.pacer = train.NewPacer(s.Budget, k.Refresh, k.EvaluateEvery, k.Config(0, 0).Epochs, s.Epoch,
			t.trainer.Reading(t.watch.spent(), t.watch.evaluated, t.watch.judged))
	}
}

// paced lets the clock decide, after an epoch, how many there are.
func (t *training) paced() error {
	if t.pacer == nil {
		return nil
	}
	t.pacer.Epoch(t.trainer.State.Epoch, t.trainer.Reading(t.watch.spent(), t.watch.evaluated, t.watch.judged))
	if d, due := t.trainer.Pace(t.pacer); due {
		return t.decided(d)
	}
	return nil
}

// exhausted ends a training whose budget ended between two ends of epochs.
func (t *training) exhausted() error {
	t.unsaved = true
	t.trainer.State.Spent = t.watch.spent()
	d, err := t.trainer.Exhausted()
	if err != nil {
		return err
	}
	return t.decided(d)
}

// decided records what a clock decided: first in a checkpoint, from which a training that is
// stopped goes on by it.
func (t *training) decided(d train.Decision) error {
	if err := t.save(); err != nil {
		return err
	}
	if t.observer.Clock != nil {
		t.observer.Clock(d)
	}
	return clocked(t.run.Folder, t.run.Problem, t.trainer.State)
}

// clocked brings the manifest up to the decisions of the trainer's state.
func clocked(f *run.Folder, p *problem.Problem, s train.State) error {
	return f.AmendManifest(func(m *run.Manifest) {
		m.Clock = nil
		for _, d := range s.Clock {
			c := run.Clocked{Key: problem.KeyTrainEpochs, Value: d.Plan.Epochs, After: d.After,
				Reason: fmt.Sprintf("%.4g s at %.3g s an epoch, %.4g s of them spent: %s", d.Budget, d.Pace, d.Spent,
					d.Why)}
			if d.Repeats() {
				c.Repeat = fmt.Sprintf("train.max_seconds=0 train.epochs=%d train.anneal=%v", d.Plan.Epochs,
					d.Plan.Anneal)
				if p.Train.HeldOut() {
					c.Repeat += " train.stop=epochs"
				}
			}
			if n := len(m.Extensions); n > 0 && c.Repeat != "" {
				c.Repeat += " on checkpoint " + m.Extensions[n-1].Checkpoint
			}
			m.Clock = append(m.Clock, c)
		}
	})
}

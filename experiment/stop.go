package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// Held-out distances during training.
const (
	judgedSamples = 1000    // drawn for each, by the same noise
	judgedRows    = 2000    // validation rows at most that they are compared with
	judgedFirst   = 1 << 62 // number of the first of the samples: no call of generate draws these
	judgedPaths   = 10      // of a validation row, of whose losses its own is the mean, at most
)

// A HeldOutRecord is what metrics.jsonl holds of a held-out distance.
type HeldOutRecord struct {
	train.Measured
	Seconds float64 `json:"seconds"`         // that it took
	Fault   string  `json:"fault,omitempty"` // why there is no distance
}

// heldOutCounts returns how many validation rows judge a training, how many paths these rows have in all, and how many
// paths of training rows are compared with them.
func heldOutCounts(l *Loaded) (rows, paths, seen int) {
	rows = min(len(l.ValRows)/l.Data.D, judgedRows)
	paths = method.Shared(min(judgedPaths*rows, judgedRows), l.Problem.Train.Preparation, rows)
	seen = len(l.Learned) / l.Data.D
	if few := l.Problem.Train.Paths; few > 0 { // at a time, of both
		paths = min(paths, max(1, 2*few/3))
		seen = min(seen, few-paths)
	}
	return min(rows, paths), paths, min((paths+1)/2, seen)
}

// judgedWork returns the network rows, and steps, of a held-out distance, or the rows of a loss.
func judgedWork(l *Loaded) float64 {
	if l.Problem.Train.ByLoss() {
		_, paths, seen := heldOutCounts(l)
		return float64(paths+seen) * train.HeldTimes
	}
	rows := 1.0
	if l.Problem.Generate.Guidance > 0 { // two scores a step
		rows = 2
	}
	return judgedSamples * float64(l.Process.Schedule.N) * (rows + 1)
}

// due reports whether the held-out distance is to be measured now.
func due(t *training) bool {
	return t.run.Problem.Train.HeldOut() && t.trainer.Due(judgedWork(t.run.Loaded))
}

// heldOut measures the held-out distance, if it is time to, and does what follows from it: which checkpoint is kept,
// and whether the training ends. All of it is in a checkpoint before anything else is done.
func (t *training) heldOut(ctx context.Context) error {
	if !due(t) {
		return nil
	}
	err := t.trainer.Fetch()
	if err != nil {
		return err
	}
	t.trainer.Leave()
	start := t.watch.now()
	var e metric.Estimate
	var seen []float64
	var fault string
	if t.run.Problem.Train.ByLoss() {
		e, seen, fault, err = t.lossEstimate(ctx)
	} else {
		e, fault, err = t.estimate(ctx)
	}
	if err != nil {
		return err
	}
	seconds := t.watch.now().Sub(start).Seconds()
	t.watch.judged += seconds
	verdict, ends := t.trainer.Hear(e, seen...)
	if t.held != nil {
		t.trainer.State.Judged.Of = t.held.Of
	}
	measures := t.trainer.State.Judged.Measures
	m := measures[len(measures)-1]
	if ends && verdict.From < verdict.After {
		err = t.goBack(verdict)
	} else if err = t.record("held-out", m.Epoch, HeldOutRecord{m, seconds, fault}); err == nil {
		err = t.save() // a record without a checkpoint is dropped when the run is opened
	}
	if err != nil {
		return err
	}
	for _, write := range []func() error{func() error { return mark(t.run.Folder, t.trainer.State) }, t.publish,
		func() error { return t.status("training", "") }} {
		if err := write(); err != nil {
			return err
		}
	}
	if t.observer.HeldOut != nil {
		t.observer.HeldOut(m, fault)
	}
	if ends {
		tell(t.observer.Verdict, verdict)
	}
	return nil
}

// estimate returns the distance of samples by the averaged weights to the validation rows, and why
// there is none if more of them failed than a run accepts.
func (t *training) estimate(ctx context.Context) (e metric.Estimate, fault string, err error) {
	d := t.run.Data.D
	if t.judgedTo == nil {
		rows := t.run.ValRows[:min(len(t.run.ValRows), judgedRows*d)]
		t.judgedTo = metric.NewEnergyTo(t.run.Reference().Laid(rows), d)
	}
	s, err := t.draw(ctx, judgedSamples, judgedFirst, t.run.ValRows)
	if err != nil {
		return e, "", err
	}
	if err := s.CheckFailed(t.run.Problem.Generate.MaxFailed); err != nil {
		return metric.NoEstimate(), err.Error(), nil
	}
	return t.judgedTo.Of(t.run.Reference().Laid(s.Good())).Numbered(s.Lost), "", nil
}

// lossEstimate returns the mean loss of the averaged weights on paths of validation rows, always the same, and the loss
// of each such path of a training row. Overfitting raises the first, and hardly moves samples' distances.
func (t *training) lossEstimate(ctx context.Context) (e metric.Estimate, seen []float64, fault string, err error) {
	if err := t.hold(ctx); err != nil {
		return e, nil, "", err
	}
	rows, paths, _ := heldOutCounts(t.run.Loaded)
	in, internal := constraint.As[*conformation.Internal](t.run.Process.Set)
	if j := t.trainer.State.Judged; internal && (j == nil || j.Of > 0) { // of an earlier version's run: all coordinates
		t.held.Of = 2 * in.Torsions() // a network overfits the many angles before it knows the torsions
	}
	losses := t.held.Losses(t.trainer.Average())
	if internal { // conformers are near a few minima: one in none would outweigh all others
		for i, v := range losses {
			losses[i] = math.Log(v)
		}
	}
	own := make([][]float64, rows)
	for i, v := range losses[:paths] {
		own[i%rows] = append(own[i%rows], v)
	}
	means := make([]float64, rows)
	for i, losses := range own {
		means[i] = metric.MeanOf(losses).Value
	}
	if e = metric.MeanOf(means); !e.Known() {
		fault = "no path of a validation row has a loss"
	}
	return e, losses[paths:], fault, nil
}

// hold makes the paths by whose losses a training is judged, if it is. That is done before epochs are timed:
// it is not what an estimate takes.
func (t *training) hold(ctx context.Context) (err error) {
	if !t.run.Problem.Train.ByLoss() || t.held != nil {
		return nil
	}
	// Validation rows, where these are few several times; and training rows, whose losses do not rise by overfitting.
	rows, paths, seen := heldOutCounts(t.run.Loaded)
	d := t.run.Data.D
	starts := slices.Concat(langevin.Starts(t.run.ValRows[:rows*d], d, paths),
		langevin.Starts(t.run.Learned, d, seen))
	src := t.run.Method.Source(starts, t.run.Pool)
	if beside := t.source.Capabilities().Beside; beside != nil {
		src = beside(starts)
	}
	t.held, err = train.NewHeld(ctx, src, t.trainer.Average(), t.run.Problem.Seed, keyed.HeldPaths.At(0), t.run.Pool)
	return err
}

// goBack puts the training at the checkpoint that a verdict goes on from. Until the next one is
// saved a process that is killed begins there without the verdict, and comes to it again.
func (t *training) goBack(v train.Verdict) error {
	name := run.CheckpointName(t.trainer.State.Judged.ChosenUpdates)
	var state train.State
	arrays, err := t.run.Folder.Checkpoints().Load(name, t.run.Config, &state)
	if err != nil {
		return err
	}
	if err := t.trainer.Back(v, arrays, state); err != nil {
		return err
	}
	if err := t.run.Folder.Checkpoints().SetAside(name); err != nil {
		return err
	}
	if err := t.run.Folder.RewindMetrics(v.From, nil); err != nil {
		return err
	}
	tell(t.observer.From, v.From)
	t.unsaved, t.saved = false, time.Time{} // the next epoch is saved at once
	if t.pacer != nil {
		t.pace()
	}
	return nil
}

// mark marks the checkpoint with the weights that a state chose, which then stays.
func mark(f *run.Folder, s train.State) error {
	j := s.Judged
	if j == nil || j.Chosen == 0 {
		return nil
	}
	return f.Checkpoints().MarkBest(run.CheckpointName(j.ChosenUpdates))
}

// restoreMark marks the checkpoint that the loaded state chose. A later, better checkpoint may have replaced it and
// been set aside since: then the state forgets it.
func (t *training) restoreMark() error {
	j := t.trainer.State.Judged
	if j == nil || j.Chosen == 0 {
		return nil
	}
	names, err := t.run.Folder.Checkpoints().Names()
	if err != nil {
		return err
	}
	if !slices.Contains(names, run.CheckpointName(j.ChosenUpdates)) {
		t.trainer.State.Forget()
	}
	return mark(t.run.Folder, t.trainer.State)
}

// publish brings the manifest up to what a clock and held-out distances decided, by the trainer's state.
func (t *training) publish() error {
	s := t.trainer.State
	if len(s.Clock) == 0 && s.Judged == nil {
		return nil
	}
	return t.run.Folder.AmendManifest(func(m *run.Manifest) {
		from := ""
		if n := len(m.Extensions); n > 0 {
			from = " on checkpoint " + m.Extensions[n-1].Checkpoint
		}
		if len(s.Clock) > 0 {
			m.Clock = nil
		}
		for _, d := range s.Clock {
			c := run.Clocked{Key: problem.KeyTrainEpochs, Value: d.Plan.Epochs, After: d.After,
				Reason: fmt.Sprintf("%.4g s at %.3g s an epoch, %.4g s of them spent: %s", d.Budget, d.Pace, d.Spent,
					d.Why)}
			if d.Repeats() {
				c.Repeat = fmt.Sprintf("train.max_seconds=0 train.epochs=%d train.anneal=%v", d.Plan.Epochs,
					d.Plan.Anneal)
				if t.run.Problem.Train.HeldOut() {
					c.Repeat += " train.stop=epochs"
				}
				c.Repeat += from
			}
			m.Clock = append(m.Clock, c)
		}
		if s.Judged == nil {
			return
		}
		m.Trained = t.watch.cost(s)
		before := m.Weights
		m.Stopped, m.Weights = nil, nil
		if v := s.Judged.Verdict; v != nil {
			m.Stopped = &run.Stopped{Epochs: v.Plan.Epochs, After: v.After, Reason: v.String()}
			if v.Plan.Factor == 1 {
				m.Stopped.Repeat = fmt.Sprintf("train.stop=epochs train.max_seconds=0 train.epochs=%d "+
					"train.anneal=%v%s", v.Plan.Epochs, v.Plan.Anneal, from)
			}
		}
		if j := s.Judged; j.Chosen > 0 {
			m.Weights = &run.Weights{Checkpoint: run.CheckpointName(j.ChosenUpdates), Epoch: j.Chosen,
				Reason: whyChosen(j, t.run.Problem.Train.ByLoss())}
			if j.Chosen == s.Epoch {
				m.Weights.Seconds = s.Seconds
			} else if before != nil && before.Epoch == j.Chosen {
				m.Weights.Seconds = before.Seconds
			}
		}
	})
}

// whyChosen says why the weights of an epoch are those that samples are drawn with.
func whyChosen(j *train.Judged, loss bool) string {
	of, lowest := train.Measured{}, train.Measured{}
	for _, m := range j.Measures {
		if m.Epoch == j.Chosen {
			of = m
		}
		if m.Epoch == j.Lowest {
			lowest = m
		}
	}
	what := train.Judge(loss)
	s := fmt.Sprintf("%s %.4g ± %.2g, the lowest of %d", what, of.Distance, of.Noise, len(j.Measures))
	if j.Lowest != j.Chosen {
		s = fmt.Sprintf("%s %.4g ± %.2g, the last of %d that is within noise of the lowest, %.4g after epoch %d",
			what, of.Distance, of.Noise, len(j.Measures), lowest.Distance, j.Lowest)
	}
	return s
}

// ended says why a training that held-out distances judge has come to its end; empty for others.
func ended(p *problem.Problem, t *train.Trainer[float32]) string {
	s := t.State
	if !p.Train.HeldOut() || !t.Done() || s.Judged == nil {
		return ""
	}
	j := s.Judged
	if j.Verdict != nil {
		return j.Verdict.String()
	}
	by := fmt.Sprintf("all %d epochs were trained", s.Epoch)
	if s.Budget > 0 {
		by = "the budget is spent"
	}
	by += ": the " + train.Judge(p.Train.ByLoss())
	switch {
	case len(j.Measures) < 2:
		return by + " was measured only once, which does not tell whether more epochs help"
	case j.Risen > 0 && p.Train.ByLoss():
		return fmt.Sprintf("%s has not fallen since epoch %d, while that of training rows did: more epochs on the "+
			"same rows do not help", by, j.Low)
	case j.Risen > 0:
		return fmt.Sprintf("%s has risen since epoch %d: more epochs on the same rows do not help", by, j.Low)
	case j.Low == s.Epoch:
		return by + " is the lowest at the end: more epochs may help"
	}
	return fmt.Sprintf("%s has not fallen since epoch %d, and not risen by more than its noise", by, j.Low)
}

// stopwatch counts the seconds of a call, and those that its evaluations and its held-out distances took.
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

// within returns a context that ends when a budget is spent; 0: there is none.
func (w *stopwatch) within(ctx context.Context, budget float64) context.Context {
	if budget == 0 {
		return ctx
	}
	return limited{ctx, func() bool { return w.spent() >= budget }}
}

// cost returns what a training took until now; nil of one that an earlier version began, which did not count it.
func (w *stopwatch) cost(s train.State) *train.Cost {
	if s.Trained < s.Epoch {
		return nil
	}
	return &train.Cost{Epochs: s.Trained, Seconds: w.spent()}
}

// reading returns the clocks of a training.
func (w *stopwatch) reading(s train.State) train.Reading {
	return train.Reading{All: w.spent(), Simulated: s.Simulated, Evaluated: w.evaluated, Judged: w.judged,
		Prepared: s.Prepared}
}

// pace begins to time epochs, where there is a budget.
func (t *training) pace() {
	if s := t.trainer.State; s.Budget > 0 {
		k := t.run.Problem.Train
		t.pacer = train.NewPacer(s.Budget, k.Refresh, k.EvaluateEvery, k.Config(0, 0).Epochs, s.Epoch,
			t.watch.reading(s))
	}
}

// paced lets the clock decide, after an epoch, how many there are.
func (t *training) paced() error {
	if t.pacer == nil {
		return nil
	}
	t.pacer.Epoch(t.trainer.State.Epoch, t.watch.reading(t.trainer.State))
	d, due := t.trainer.Pace(t.pacer)
	if !due {
		return nil
	}
	start := t.watch.now()
	err := t.decided(d)
	t.pacer.Paused(t.watch.now().Sub(start).Seconds())
	return err
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

// decided records what a clock decided: first in a checkpoint, from which a training that is stopped goes on by it.
func (t *training) decided(d train.Decision) error {
	if err := t.save(); err != nil {
		return err
	}
	tell(t.observer.Clock, d)
	return t.publish()
}

// Extend returns the run as it goes on from its newest checkpoint, or from the one named, with settings
// (problem.Problem.Extend); Train then does. The manifest notes them, with command, and the checkpoint stays when later
// ones come. The caller holds the lock. Errors are *problem.KeyError and those of the folder.
func (r *Run) Extend(settings problem.Settings, checkpoint string, command []string) (*Run, error) {
	p, x, err := r.Problem.Extend(settings)
	if err != nil {
		return nil, err
	}
	if _, err := p.Build(); err != nil {
		return nil, err
	}
	names, err := r.Folder.Checkpoints().Names()
	if err != nil {
		return nil, err
	}
	var state train.State
	if checkpoint == "" && len(names) > 0 {
		checkpoint = names[len(names)-1]
	}
	if checkpoint != "" {
		if _, err := r.Folder.Checkpoints().Load(checkpoint, r.Config, &state); err != nil {
			return nil, err
		}
		if err := r.Folder.Checkpoints().Keep(checkpoint); err != nil {
			return nil, err
		}
	}
	if n := p.Train.Epochs; x.Longer && n > 0 && n <= state.Epoch {
		return nil, &problem.KeyError{Origin: "--set", Key: problem.KeyTrainEpochs, Value: n,
			Want: fmt.Sprintf("more than the %d that are trained", state.Epoch)}
	}
	if err := r.Folder.AmendManifest(func(m *run.Manifest) {
		m.Extensions = append(m.Extensions, run.Extension{Settings: settings.Texts(), After: state.Epoch,
			Checkpoint: checkpoint, Created: time.Now().UTC().Round(time.Second), Command: command, Clock: m.Clock})
		m.Clock = nil
	}); err != nil {
		return nil, err
	}
	l, q := *r.Loaded, *r
	l.Problem, q.Loaded = p, &l
	return &q, nil
}

// extend takes up the extensions of the manifest that the trainer's state does not know.
func (t *training) extend() error {
	m, err := t.run.Folder.Manifest()
	if err != nil {
		return err
	}
	for t.trainer.State.Extended < len(m.Extensions) {
		settings := problem.ParseSettings(m.Extensions[t.trainer.State.Extended].Settings...)
		_, x, err := t.run.Problem.Extend(settings)
		if err != nil {
			return err
		}
		if x.Longer {
			t.trainer.Extend(x.Seconds)
		} else {
			t.trainer.State.Extended++
		}
	}
	return nil
}

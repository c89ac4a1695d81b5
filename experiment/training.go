package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/learn/train"
)

// Observer hears how training goes; any field may be nil.
type Observer struct {
	// Resume point: the epoch after which training continues, at the beginning and where a verdict goes back. Records
	// of later epochs come again. −1: all records come again.
	From       func(epoch int)
	Record     func(run.Record)      // a line of metrics.jsonl that is new
	Doing      func(what string)     // that is done next, before the first epoch of this call and after the last
	Mixing     func(steps, most int) // chains for a uniform prior are at it
	Prior      func(Prior)           // a uniform prior was made by them
	Begin      func(epochs int)      // that it will have; 0: a clock or held-out distances will decide
	Epoch      func(train.Epoch)
	Clock      func(train.Decision)
	Evaluation func(judge.Progress)
	HeldOut    func(m train.Measured, fault string) // fault: why there are no samples
	Verdict    func(train.Verdict)                  // held-out distances end the training
	Checkpoint func(epoch int)
}

// tell calls f unless it is nil.
func tell[T any](f func(T), v T) {
	if f != nil {
		f(v)
	}
}

// training is one call of Train.
type training struct {
	run      *Run
	prior    *Prior // once made
	trainer  *train.Trainer[float32]
	source   method.Source[float32] // of the trainer
	observer Observer
	fresh    bool      // there is no checkpoint yet
	saved    time.Time // of the last checkpoint
	watch    stopwatch
	pacer    *train.Pacer         // of a budget; nil without one
	unsaved  bool                 // the trainer's state is sound and newer than the last checkpoint
	judgedTo *metric.EnergyTo     // validation rows, once they are held against samples
	held     *train.Held[float32] // or whose losses are looked at
	told     int                  // epochs that the observer knows of
}

// Train trains to the end, from the newest checkpoint (or the one named) if there is one. However it ends, status.json
// says so; and unless the epoch itself broke down, a checkpoint holds all that was trained. When ctx is done the error
// is the context's.
func (r *Run) Train(ctx context.Context, checkpoint string, o Observer) error {
	t, err := restore(r, checkpoint)
	if err != nil {
		return err
	}
	t.observer = o
	if r.Group != nil {
		if err := t.assign(); err != nil {
			return err
		}
	}
	if err := t.attach(); err != nil {
		return err
	}
	tell(o.From, t.lastKept())
	defer func() { // of a panic: the trainer is in no known state, and is not saved
		if v := recover(); v != nil {
			_ = t.status("failed", fmt.Sprintf("internal error: %v", v))
			panic(v)
		}
	}()
	err = t.end(t.loop(ctx))
	t.trainer.Leave()
	endTraining(r.Group) // not after a panic: the others are anywhere
	return err
}

// attach has the run's engine train the network, if there is one.
func (t *training) attach() error {
	if t.run.Engine == nil {
		return nil
	}
	n, err := t.run.describe()
	if err != nil {
		return err
	}
	return t.trainer.By(t.run.Engine, t.run.Folder.Dir, n)
}

// MakeRows makes the rows of the run's engine, which is of rank 1 or higher.
func (r *Run) MakeRows(ctx context.Context) error {
	t := &training{run: r}
	model, err := r.model()
	if err != nil {
		return err
	}
	t.trains(model)
	if err := t.attach(); err != nil {
		return err
	}
	return t.trainer.MakeRows(ctx)
}

// restore makes a trainer and puts it, and the folder's metrics, where the checkpoint left off.
func restore(r *Run, checkpoint string) (*training, error) {
	names, err := r.Folder.Checkpoints().Names()
	if err != nil {
		return nil, err
	}
	t := &training{run: r, watch: stopwatch{now: r.now}, fresh: len(names) == 0}
	if t.watch.now == nil {
		t.watch.now = clock(r.Problem.Train.Clock, r.Pool)
	}
	if t.fresh && checkpoint == "" {
		err = t.begin()
	} else {
		err = t.resume(checkpoint)
	}
	if err == nil {
		err = t.extend()
	}
	if err == nil && checkpoint != "" {
		err = r.Folder.Checkpoints().SetAside(checkpoint)
	}
	if err == nil {
		err = t.restoreMark()
	}
	if err != nil {
		return nil, err
	}
	again := due(t) // a held-out distance that a checkpoint does not know of
	return t, r.Folder.RewindMetrics(t.lastKept(), func(line run.Record) bool {
		return again && line.Kind == "held-out" && line.Epoch == t.trainer.State.Epoch
	})
}

// lastKept is the last epoch whose records stay; −1: none do, not even those of the beginning.
func (t *training) lastKept() int {
	if t.fresh {
		return -1
	}
	return t.trainer.State.Epoch
}

// record adds a line to metrics.jsonl, and gives it to the observer.
func (t *training) record(kind string, epoch int, data any) error {
	line, err := t.run.Folder.AppendMetric(kind, epoch, data)
	if err == nil {
		tell(t.observer.Record, line)
	}
	return err
}

func (t *training) begin() error {
	model, err := t.run.model()
	if err != nil {
		return err
	}
	t.trains(model)
	t.trainer.State.Budget = t.run.Problem.Train.MaxSeconds
	return nil
}

func (t *training) resume(checkpoint string) error {
	var state train.State
	arrays, err := t.run.Folder.Checkpoints().Load(checkpoint, t.run.Config, &state)
	if err != nil {
		return err
	}
	model, err := networks.New(t.run.network())
	if err != nil {
		return err
	}
	if model, err = train.WithConstants(model, arrays); err != nil {
		return err
	}
	t.trains(model)
	return t.trainer.Restore(arrays, state)
}

func (t *training) trains(m score.Model[float32]) {
	p := t.run.Problem
	t.source = t.run.Method.Source(t.run.Learned, t.run.Pool)
	t.trainer = train.New(p.Train.Config(p.Seed, p.Condition.Drop), t.source, m, t.run.Pool)
	if t.watch.now != nil { // other processes of MPI have no clock: the first one decides
		t.trainer.Now = t.watch.now
	}
}

// loop makes the prior and trains the epochs that are left, or those that the budget holds.
func (t *training) loop(ctx context.Context) error {
	t.watch.start, t.watch.before = t.watch.now(), t.trainer.State.Spent+t.run.loading.Seconds()
	was, err := t.run.Folder.Status()
	ended := err == nil && was.State == "trained" && t.trainer.Done()
	if err := t.status("training", ""); err != nil {
		return err
	}
	if err := t.publish(); err != nil { // for a process that was killed before it did
		return err
	}
	t.told = t.epochs()
	tell(t.observer.Begin, t.told)
	err = t.train(ctx)
	if train.Interrupted(err) && ctx.Err() == nil {
		if err = t.exhausted(); err == nil {
			err = t.heldOut(ctx)
		}
	}
	if err != nil || ended {
		return err
	}
	return t.renew(ctx)
}

func (t *training) train(ctx context.Context) error {
	if t.trainer.Done() && !due(t) {
		return nil
	}
	within := t.watch.within(ctx, t.trainer.State.Budget)
	if err := t.arrive(within); err != nil {
		return err
	}
	if t.run.Problem.Train.ByLoss() && t.held == nil {
		tell(t.observer.Doing, "simulating the paths of held-out rows")
	}
	if err := t.hold(within); err != nil {
		return err
	}
	tell(t.observer.Doing, "preparing the targets and simulating the first forward paths")
	t.saved = time.Now()
	t.pace()
	for {
		if err := t.heldOut(ctx); err != nil {
			return err
		}
		if t.trainer.Done() {
			return nil
		}
		if err := t.epoch(ctx); err != nil {
			return err
		}
	}
}

// epochs returns how many epochs the training will have; 0 if that is not known yet.
func (t *training) epochs() int {
	s, plan := t.trainer.State, t.trainer.Plan()
	open := t.run.Problem.Train.HeldOut() && (s.Judged == nil || s.Judged.Verdict == nil) &&
		!plan.Falling(s.Epoch) && s.Epoch < plan.Epochs
	if s.Budget > 0 && s.Plan == nil || open {
		return 0
	}
	return plan.Epochs
}

// end leaves the last checkpoint and the last status; err is that of run.
func (t *training) end(err error) error {
	if err != nil && t.unsaved {
		switch e := t.save(); {
		case e != nil && train.Interrupted(err): // not all is kept
			err = e
		case e != nil:
			err = errors.Join(err, e)
		}
	}
	state, message := "trained", ""
	switch {
	case train.Interrupted(err):
		state = "interrupted"
	case err != nil:
		state, message = "failed", err.Error()
	}
	if e := t.status(state, message); e != nil {
		return errors.Join(e, err)
	}
	return err
}

// epoch trains one epoch, records it, evaluates and saves where it is time to.
func (t *training) epoch(ctx context.Context) error {
	epoch, err := t.trainer.Epoch(t.watch.within(ctx, t.trainer.State.Budget))
	t.unsaved = err == nil || train.Interrupted(err)
	if err != nil {
		return err
	}
	if err := t.record("epoch", epoch.Epoch, epoch); err != nil {
		return err
	}
	tell(t.observer.Epoch, epoch)
	if every := t.run.Problem.Train.EvaluateEvery; every > 0 && epoch.Epoch%every == 0 {
		start := t.watch.now()
		if err := t.evaluate(ctx); err != nil && !train.Interrupted(err) { // the next epoch sees the interruption
			return err
		}
		t.watch.evaluated += t.watch.now().Sub(start).Seconds()
	}
	if err := t.paced(); err != nil {
		return err
	}
	if n := t.epochs(); t.told == 0 && n > 0 { // now it is known
		t.told = n
		tell(t.observer.Begin, n)
	}
	if due(t) { // which saves
		return nil
	}
	// The first epoch is saved at once.
	if t.trainer.Done() || t.fresh || time.Since(t.saved).Seconds() >= t.run.Problem.Train.CheckpointEvery {
		if err := t.save(); err != nil {
			return err
		}
		return t.status("training", "")
	}
	return nil
}

// arrive makes the prior before any training, so that chains that do not mix are known at once, and keeps its states in
// the folder, if they are not too many: samples can then be drawn without the data. A fresh run records how far chains
// came in its metrics. Forward paths that fail or break down are those of training too, which says so.
func (t *training) arrive(ctx context.Context) error {
	file := t.run.priorFile()
	if file == run.EndsFile && t.run.Folder.Free(file) == nil {
		tell(t.observer.Doing, fmt.Sprintf("simulating %d forward paths: samples begin where they end",
			priorPaths(t.run.Loaded)))
	}
	prior, err := t.run.Prior(ctx, t.observer.Mixing)
	if err != nil && file == run.EndsFile && !train.Interrupted(err) && fault.KindOf(err) != fault.Run {
		return nil
	}
	if err != nil {
		return err
	}
	t.prior = prior
	if m := prior.Mixing; m != nil {
		tell(t.observer.Prior, *prior)
		if !t.fresh {
			return nil
		}
		if err := t.record("prior", 0, *m); err != nil {
			return err
		}
	}
	states := prior.states()
	if file == "" || file == run.EndsFile && len(states) > maxKept || t.run.Folder.Free(file) != nil {
		return nil
	}
	return saveStates(t.run.Folder, file, states, t.run.Process.Set.Dim())
}

// renewal is how many times the paths of training are those of renew at least.
const renewal = 8

// renew keeps the ends of a path from each row, where before the first epoch only a share of the rows had one
// (train.preparation), and where training had many times as many paths. In many dimensions a path does not forget at
// which row it began, so rows without a path would have no sample near. A call after an interruption makes up for it.
func (t *training) renew(ctx context.Context) error {
	l, d := t.run.Loaded, t.run.Data.D
	if !t.trainer.Done() || l.Problem.Train.Preparation == 0 || t.run.priorFile() != run.EndsFile {
		return nil
	}
	trained := t.source.Items() * t.trainer.State.Epoch / max(1, l.Problem.Train.Refresh)
	paths, prepared := min(len(l.Learned)/d, trained/renewal, maxKept/d), priorPaths(l)
	kept, err := readStates(t.run.Folder, run.EndsFile, d)
	if err != nil || kept == nil || paths <= prepared || len(kept) > prepared*d { // the last: it is done
		return err
	}
	if err := t.trainer.Fetch(); err != nil {
		return err
	}
	t.trainer.Leave()
	tell(t.observer.Doing, fmt.Sprintf("simulating %d forward paths: samples begin where they end", paths))
	prior, err := empiricalPrior(ctx, l, paths)
	if err != nil {
		if !train.Interrupted(err) && fault.KindOf(err) == fault.Check {
			tell(t.observer.Doing, fmt.Sprintf("samples begin where the first %d paths end: %v", prepared, err))
			return nil
		}
		return err
	}
	t.prior = prior
	over := &run.Folder{Dir: t.run.Folder.Dir, Force: true}
	return saveStates(over, run.EndsFile, prior.states(), d)
}

// evaluate records an evaluation. That all backward paths break down, as those of a
// network at the start of its training may, is recorded too: the training goes on.
func (t *training) evaluate(ctx context.Context) (err error) {
	if err := t.trainer.Fetch(); err != nil {
		return err
	}
	t.trainer.Leave()
	n := t.run.SampleCount()
	s, err := t.draw(ctx, n, 0, nil)
	if err != nil {
		return err
	}
	p := t.run.Reference().Progress(s, t.trainer.State)
	if err := t.record("evaluation", p.Epoch, p); err != nil {
		return err
	}
	tell(t.observer.Evaluation, p)
	return nil
}

// draw makes samples by the averaged weights, with a condition under that of some rows; nil: as the prior has it.
func (t *training) draw(ctx context.Context, n int, first uint64, rows []float64) (s *judge.Samples, err error) {
	if t.prior == nil {
		if t.prior, err = t.run.Prior(ctx, nil); err != nil {
			return nil, err
		}
	}
	prior := t.prior
	if c := t.run.Condition; c != nil && rows != nil {
		prior = prior.Under(c.Of(rows), 1)
	}
	d := NewDrawer(t.run.Loaded, &Trained{Model: t.trainer.Average()}, n)
	return d.Draw(ctx, prior, n, first, t.run.Problem.Seed, nil)
}

// save writes a checkpoint. It is tried once for each state.
func (t *training) save() error {
	t.unsaved = false
	if err := t.trainer.Fetch(); err != nil {
		return err
	}
	t.trainer.State.Spent = t.watch.spent()
	state := t.trainer.State
	if err := t.run.Folder.Checkpoints().Save(state.Updates, t.trainer.Snapshot(), state, t.run.Config); err != nil {
		return err
	}
	t.saved, t.fresh = time.Now(), false
	tell(t.observer.Checkpoint, state.Epoch)
	return nil
}

func (t *training) status(state, message string) error {
	s := run.Status{State: state, Epoch: t.trainer.State.Epoch, Epochs: t.epochs(), Message: message,
		Stopped: ended(t.run.Problem, t.trainer), Trained: t.watch.cost(t.trainer.State)}
	if j := t.trainer.State.Judged; j != nil && j.Chosen > 0 {
		s.Checkpoint = run.CheckpointName(j.ChosenUpdates)
	}
	return t.run.Folder.SetStatus(s)
}

// LastEpoch returns the last recorded epoch of a run; its Epoch is 0 if there is none.
func LastEpoch(f *run.Folder) (train.Epoch, error) {
	records, err := f.Metrics()
	epochs := run.Decode[train.Epoch](records, "epoch")
	if err != nil || len(epochs) == 0 {
		return train.Epoch{}, err
	}
	return epochs[len(epochs)-1], nil
}

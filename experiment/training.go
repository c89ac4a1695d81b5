package experiment

import (
	"context"
	"errors"
	"time"

	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/train"
)

// Observer hears how training goes; any field may be nil.
type Observer struct {
	Mixing     func(steps, most int) // chains for a uniform prior are at it
	Prior      func(Mixing)          // a uniform prior was made by them
	Epoch      func(train.Epoch)
	Evaluation func(Progress)
	Checkpoint func(epoch int)
}

// Progress is an evaluation in the course of training.
type Progress struct {
	Epoch     int          `json:"epoch"`
	Seconds   float64      `json:"seconds"`   // trained, without evaluations
	JSD       metric.Float `json:"jsd"`       // against the full set; null where it is not defined
	Violation metric.Float `json:"violation"` // null if no sample was left
	Failed    int          `json:"failed"`
	Fault     string       `json:"fault,omitempty"` // why there are no samples: the simulation broke down
}

// training is one call of Train.
type training struct {
	*Experiment
	trainer  *train.Trainer[float32]
	observer Observer
	fresh    bool      // there is no checkpoint yet
	saved    time.Time // of the last checkpoint
	unsaved  bool      // the trainer's state is sound and newer than the last checkpoint
}

// Train trains to the end, from the newest checkpoint (or the one named) if
// there is one. However it ends, status.json says so; and unless the epoch itself
// broke down, a checkpoint holds all that was trained. When ctx is done the error
// is the context's.
func (e *Experiment) Train(ctx context.Context, checkpoint string, o Observer) error {
	r, err := e.restore(checkpoint)
	if err != nil {
		return err
	}
	r.observer = o
	return r.end(r.run(ctx))
}

// restore makes a trainer and puts it, and the folder's metrics, where the
// checkpoint left off.
func (e *Experiment) restore(checkpoint string) (*training, error) {
	model, err := e.model()
	if err != nil {
		return nil, err
	}
	r := &training{Experiment: e, trainer: train.New(e.Problem.TrainConfig(), e.method().Source(e.train, e.Pool), model, e.Pool)}
	names, err := e.Folder.Checkpoints()
	if err != nil {
		return nil, err
	}
	if r.fresh = len(names) == 0; !r.fresh || checkpoint != "" {
		var state train.State
		arrays, err := e.Folder.LoadCheckpoint(checkpoint, e.config, &state)
		if err != nil {
			return nil, err
		}
		if err := r.trainer.Restore(arrays, state); err != nil {
			return nil, err
		}
	}
	if checkpoint != "" {
		if err := e.Folder.SetAside(checkpoint); err != nil {
			return nil, err
		}
	}
	return r, e.Folder.RewindMetrics(r.trainer.State.Epoch)
}

// run makes the prior and trains the epochs that are left.
func (r *training) run(ctx context.Context) error {
	if err := r.status("training", ""); err != nil {
		return err
	}
	if err := r.arrive(ctx, r.observer, r.fresh); err != nil {
		return err
	}
	r.saved = time.Now()
	for !r.trainer.Done() {
		if err := r.epoch(ctx); err != nil {
			return err
		}
	}
	return nil
}

// end leaves the last checkpoint and the last status; err is that of run.
func (r *training) end(err error) error {
	if err != nil && r.unsaved {
		switch e := r.save(); {
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
	if e := r.status(state, message); e != nil {
		return errors.Join(e, err)
	}
	return err
}

// epoch trains one epoch, records it, evaluates and saves where it is time to.
func (r *training) epoch(ctx context.Context) error {
	epoch, err := r.trainer.Epoch(ctx)
	r.unsaved = err == nil || train.Interrupted(err)
	if err != nil {
		return err
	}
	if err := r.Folder.AppendMetric("epoch", epoch.Epoch, epoch); err != nil {
		return err
	}
	if r.observer.Epoch != nil {
		r.observer.Epoch(epoch)
	}
	if every := r.Problem.Train.EvaluateEvery; every > 0 && epoch.Epoch%every == 0 {
		if err := r.evaluate(ctx); err != nil && !train.Interrupted(err) { // the next epoch sees the interruption
			return err
		}
	}
	// The first epoch is saved at once.
	if r.trainer.Done() || r.fresh || time.Since(r.saved).Seconds() >= r.Problem.Train.CheckpointEvery {
		if err := r.save(); err != nil {
			return err
		}
		return r.status("training", "")
	}
	return nil
}

// evaluate records an evaluation. Backward paths that break down, as those of a
// network at the start of its training may, are recorded too: the training goes on.
func (r *training) evaluate(ctx context.Context) error {
	p := Progress{Epoch: r.trainer.State.Epoch, Seconds: r.trainer.State.Seconds, JSD: metric.NaN, Violation: metric.NaN}
	s, err := r.generate(ctx, r.trainer.Average(), r.SampleCount(), 0, r.Problem.Seed, nil)
	var diverged *langevin.DivergedError
	switch {
	case errors.As(err, &diverged) && diverged.Direction == "backward":
		p.Fault = err.Error()
	case err != nil:
		return err
	default:
		r.score(&p, s)
	}
	if err := r.Folder.AppendMetric("evaluation", p.Epoch, p); err != nil {
		return err
	}
	if r.observer.Evaluation != nil {
		r.observer.Evaluation(p)
	}
	return nil
}

// score fills in what the samples that are left say.
func (e *Experiment) score(p *Progress, s *Samples) {
	p.Failed = s.Failed()
	good := s.Good()
	if len(good) == 0 {
		return
	}
	if h := e.histogram; h != nil {
		p.JSD = metric.Float(h.distance(h.marks(good), h.full))
	}
	p.Violation = worstOf(e.violations(good)).Worst
}

// save writes a checkpoint. It is tried once for each state.
func (r *training) save() error {
	r.unsaved = false
	t := r.trainer
	if err := r.Folder.SaveCheckpoint(t.State.Updates, t.Snapshot(), t.State, r.config); err != nil {
		return err
	}
	r.saved, r.fresh = time.Now(), false
	if r.observer.Checkpoint != nil {
		r.observer.Checkpoint(t.State.Epoch)
	}
	return nil
}

func (r *training) status(state, message string) error {
	return r.Folder.SetStatus(run.Status{State: state, Epoch: r.trainer.State.Epoch, Epochs: r.Problem.Train.Epochs, Message: message})
}

// LastEpoch returns the last recorded epoch of the run; its Epoch is 0 if there
// is none.
func (e *Experiment) LastEpoch() (train.Epoch, error) {
	records, err := e.Folder.Metrics()
	epochs, _ := decode(records)
	if err != nil || len(epochs) == 0 {
		return train.Epoch{}, err
	}
	return epochs[len(epochs)-1], nil
}

package experiment

import (
	"errors"
	"sync"

	"github.com/landing-diffusion/landing/base/superpose"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// Trained is a model, whose parameters stay as they are, and the state of the training that it
// is from.
type Trained struct {
	Model score.Model[float32]
	State train.State

	once sync.Once
	pack score.Packed[float32]
}

// packed returns the model packed for Forward: once, for all calls that draw samples.
func (t *Trained) packed() score.Packed[float32] {
	t.once.Do(func() { t.pack = t.Model.Pack(false) })
	return t.pack
}

// Trained returns the averaged model of a checkpoint: of the one named; or of the one that
// held-out distances chose; or of the newest.
func (r *Run) Trained(checkpoint string) (*Trained, error) {
	var state train.State
	arrays, err := r.Folder.LoadCheckpoint(checkpoint, r.Config, &state)
	if err != nil {
		return nil, err
	}
	if j := state.Judged; checkpoint == "" && j != nil && j.Chosen > 0 && j.ChosenUpdates != state.Updates {
		state = train.State{}
		arrays, err = r.Folder.LoadCheckpoint(run.CheckpointName(j.ChosenUpdates), r.Config, &state)
		if err != nil {
			return nil, err
		}
	}
	if state.Updates == 0 {
		return nil, fault.Errorf(fault.Run, r.Folder.Dir, "nothing was trained yet: its weights are "+
			"those that the network began with; landing train goes on")
	}
	model, err := networks.New(r.network())
	if err != nil {
		return nil, err
	}
	if model, err = train.Load(model, arrays, state); err != nil {
		return nil, err
	}
	return &Trained{Model: model, State: state}, nil
}

// network describes the problem's network, but for what it takes from data.
func (l *Loaded) network() score.Config {
	c := l.Problem.NetworkConfig(l.Method, l.Process.Set)
	if l.Condition != nil {
		c.Given = l.Condition.Read
	}
	return c
}

// model returns an untrained network of the problem.
func (l *Loaded) model() (score.Model[float32], error) {
	c, err := prepared(l.network(), l.Problem, l.Process, l.Data, l.Split.Train)
	if err != nil {
		return nil, err
	}
	return networks.New(c)
}

// prepared returns c with what the network takes from the problem and from the rows of the
// data with these numbers. Errors are *problem.KeyError and *DataError.
func prepared(c score.Config, p *problem.Problem, proc *langevin.Process, data *dataset.Points,
	rows []int) (score.Config, error) {
	if networks.Refers(c.Kind) {
		if what := fixed(proc, data.X); what != "" {
			return c, &problem.KeyError{Key: problem.KeyNetworkKind, Value: c.Kind,
				Want: "mlp: this network does not see how points lie in space, and " + what + " does"}
		}
	}
	var err error
	if c.Reference, err = p.Reference(c.Dim); err != nil {
		return c, err
	}
	c, err = networks.Prepare(c, data.Rows(rows))
	var degenerate *superpose.DegenerateError
	if errors.As(err, &degenerate) {
		degenerate.Frame = rows[degenerate.Frame]
	}
	if err != nil {
		return c, &DataError{dataName(p, data), err.Error()}
	}
	return c, nil
}

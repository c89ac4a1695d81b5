package experiment

import (
	"errors"
	"fmt"
	"sync"

	"github.com/landing-diffusion/landing/base/superpose"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/onnx"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// Trained is a model, whose parameters stay as they are, and the state of the training that it is from.
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
			"those that the network began with; landing train continues")
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

func (l *Loaded) model() (score.Model[float32], error) {
	c, err := prepared(l.network(), l.Problem, l.Process, l.Data, l.Data.Rows(l.Split.Train), l.Split.Train)
	if err != nil {
		return nil, err
	}
	return networks.New(c)
}

// prepared returns c with what the network takes from the problem and from the rows of the
// data with these numbers. Errors are *problem.KeyError and those of data.
func prepared(c score.Config, p *problem.Problem, proc *langevin.Process, data *dataset.Points, train []float64,
	rows []int) (score.Config, error) {
	if networks.Refers(c.Kind) {
		free, x := *proc, data.X
		if c.Held > 0 {
			given := Condition{At: c.Dim - c.Held, Names: make([]string, c.Held)}
			free.Set, x = constraint.At(proc.Set, given.Of(x)[:c.Held]), given.points(x)
		}
		if what := fixed(&free, x); what != "" {
			return c, &problem.KeyError{Key: problem.KeyNetworkKind, Value: c.Kind,
				Want: "mlp: this network does not see how points lie in space, and " + what + " does"}
		}
	}
	var err error
	if c.Reference, err = p.Reference(c.Dim - c.Held); err != nil {
		return c, err
	}
	c, err = networks.Prepare(c, train)
	var degenerate *superpose.DegenerateError
	if errors.As(err, &degenerate) {
		degenerate.Frame = rows[degenerate.Frame]
	}
	if err != nil {
		return c, badData(dataName(p, data), "%v", err)
	}
	return c, nil
}

// Graph returns the score of a network of the run as a graph of ONNX's operators, with inputs and output of
// type wide. The error is a *score.GraphError, with the kind of the network.
func Graph(r *Run, t *Trained, wide onnx.Type) (*onnx.Graph, error) {
	g, err := score.Graph(t.Model, r.Method.Momentum(), Times(r), wide)
	if e := new(score.GraphError); errors.As(err, &e) {
		k, _ := networks.Of(r.Problem.Network.Kind)
		return nil, fmt.Errorf("network.kind is %s: %w", k.Name, err)
	}
	return g, err
}

// Times are those at which the run's method asks for scores.
func Times(r *Run) score.Times {
	s := r.Process.Schedule
	if end := r.Method.Capabilities().Horizon; end > 0 {
		s.T = end
	}
	return score.Times{Step: s.Dt(), N: s.N}
}

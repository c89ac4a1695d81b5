package experiment

import (
	"github.com/landing-diffusion/landing/score"
	"github.com/landing-diffusion/landing/score/networks"
	"github.com/landing-diffusion/landing/train"
)

// Trained is a model, and the state of the training that it is from.
type Trained struct {
	Model score.Model[float32]
	State train.State
}

// Trained returns the averaged model of the newest checkpoint, or of the one named.
func (r *Run) Trained(checkpoint string) (*Trained, error) {
	var state train.State
	arrays, err := r.Folder.LoadCheckpoint(checkpoint, r.config, &state)
	if err != nil {
		return nil, err
	}
	model, err := r.model()
	if err != nil {
		return nil, err
	}
	if model, err = train.Load(model, arrays, state); err != nil {
		return nil, err
	}
	return &Trained{model, state}, nil
}

// model returns an untrained network of the problem.
func (l *Loaded) model() (score.Model[float32], error) {
	return networks.New(l.Problem.NetworkConfig(l.Method, l.Process.Set.Dim()))
}

package experiment

import (
	"errors"
	"fmt"

	"github.com/landing-diffusion/landing/onnx"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/score"
	"github.com/landing-diffusion/landing/score/networks"
)

// Graph returns the score of a network of the run as a graph of ONNX's operators, with inputs and output of
// type wide. The error is a *score.GraphError, with the kind of the network.
func (r *Run) Graph(t *Trained, wide onnx.Type) (*onnx.Graph, error) {
	g, err := score.Graph(t.Model, r.Method.Momentum(), r.Times(), wide)
	if e := new(score.GraphError); errors.As(err, &e) {
		k, _ := networks.Of(r.Problem.Network.Kind)
		return nil, fmt.Errorf("network.kind is %s: %w", k.Name, err)
	}
	return g, err
}

// Times are those at which the run's method asks for scores.
func (r *Run) Times() score.Times {
	s := r.Process.Schedule
	if end := r.Method.Capabilities().Horizon; end > 0 {
		s.T = end
	}
	return score.Times{Step: s.Dt(), N: s.N}
}

// ConfigHash returns the SHA-256 of the run's config.yaml, which tells runs apart.
func (r *Run) ConfigHash() string { return r.config }

// WeightsHash returns the SHA-256 of the file of the weights of a network of the run.
func (r *Run) WeightsHash(t *Trained) (string, error) {
	return r.Folder.WeightsHash(run.CheckpointName(t.State.Updates))
}

// KeepsRow reports whether the network holds a row of the training data: the conformation that it lays points
// on, where the problem names no file of one.
func (r *Run) KeepsRow() bool {
	return networks.Refers(r.Problem.Network.Kind) && r.Problem.Network.Reference == ""
}

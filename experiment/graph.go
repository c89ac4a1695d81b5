package experiment

import (
	"errors"
	"fmt"

	"github.com/landing-diffusion/landing/internal/onnx"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
)

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

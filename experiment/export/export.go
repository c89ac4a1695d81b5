// Package export writes what a run learned as files that other programs read: the score as an ONNX model, as a
// PyTorch module, and as a folder for a model hub; its metrics, violations and figures as events for TensorBoard,
// those of a training also while it goes (Board).
//
// What models hold is the score s_θ(x, p̃, t), network and reading together. Neither Σ nor the process is in
// them: samples are drawn by package experiment. Nothing but a Board changes a run folder.
package export

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/onnx"
	"github.com/landing-diffusion/landing/learn/score/networks"
)

// A Source is a network of a run.
type Source struct {
	Run     *experiment.Run
	Trained *experiment.Trained
	Licence string // of the weights, an SPDX identifier or a name; "" says none
	Narrow  bool   // inputs, reading and score in float32 and not in float64
}

func (s *Source) properties() ([]onnx.Property, error) {
	weights, err := s.Run.Folder.WeightsHash(run.CheckpointName(s.Trained.State.Updates))
	if err != nil {
		return nil, err
	}
	r, times := s.Run, experiment.Times(s.Run)
	list := []onnx.Property{
		{Key: "landing.version", Value: run.Version()},
		{Key: "landing.run", Value: r.Config},
		{Key: "landing.weights", Value: weights},
		{Key: "landing.epoch", Value: strconv.Itoa(s.Trained.State.Epoch)},
		{Key: "landing.problem", Value: r.Problem.Name},
		{Key: "landing.method", Value: r.Method.Name()},
		{Key: "landing.network", Value: s.network()},
		{Key: "landing.precision", Value: r.Problem.Train.Precision},
		{Key: "landing.times", Value: fmt.Sprintf("%d steps of %v", times.N, times.Step)},
		{Key: "license", Value: s.Licence},
	}
	for i := range list {
		list[i].Value = strings.ToValidUTF8(list[i].Value, "\ufffd")
	}
	return list, nil
}

func (s *Source) network() string {
	k, _ := networks.Of(s.Run.Problem.Network.Kind)
	return k.Name
}

// graph returns the score as a graph that says what it is.
func (s *Source) graph() (*onnx.Graph, error) {
	wide := onnx.Double
	if s.Narrow {
		wide = onnx.Float
	}
	g, err := experiment.Graph(s.Run, s.Trained, wide)
	if err != nil {
		return nil, err
	}
	g.Doc = "Score of a diffusion model with samples on a feasible set: score(x, t), or score(x, p, t) with a " +
		"momentum p, at points x (n×d) and times t (n)."
	return g, nil
}

// ONNX returns the score as an ONNX model. Errors are those of experiment.Run.Graph, *onnx.TooLargeError and
// those of the file system.
func (s *Source) ONNX() ([]byte, error) {
	g, err := s.graph()
	if err != nil {
		return nil, err
	}
	list, err := s.properties()
	if err != nil {
		return nil, err
	}
	return g.Encode(run.Version(), list)
}

// Files are the contents of a folder by name.
type Files = map[string][]byte

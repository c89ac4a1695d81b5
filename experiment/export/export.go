// Package export writes what a run learned as files that other programs read: the score as an ONNX model, as a
// PyTorch module, and as a folder for a model hub.
//
// What models hold is the score s_θ(x, p̃, t), network and reading together. Neither Σ nor the process is in
// them: samples are drawn by package experiment. Nothing changes a run folder.
package export

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/onnx"
)

// A Source is a network of a run.
type Source struct {
	Run     *experiment.Run
	Trained *experiment.Trained
	Licence string // of the weights, an SPDX identifier or a name; "" says none
	Narrow  bool   // inputs, reading and score in float32 and not in float64
}

func (s *Source) properties() ([]onnx.Property, error) {
	weights, err := s.Run.Folder.Checkpoints().WeightsHash(run.CheckpointName(s.Trained.State.Updates))
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

func (s *Source) network() string { return s.Run.Problem.NetworkKind.Name }

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

// ONNX returns the score as an ONNX model. Errors are those of experiment.Run.Graph, that of a file too large and
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

// Names of the files of Torch.
const (
	TensorsFile = "model.safetensors"
	GraphFile   = "graph.json"
	LoaderFile  = "score.py"
)

// loader is a PyTorch module that computes a graph.
//
//go:embed score.py
var loader []byte

// Loader returns the text of LoaderFile.
func Loader() string { return string(loader) }

// Torch returns the score as a folder for PyTorch: its numbers as safetensors, parameters by their names in
// checkpoints, its graph as JSON, and a module that computes it. Errors are those of ONNX.
func (s *Source) Torch() (Files, error) {
	g, err := s.graph()
	if err != nil {
		return nil, err
	}
	properties, err := s.properties()
	if err != nil {
		return nil, err
	}
	metadata := map[string]string{"format": "pt"}
	for _, p := range properties {
		metadata[p.Key] = p.Value
	}
	var tensors, text bytes.Buffer
	if err := arrayfile.EncodeSafetensors(&tensors, numbers(g), metadata); err != nil {
		return nil, err
	}
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(describe(g)); err != nil {
		return nil, err
	}
	return Files{TensorsFile: tensors.Bytes(), GraphFile: text.Bytes(), LoaderFile: loader}, nil
}

// numbers returns those of a graph: those of 64 bits first, so that all begin where their size wants it.
func numbers(g *onnx.Graph) (out []arrayfile.Named) {
	for _, wide := range []bool{true, false} {
		for _, t := range g.Tensors {
			if (t.Type() != onnx.Float) == wide {
				out = append(out, arrayfile.Named{Name: t.Name, Array: arrayfile.Array{Shape: t.Shape,
					Float32: t.Float32, Float64: t.Float64, Int64: t.Int64}})
			}
		}
	}
	return out
}

// graphJSON is GraphFile.
type graphJSON struct {
	Format     string     `json:"format"`
	Opset      int        `json:"opset"` // whose operators these are
	Inputs     []string   `json:"inputs"`
	Output     string     `json:"output"`
	Dtype      string     `json:"dtype"`      // of inputs and output
	Parameters []string   `json:"parameters"` // of the tensors, those that were learned
	Nodes      []nodeJSON `json:"nodes"`
}

type nodeJSON struct {
	Op    string         `json:"op"`
	In    []string       `json:"in"`
	Out   string         `json:"out"`
	Given map[string]any `json:"given,omitempty"`
}

func describe(g *onnx.Graph) graphJSON {
	out := graphJSON{Format: "landing-graph-1", Opset: onnx.Opset, Output: g.Outputs[0].Name, Dtype: "float64"}
	if g.Wide == onnx.Float {
		out.Dtype = "float32"
	}
	for _, p := range g.Inputs {
		out.Inputs = append(out.Inputs, p.Name)
	}
	for _, t := range g.Tensors {
		if t.Parameter != "" {
			out.Parameters = append(out.Parameters, t.Name)
		}
	}
	for _, n := range g.Nodes {
		given := map[string]any{}
		for _, a := range n.Attributes {
			if a.List == nil {
				given[a.Name] = a.Int
			} else {
				given[a.Name] = a.List
			}
		}
		out.Nodes = append(out.Nodes, nodeJSON{n.Op, n.In, n.Out, given})
	}
	return out
}

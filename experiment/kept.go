package experiment

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/train"
)

// A Kept is an evaluation as a run folder keeps it, and what it is of.
type Kept struct {
	Version string `json:"version"`       // of the program
	Config  string `json:"config_sha256"` // of config.yaml
	Updates int    `json:"updates"`       // of the network
	Seed    uint64 `json:"seed"`          // of the samples
	*Evaluation
	Fault string `json:"fault,omitempty"` // why samples are not what they should be: FailedError, ViolationError
}

// KeepEvaluation writes the evaluation of samples of a seed and of a network in a state to the run folder (Out), with
// the error that came with samples or evaluation, if one did.
func (r *Run) KeepEvaluation(v *Evaluation, state train.State, seed uint64, fault error) error {
	k := Kept{Version: run.Version(), Config: r.config, Updates: state.Updates, Seed: seed, Evaluation: v}
	if fault != nil {
		k.Fault = fault.Error()
	}
	return r.Folder.WriteJSON(r.Out(run.EvaluationFile), k)
}

// KeptEvaluation returns the evaluation that the folder keeps; nil if there is none. stale says why it is none of
// the run with its present weights; it is empty if it is.
func (r *Run) KeptEvaluation() (k *Kept, stale string, err error) {
	k = &Kept{Evaluation: &Evaluation{}}
	switch err := r.Folder.ReadJSON(r.Out(run.EvaluationFile), k); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", nil
	case err != nil:
		return nil, "", err
	}
	t, err := r.Trained("")
	if err != nil {
		return k, "", err
	}
	switch {
	case k.Config != r.config:
		stale = "it is of another problem"
	case k.Updates != t.State.Updates:
		stale = fmt.Sprintf("it is of weights after %d updates, the newest have %d", k.Updates, t.State.Updates)
	}
	return k, stale, nil
}

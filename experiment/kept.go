package experiment

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/learn/train"
)

// A Kept is an evaluation as a run folder keeps it, and what it is of.
type Kept struct {
	Version string `json:"version"`       // of the program
	Config  string `json:"config_sha256"` // of config.yaml
	Updates int    `json:"updates"`       // of the network
	Seed    uint64 `json:"seed"`          // of the samples
	*judge.Evaluation
	Fault string `json:"fault,omitempty"` // why samples are not what they should be: FailedError, ViolationError
}

// KeepEvaluation writes the evaluation of samples of a seed and of a network in a state to the run folder (Out), with
// the error that came with samples or evaluation, if one did.
func KeepEvaluation(r *Run, v *judge.Evaluation, state train.State, seed uint64, fault error) error {
	k := Kept{Version: run.Version(), Config: r.Config, Updates: state.Updates, Seed: seed, Evaluation: v}
	if fault != nil {
		k.Fault = fault.Error()
	}
	return r.Folder.WriteJSON(r.Out(run.EvaluationFile), k)
}

// Standing says what is known to be wrong with samples by weights of the run, a sentence each: that the training has
// not come to its end, and that the evaluation which the folder keeps found them bad.
func Standing(r *Run, t *Trained) (says []string) {
	var s run.Status
	if err := r.Folder.ReadJSON(run.StatusFile, &s); err == nil && s.State != "trained" && s.State != "" {
		state := s.State
		if state == "training" {
			state = "not finished"
		}
		says = append(says, fmt.Sprintf("the training is %s: these are weights of epoch %d", state, t.State.Epoch))
	}
	k := &Kept{Evaluation: &judge.Evaluation{}}
	if err := r.Folder.ReadJSON(r.Out(run.EvaluationFile), k); err != nil || k.Config != r.Config ||
		k.Updates != t.State.Updates || k.Verdict.Good {
		return says
	}
	if found := k.Verdict.Findings; len(found) > 0 {
		says = append(says, fmt.Sprintf("samples of these weights were found not good (%s); %s says what mends that",
			found[0].Code, r.Folder.Path(r.Out(run.ReportFile))))
	}
	return says
}

// KeptEvaluation returns the evaluation that the folder keeps; nil if there is none. stale says why it is none of
// the run with its present weights; it is empty if it is.
func KeptEvaluation(r *Run) (k *Kept, stale string, err error) {
	k = &Kept{Evaluation: &judge.Evaluation{}}
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
	case k.Config != r.Config:
		stale = "it is of another problem"
	case k.Updates != t.State.Updates:
		stale = fmt.Sprintf("it is of weights after %d updates, the newest have %d", k.Updates, t.State.Updates)
	}
	return k, stale, nil
}

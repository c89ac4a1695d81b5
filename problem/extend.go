package problem

import (
	"fmt"
	"maps"
	"strings"
)

// extendKeys are the keys with which a run can be gone on: how long, and what is done on the
// way. What was learned, and how, stays.
var extendKeys = []string{
	"train.epochs", "train.max_seconds", "train.anneal", "train.evaluate_every", "train.checkpoint_every",
	"train.max_failed", "mpi.exact",
}

// extendFaults say of other keys, by what they begin with, why a run does not go on with
// another value.
var extendFaults = []reason{
	{"train", "what was trained, was trained with it"},
	{"network", "the weights are those of this network"},
	{"prior", "it takes no training: --set of landing generate, eval and report"},
	{"uniform", "it takes no training: --set of landing generate, eval and report"},
	{"generate", "it takes no training: --set of landing generate, eval and report"},
}

// An Extension is what of the settings of Extend is new to the training.
type Extension struct {
	Longer  bool    // epochs or seconds were set
	Seconds float64 // the budget from there on; 0: none
}

// Extend returns the problem, which is that of a run, with settings of the form key=value for
// a training that goes on: epochs replace a budget, and a budget, which counts from there on,
// the epochs. Other keys are a *KeyError. Values are not checked: Build does that.
func (p *Problem) Extend(settings []string) (*Problem, Extension, error) {
	var x Extension
	q, err := Load(p.Resolved(), p.file, "", nil) // which shares nothing with p
	if err != nil {
		return nil, x, err
	}
	if key, why, err := q.only(settings, extendKeys, extendFaults, "the score was learned with it"); err != nil {
		return nil, x, err
	} else if key != "" {
		return nil, x, &KeyError{Origin: q.origin[key], Key: key, Fault: fmt.Sprintf("a run does not go on with "+
			"another value: %s. Keys that may change: %s", why, strings.Join(extendKeys, ", "))}
	}
	written := func(key string) bool { return q.origin[key] != "" }
	x.Longer = written("train.epochs") || written("train.max_seconds")
	switch {
	case !x.Longer && written("train.anneal"):
		return nil, x, &KeyError{Origin: q.origin["train.anneal"], Key: "train.anneal",
			Fault: "it says how the rate falls until the end; expected it with train.epochs or --for"}
	case !x.Longer:
	case !written("train.max_seconds"):
		q.Train.MaxSeconds = 0
	case !written("train.epochs"):
		q.Train.Epochs = 0
	}
	if x.Longer {
		x.Seconds = q.Train.MaxSeconds
	}
	origin := maps.Clone(p.origin)
	if origin == nil {
		origin = map[string]string{}
	}
	maps.Copy(origin, q.origin)
	q.origin = origin
	return q, x, nil
}

package problem

import (
	"fmt"
	"strings"
)

// extendKeys are the keys with which a run can be gone on: how long, and what is done on the
// way. What was learned, and how, stays.
var extendKeys = []string{
	KeyTrainEpochs, KeyTrainMaxSeconds, KeyTrainAnneal, "train.evaluate_every", "train.checkpoint_every",
	KeyTrainMaxFailed, "mpi.exact",
}

// extendFaults say of other keys, by what they begin with, why a run does not go on with another value.
var extendFaults = []reason{
	{"train", "what was trained, was trained with it"},
	{"network", "the weights are those of this network"},
	{KeyPrior, "it takes no training: --set of landing generate, eval and report"},
	{"uniform", "it takes no training: --set of landing generate, eval and report"},
	{"generate", "it takes no training: --set of landing generate, eval and report"},
}

// An Extension is what of the settings of Extend is new to the training.
type Extension struct {
	Longer  bool    // epochs or seconds were set
	Seconds float64 // the budget from there on; 0: none
}

// Extend returns the problem, which is that of a run, with settings for a training that goes on. Epochs replace a
// budget. A budget replaces the epochs, and counts from there on. Other keys are a *KeyError. Build checks the values.
func (p *Problem) Extend(settings Settings) (*Problem, Extension, error) {
	var x Extension
	q := trained(p)
	if key, why, err := settings.only(q, extendKeys, extendFaults, "the score was learned with it"); err != nil {
		return nil, x, err
	} else if key != "" {
		return nil, x, &KeyError{Origin: q.origin[key], Key: key, Fault: fmt.Sprintf("a run does not go on with "+
			"another value: %s. Keys that may change: %s", why, strings.Join(extendKeys, ", "))}
	}
	written := func(key string) bool { return q.origin[key] != "" }
	x.Longer = written(KeyTrainEpochs) || written(KeyTrainMaxSeconds)
	switch {
	case !x.Longer && written(KeyTrainAnneal):
		return nil, x, &KeyError{Origin: q.origin[KeyTrainAnneal], Key: KeyTrainAnneal,
			Fault: "it says how the rate falls until the end; expected it with train.epochs or --for"}
	case !x.Longer:
	case !written(KeyTrainMaxSeconds):
		q.Train.MaxSeconds = 0
	case !written(KeyTrainEpochs):
		q.Train.Epochs = 0
	}
	if x.Longer {
		x.Seconds = q.Train.MaxSeconds
	}
	q.origin = joined(p.origin, q.origin)
	return q, x, nil
}

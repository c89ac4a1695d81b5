package problem

import (
	"github.com/landing-diffusion/landing/choose"
	"github.com/landing-diffusion/landing/constraint"
)

// sequence gives points that are steps of a sequence, as their set says, other defaults: a network of convolutions
// over the steps, and what learns with it (docs/robots.md has both measured). Keys that are written stay, and with
// one of the MLP's, network.width or network.layers, everything does; so do run folders, which hold all keys.
// Lengths, the window and how far paths go, are of cosines and sines.
func (p *Problem) sequence(set constraint.Set) {
	if !p.Leaves() || set.Capabilities().Steps < 2 || !p.silent(KeyNetworkWidth) ||
		!p.silent(KeyNetworkLayers) || !p.silent(KeyNetworkKind) && p.Network.Kind != "temporal" {
		return
	}
	times := 16
	if !p.silent(KeyProcessSteps) {
		times = min(times, p.Process.Steps)
	}
	for _, d := range []struct {
		key   string
		value any
	}{
		{KeyNetworkKind, "temporal"}, {KeyNetworkTimeOctaves, 5}, {KeyNetworkOutput, "balanced"},
		{KeyProcessSteps, 100}, {KeyProcessHorizon, 0.2},
		{KeyTrainEpochs, 300}, {KeyTrainBatch, 80}, {KeyTrainRefresh, 20}, {KeyTrainTimesPerPath, times},
		{KeyTrainWindow, 0.1}, {KeyTrainOptimizer, "muon"}, {KeyTrainPrecision, "bfloat16"},
		{"train.learning_rate", 0.005}, {KeyTrainAnneal, 0.7},
	} {
		if d.key != KeyTrainEpochs || p.Train.Epochs > 0 { // else something else ends the training
			p.choose(choose.Choice{Key: d.key, Value: d.value, Reason: "points of the set are steps of a sequence"})
		}
	}
}

// Chosen are the keys whose values follow from the set, of a problem that was built.
func (p *Problem) Chosen() []choose.Choice { return p.chosen }

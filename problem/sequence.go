package problem

import (
	"github.com/landing-diffusion/landing/choose"
	"github.com/landing-diffusion/landing/constraint"
)

// sequence gives points that are steps of a sequence, as their set says, other defaults: a
// network of convolutions over the steps, and what learns with it (docs/robots.md has both
// measured). Keys that are written stay, and with one of the MLP's, network.width or
// network.layers, everything does; so do run folders, which hold all keys. Lengths, the window
// and how far paths go, are of cosines and sines.
func (p *Problem) sequence(set constraint.Set) {
	if !p.Leaves() || set.Capabilities().Steps < 2 || !p.silent("network.width") ||
		!p.silent("network.layers") || !p.silent("network.kind") && p.Network.Kind != "temporal" {
		return
	}
	times := 16
	if !p.silent("process.steps") {
		times = min(times, p.Process.Steps)
	}
	for _, d := range []struct {
		key   string
		value any
	}{
		{"network.kind", "temporal"}, {"network.time_octaves", 5}, {"network.output", "balanced"},
		{"process.steps", 100}, {"process.horizon", 0.2},
		{"train.epochs", 300}, {"train.batch", 80}, {"train.refresh", 20}, {"train.times_per_path", times},
		{"train.window", 0.1}, {"train.optimizer", "muon"}, {"train.precision", "bfloat16"},
		{"train.learning_rate", 0.005}, {"train.anneal", 0.7},
	} {
		if d.key != "train.epochs" || p.Train.Epochs > 0 { // else something else ends the training
			p.choose(choose.Choice{Key: d.key, Value: d.value, Reason: "points of the set are steps of a sequence"})
		}
	}
}

// Chosen are the keys whose values follow from the set, of a problem that was built.
func (p *Problem) Chosen() []choose.Choice { return p.chosen }

package problem

import (
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/run"
)

// sequence gives points that are steps of a sequence, as their set says, other defaults: a
// network of convolutions over the steps, and what learns with it (docs/robots.md has both
// measured). Keys that are written stay, and with one of the MLP's, network.width or
// network.layers, everything does; so do run folders, which hold all keys. Lengths, the window
// and how far paths go, are of cosines and sines.
func (p *Problem) sequence(set constraint.Set) {
	p.chosen = nil
	silent := func(key string) bool { return p.origin != nil && p.origin[key] == "" }
	if set.Capabilities().Steps < 2 || !silent("network.width") || !silent("network.layers") ||
		!silent("network.kind") && p.Network.Kind != "temporal" {
		return
	}
	n, t, q := &p.Network, &p.Train, &p.Process
	times := 16
	if !silent("process.steps") {
		times = min(times, q.Steps)
	}
	for _, d := range []struct {
		key   string
		to    any // a pointer
		value any
	}{
		{"network.kind", &n.Kind, "temporal"}, {"network.time_octaves", &n.TimeOctaves, 5},
		{"network.output", &n.Output, "balanced"},
		{"process.steps", &q.Steps, 100}, {"process.horizon", &q.Horizon, 0.2},
		{"train.epochs", &t.Epochs, 300}, {"train.batch", &t.Batch, 80}, {"train.refresh", &t.Refresh, 20},
		{"train.times_per_path", &t.TimesPerPath, times}, {"train.window", &t.Window, 0.1},
		{"train.optimizer", &t.Optimizer, "muon"}, {"train.precision", &t.Precision, "bfloat16"},
		{"train.learning_rate", &t.LearningRate, 0.005}, {"train.anneal", &t.Anneal, 0.7},
	} {
		if !silent(d.key) || d.key == "train.epochs" && t.Epochs == 0 { // something else ends the training
			continue
		}
		switch to := d.to.(type) {
		case *string:
			*to = d.value.(string)
		case *int:
			*to = d.value.(int)
		case *float64:
			*to = d.value.(float64)
		}
		p.chosen = append(p.chosen, run.Choice{Key: d.key, Value: d.value,
			Reason: "points of the set are steps of a sequence"})
	}
}

// Chosen are the keys whose values follow from the set, of a problem that was built.
func (p *Problem) Chosen() []run.Choice { return p.chosen }

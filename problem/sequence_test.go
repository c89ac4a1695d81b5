package problem

import (
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Of points that are steps of a sequence the defaults are those of the recipe
// arm; keys that are written stay, and where the MLP's are, or its name, all do. A run folder's
// problem, which has every key, is what it was.
func TestSequence(t *testing.T) {
	const arm = "name: x\nset: {kind: arm, robot: panda, waypoints: 4}\n"
	load := func(text, variant string, settings ...string) *Problem {
		t.Helper()
		p := testkit.Must(Load([]byte(text), "", variant, ParseSettings(settings...)))
		testkit.Must(p.Build())
		return p
	}
	recipe, _, err := Source("arm")
	testkit.OK(t, err)
	kind := "data.kind=trajectory"
	p, fast := load(arm, "", kind), load(string(recipe), "")
	want := fast.Train
	want.Plateau = p.Train.Plateau // which anneal leaves no time for
	if p.Train != want || p.Process.Steps != 100 || p.Process.Horizon != fast.Process.Horizon ||
		p.Process.Friction != fast.Process.Friction || p.Process.Sigma != fast.Process.Sigma ||
		p.Network.Kind != "temporal" || p.Network.TimeOctaves != fast.Network.TimeOctaves ||
		p.Network.Output != fast.Network.Output {
		t.Errorf("%+v\n%+v\n%+v", p.Process, p.Network, p.Train)
	}
	if c := p.Chosen(); len(c) != 14 || c[0].Key != "network.kind" || c[0].Value != "temporal" || c[0].Reason == "" {
		t.Errorf("chosen: %+v", c)
	}
	again := load(string(p.Resolved()), "")
	if string(again.Resolved()) != string(p.Resolved()) || again.Chosen() != nil {
		t.Errorf("the resolved form is another problem: %s", again.Resolved())
	}
	if q := load(arm, "", kind, "train.epochs=7", "process.steps=9", "train.optimizer=adam"); q.Train.Epochs != 7 ||
		q.Process.Steps != 9 || q.Train.TimesPerPath != 9 || q.Train.Optimizer != "adam" || q.Train.Window != 0.1 ||
		len(q.Chosen()) != 11 {
		t.Errorf("%+v %+v", q.Train, q.Chosen())
	}
	if q := load(arm, "", kind, "network={kind: temporal, options: {channels: 8}}"); q.Train.Optimizer != "muon" ||
		len(q.Chosen()) != 13 {
		t.Errorf("%+v", q.Chosen())
	}
	old := Defaults()
	for _, setting := range []string{"network.width=64", "network.layers=2", "network.kind=mlp"} {
		if q := load(arm, "", kind, setting); q.Train != old.Train || q.Process.Steps != 50 || q.Chosen() != nil ||
			q.Network.Kind == "temporal" {
			t.Errorf("%s: %+v %+v", setting, q.Train, q.Chosen())
		}
	}
	one, ball := "set: {kind: arm, robot: panda, waypoints: 1}", "set: {kind: sphere, dim: 3}"
	for _, q := range []*Problem{load(one, "", kind), load(ball, "")} {
		if q.Chosen() != nil || q.Network.Kind != "" {
			t.Errorf("%+v", q.Chosen())
		}
	}
}

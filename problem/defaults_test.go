package problem

import (
	"testing"

	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The zero values of networks and of trainings mean what the problem file's defaults mean.
func TestZeroValuesAreDefaults(t *testing.T) {
	n := Defaults().Network
	zero := testkit.Must(networks.New(score.Config{Dim: 3}))
	file := testkit.Must(networks.New(score.Config{
		Kind: "mlp", Dim: 3, Width: n.Width, Layers: n.Layers, Octaves: n.Octaves, Wavelength: n.Wavelength,
	}))
	if a, b := zero.Tensors(zero.Parameters()), file.Tensors(file.Parameters()); len(a) != len(b) ||
		len(zero.Parameters()) != len(file.Parameters()) {
		t.Errorf("a zero Config has %d layers and %d parameters, the default %d and %d",
			len(a)/2, len(zero.Parameters()), len(b)/2, len(file.Parameters()))
	}
	testkit.Equal(t, (score.Config{}).Reading().Wavelength, n.Wavelength, "a zero Config has wavelength")
	d := Defaults().Train.Config(1, 0)
	want := train.Config{Epochs: d.Epochs, Batch: d.Batch, Refresh: d.Refresh, LearningRate: d.LearningRate}
	if want != (train.Config{Epochs: 1000, Batch: 128, Refresh: 1, LearningRate: 2e-3}) { // as train.Config says
		t.Errorf("the defaults of training are %+v", want)
	}
}

// With octaves of the start a network reads where paths began, and without them it does not.
func TestOctavesOfStart(t *testing.T) {
	for _, of := range []string{"point", "start"} {
		p, err := load(t, "data: {kind: points, path: x.csv}\nset: {kind: sphere, dim: 3}\nnetwork: {octaves: 2}\n"+
			"process: {steps: 10}", "network.octaves_of="+of)
		testkit.OK(t, err)
		proc := testkit.Must(p.Build())
		m := testkit.Must(p.Method(proc))
		start := p.NetworkConfig(m, proc.Set).Reading().Start
		if of == "point" {
			if start != nil {
				t.Error("octaves of the point are those of the start")
			}
			continue
		}
		if start == nil {
			t.Fatal("octaves of the start are those of the point")
		}
		b, v := start(1)
		if wantB, wantV := proc.Start()(1); b != wantB || v != wantV || !(b > 0 && v > 0) {
			t.Errorf("start (%v, %v), the process's (%v, %v)", b, v, wantB, wantV)
		}
	}
}

// A training that held-out distances end has as many epochs as it takes and a rate that falls at its
// end; what is written stays, of sequences too.
func TestHeldOutDefaults(t *testing.T) {
	const plain = "data: {kind: points, path: x.csv}\nset: {kind: sphere, dim: 3}\nprocess: {steps: 10}"
	const arm = "data: {kind: trajectory, path: x.csv}\nset: {kind: arm, robot: panda, waypoints: 4}"
	for _, c := range []struct {
		source   string
		settings []string
		epochs   int
		config   int
		anneal   float64
	}{
		{plain, nil, 1000, 1000, 0},
		{plain, []string{"train.stop=epochs"}, 1000, 1000, 0},
		{plain, []string{"train.stop=held_out"}, 0, train.MostJudged, 0.5},
		{plain, []string{"train.stop=held_out", "train.epochs=70", "train.anneal=0.2"}, 70, 70, 0.2},
		{plain, []string{"train.stop=held_out", "train.max_seconds=60"}, 0, train.MaxClocked, 0.5},
		{arm, []string{"train.stop=held_out"}, 0, train.MostJudged, 0.7},
		{arm, []string{"train.max_seconds=60"}, 0, train.MaxClocked, 0.7},
		{arm, nil, 300, 300, 0.7},
	} {
		p := testkit.Must(load(t, c.source, c.settings...))
		if _, err := p.Build(); err != nil {
			t.Errorf("%v: %v", c.settings, err)
		}
		if k := p.Train; k.Epochs != c.epochs || k.Anneal != c.anneal || k.Config(0, 0).Epochs != c.config {
			t.Errorf("%.20s %v: %+v, %d epochs", c.source, c.settings, k, k.Config(0, 0).Epochs)
		}
	}
	p, err := load(t, plain, "train.stop=never")
	if err == nil {
		_, err = p.Build()
	}
	testkit.Refused(t, err, `train.stop is "never"; expected one of epochs, held_out`)
}

package problem

import (
	"testing"

	"github.com/landing-diffusion/landing/score"
	"github.com/landing-diffusion/landing/score/networks"
	"github.com/landing-diffusion/landing/train"
)

// The zero values of networks and of trainings mean what the problem file's defaults
// mean.
func TestZeroValuesAreDefaults(t *testing.T) {
	n := Defaults().Network
	zero, err := networks.New(score.Config{Dim: 3})
	if err != nil {
		t.Fatal(err)
	}
	file, err := networks.New(score.Config{
		Kind: "mlp", Dim: 3, Width: n.Width, Layers: n.Layers, Octaves: n.Octaves, Wavelength: n.Wavelength,
	})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := zero.Tensors(zero.Parameters()), file.Tensors(file.Parameters()); len(a) != len(b) ||
		len(zero.Parameters()) != len(file.Parameters()) {
		t.Errorf("a zero Config has %d layers and %d parameters, the default %d and %d",
			len(a)/2, len(zero.Parameters()), len(b)/2, len(file.Parameters()))
	}
	if w := (score.Config{}).Reading().Wavelength; w != n.Wavelength {
		t.Errorf("a zero Config has wavelength %v, the default is %v", w, n.Wavelength)
	}
	d := Defaults().TrainConfig()
	want := train.Config{Epochs: d.Epochs, Batch: d.Batch, Refresh: d.Refresh, LearningRate: d.LearningRate}
	if want != (train.Config{Epochs: 1000, Batch: 128, Refresh: 1, LearningRate: 2e-3}) { // as train.Config says
		t.Errorf("the defaults of training are %+v", want)
	}
}

// With octaves of the start a network is told where paths began, and without them not.
func TestOctavesOfStart(t *testing.T) {
	for _, of := range []string{"point", "start"} {
		p, err := load(t, "data: {kind: points, path: x.csv}\nset: {kind: sphere, dim: 3}\nnetwork: {octaves: 2}\n"+
			"process: {steps: 10}", "network.octaves_of="+of)
		if err != nil {
			t.Fatal(err)
		}
		proc, err := p.Build()
		if err != nil {
			t.Fatal(err)
		}
		m, err := p.Method(proc)
		if err != nil {
			t.Fatal(err)
		}
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

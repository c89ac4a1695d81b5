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

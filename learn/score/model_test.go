package score_test

import (
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/scoretest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func TestMLPConforms(t *testing.T) {
	plain := score.Reading{}
	rich := score.Reading{Octaves: 2, Wavelength: 3, Gain: func(t float64) float64 { return 2 + t }}
	for _, r := range []score.Reading{plain, rich} {
		for _, momentum := range []bool{false, true} {
			sizes := []int{r.Width(3, momentum), 6, 5, 4, 3}
			scoretest.Run(t, score.NewMLP[float64](sizes, 1).Model(r, kernel.Float32), momentum)
		}
	}
	scoretest.Kind(t, score.MLPKind, score.Config{
		Dim: 3, Momentum: true, Width: 8, Octaves: 1, Seed: 1, Precision: kernel.BFloat16,
	})
}

// The zero values of a Config are what it says they are.
func TestZeroReading(t *testing.T) {
	r := score.Config{TimeOctaves: 1, Octaves: 1}.Reading()
	if r.Horizon != 1 || r.Wavelength != 2 || r.Start != nil || r.Gain != nil {
		t.Errorf("a zero Config reads by %+v", r)
	}
	testkit.Equal(t, score.NewReader[float64](r, 2, true).Gain(0.3), 1, "the gain")
	c := score.Config{Octaves: 3, Wavelength: 5, TimeOctaves: 2, Horizon: 7, Still: []int{4}}
	c.Start, c.Gain = func(float64) (float64, float64) { return 2, 3 }, func(float64) float64 { return 6 }
	r = c.Reading()
	if b, v := r.Start(0); b != 2 || v != 3 || r.Gain(0) != 6 || r.Octaves != 3 || r.Wavelength != 5 ||
		r.TimeOctaves != 2 || r.Horizon != 7 || len(r.Still) != 1 {
		t.Errorf("%+v reads by %+v", c, r)
	}
}

// The matrices between hidden layers are those of the hidden layers, out×in each.
func TestMLPMatrices(t *testing.T) {
	m := score.NewMLP[float64]([]int{4, 6, 5, 7, 3}, 1)
	model := m.Model(score.Reading{}, kernel.Float32)
	for i, w := range model.Matrices() {
		weight := m.Weight(i + 1)
		if w.Out != m.Sizes[i+2] || w.In != m.Sizes[i+1] || &model.Parameters()[w.At] != &weight[0] {
			t.Errorf("matrix %d is %+v, of widths %v", i, w, m.Sizes)
		}
	}
	testkit.Equal(t, len(model.Matrices()), 2)
}

// The MLP reads points by their center and unit, in every precision.
func TestUnit(t *testing.T) {
	for p := range kernel.BFloat16 + 1 {
		for _, c := range []score.Config{
			{Dim: 3, Width: 24, Layers: 2},
			{Dim: 4, Width: 24, Layers: 3, Momentum: true, Octaves: 4, Wavelength: 3, TimeOctaves: 2, Share: true,
				Start: func(t float64) (b, v float64) { return t / 3, t / 50 }, Still: []int{3}, Null: true,
				Given: score.Standard{Mean: []float64{0.5}, Scale: []float64{3}}},
			{Dim: 3, Width: 24, Layers: 2, Momentum: true, Scales: []float64{0.01, 0, 4},
				Start: func(t float64) (b, v float64) { return t / 3, t / 50 }},
		} {
			c.Precision, c.Seed = p, 2
			scoretest.Unit(t, score.MLPKind, c)
		}
	}
}

package score_test

import (
	"testing"

	"github.com/landing-diffusion/landing/kernel"
	"github.com/landing-diffusion/landing/score"
	"github.com/landing-diffusion/landing/score/scoretest"
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
	if n := len(model.Matrices()); n != 2 {
		t.Errorf("%d matrices, want 2", n)
	}
}

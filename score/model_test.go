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

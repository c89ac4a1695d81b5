package temporal

import (
	"testing"

	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/scoretest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// config is a small network for `steps` steps of `width` numbers, with every option.
func config(t testing.TB, steps, width int, options score.Options) score.Config {
	c := score.Config{Dim: steps * width, Steps: steps, Seed: 1, Wavelength: 2, Horizon: 1, Options: score.Options{
		"channels": 3, "embedding": 4}}
	for name, v := range options {
		c.Options[name] = v
	}
	c = testkit.Must(Kind.Resolve(c))
	return c
}

func TestConforms(t *testing.T) {
	for _, c := range []struct {
		name         string
		steps, width int
		options      score.Options
		change       func(*score.Config)
	}{
		{"plain", 6, 2, nil, nil},
		{"one step", 1, 3, score.Options{"levels": 3}, nil},
		{"odd", 5, 2, score.Options{"levels": 3, "reach": 2}, func(c *score.Config) { c.Momentum = true }},
		{"flat", 4, 1, score.Options{"levels": 1, "reach": 0}, nil},
		{"deep", 3, 2, score.Options{"blocks": 2}, func(c *score.Config) {
			c.Momentum, c.Octaves, c.TimeOctaves, c.Gain = true, 2, 3, func(t float64) float64 { return 1 + t }
		}},
		{"held", 3, 2, nil, func(c *score.Config) {
			c.Held, c.Octaves = 2, 1
			c.Dim += c.Held
			c.Given = score.Standard{Mean: []float64{1, 2}, Scale: []float64{3, 0.5}}
			c.Null, c.TimeOctaves = true, 2
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := config(t, c.steps, c.width, c.options)
			if c.change != nil {
				c.change(&k)
			}
			scoretest.Run(t, New[float64](k), k.Momentum)
			scoretest.Kind(t, Kind, k)
			scoretest.Unit(t, Kind, k)
		})
	}
}

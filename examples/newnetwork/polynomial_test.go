package newnetwork

import (
	"testing"

	"github.com/landing-diffusion/landing/score"
	"github.com/landing-diffusion/landing/score/scoretest"
)

func TestPolynomial(t *testing.T) {
	options := map[string]float64{"degree": 2}
	for _, momentum := range []bool{false, true} {
		scoretest.Run(t, New[float64](score.Config{Dim: 3, Momentum: momentum, Seed: 1, Options: options}), momentum)
	}
	score.Register(Kind)
	scoretest.Kind(t, score.Config{Kind: "polynomial", Dim: 3, Seed: 1})
}

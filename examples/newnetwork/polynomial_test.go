package newnetwork

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/tools/scoretest"
)

func TestPolynomial(t *testing.T) {
	options := score.Options{"degree": 4, "horizon": 2}
	for _, momentum := range []bool{false, true} {
		scoretest.Run(t, New[float64](score.Config{Dim: 3, Momentum: momentum, Seed: 1, Options: options}), momentum)
	}
	scoretest.Kind(t, Kind, score.Config{Dim: 3, Seed: 1})
	scoretest.Unit(t, Kind, score.Config{Dim: 3, Seed: 1, Momentum: true})
}

// Once listed it is made by its name, and its options are checked.
func TestListed(t *testing.T) {
	networks.All = append(networks.All, Kind)
	c := score.Config{Kind: "polynomial", Dim: 2, Options: score.Options{"degree": 1}}
	if m, err := networks.New(c); err != nil || len(m.Parameters()) != 2*3*2 {
		t.Errorf("%v, %v", m, err)
	} else if p := m.Parameters(); max(slices.Max(p), -slices.Min(p)) > float32(math.Sqrt(0.5)) { // two inputs
		t.Errorf("parameters %v", p)
	}
	var e *score.OptionError
	for name, v := range map[string]float64{"degree": 21, "depth": 1} {
		c.Options = score.Options{name: v}
		if _, err := networks.New(c); !errors.As(err, &e) || e.Option != name {
			t.Errorf("%s = %v: %v", name, v, err)
		}
	}
	var unknown *networks.KindError
	if _, err := networks.New(score.Config{Kind: "cnn", Dim: 2}); !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
}

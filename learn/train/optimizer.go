package train

import (
	"math"

	"github.com/landing-diffusion/landing/base/kernel"
)

// A Plateau lowers the learning rate when a metric stops falling: after
// Patience epochs without an improvement by the relative Threshold the rate is
// multiplied by Factor, and Cooldown epochs pass before counting again
// (PyTorch's ReduceLROnPlateau in mode "min").
type Plateau struct {
	Factor    float64 `yaml:"factor"`
	Patience  int     `yaml:"patience"`
	Threshold float64 `yaml:"threshold"`
	Cooldown  int     `yaml:"cooldown"`
	MinRate   float64 `yaml:"min_rate"`
}

// PlateauState is what a Plateau remembers.
type PlateauState struct {
	Best     *float64 `json:"best"` // nil before the first epoch
	Bad      int      `json:"bad"`
	Cooldown int      `json:"cooldown"`
}

// Step returns the rate after an epoch whose metric is loss. A Factor of 0 turns
// the schedule off.
func (p Plateau) Step(s *PlateauState, rate, loss float64) float64 {
	if p.Factor == 0 {
		return rate
	}
	if s.Best == nil || loss < *s.Best*(1-p.Threshold) {
		s.Best, s.Bad = &loss, 0
	} else {
		s.Bad++
	}
	if s.Cooldown > 0 {
		s.Cooldown--
		s.Bad = 0
	}
	if s.Bad > p.Patience {
		s.Bad, s.Cooldown = 0, p.Cooldown
		if lower := max(rate*p.Factor, p.MinRate); rate-lower > 1e-8 {
			rate = lower
		}
	}
	return rate
}

// clip returns the factor that brings a gradient of the given norm to at most
// limit (PyTorch's clip_grad_norm_); a limit of 0 means none.
func clip(norm, limit float64) float64 {
	if limit == 0 {
		return 1
	}
	return math.Min(1, limit/(norm+1e-6))
}

// averageDecay returns the decay of update n = 1, 2, … of the moving average of
// weights, which starts from the initial weights: it warms up as (1+n)/(10+n).
func averageDecay(limit float64, n int) float64 {
	return math.Min(limit, float64(1+n)/float64(10+n))
}

// optimizer is the state of Adam and Muon, which share the first moments m, and a
// moving average of the weights.
type optimizer[T kernel.Float] struct {
	params, m, v, average []T
}

func newOptimizer[T kernel.Float](params []T) *optimizer[T] {
	return &optimizer[T]{
		params: params, m: make([]T, len(params)), v: make([]T, len(params)),
		average: append([]T(nil), params...),
	}
}

package train

import (
	"cmp"
	"fmt"

	"github.com/landing-diffusion/landing/learn/method"
)

// Config says how to train. Its zero value is Adam at a constant rate without clipping,
// average or tolerance of failures, with the numbers given below.
type Config struct {
	Epochs       int     // 0 is 1000
	Batch        int     // items a batch; 0 is 128
	Refresh      int     // l_f: epochs between fresh items, such as forward paths; 0 is 1
	TimesPerPath int     // times of each item in a batch, one from each of as many strata; 0 means all
	LearningRate float64 // 0 is 2e-3
	Anneal       float64 // share of the updates, the last, over which the rate falls to 0
	Clip         float64 // largest gradient norm; 0 means no limit
	Average      float64 // limit of the decay of the weights' moving average
	Plateau      Plateau
	MaxFailed    float64 // largest share of items that may fail
	Hidden       float64 // share of terms whose condition the network does not see
	JudgedByLoss bool    // held-out losses are heard in place of distances
	Seed         uint64

	Optimizer Optimizer
}

// A ConfigError names a field of Config that cannot be.
type ConfigError = method.ConfigError

// Validate returns a *ConfigError if there is no such training.
func (c Config) Validate() error {
	for _, n := range []struct {
		field string
		value int
	}{{"Epochs", c.Epochs}, {"Batch", c.Batch}, {"Refresh", c.Refresh}, {"TimesPerPath", c.TimesPerPath}} {
		if n.value < 0 {
			return &ConfigError{Field: n.field, Value: n.value, Want: "a number of at least 0"}
		}
	}
	for _, v := range []struct {
		field     string
		value, hi float64
	}{
		{"LearningRate", c.LearningRate, 1e15}, {"Clip", c.Clip, 1e15},
		{"Anneal", c.Anneal, 1}, {"Average", c.Average, 1}, {"MaxFailed", c.MaxFailed, 1}, {"Hidden", c.Hidden, 1},
	} {
		if !(v.value >= 0 && v.value <= v.hi) {
			return &ConfigError{Field: v.field, Value: v.value, Want: fmt.Sprintf("a number in [0, %v]", v.hi)}
		}
	}
	if c.Optimizer < 0 || int(c.Optimizer) >= len(optimizerNames) {
		return &ConfigError{Field: "Optimizer", Value: int(c.Optimizer), Want: "Adam or Muon"}
	}
	return nil
}

// resolved returns the Config with its numbers filled in, for a source of so many items and times.
func (c Config) resolved(items, times int) Config {
	c.Epochs = cmp.Or(c.Epochs, 1000)
	c.Batch = min(cmp.Or(c.Batch, 128), items)
	c.Refresh = cmp.Or(c.Refresh, 1)
	c.TimesPerPath = min(cmp.Or(c.TimesPerPath, times), times)
	c.LearningRate = cmp.Or(c.LearningRate, 2e-3)
	return c
}

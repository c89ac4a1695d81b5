package train

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The zero Config trains, with the numbers that are documented.
func TestZeroConfig(t *testing.T) {
	proc, data := gaussian(langevin.OLLA, 150)
	pool := testkit.Pool(t, 1)
	net := model(score.Reading{}, kernel.Float32, false)
	tr := trainer(Config{}, proc, pathmatch.Options{}, data, net, pool)
	want := Config{Epochs: 1000, Batch: 128, Refresh: 1, TimesPerPath: proc.Schedule.N, LearningRate: 2e-3}
	testkit.Equal(t, tr.cfg, want, "the zero Config")
	if c := (Config{Batch: 1000, TimesPerPath: 99}).Resolved(50, 7); c.Batch != 50 || c.TimesPerPath != 7 {
		t.Errorf("of 50 items and 7 times a batch takes %d and %d", c.Batch, c.TimesPerPath)
	}
	if _, err := tr.Epoch(context.Background()); err != nil || tr.State.Updates != 1 {
		t.Errorf("%d updates, %v", tr.State.Updates, err)
	}
}

func TestConfigErrors(t *testing.T) {
	for field, c := range map[string]Config{
		"Epochs": {Epochs: -1}, "Batch": {Batch: -1}, "Refresh": {Refresh: -1}, "TimesPerPath": {TimesPerPath: -1},
		"LearningRate": {LearningRate: -1}, "Anneal": {Anneal: 2}, "Clip": {Clip: -1}, "Average": {Average: 1.1},
		"MaxFailed": {MaxFailed: -0.1}, "Optimizer": {Optimizer: 7},
	} {
		var e *ConfigError
		if err := c.Validate(); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	testkit.OK(t, smallConfig.Validate())
}

// prepared counts how often a source is prepared.
type prepared struct {
	method.Source[float32]
	times int
}

func (p *prepared) Prepare(ctx context.Context, seed uint64) error {
	p.times++
	return p.Source.Prepare(ctx, seed)
}

func TestSourceIsPreparedOnce(t *testing.T) {
	proc, data := gaussian(langevin.OLLA, 50)
	pool := testkit.Pool(t, 1)
	src := &prepared{Source: pathmatch.New(proc, pathmatch.Options{}).Source(data, pool)}
	tr := New(smallConfig, src, model(score.Reading{}, kernel.Float32, false), pool)
	for range 3 {
		testkit.Must(tr.Epoch(context.Background()))
	}
	testkit.Equal(t, src.times, 1, "in 3 epochs the source was prepared")
}

// Every number may be at its limits and nothing beyond, and NaN is none.
func TestConfigLimits(t *testing.T) {
	set := map[string]func(c *Config, v float64){
		"Epochs":       func(c *Config, v float64) { c.Epochs = int(v) },
		"Batch":        func(c *Config, v float64) { c.Batch = int(v) },
		"Refresh":      func(c *Config, v float64) { c.Refresh = int(v) },
		"TimesPerPath": func(c *Config, v float64) { c.TimesPerPath = int(v) },
		"LearningRate": func(c *Config, v float64) { c.LearningRate = v },
		"Clip":         func(c *Config, v float64) { c.Clip = v },
		"Anneal":       func(c *Config, v float64) { c.Anneal = v },
		"Average":      func(c *Config, v float64) { c.Average = v },
		"MaxFailed":    func(c *Config, v float64) { c.MaxFailed = v },
		"Hidden":       func(c *Config, v float64) { c.Hidden = v },
		"Optimizer":    func(c *Config, v float64) { c.Optimizer = Optimizer(v) },
	}
	above := map[string][2]float64{ // the largest, and one that is too large
		"LearningRate": {1e15, 1.1e15}, "Clip": {1e15, 1.1e15}, "Anneal": {1, 1.001}, "Average": {1, 1.001},
		"MaxFailed": {1, 1.001}, "Hidden": {1, 1.001}, "Optimizer": {1, 2},
	}
	for field, put := range set {
		values := map[float64]bool{0: true, -1: false}
		if limits, ok := above[field]; ok {
			values[limits[0]], values[limits[1]] = true, false
			if field != "Optimizer" {
				values[math.NaN()], values[-1e-9] = false, false
			}
		} else {
			values[1], values[1<<30] = true, true
		}
		for v, want := range values {
			var c Config
			put(&c, v)
			var e *ConfigError
			if err := c.Validate(); want && err != nil || !want && (!errors.As(err, &e) || e.Field != field) {
				t.Errorf("%s of %v: %v", field, v, err)
			}
		}
	}
}

// The rate falls when the metric has not improved by the threshold for more than Patience epochs. It never falls below
// the least rate, and rests after a fall. A fall that is too small to matter does not happen.
func TestPlateauByHand(t *testing.T) {
	p := Plateau{Factor: 0.5, Patience: 2, Threshold: 0.1, Cooldown: 1, MinRate: 0.2}
	var s PlateauState
	rate := 1.0
	for i, c := range []struct{ loss, rate float64 }{
		{10, 1}, {9, 1}, {8.9, 1}, {8.9, 1}, // 9 is no improvement by a tenth, 8.9 is; then one bad epoch
		{8.9, 1}, {8.9, 0.5}, // three bad epochs
		{8.9, 0.5},                          // rest
		{8.9, 0.5}, {8.9, 0.5}, {8.9, 0.25}, // three more
		{8, 0.25}, {8, 0.25}, {8, 0.25}, {8, 0.2}, // at the least rate
		{8, 0.2}, {8, 0.2}, {8, 0.2}, {8, 0.2}, {8, 0.2},
	} {
		if rate = p.Step(&s, rate, c.loss); rate != c.rate {
			t.Fatalf("epoch %d, loss %v: the rate is %v, want %v; %+v", i, c.loss, rate, c.rate, s)
		}
	}
	off := Plateau{Patience: 0}
	testkit.Equal(t, off.Step(&PlateauState{}, 3, 1), 3, "without a factor the rate")
	for rate, want := range map[float64]float64{4e-8: 2e-8, 1.9e-8: 1.9e-8} { // a fall of 10⁻⁸ at least
		s := PlateauState{}
		small := Plateau{Factor: 0.5}
		small.Step(&s, rate, 1)
		testkit.Equal(t, small.Step(&s, rate, 1), want, "a rate of %v falls", rate)
	}
	if clip(2, 0) != 1 || clip(2, 4) != 1 || clip(4, 2) != 2/(4+1e-6) {
		t.Errorf("the factors are %v, %v, %v", clip(2, 0), clip(2, 4), clip(4, 2))
	}
	for n, want := range map[int]float64{1: 2. / 11, 8: 0.5, 30: 31. / 40, 1000: 0.9} {
		testkit.Equal(t, averageDecay(0.9, n), want, "decay %d", n)
	}
}

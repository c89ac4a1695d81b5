package train

import (
	"context"
	"errors"
	"testing"

	"github.com/landing-diffusion/landing/kernel"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/method"
	"github.com/landing-diffusion/landing/method/pathmatch"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/score"
)

// The zero Config trains, with the numbers that are documented.
func TestZeroConfig(t *testing.T) {
	proc, data := gaussian(langevin.OLLA, 150)
	pool := parallel.New(1)
	defer pool.Close()
	net := model(score.Reading{}, kernel.Float32, false)
	tr := trainer(Config{}, proc, pathmatch.Options{}, data, net, pool)
	want := Config{Epochs: 1000, Batch: 128, Refresh: 1, TimesPerPath: proc.Schedule.N, LearningRate: 2e-3}
	if tr.cfg != want {
		t.Errorf("the zero Config is %+v", tr.cfg)
	}
	if c := (Config{Batch: 1000, TimesPerPath: 99}).resolved(50, 7); c.Batch != 50 || c.TimesPerPath != 7 {
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
	if err := smallConfig.Validate(); err != nil {
		t.Error(err)
	}
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
	pool := parallel.New(1)
	defer pool.Close()
	src := &prepared{Source: pathmatch.New(proc, pathmatch.Options{}).Source(data, pool)}
	tr := New(smallConfig, src, model(score.Reading{}, kernel.Float32, false), pool)
	for range 3 {
		if _, err := tr.Epoch(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if src.times != 1 {
		t.Errorf("in 3 epochs the source was prepared %d times", src.times)
	}
}

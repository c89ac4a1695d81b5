package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/train"
)

// A measurement is of one problem on one core.
type measurement struct {
	as, data, variant string
	settings          []string
	paths, samples    int
}

// measure times forward paths, trainings of two sizes of batches, whose difference tells rows from updates, and
// samples.
func (m measurement) measure(name string) (c Costs, err error) {
	dir, err := os.MkdirTemp("", "landing-scale-")
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(dir)
	pool := parallel.New(1)
	defer pool.Close()
	whole, err := m.load(name, pool)
	if err != nil {
		return c, err
	}
	p := whole.Problem.Train
	c = Costs{Name: m.as, Dim: whole.Process.Set.Dim(), Steps: whole.Process.Schedule.N, Refresh: p.Refresh}
	c.Paths = len(whole.TrainRows) / whole.Data.D
	if p.Paths > 0 {
		c.Paths = min(c.Paths, p.Paths)
	}
	batch := min(p.Batch, c.Paths)
	c.Updates = max(1, c.Paths/batch)
	times := c.Steps
	if p.TimesPerPath > 0 {
		times = min(times, p.TimesPerPath)
	}
	c.Rows = batch * times
	ctx := context.Background()

	few, err := m.load(name, pool, fmt.Sprintf("train.paths=%d", m.paths), "train.max_failed=1")
	if err != nil {
		return c, err
	}
	src := few.Method.Source(few.TrainRows, pool)
	for range 2 { // the second time memory is there
		start := time.Now()
		if _, err := src.Refresh(ctx, 1, 1); err != nil {
			return c, err
		}
		c.Step = time.Since(start).Seconds() / float64(src.Items()*c.Steps)
	}

	// Of batches of B items and of one: seconds of an update = rows·Row + Update.
	var seconds, rows [2]float64
	var last *experiment.Run
	for i, b := range []int{min(batch, m.paths), 1} {
		l, err := m.load(name, pool, fmt.Sprintf("train.paths=%d", m.paths), fmt.Sprintf("train.batch=%d", b),
			"train.epochs=3", "train.refresh=3", "train.max_failed=1", "train.window=0", "train.stop=epochs",
			"train.evaluate_every=0", "train.max_seconds=0", "prior=empirical", "generate.max_failed=1",
			"generate.max_violation=0")
		if err != nil {
			return c, err
		}
		f, err := run.Create(filepath.Join(dir, fmt.Sprint(i)), false)
		if err != nil {
			return c, err
		}
		r, err := l.Begin(f, nil, []string{"scale"})
		if err != nil {
			return c, err
		}
		var epochs []train.Epoch
		heard := experiment.Observer{Epoch: func(e train.Epoch) { epochs = append(epochs, e) }}
		if err := r.Train(ctx, "", heard); err != nil {
			return c, err
		}
		first, end := epochs[0], epochs[len(epochs)-1]
		updates := float64(len(epochs)-1) * float64(max(1, min(m.paths, c.Paths)/b))
		seconds[i] = (end.Seconds - first.Seconds - end.Simulated + first.Simulated) / updates
		rows[i] = float64(end.Rows-first.Rows) / updates
		if last == nil {
			last = r
		}
	}
	c.Row = (seconds[0] - seconds[1]) / (rows[0] - rows[1])
	c.Update = max(0, seconds[1]-rows[1]*c.Row)

	trained, err := last.Trained("")
	if err != nil {
		return c, err
	}
	c.Parameters = len(trained.Model.Parameters())
	prior, err := last.Prior(ctx, nil)
	if err != nil {
		return c, err
	}
	start := time.Now()
	if _, err := last.Generate(ctx, trained, prior, m.samples, 0, 1, nil); err != nil {
		return c, err
	}
	c.Sample = time.Since(start).Seconds() / float64(m.samples)
	return c, nil
}

func (m measurement) load(name string, pool *parallel.Pool, more ...string) (*experiment.Loaded, error) {
	data, origin, err := problem.Source(name)
	if err != nil {
		return nil, err
	}
	p, err := problem.Load(data, origin, m.variant, problem.ParseSettings(slices.Concat(m.settings, more)...))
	if err != nil {
		return nil, err
	}
	if m.data != "" {
		p.Data.Path = m.data
	}
	return experiment.Load(p, pool)
}

package check

import (
	"context"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/learn/train"
)

const (
	fewestPrepared = 1000 // paths before the first epoch, of a set whose values take long
	longest        = 60   // seconds of them, for a trial
)

// forecast extrapolates the times of forward paths and of a few batches of training on this machine to the whole run.
func forecast(e *Evidence) []Finding {
	follows, between, path := e.stranger == nil, "", 0.0 // bytes of a path
	if follows && e.Paths.Count == 0 || !follows && !e.trains() {
		return nil
	}
	f := Finding{Numbers: Numbers{}}
	if follows {
		perPath := e.Elapsed.Seconds() / float64(e.Paths.Count)
		path = float64(e.Paths.Steps+1) * float64(e.D) * 8
		f.Numbers["seconds_per_path"], f.Numbers["bytes_per_path"] = perPath, path
		f.Message, between = fmt.Sprintf("a forward path takes %.2g s and %s", perPath, text.SI(path)+"B"), "; "
	}
	if !e.trains() {
		return []Finding{f}
	}
	if first := fewestPrepared * f.Numbers["seconds_per_path"]; first > longest && e.Set.Capabilities().Work > 0 {
		f.add(Warn, "%straining is not tried: the paths that it prepares first take %.0f s or more", between, first)
		return []Finding{f}
	}
	t := e.in.Training
	c, err := t.Cost(e.ctx, e.Set, e.pool)
	if err != nil {
		f.add(Warn, "%straining could not be tried: %v", between, err)
		return []Finding{f}
	}
	f.add(Pass, "%straining takes %s (%s network rows", between, c, text.SI(c.Rows))
	f.Numbers["train_seconds"], f.Numbers["seconds_per_row"], f.Numbers["rows"] = c.Seconds, c.Row, c.Rows
	if !follows {
		f.Message += ")"
		return []Finding{f}
	}
	parameters, _ := networks.Parameters(t.Network) // of a network that was tried
	memory := path*c.Items + 4*8*parameters
	f.Numbers["train_bytes"] = memory
	f.add(Pass, ", %.0f %% of the time on forward paths) and holds %s of paths and weights", 100*c.Simulated/c.Seconds,
		text.SI(memory)+"B")
	return []Finding{f}
}

// A Cost is what a training takes on a machine, by its forecast.
type Cost struct {
	Row       float64 // seconds of a row of the network
	Items     float64 // of an epoch, such as forward paths
	Rows      float64 // of the network, in all
	Simulated float64 // seconds of forward paths, in all
	Seconds   float64 // in all
	judged    bool
}

func (c Cost) String() string {
	if c.judged {
		return "until its bound, which held-out distances may not need, about " + span(c.Seconds)
	}
	return "about " + span(c.Seconds)
}

// trains reports whether training can be tried.
func (e *Evidence) trains() bool {
	return e.in.Training != nil && len(e.On) > 0 && (e.stranger != nil || e.Paths.Count > 0 && e.Invalid == nil)
}

// Rows and paths of a batch that is tried, and multiply-adds that bound them where the network or the set is large.
const (
	mostTried  = 8192
	leastTried = 512
	triedWork  = 4e9
	pathsTried = 256
	pathsWork  = 2e9
)

// Cost trains on a few batches of the rows, points of the set, and extrapolates to the whole training: a row of the
// network takes the least that it took in three epochs.
func (t *Training) Cost(ctx context.Context, set constraint.Set, pool *parallel.Pool) (Cost, error) {
	whole := t.Method.Source(t.Learned, pool)
	full := t.Config.Resolved(whole.Items(), whole.Times())
	size, err := networks.Parameters(t.Network)
	if err != nil {
		return Cost{}, err
	}
	rows := min(full.Batch*full.TimesPerPath, max(leastTried, min(mostTried, int(triedWork/max(size, 1)))))
	cfg := full
	d := set.Dim()
	step := float64(len(constraint.Components(set))*d) + set.Capabilities().Work + 1
	cfg.Batch = min(full.Batch, rows, max(4, min(pathsTried, int(pathsWork/(4*step*float64(whole.Times()))))))
	cfg.TimesPerPath = min(whole.Times(), (rows+cfg.Batch-1)/cfg.Batch)
	cfg.Epochs, cfg.Refresh, cfg.MaxFailed = 3, 3, 1
	model, err := networks.New(t.Network)
	if err != nil {
		return Cost{}, err
	}
	trainer := train.New(cfg, t.Method.Source(langevin.Starts(t.Learned, d, cfg.Batch), pool), model, pool)
	if t.Now != nil {
		trainer.Now = t.Now
	}
	var before train.State
	row := math.Inf(1)
	for !trainer.Done() {
		if _, err := trainer.Epoch(ctx); err != nil {
			return Cost{}, err
		}
		s := trainer.State
		simulated := s.Simulated - before.Simulated
		took := s.Seconds - before.Seconds - simulated - s.Prepared + before.Prepared
		row = min(row, took/float64(cfg.Batch*cfg.TimesPerPath))
		before = s
	}
	epoch, items := float64(full.Terms(whole.Items())), float64(whole.Items())
	path := before.Simulated / float64(cfg.Batch)
	c := Cost{Row: row, Items: items, judged: t.Judged}
	first, refresh, epochs := path*float64(t.Before), path*items/float64(full.Refresh), float64(full.Epochs)
	if t.Budget > 0 {
		epochs = min(epochs, max(1, (t.Budget-first)/(epoch*row+refresh)))
	}
	c.Rows, c.Simulated = epoch*epochs, first+refresh*epochs
	c.Seconds = c.Rows*row + c.Simulated
	return c, nil
}

// span writes seconds as people say them.
func span(seconds float64) string {
	switch {
	case seconds < 120:
		return fmt.Sprintf("%.2g s", seconds)
	case seconds < 7200:
		return fmt.Sprintf("%.0f min", seconds/60)
	}
	return fmt.Sprintf("%.1f h", seconds/3600)
}

package check

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/learn/train"
)

// forecast extrapolates the times of forward paths and of a few batches of training on this machine to the whole run.
// What a method trains on that does not follow the process is made anew in each tried epoch and counts with the rows.
func forecast(e *Evidence) []Finding {
	follows, between, perPath, path := e.stranger == nil, "", 0.0, 0.0 // seconds and bytes of a path
	if follows && e.Paths.Count == 0 || !follows && !e.trains() {
		return nil
	}
	f := Finding{Numbers: Numbers{}}
	if follows {
		perPath = e.Elapsed.Seconds() / float64(e.Paths.Count)
		path = float64(e.Paths.Steps+1) * float64(e.D) * 8
		f.Numbers["seconds_per_path"], f.Numbers["bytes_per_path"] = perPath, path
		f.Message, between = fmt.Sprintf("a forward path takes %.2g s and %s", perPath, bytes(path)), "; "
	}
	if !e.trains() {
		return []Finding{f}
	}
	t := e.Training
	if err := e.trial.err; err != nil {
		f.add(Warn, "%straining could not be tried: %v", between, err)
		return []Finding{f}
	}
	cost := e.trial.perRow
	inEpoch := float64(t.Rows/t.Config.Batch*t.Config.Batch) * float64(cmp.Or(t.Config.TimesPerPath, e.trial.times))
	epochs := t.epochs(inEpoch*cost + perPath*float64(t.Rows)/float64(t.Config.Refresh))
	rows, paths := inEpoch*epochs, epochs/float64(t.Config.Refresh)*perPath*float64(t.Rows)
	seconds := rows*cost + paths
	f.add(Pass, "%straining takes %s %s (%s network rows", between, t.about(), span(seconds), si(rows))
	f.Numbers["train_seconds"], f.Numbers["seconds_per_row"], f.Numbers["rows"] = seconds, cost, rows
	if !follows {
		f.Message += ")"
		return []Finding{f}
	}
	memory := path*float64(t.Rows) + 4*8*e.trial.parameters
	f.Numbers["train_bytes"] = memory
	f.add(Pass, ", %.0f %% of the time on forward paths) and holds %s of paths and weights", 100*paths/seconds,
		bytes(memory))
	return []Finding{f}
}

// epochs returns how many epochs training will have that take so many seconds each.
func (t *Training) epochs(seconds float64) float64 {
	n := float64(t.Config.Epochs)
	if t.Budget > 0 {
		n = min(n, max(1, t.Budget/seconds))
	}
	return n
}

// about says what the time that is forecast is of the training's.
func (t *Training) about() string {
	if t.Judged {
		return "until its bound, which held-out distances may not need, about"
	}
	return "about"
}

// trains reports whether training can be tried.
func (e *Evidence) trains() bool {
	return e.Training != nil && len(e.On) > 0 && (e.stranger != nil || e.Paths.Count > 0 && e.Invalid == nil)
}

// A trial is a few batches of training.
type trial struct {
	perRow     float64 // seconds of one network row, forward simulation left out
	parameters float64 // of the network
	times      int     // that an item has
	err        error
}

// try trains on a few batches of points on Σ.
func (e *Evidence) try(ctx context.Context, pool *parallel.Pool) trial {
	if !e.trains() {
		return trial{}
	}
	const most = 1500 // rows a batch
	cfg := e.Training.Config
	steps, refresh := e.Paths.Steps, 3
	if e.stranger != nil {
		steps, refresh = e.stranger.Source(e.On[0].X, pool).Times(), 1
	}
	cfg.TimesPerPath = min(steps, 25)
	cfg.Batch = e.Kept(min(cfg.Batch, most/cfg.TimesPerPath))
	cfg.Epochs, cfg.Refresh = 3, refresh
	data := make([]float64, 0, cfg.Batch*e.D)
	for i := range cfg.Batch {
		data = append(data, e.On[i%len(e.On)].X...)
	}
	cfg.MaxFailed = 1
	parameters, err := networks.Parameters(e.Training.Network)
	if err != nil {
		return trial{err: err}
	}
	model, err := networks.New(e.Training.Network)
	if err != nil {
		return trial{err: err}
	}
	t := train.New(cfg, e.Training.Method.Source(data, pool), model, pool)
	best := 0.0
	for !t.Done() {
		start := time.Now()
		if _, err := t.Epoch(ctx); err != nil {
			return trial{err: err}
		}
		if took := time.Since(start).Seconds(); best == 0 || took < best { // the first also simulates and warms up
			best = took
		}
	}
	return trial{perRow: best / float64(cfg.Batch*cfg.TimesPerPath), parameters: parameters, times: steps}
}

func bytes(n float64) string {
	if n < 1000 {
		return si(n) + " B"
	}
	return si(n) + "B"
}

// si writes a number with three digits and a prefix.
func si(v float64) string {
	unit := ""
	for _, u := range []string{"k", "M", "G", "T"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	return strings.TrimSpace(fmt.Sprintf("%.3g %s", v, unit))
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

package check

import (
	"cmp"
	"fmt"
	"time"

	"github.com/landing-diffusion/landing/internal/text"
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
		f.Message, between = fmt.Sprintf("a forward path takes %.2g s and %s", perPath, text.SI(path)+"B"), "; "
	}
	if !e.trains() {
		return []Finding{f}
	}
	t := e.in.Training
	cost, times, err := e.try()
	if err != nil {
		f.add(Warn, "%straining could not be tried: %v", between, err)
		return []Finding{f}
	}
	inEpoch := float64(t.Rows/t.Config.Batch*t.Config.Batch) * float64(cmp.Or(t.Config.TimesPerPath, times))
	epochs := t.epochs(inEpoch*cost + perPath*float64(t.Rows)/float64(t.Config.Refresh))
	rows, paths := inEpoch*epochs, epochs/float64(t.Config.Refresh)*perPath*float64(t.Rows)
	seconds := rows*cost + paths
	f.add(Pass, "%straining takes %s %s (%s network rows", between, t.about(), span(seconds), text.SI(rows))
	f.Numbers["train_seconds"], f.Numbers["seconds_per_row"], f.Numbers["rows"] = seconds, cost, rows
	if !follows {
		f.Message += ")"
		return []Finding{f}
	}
	parameters, _ := networks.Parameters(t.Network) // of a network that was tried
	memory := path*float64(t.Rows) + 4*8*parameters
	f.Numbers["train_bytes"] = memory
	f.add(Pass, ", %.0f %% of the time on forward paths) and holds %s of paths and weights", 100*paths/seconds,
		text.SI(memory)+"B")
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
	return e.in.Training != nil && len(e.On) > 0 && (e.stranger != nil || e.Paths.Count > 0 && e.Invalid == nil)
}

// try trains on a few batches of points on Σ. It returns the seconds that a row of the network takes, forward
// simulation left out, and how many times an item has.
func (e *Evidence) try() (perRow float64, times int, err error) {
	const most = 1500 // rows a batch
	t := e.in.Training
	cfg := t.Config
	times, refresh := e.Paths.Steps, 3
	if e.stranger != nil {
		times, refresh = e.stranger.Source(e.On[0].X, e.pool).Times(), 1
	}
	cfg.TimesPerPath = min(times, 25)
	cfg.Batch = min(e.Kept(min(cfg.Batch, most/cfg.TimesPerPath)), e.Budget(4*float64(times*e.C*e.D), most))
	cfg.Epochs, cfg.Refresh = 3, refresh
	data := make([]float64, 0, cfg.Batch*e.D)
	for i := range cfg.Batch {
		data = append(data, e.On[i%len(e.On)].X...)
	}
	cfg.MaxFailed = 1
	model, err := networks.New(t.Network)
	if err != nil {
		return 0, 0, err
	}
	trainer := train.New(cfg, t.Method.Source(data, e.pool), model, e.pool)
	best := 0.0
	for !trainer.Done() {
		start := time.Now()
		if _, err := trainer.Epoch(e.ctx); err != nil {
			return 0, 0, err
		}
		if took := time.Since(start).Seconds(); best == 0 || took < best { // the first also simulates and warms up
			best = took
		}
	}
	return best / float64(cfg.Batch*cfg.TimesPerPath), times, nil
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

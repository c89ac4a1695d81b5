package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/score/networks"
	"github.com/landing-diffusion/landing/train"
)

// forecast measures forward paths and a few batches of training on this machine,
// and extrapolates to the whole run.
func forecast(s *subject) []Finding {
	if s.paths.Count == 0 {
		return nil
	}
	perPath := s.elapsed.Seconds() / float64(s.paths.Count)
	path := float64(s.paths.Steps+1) * float64(s.d) * 8
	f := Finding{Numbers: Numbers{"seconds_per_path": perPath, "bytes_per_path": path}}
	f.Message = fmt.Sprintf("a forward path takes %.2g s and %s", perPath, bytes(path))
	if s.Training == nil || s.invalid != nil {
		return []Finding{f}
	}
	t := s.Training
	parameters, err := networks.Parameters(t.Network)
	cost := 0.0
	if err == nil {
		cost, err = s.trial()
	}
	if err != nil {
		f.Status = Warn
		f.Message += fmt.Sprintf("; training could not be tried: %v", err)
		return []Finding{f}
	}
	times := t.Config.TimesPerPath
	if times == 0 {
		times = s.paths.Steps
	}
	rows := float64(t.Rows/t.Config.Batch*t.Config.Batch) * float64(times) * float64(t.Config.Epochs)
	refreshes := float64(t.Config.Epochs) / float64(t.Config.Refresh)
	seconds := rows*cost + refreshes*perPath*float64(t.Rows)
	memory := path*float64(t.Rows) + 4*8*parameters
	f.Message += fmt.Sprintf("; training takes about %s (%s network rows, %.0f %% of the time on forward paths) and holds %s of paths and weights",
		span(seconds), si(rows), 100*refreshes*perPath*float64(t.Rows)/seconds, bytes(memory))
	f.Numbers["train_seconds"], f.Numbers["train_bytes"], f.Numbers["seconds_per_row"], f.Numbers["rows"] = seconds, memory, cost, rows
	return []Finding{f}
}

// trial trains on a few batches of points on Σ and returns the seconds that one
// network row takes, forward simulation left out.
func (s *subject) trial() (float64, error) {
	const most = 1500 // rows a batch
	cfg := s.Training.Config
	cfg.TimesPerPath = min(s.paths.Steps, 25)
	cfg.Batch = max(1, min(cfg.Batch, most/cfg.TimesPerPath))
	cfg.Epochs, cfg.Refresh = 3, 3
	data := make([]float64, 0, cfg.Batch*s.d)
	for i := range cfg.Batch {
		data = append(data, s.on[i%len(s.on)].x...)
	}
	cfg.MaxFailed = 1
	model, err := networks.New(s.Training.Network)
	if err != nil {
		return 0, err
	}
	t := train.New(cfg, s.Training.Method.Source(data, s.pool), model, s.pool)
	best := 0.0
	for !t.Done() {
		start := time.Now()
		if _, err := t.Epoch(s.ctx); err != nil {
			return 0, err
		}
		if took := time.Since(start).Seconds(); best == 0 || took < best { // the first also simulates and warms up
			best = took
		}
	}
	return best / float64(cfg.Batch*cfg.TimesPerPath), nil
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

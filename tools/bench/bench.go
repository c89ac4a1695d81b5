// Package bench times functions. Its benchmarks measure how fast this machine does the parts that decide the time of
// training and of generation: products of matrices, whole training steps, inference.
package bench

import (
	"context"
	"slices"
	"time"
)

// Times are those of one thing, in seconds.
type Times struct {
	Runs int     `json:"runs"`
	Best float64 `json:"best_seconds"`
	P50  float64 `json:"p50_seconds"`
	P99  float64 `json:"p99_seconds"`
}

// Time times a function for about the given seconds and at least least times, after
// one call that does not count. The error is f's or the context's.
func Time(ctx context.Context, seconds float64, least int, f func() error) (Times, error) {
	if err := f(); err != nil {
		return Times{}, err
	}
	var t []float64
	begin := time.Now()
	for run := 0; run < max(1, least) || time.Since(begin).Seconds() < seconds; run++ {
		if err := ctx.Err(); err != nil {
			return Times{}, err
		}
		start := time.Now()
		if err := f(); err != nil {
			return Times{}, err
		}
		t = append(t, time.Since(start).Seconds())
	}
	slices.Sort(t)
	return Times{len(t), quantile(t, 0), quantile(t, 0.5), quantile(t, 0.99)}, nil
}

// quantile returns the q-quantile of sorted numbers, by nearest rank.
func quantile(sorted []float64, q float64) float64 {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// Package bench measures how fast this machine does the parts that decide the
// time of training and of generation: products of matrices, whole training
// steps, inference.
//
// It times what package train and package score really run, and compares it
// with the machine's own limit, the rate of fused multiply-adds in registers.
// A script that times PyTorch on the same rows is in tools/bench/rivals.
package bench

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/parallel"
)

// Options says what to measure.
type Options struct {
	Cores   []int          // workers of each row; nil means 1 and as many as Go may use
	Only    *regexp.Regexp // measure rows whose name, a space and precision match; nil means all
	Seconds float64        // to spend on each row; at least three runs are timed
	Divide  int            // divide the rows of products and steps by this, for a quick look; 0 means 1
}

// A Peak is the rate of float32 multiply-adds in registers.
type Peak struct {
	Cores  int     `json:"cores"`
	GFLOPS float64 `json:"gflops"` // 10⁹ operations a second, two a multiply-add
}

// A Row is one thing that was timed.
type Row struct {
	Name      string           `json:"name"`
	Cores     int              `json:"cores"`
	Precision kernel.Precision `json:"precision"`
	FLOP      float64          `json:"flop"` // of the matrix products, once
	Times
	GFLOPS float64 `json:"gflops"`        // of the best run
	Share  float64 `json:"share_of_peak"` // of float32, in any precision

	// Other is the share of a step that is not its matrix products: what
	// remains when the best time of the same products alone is taken off. It is
	// nil where a row is nothing but products.
	Other *float64 `json:"other_share,omitempty"`
}

// Titles lists all rows, each by its name, a space and its precision, in every
// precision that is one of its own on this machine.
func Titles() (titles []string) {
	for _, c := range cases(1) {
		titles = append(titles, c.title())
	}
	return titles
}

// Measure times every row on every number of cores, the peaks first, and calls
// seen after each. It returns early with the context's error.
func Measure(ctx context.Context, o Options, seen func(Row)) ([]Peak, []Row, error) {
	cores := o.Cores
	if cores == nil {
		cores = []int{1, runtime.GOMAXPROCS(0)}
	}
	cores = slices.Compact(cores)
	var chosen []work
	for _, c := range cases(max(1, o.Divide)) {
		if o.Only == nil || o.Only.MatchString(c.title()) {
			chosen = append(chosen, c)
		}
	}
	var peaks []Peak
	var rows []Row
	for _, n := range cores {
		peaks = append(peaks, Peak{n, peakRate(n, 300)})
	}
	for _, c := range chosen {
		for i, n := range cores {
			r, err := c.measure(ctx, n, o.Seconds, peaks[i].GFLOPS)
			if err != nil {
				return peaks, rows, err
			}
			rows = append(rows, r)
			if seen != nil {
				seen(r)
			}
		}
	}
	return peaks, rows, nil
}

// A work is something to time.
type work struct {
	name      string
	precision kernel.Precision
	flop      float64

	// start makes what is timed, with its data, for the workers of a pool.
	// products, where it is not nil, is the matrix products of once alone.
	start func(ctx context.Context, pool *parallel.Pool) (once, products func() error, err error)
}

func (w *work) title() string { return w.name + " " + w.precision.String() }

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
	t, err := clock(ctx, seconds, max(1, least), f)
	if err != nil {
		return Times{}, err
	}
	return timesOf(t[0]), nil
}

// timesOf summarises sorted times.
func timesOf(t []float64) Times {
	return Times{len(t), quantile(t, 0), quantile(t, 0.5), quantile(t, 0.99)}
}

// leastRuns is how often Measure times a row, however long it takes.
const leastRuns = 3

func (w work) measure(ctx context.Context, cores int, seconds, peak float64) (r Row, err error) {
	pool := parallel.New(cores)
	defer pool.Close()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s on %d cores: %w", w.title(), cores, err)
		}
	}()
	once, products, err := w.start(ctx, pool)
	if err != nil {
		return r, err
	}
	timed := []func() error{once}
	if products != nil {
		timed = append(timed, products)
	}
	for _, f := range timed { // warm
		if err := f(); err != nil {
			return r, err
		}
	}
	t, err := clock(ctx, seconds, leastRuns, timed...)
	if err != nil {
		return r, err
	}
	r = Row{Name: w.name, Cores: cores, Precision: w.precision, FLOP: w.flop, Times: timesOf(t[0])}
	r.GFLOPS = w.flop / r.Best / 1e9
	r.Share = r.GFLOPS / peak
	if products != nil {
		other := 1 - quantile(t[1], 0)/r.Best
		r.Other = &other
	}
	return r, nil
}

// clock times functions in turn for about the given time and at least least
// times. The results are sorted.
func clock(ctx context.Context, seconds float64, least int, fs ...func() error) ([][]float64, error) {
	times := make([][]float64, len(fs))
	begin := time.Now()
	for run := 0; run < least || time.Since(begin).Seconds() < seconds; run++ {
		for i, f := range fs {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			start := time.Now()
			if err := f(); err != nil {
				return nil, err
			}
			times[i] = append(times[i], time.Since(start).Seconds())
		}
	}
	for _, t := range times {
		slices.Sort(t)
	}
	return times, nil
}

// quantile returns the q-quantile of sorted numbers, by nearest rank.
func quantile(sorted []float64, q float64) float64 {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// peakRate returns the rate of float32 multiply-adds of all workers at once, in
// 10⁹ operations a second: the best of the given number of runs, of about a
// millisecond each.
func peakRate(cores, runs int) (best float64) {
	pool := parallel.New(cores)
	defer pool.Close()
	flop := make([]float64, cores)
	task := func(_, i int) {
		flop[i] = 0
		for range 4 {
			flop[i] += kernel.MultiplyAdd()
		}
	}
	for range runs {
		start := time.Now()
		pool.Do(cores, task)
		s, sum := time.Since(start).Seconds(), 0.0
		for _, v := range flop {
			sum += v
		}
		best = max(best, sum/s/1e9)
	}
	return best
}

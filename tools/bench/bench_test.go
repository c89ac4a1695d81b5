package bench

import (
	"context"
	"errors"
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Every row runs, on any number of workers, and what it reports fits together.
func TestMeasure(t *testing.T) {
	var seen []Row
	peaks, rows, err := Measure(context.Background(), Options{Cores: []int{1, 3}, Divide: 1 << 20,
		Only: regexp.MustCompile("(512|volcano|arm(-temporal)?/1 ).*float32|step/volcano bfloat16$")},
		func(r Row) { seen = append(seen, r) })
	testkit.OK(t, err)
	if len(peaks) != 2 || peaks[0].Cores != 1 || peaks[1].Cores != 3 || peaks[0].GFLOPS <= 0 || peaks[1].GFLOPS <= 0 {
		t.Errorf("peaks %v", peaks)
	}
	want := 2 * 9
	if kernel.Effective(kernel.BFloat16) != kernel.Float32 {
		want += 2
	}
	if !slices.Equal(seen, rows) || len(rows) != want {
		t.Fatalf("%d rows, %d of them seen", len(rows), len(seen))
	}
	for i, r := range rows {
		if r.Cores != []int{1, 3}[i%2] || r.Name != rows[i/2*2].Name || r.Runs < leastRuns || r.Best <= 0 ||
			r.P50 < r.Best || r.P99 < r.P50 {
			t.Errorf("row %+v", r)
		}
		if rate := r.FLOP / r.Best / 1e9; math.Abs(rate-r.GFLOPS) > 1e-9*rate ||
			math.Abs(r.GFLOPS/peaks[i%2].GFLOPS-r.Share) > 1e-9 {
			t.Errorf("row %+v with a peak of %v", r, peaks[i%2])
		}
		if isStep := r.Name == "step/volcano"; isStep != (r.Other != nil) || isStep &&
			(*r.Other <= 0 || *r.Other >= 1) {
			t.Errorf("row %+v", r)
		}
	}
}

// temporalArm is the multiplications of the temporal network's forward pass for ten steps of 14 numbers: head, time and
// film, a block at each of 10, 5 and, from 192 channels, 10 steps, the halving, the tail.
const temporalArm = 10*3*28*64 + 128 + 128*128 + 128*2*(64+128+64) +
	10*2*3*64*64 + 5*3*64*128 + 5*2*3*128*128 + 10*(3*192*64+192*64+3*64*64) + 10*64*14

// Operations are counted as the issue of a product is: two a multiply-add.
func TestOperations(t *testing.T) {
	want := map[string]float64{
		"product/6400x512x512/weights":  2 * 6400 * 512 * 512,
		"product/16000x1024x1024/input": 2 * 16000 * 1024 * 1024,
		"step/volcano":                  2 * 6400 * (3*(4*512*512+512*3) + 2*7*512),
		"step/arm":                      2 * 16000 * (3*(4*1024*1024+1024*140) + 2*281*1024),
		"step/arm-temporal":             2 * 16000 * (3*temporalArm - 10*3*28*64 - 128),
		"inference/arm-temporal/1":      2 * temporalArm,
		"inference/volcano/1":           2 * (7*512 + 4*512*512 + 512*3),
		"inference/arm/2000":            2 * 2000 * (281*1024 + 4*1024*1024 + 1024*140),
	}
	for _, c := range casesIn(kernel.Float32, 1) {
		if flop, ok := want[c.name]; ok {
			testkit.Equal(t, c.flop, flop, "%s", c.name)
			delete(want, c.name)
		}
	}
	if len(want) > 0 {
		t.Errorf("no rows for %v", want)
	}
	precisions := 1
	for _, p := range []kernel.Precision{kernel.BFloat16x3, kernel.BFloat16} {
		if kernel.Effective(p) == p {
			precisions++
		}
	}
	if n := len(Titles()); n != 26*precisions {
		t.Errorf("%d rows in %d precisions", n, precisions)
	}
}

// An interruption ends the measurement, and a row's error names it.
func TestMeasureStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	_, rows, err := Measure(ctx, Options{Cores: []int{1}, Divide: 1 << 20}, func(Row) {
		if calls++; calls == 2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(rows) != 2 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	broken := errors.New("broken")
	w := work{name: "w", start: func(context.Context, *parallel.Pool) (func() error, func() error, error) {
		return func() error { return broken }, nil, nil
	}}
	if _, err := w.measure(context.Background(), 1, 0, 1); !errors.Is(err, broken) {
		t.Errorf("a failing row: %v", err)
	}
}

func TestQuantile(t *testing.T) {
	x := make([]float64, 200)
	for i := range x {
		x[i] = float64(i)
	}
	for q, want := range map[float64]float64{0: 0, 0.5: 100, 0.99: 198, 1: 199} {
		testkit.Equal(t, quantile(x, q), want, "the %v-quantile of 0 … 199", q)
	}
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/tools/testkit"
)

var runFolder = flag.String("folder", "", "run folder for the benchmark of samples")

// How long a program that has a run open waits for samples: reading the run and making its prior do not count. The 99 %
// quantile needs -benchtime 100x.
func BenchmarkSamples(b *testing.B) {
	if *runFolder == "" {
		b.Skip("expected -folder RUN")
	}
	pool := parallel.New(runtime.GOMAXPROCS(0))
	b.Cleanup(pool.Close)
	r := testkit.Must(experiment.Open(b.Context(), *runFolder, "", pool, nil))
	network, prior := testkit.Must(r.Trained("")), testkit.Must(r.Prior(b.Context(), nil))
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var waits []time.Duration
			for first := uint64(0); b.Loop(); first += uint64(n) {
				start := time.Now()
				_, err := r.Generate(b.Context(), network, prior, n, first, r.Problem.Seed, nil)
				if err != nil && !errors.As(err, new(*judge.FailedError)) {
					b.Fatal(err)
				}
				waits = append(waits, time.Since(start))
			}
			slices.Sort(waits)
			for name, q := range map[string]float64{"p50-ms": 0.5, "p99-ms": 0.99} {
				b.ReportMetric(waits[int(q*float64(len(waits)))].Seconds()*1e3, name)
			}
		})
	}
}

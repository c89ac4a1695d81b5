package main

import (
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/internal/processor"
	"github.com/landing-diffusion/landing/tools/testkit"
)

var runFolder = flag.String("folder", "", "run folder for the benchmark of samples")

// How long a program that has a run open waits for samples, motions with repair and their JSON file. Reading the run
// and making its prior do not count. The 99 % quantile needs -benchtime 100x. On a busy machine processor times count.
func BenchmarkSamples(b *testing.B) {
	if *runFolder == "" {
		b.Skip("expected -folder RUN")
	}
	pool := parallel.New(runtime.GOMAXPROCS(0))
	b.Cleanup(pool.Close)
	r := testkit.Must(experiment.Open(b.Context(), *runFolder, "", pool, nil))
	network, prior := testkit.Must(r.Trained("")), testkit.Must(r.Prior(b.Context(), nil))
	if c := r.Condition; c != nil {
		prior = prior.Under(c.Of(r.HeldOutRows), 1)
	}
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var waits, processors []float64
			d := experiment.NewDrawer(r.Loaded, network, n)
			d.Finish(true)
			for first := uint64(0); b.Loop(); first += uint64(n) {
				start, before := time.Now(), processor.Seconds()
				s := testkit.Must(d.Draw(b.Context(), prior, n, first, r.Problem.Seed, nil))
				if write := r.Domain.Writer(".json"); write != nil {
					testkit.OK(b, write(io.Discard, arrayfile.RowsOf(s.Good(), s.Dim)))
				}
				waits = append(waits, time.Since(start).Seconds())
				processors = append(processors, processor.Seconds()-before)
			}
			for _, q := range []float64{0.5, 0.99} {
				for name, of := range map[string][]float64{"ms": waits, "processor-ms": processors} {
					slices.Sort(of)
					b.ReportMetric(of[int(q*float64(len(of)))]*1e3, fmt.Sprintf("p%g-%s", 100*q, name))
				}
			}
		})
	}
}

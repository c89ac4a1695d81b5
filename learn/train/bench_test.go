package train

import (
	"context"
	"fmt"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// BenchmarkStep makes whole updates of the size of the volcano recipe: 128 paths
// of 50 times, 6400 rows, through the network 7-512-512-512-512-512-3.
func BenchmarkStep(b *testing.B) {
	proc := &langevin.Process{
		Set: zoo.Sphere{D: 3}, Method: langevin.ULLA, Friction: 5, Landing: langevin.Landing{Explicit: true, Rate: 10},
		Schedule: langevin.Schedule{N: 50, T: 2, SigmaMin: 0.5, SigmaMax: 1},
	}
	x0 := testkit.Must(langevin.Start(b.Context(), proc, 128, 1))
	cfg := Config{Epochs: 1, Batch: 128, Refresh: 1, LearningRate: 1e-4, Clip: 10, Average: 0.999, Seed: 1}
	sizes := []int{7, 512, 512, 512, 512, 512, 3}
	for i := range 2 * (kernel.BFloat16 + 1) {
		workers, p := 1+int(i)%2, i/2
		if kernel.Effective(p) != p {
			continue
		}
		b.Run(fmt.Sprintf("%s/%v/%dworkers", kernel.Name(), p, workers), func(b *testing.B) {
			pool := testkit.Pool(b, workers)
			source := pathmatch.NewSource[float32](pathmatch.New(proc, pathmatch.Options{}), x0, pool)
			t := New(cfg, source, score.NewMLP[float32](sizes, 1).Model(score.Reading{}, p), pool)
			testkit.OK(b, t.prepare(context.Background()))
			t.State.Epoch = 1 // with the moving average
			for b.Loop() {
				t.State.Step = 0
				testkit.OK(b, t.batch())
			}
			products := 0 // forward, and backward for weights and for inputs
			for l := range len(sizes) - 1 {
				products += 3 * sizes[l] * sizes[l+1]
			}
			products -= sizes[0] * sizes[1]
			flops := 2 * float64(len(t.terms)) * float64(products)
			b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

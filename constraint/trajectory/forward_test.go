package trajectory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/internal/testkit"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/parallel"
)

// The forward simulation of the published task: as many paths as there are training rows.
func BenchmarkForward(b *testing.B) {
	for _, l := range []int{10, 40} {
		b.Run(fmt.Sprint("L=", l), func(b *testing.B) {
			data, err := arrayfile.ReadNPY(testkit.Shared(b, fmt.Sprintf("data/robot/L%d_paths.npy", l)))
			if err != nil {
				b.Fatal(err)
			}
			pool := parallel.New(2)
			defer pool.Close()
			s := set(b, published(l))
			p := &langevin.Process{
				Set: s, Method: langevin.ULLA, Friction: 1,
				Schedule: langevin.Schedule{N: 100, T: 0.2, SigmaMin: 0.1, SigmaMax: 2},
				Landing:  langevin.Landing{Explicit: true, Rate: 200},
			}
			sim := langevin.NewSimulator(p, pool, 32)
			var out langevin.Paths
			refresh, failed := uint64(0), 0
			x0 := data.AsFloat64()[:320*s.Dim()]
			var r langevin.Report
			for b.Loop() {
				if r, err = sim.Forward(context.Background(), &out, x0, 1, refresh); err != nil {
					b.Fatal(err)
				}
				refresh++
				failed += r.Failed
			}
			b.ReportMetric(float64(failed)/float64(refresh), "failed")
			b.ReportMetric(float64(r.Reflected), "reflected")
			b.ReportMetric(float64(r.TurnedBack), "turned")
		})
	}
}

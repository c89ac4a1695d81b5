package trajectory_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The forward simulation of the published task: as many paths as there are training rows. With open ends start and goal
// stand behind the waypoints, and the path keeps no height, which the ends would ask for again.
func BenchmarkForward(b *testing.B) {
	for _, c := range []struct {
		l    int
		open bool
	}{{10, false}, {40, false}, {10, true}} {
		l := c.l
		b.Run(fmt.Sprintf("L=%d,open=%v", l, c.open), func(b *testing.B) {
			data := testkit.Must(arrayfile.ReadNPY(testkit.Shared(b, fmt.Sprintf("data/robot/L%d_paths.npy", l))))
			pool := parallel.New(2)
			defer pool.Close()
			s := set(b, published(l))
			x0 := data.AsFloat64()[:320*s.Dim()]
			if c.open {
				flange := trajectory.Place{Given: trajectory.Given{Position: &robot.Point{Link: flange}}}
				spec := published(l)
				spec.Start, spec.Goal, spec.Path = flange, flange, nil
				rows := slices.Collect(slices.Chunk(x0, s.Dim()))
				x0 = nil
				for _, row := range rows {
					x0 = append(append(x0, row...), 0.4, -0.5, 0.205, 0.4, 0.5, 0.205)
				}
				s = constraint.Hold(set(b, spec), trajectory.Held(spec))
			}
			p := &langevin.Process{
				Set: s, Method: langevin.ULLA, Friction: 1,
				Schedule: langevin.Schedule{N: 100, T: 0.2, SigmaMin: 0.1, SigmaMax: 2},
				Landing:  langevin.Landing{Explicit: true, Rate: 200},
			}
			sim := langevin.NewSimulator(p, pool, 32)
			var out langevin.Paths
			refresh, failed := uint64(0), 0
			var r langevin.Report
			for b.Loop() {
				r = testkit.Must(sim.Forward(context.Background(), &out, x0, 1, refresh))
				refresh++
				failed += r.Failed
			}
			b.ReportMetric(float64(failed)/float64(refresh), "failed")
			b.ReportMetric(float64(r.Reflected), "reflected")
			b.ReportMetric(float64(r.TurnedBack), "turned")
		})
	}
}

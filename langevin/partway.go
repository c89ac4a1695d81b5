package langevin

import (
	"context"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/ranks"
)

// Spread returns s_k: the standard deviation of x_k − x_0, in each direction of a flat Σ without force, for 1 ≤ k ≤ N.
func (p *Process) Spread(k int) float64 { return math.Sqrt(p.past(k - 1).vv) }

// Partway simulates one forward path from each of the points x0 (n×d) and keeps of it the states x_k of the steps ks
// alone, ascending and each from 1 to N: dst is n×len(ks)×d. Row i is sample first + i of the streams: its ζ_k is that
// of step k, its p̃_0 that of step 0. failed (n) is set for paths that lost a projection or broke down; their rows hold
// what they reached, or x0. Nothing beyond the last of ks is simulated. Errors are those of Forward.
func (s *Simulator) Partway(ctx context.Context, dst []float64, failed []bool, x0 []float64, ks []int, first uint64,
	noise, momentum keyed.Stream) (Report, error) {
	d, L, end := s.proc.Set.Dim(), len(ks), ks[len(ks)-1]
	clear(failed)
	simulate := func(w *simWorker, lo, hi int) error {
		level := 0
		return w.forward(x0[lo*d:hi*d], failed[lo:hi], int(first)+lo, noise, momentum, end,
			func(k int, x []float64, _ *Folds) {
				if k != ks[level] {
					return
				}
				for i := range hi - lo {
					copy(dst[((lo+i)*L+level)*d:((lo+i)*L+level+1)*d], x[i*d:(i+1)*d])
				}
				level++
			})
	}
	report, err := s.run(ctx, len(failed), task{simulate, func(lo, hi int) { clear(failed[lo:hi]) }, func(i int) {
		failed[i] = true
		for l := range L {
			copy(dst[(i*L+l)*d:(i*L+l+1)*d], x0[i*d:(i+1)*d])
		}
	}, func(g ranks.Group, from, lo, hi int) {
		g.Broadcast(from, ranks.View(dst[lo*L*d:hi*L*d]))
		g.Broadcast(from, ranks.View(failed[lo:hi]))
	}})
	report.Failed = Lost(failed)
	return report, err
}

package langevin

import (
	"context"
	"errors"
	"math"
	"slices"

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
	report.Failed = lost(failed)
	return report, err
}

// Breakdowns are rows of a simulation that left the finite numbers or lost their rank.
type Breakdowns struct {
	Broken int            // how many; they count as failed
	Break  *DivergedError // that of the first; nil if there is none
}

func (b *Breakdowns) add(o Breakdowns) {
	if b.Broken += o.Broken; b.Break == nil {
		b.Break = o.Break
	}
}

// Tolerate has Forward and Backward count a row that breaks down as failed, and go on with the others, which are as
// they would be without it: Report.Breakdowns tells. Without it such a row ends the simulation. It returns s.
func (s *Simulator) Tolerate() *Simulator {
	s.tolerant = true
	return s
}

// A task simulates rows of a block; again makes what it left of rows ready to be simulated
// again, and lose marks a row as failed and leaves finite numbers there. give gives the rows
// lo … hi−1 of a rank to all others; nil: they are not divided.
type task struct {
	simulate func(w *simWorker, lo, hi int) error
	again    func(lo, hi int)
	lose     func(row int)
	give     func(g ranks.Group, from, lo, hi int)
}

// bear simulates the rows lo … hi−1, and where some of them break down the halves of these:
// rows do not depend on each other. What a row did before it broke down is not reported.
func (w *simWorker) bear(ctx context.Context, t task, lo, hi int) (b Breakdowns, err error) {
	if err := ctx.Err(); err != nil {
		return b, err
	}
	before, trace := w.report, w.trace.clone()
	before.Worst = slices.Clone(before.Worst)
	err = t.simulate(w, lo, hi)
	var e *DivergedError
	if !errors.As(err, &e) {
		return b, err
	}
	w.report, w.trace = before, trace
	t.again(lo, hi)
	if hi-lo == 1 {
		t.lose(lo)
		return Breakdowns{1, e}, nil
	}
	for _, half := range [2][2]int{{lo, (lo + hi) / 2}, {(lo + hi) / 2, hi}} {
		c, err := w.bear(ctx, t, half[0], half[1])
		if b.add(c); err != nil {
			return b, err
		}
	}
	return b, nil
}

// clone returns a copy of t, nil of nil.
func (t *Trace) clone() *Trace {
	if t == nil {
		return nil
	}
	c := *t
	c.count, c.sums, c.worst = slices.Clone(t.count), slices.Clone(t.sums), slices.Clone(t.worst)
	return &c
}

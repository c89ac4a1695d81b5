package langevin

import (
	"context"
	"errors"
	"slices"

	"github.com/landing-diffusion/landing/internal/ranks"
)

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

// Tolerate makes Forward and Backward count a row that breaks down as failed and continue. The other rows keep their
// values. Report.Breakdowns has the count. Without Tolerate such a row ends the simulation. Tolerate returns s.
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

// isolate simulates the rows lo … hi−1, and where some of them break down the halves of these:
// rows do not depend on each other. What a row did before it broke down is not reported.
func (w *simWorker) isolate(ctx context.Context, t task, lo, hi int) (b Breakdowns, err error) {
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
		c, err := w.isolate(ctx, t, half[0], half[1])
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

// reset forgets all states.
func (t *Trace) reset() {
	clear(t.count)
	clear(t.sums)
	clear(t.worst)
}

package train

import (
	"context"
	"math"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
)

// HeldTimes is how many times of an item are looked at, at most: one in the middle of each of as many strata.
const HeldTimes = 16

// A Held is items of rows that a training does not see, by which models are judged: always the same items
// and times, so that losses of two models differ by nothing but the models.
type Held[T kernel.Float] struct {
	source method.Source[T]
	pool   *parallel.Pool
	times  []int
	draws  int              // of the network, of a term
	losses []method.Loss[T] // by worker
}

// NewHeld makes the items of a source, for models that read their input as the one given does. The error is
// that of the source.
func NewHeld[T kernel.Float](ctx context.Context, src method.Source[T], m score.Model[T], seed, refresh uint64,
	pool *parallel.Pool) (*Held[T], error) {
	h := &Held[T]{source: src, pool: pool, draws: max(1, src.Capabilities().Draws)}
	N := src.Times()
	for j, n := 0, min(HeldTimes, N); j < n; j++ {
		h.times = append(h.times, (2*j+1)*N/(2*n))
	}
	for range pool.Workers() {
		h.losses = append(h.losses, src.NewLoss(m, h.draws*len(h.times)))
	}
	if err := src.Prepare(ctx, seed); err != nil {
		return nil, err
	}
	_, err := src.Refresh(ctx, seed, refresh)
	if arrange := src.Capabilities().Arrange; arrange != nil && err == nil {
		arrange(seed, refresh)
	}
	return h, err
}

// Losses returns the mean loss of each item; NaN of those that failed, or that the model cannot read.
func (h *Held[T]) Losses(m score.Model[T]) []float64 {
	pack := m.Pack(false)
	out := make([]float64, h.source.Items())
	rows := h.draws * len(h.times)
	ws := make([]score.Workspace[T], h.pool.Workers())
	terms, ds := make([][]method.Term, len(ws)), make([][]T, len(ws))
	h.pool.Do(len(out), func(worker, item int) {
		if out[item] = math.NaN(); h.source.Failed(item) {
			return
		}
		if ws[worker] == nil {
			ws[worker] = pack.NewWorkspace(rows, false)
			ds[worker] = make([]T, rows*m.Out())
		}
		terms[worker] = terms[worker][:0]
		for _, k := range h.times {
			terms[worker] = append(terms[worker], method.Term{Item: item, K: k, Weight: 1 / float64(len(h.times))})
		}
		l := h.losses[worker]
		if in, err := l.Prepare(terms[worker]); err == nil {
			out[item] = l.Evaluate(ds[worker], ws[worker].Forward(in, rows))
		}
	})
	return out
}

package train

import (
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/learn/method"
)

// batching draws the batches of a training.
type batching[T kernel.Float] struct {
	cfg     Config
	source  method.Source[T]
	state   *State // the trainer's
	order   []int  // this epoch's order of items
	terms   []method.Term
	uniform []float64
}

// batches returns the number of batches in an epoch; an incomplete one is dropped, unless it is the only one.
func (b *batching[T]) batches() int { return max(1, len(b.order)/b.cfg.Batch) }

// arrange brings the order of the items in an epoch, of which those that failed are left out, and what of them is
// made anew for each.
func (b *batching[T]) arrange(epoch int) {
	if arrange := b.source.Capabilities().Arrange; arrange != nil {
		arrange(b.cfg.Seed, keyed.TrainingPaths.At(uint64(epoch)))
	}
	b.order = b.order[:b.source.Items()]
	keyed.RowOrder.Stream(b.cfg.Seed, uint64(epoch)).Permutation(b.order, 0, 0)
	kept := b.order[:0]
	for _, i := range b.order {
		if !b.source.Failed(i) {
			kept = append(kept, i)
		}
	}
	b.order = kept
}

// now returns the items of the batch in progress.
func (b *batching[T]) now() []int {
	lo := b.state.Step * b.cfg.Batch
	return b.order[lo:min(lo+b.cfg.Batch, len(b.order))]
}

// pick lists the terms of a batch: all times of each item, or one time from each of TimesPerPath strata, weighted by
// the stratum's size so that the loss and its gradient keep their expectation.
func (b *batching[T]) pick(batch []int) {
	N, m := b.source.Times(), b.cfg.TimesPerPath
	b.terms = b.terms[:0]
	draw := keyed.BatchTimes.Stream(b.cfg.Seed, uint64(b.state.Epoch))
	for _, item := range batch {
		if m == N {
			for k := range N {
				b.terms = append(b.terms, method.Term{Item: item, K: k, Weight: 1 / float64(len(batch))})
			}
			continue
		}
		draw.Uniforms(b.uniform, uint64(item), 0)
		for j, u := range b.uniform {
			lo, hi := j*N/m, (j+1)*N/m
			k := min(lo+int(u*float64(hi-lo)), hi-1)
			b.terms = append(b.terms, method.Term{Item: item, K: k, Weight: float64(hi-lo) / float64(len(batch))})
		}
	}
}

// hide draws which of the terms do not see their condition: a function of epoch, item and time.
func (b *batching[T]) hide() {
	if b.cfg.Hidden == 0 {
		return
	}
	draw, u := keyed.HiddenConditions.Stream(b.cfg.Seed, uint64(b.state.Epoch)), b.uniform[:1]
	for i := range b.terms {
		term := &b.terms[i]
		draw.Uniforms(u, uint64(term.Item), term.K)
		term.Null = u[0] < b.cfg.Hidden
	}
}

package train

import (
	"cmp"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/learn/method"
)

// A Plan says when a training ends and how its learning rate falls until then. At epoch e (fractions count batches) the
// rate is multiplied by
//
//	Factor · min(1, (1 − e/Epochs) / Anneal),
//
// or by Factor where Anneal is 0. A plan of Factor 1 is what the keys train.epochs and
// train.anneal say, so it can be given by them.
type Plan struct {
	Epochs int     `json:"epochs"`
	Anneal float64 `json:"anneal"` // share of the epochs, the last, over which the rate falls linearly to 0
	Factor float64 `json:"factor"` // of the rate before it falls
}

// At returns the factor of the learning rate at an epoch.
func (p Plan) At(epoch float64) float64 {
	if p.Anneal == 0 {
		return p.Factor
	}
	return p.Factor * min(1, (1-epoch/float64(p.Epochs))/p.Anneal)
}

// Falling reports whether the rate has begun to fall after `epoch` epochs.
func (p Plan) Falling(epoch int) bool { return p.At(float64(epoch)) < p.Factor }

// Until returns the plan of a training that goes by p and, after the given epoch, is to end at another one. Where the
// rate has not begun to fall, it falls over the same share of the epochs, or over all that are left if these are fewer:
// what was trained is what the new plan would have trained. Where it has, it goes on from where it is, linearly to 0.
func (p Plan) Until(epoch, epochs int) Plan {
	if epochs <= epoch { // no update comes after it
		return Plan{max(epoch, 1), 0, p.At(float64(epoch))}
	}
	if p.Anneal == 0 {
		return Plan{epochs, 0, p.Factor}
	}
	left := 1 - float64(epoch)/float64(epochs)
	if !p.Falling(epoch) {
		return Plan{epochs, min(p.Anneal, left), p.Factor}
	}
	return Plan{epochs, left, p.At(float64(epoch))}
}

// Validate returns an error unless a training can go by the plan. It is for plans from files.
func (p Plan) Validate() error {
	for _, v := range []struct {
		key       string
		value, lo float64
		hi        float64
	}{{"epochs", float64(p.Epochs), 1, maxCount}, {"anneal", p.Anneal, 0, 1}, {"factor", p.Factor, 0, 1}} {
		if math.IsNaN(v.value) || v.value < v.lo || v.value > v.hi {
			return fmt.Errorf("%s is %v; expected a number from %v to %g", v.key, v.value, v.lo, v.hi)
		}
	}
	return nil
}

// Config says how to train. Its zero value is Adam at a constant rate without clipping,
// average or tolerance of failures, with the numbers given below.
type Config struct {
	Epochs       int     // 0 is 1000
	Batch        int     // items a batch; 0 is 128
	Refresh      int     // l_f: epochs between fresh items, such as forward paths; 0 is 1
	TimesPerPath int     // times of each item in a batch, one from each of as many strata; 0 means all
	LearningRate float64 // 0 is 2e-3
	Anneal       float64 // share of the updates, the last, over which the rate falls to 0
	Clip         float64 // largest gradient norm; 0 means no limit
	Average      float64 // limit of the decay of the weights' moving average
	Plateau      Plateau
	MaxFailed    float64 // largest share of items that may fail
	Hidden       float64 // share of terms whose condition the network does not see
	JudgedByLoss bool    // held-out losses, not distances, decide when training stops
	Seed         uint64

	Optimizer Optimizer
}

// A ConfigError names a field of Config that cannot be.
type ConfigError = method.ConfigError

// Validate returns a *ConfigError if there is no such training.
func (c Config) Validate() error {
	for _, n := range []struct {
		field string
		value int
	}{{"Epochs", c.Epochs}, {"Batch", c.Batch}, {"Refresh", c.Refresh}, {"TimesPerPath", c.TimesPerPath}} {
		if n.value < 0 {
			return &ConfigError{Field: n.field, Value: n.value, Want: "a number of at least 0"}
		}
	}
	for _, v := range []struct {
		field     string
		value, hi float64
	}{
		{"LearningRate", c.LearningRate, 1e15}, {"Clip", c.Clip, 1e15},
		{"Anneal", c.Anneal, 1}, {"Average", c.Average, 1}, {"MaxFailed", c.MaxFailed, 1}, {"Hidden", c.Hidden, 1},
	} {
		if !(v.value >= 0 && v.value <= v.hi) {
			return &ConfigError{Field: v.field, Value: v.value, Want: fmt.Sprintf("a number in [0, %v]", v.hi)}
		}
	}
	if c.Optimizer < 0 || int(c.Optimizer) >= len(optimizerNames) {
		return &ConfigError{Field: "Optimizer", Value: int(c.Optimizer), Want: "Adam or Muon"}
	}
	return nil
}

// Resolved returns the Config with its numbers filled in, for a source with these numbers of items and times.
func (c Config) Resolved(items, times int) Config {
	c.Epochs = cmp.Or(c.Epochs, 1000)
	c.Batch = min(cmp.Or(c.Batch, 128), items)
	c.Refresh = cmp.Or(c.Refresh, 1)
	c.TimesPerPath = min(cmp.Or(c.TimesPerPath, times), times)
	c.LearningRate = cmp.Or(c.LearningRate, 2e-3)
	return c
}

// Terms returns how many terms an epoch of a resolved Config has, for a source of `items` items.
func (c Config) Terms(items int) int { return max(1, items/c.Batch) * c.Batch * c.TimesPerPath }

// batching draws the batches of a training.
type batching[T kernel.Float] struct {
	cfg     Config
	source  method.Source[T]
	state   *State // the trainer's
	order   []int  // this epoch's order of items
	divided bool   // other processes have some of the items: those that failed stay in the order
	terms   []method.Term
	uniform []float64
}

// batches returns the number of batches in an epoch; an incomplete one is dropped, unless it is the only one.
func (b *batching[T]) batches() int { return max(1, len(b.order)/b.cfg.Batch) }

// arrange lets the source renew what changes with each epoch, and draws the order of the epoch's items without the
// failed ones.
func (b *batching[T]) arrange(epoch int) {
	if arrange := b.source.Capabilities().Arrange; arrange != nil {
		arrange(b.cfg.Seed, keyed.TrainingPaths.At(uint64(epoch)))
	}
	b.order = b.order[:b.source.Items()]
	keyed.RowOrder.Stream(b.cfg.Seed, uint64(epoch)).Permutation(b.order, 0, 0)
	kept := b.order[:0]
	for _, i := range b.order {
		if b.divided || !b.source.Failed(i) {
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

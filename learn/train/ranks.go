package train

import (
	"context"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/ranks"
	"github.com/landing-diffusion/landing/learn/method"
)

// Orders of rank 0 to the trainers of other ranks. Numbers from Orders on are free for others.
const (
	opSync    = iota + 1 // take over its parameters and moments
	opReady              // prepare the source
	opRefresh            // make fresh items: refresh
	opArrange            // the order of the items: epoch
	opBatch              // make an update: epoch, step, updates, averaged, rate, decay
	opCheck              // compare weights
	Orders
)

// foldPiece is how many numbers of a gradient go from rank to rank at a time.
const foldPiece = 1 << 15

// share is a trainer's part in the work of a group.
type share struct {
	group  ranks.Group
	exact  bool
	last   int       // ranks with parts of the gradient
	slots  []float64 // of every part: its loss, and whether it failed
	lo, hi int       // piece of the gradient in progress
	fault  error     // of an order before: this rank can give no gradient
	synced bool      // of rank 0: the others have its parameters

	addTask func(worker, task int) // adds this rank's parts to a share of the piece
	add     func(lo, hi int)
	own     func(slot int) bool
}

// Among divides the work of t among the ranks of a group. Each calls it once, before anything else, of a trainer of
// the same Config, source and model; all but rank 0 then call Obey alone. Every rank computes some of the numbered
// parts of a gradient, and simulates some of the paths of a source that can be divided.
//
// If exact, parts are those of one process, summed in their order, so that weights are the same bytes at any number
// of ranks; there are 16, so that no more ranks than these are of use. If not, each rank cuts its share of the rows
// in 16 parts of its own, and the sums of ranks are added in an order that is the group's: weights depend on the
// number of ranks.
func (t *Trainer[T]) Among(g ranks.Group, exact bool) {
	s := &share{group: g, exact: exact, last: min(g.Size(), lanes)}
	s.addTask = func(_, task int) {
		lo, hi := ranks.Cut(s.hi-s.lo, task, t.pool.Workers())
		lo, hi = s.lo+lo, s.lo+hi
		for _, part := range t.grads {
			kernel.Add(t.opt.total[lo:hi], part[lo:hi])
		}
	}
	s.own = func(slot int) bool { return slot%t.parts >= t.first && slot%t.parts < t.end }
	s.add = func(lo, hi int) {
		if g.Rank() > 0 { // where total has the sum of its parts from the beginning
			s.lo, s.hi = lo, hi
			t.pool.Do(t.pool.Workers(), s.addTask)
		}
	}
	t.share, t.parts = s, lanes
	switch rank := g.Rank(); {
	case !exact:
		s.last, t.parts = g.Size(), lanes*g.Size()
		t.first, t.end = ranks.Cut(t.parts, rank, g.Size())
	case rank < s.last:
		t.first, t.end = ranks.Cut(lanes, rank, s.last)
	default:
		t.first, t.end = lanes, lanes
	}
	t.sums, t.errs, s.slots = make([]float64, t.parts), make([]error, t.parts), make([]float64, 2*t.parts)
	if exact && g.Rank() > 0 {
		t.opt.total = make([]T, len(t.opt.params))
	}
	t.grads = slices.Clone(t.grads[:t.end-t.first]) // the others' memory is of no use here
}

// order gives an order to the other ranks, if there are any; s may be nil.
func (s *share) order(op uint64, args ...uint64) {
	if s == nil {
		return
	}
	o := ranks.Order{Op: op}
	copy(o.Args[:], args)
	ranks.Tell(s.group, o)
}

// giveAll gives rank 0's parameters and moments to the others.
func giveAll[T kernel.Float](g ranks.Group, o *optimizer[T]) {
	for _, p := range o.parameters() {
		g.Broadcast(0, ranks.View(p.data))
	}
}

// Obey does what rank 0 said. It panics if that is no order of a trainer.
func (t *Trainer[T]) Obey(o ranks.Order) {
	s := &t.State
	switch o.Op {
	case opSync:
		giveAll(t.share.group, t.opt)
		t.pool.Do(t.model.Parts(), t.packTask)
	case opReady:
		t.share.fault = t.source.Prepare(context.Background(), t.cfg.Seed)
	case opRefresh:
		t.report, _ = t.refresh(context.Background(), o.Args[0]) // rank 0 has the error too
	case opArrange:
		s.Epoch = int(o.Args[0])
		t.arrange(s.Epoch)
	case opBatch:
		s.Epoch, s.Step, s.Averaged = int(o.Args[0]), int(o.Args[1]), int(o.Args[3])
		step := adam(math.Float64frombits(o.Args[4]), int(o.Args[2]))
		if _, norm, err := t.gradient(t.now()); err == nil {
			t.move(step, math.Float64frombits(o.Args[5]), norm)
		}
	case opCheck:
		t.share.compare(ranks.View(t.opt.params), ranks.View(t.opt.average))
	default:
		panic(fmt.Sprintf("train: there is no order %d", o.Op))
	}
}

// refresh has the source make fresh items, together with the other ranks if it can.
func (t *Trainer[T]) refresh(ctx context.Context, refresh uint64) (method.Report, error) {
	if among := t.source.Capabilities().Among; among != nil && t.share != nil {
		among(t.share.group)
		defer among(nil)
	}
	return t.source.Refresh(ctx, t.cfg.Seed, refresh)
}

// check compares the weights of all ranks.
func (t *Trainer[T]) check() error {
	if t.share == nil {
		return nil
	}
	t.share.order(opCheck)
	if rank := t.share.compare(ranks.View(t.opt.params), ranks.View(t.opt.average)); rank > 0 {
		return fault.Errorf(fault.Check, "", "after epoch %d the weights of rank %d of the MPI job are not those of "+
			"rank 0: a fault of its machine, or with mpi.exact=false sums that differ from rank to rank; "+
			"mpi.exact=true has none. The last checkpoint is from before", t.State.Epoch+1, rank)
	}
	return nil
}

// compare returns the first rank whose weights are not those of rank 0; 0 if there is none.
func (s *share) compare(params, average []byte) int {
	g := s.group
	sums := make([]float64, g.Size())
	table := crc32.MakeTable(crc32.Castagnoli)
	sums[g.Rank()] = float64(crc32.Update(crc32.Checksum(params, table), table, average))
	ranks.Share(g, sums, func(i int) bool { return i == g.Rank() })
	for rank, sum := range sums {
		if sum != sums[0] {
			return rank
		}
	}
	return 0
}

package train

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/ranks"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
)

// lanes is the number of partial gradients of a batch. Rows are cut into lanes by their index, so sums run in the same
// order at any number of workers; it also bounds how many workers help.
const lanes = 16

// laneRows bounds the rows that pass through the network at once. From 130 to
// 800 rows, and with 8 or 16 lanes, a step takes the same time.
const laneRows = 256

// gradients computes the gradients of batches.
type gradients[T kernel.Float] struct {
	batching[T]
	opt  *optimizer[T] // has the sum of the parts
	pool *parallel.Pool

	draws int              // network rows a term
	loss  []method.Loss[T] // by worker
	ws    []score.Workspace[T]
	ds    [][]T
	parts int       // numbered, of a gradient: lanes, or with ranks that sum as they like more
	first int       // of the parts that are computed here: all without ranks
	end   int       // behind them
	grads [][]T     // by part, from first on
	sums  []float64 // by part
	errs  []error   // by part
	share *share    // of Among; nil: there are no other ranks

	laneTask, reduceTask, squareTask func(worker, task int) // bound once: a method value allocates
}

// gradient computes the mean loss over paths and, in total, its gradient; it returns the
// gradient's norm. With ranks all of them call it, and have the same.
func (g *gradients[T]) gradient(batch []int) (loss, norm float64, err error) {
	g.pick(batch)
	g.hide()
	g.pool.Do(g.end-g.first, g.laneTask)
	if g.share != nil {
		g.tellParts()
	}
	for lane, e := range g.errs {
		if e != nil {
			return 0, 0, e
		}
		loss += g.sums[lane]
	}
	if loss-loss != 0 {
		return 0, 0, g.blame()
	}
	if g.share != nil {
		g.sum()
		g.pool.Do(segments, g.squareTask)
	} else {
		g.pool.Do(segments, g.reduceTask)
	}
	for _, sq := range g.opt.squares {
		norm += sq
	}
	norm = math.Sqrt(norm)
	if norm-norm != 0 {
		return 0, 0, g.steep()
	}
	return loss, norm, nil
}

// compute computes the loss and gradient of a part's share of the terms.
func (g *gradients[T]) compute(worker, lane int, grad []T) {
	l, ws, ds := g.loss[worker], g.ws[worker], g.ds[worker]
	g.sums[lane], g.errs[lane] = 0, nil
	lo, hi := lane*len(g.terms)/g.parts, (lane+1)*len(g.terms)/g.parts
	if lo == hi {
		clear(grad)
	}
	for first := lo; lo < hi; {
		n := min(l.Rows(), hi-lo)
		in, err := l.Prepare(g.terms[lo : lo+n])
		if err != nil {
			g.errs[lane] = fmt.Errorf("epoch %d, batch %d, terms from sample %d on: %w",
				g.state.Epoch+1, g.state.Step+1, g.terms[lo].Item, err)
			return
		}
		rows := n * g.draws
		g.sums[lane] += l.Evaluate(ds, ws.Forward(in, rows))
		ws.Backward(grad, ds, rows, lo > first)
		lo += n
	}
}

// blame finds the first term whose loss is not finite.
func (g *gradients[T]) blame() error {
	l, ws, ds := g.loss[0], g.ws[0], g.ds[0]
	for i := range g.terms {
		in, err := l.Prepare(g.terms[i : i+1])
		if err != nil {
			return err
		}
		if v := l.Evaluate(ds, ws.Forward(in, g.draws)); v-v != 0 {
			epoch, batch, of := g.state.Epoch+1, g.state.Step+1, g.terms[i]
			if slices.ContainsFunc(in, func(x T) bool { return x-x != 0 }) {
				return fault.Errorf(fault.Diverged, "", "the network cannot read the point of sample %d, step %d, in "+
					"epoch %d, batch %d (atoms on a line, or a mirror image, have no alignment); smaller steps or "+
					"conditions on bond angles help", of.Item, of.K, epoch, batch)
			}
			return fault.Errorf(fault.Diverged, "", "the loss is not finite in epoch %d, batch %d, at sample %d, "+
				"step %d; a lower learning rate may help", epoch, batch, of.Item, of.K)
		}
	}
	return g.steep()
}

// steep says that the gradient left the finite numbers where the loss did not.
func (g *gradients[T]) steep() error {
	return fault.Errorf(fault.Diverged, "", "the gradient is not finite in epoch %d, batch %d; a lower learning rate "+
		"may help", g.state.Epoch+1, g.state.Step+1)
}

// reduce sums the parts that are computed here, in order, in a segment of total; without other ranks it squares it too.
func (g *gradients[T]) reduce(_, segment int) {
	lo, hi := g.opt.segment(segment)
	dst := g.opt.total[lo:hi]
	for _, part := range g.grads[1:] {
		kernel.Add(dst, part[lo:hi])
	}
	if g.share == nil {
		g.opt.square(0, segment)
	}
}

// tellParts makes the losses and faults of parts known to all ranks.
func (g *gradients[T]) tellParts() {
	s := g.share
	clear(s.slots)
	for i := g.first; i < g.end; i++ {
		s.slots[i] = g.sums[i]
		if g.errs[i] != nil || s.fault != nil {
			s.slots[g.parts+i] = 1
		}
	}
	ranks.Share(s.group, s.slots, s.own)
	copy(g.sums, s.slots[:g.parts])
	for i := range g.errs {
		if g.errs[i] = nil; s.slots[g.parts+i] > 0 {
			g.errs[i] = g.faultOf(i)
		}
	}
}

// faultOf returns the error of a part that a rank says has one: rank 0 has it too when it computes the part.
func (g *gradients[T]) faultOf(part int) error {
	s := g.share
	if s.group.Rank() == 0 {
		if g.compute(0, part, g.opt.total); g.errs[part] != nil {
			return g.errs[part]
		}
	}
	rank := 0
	for _, hi := ranks.Cut(g.parts, 0, s.last); part >= hi; _, hi = ranks.Cut(g.parts, rank, s.last) {
		rank++
	}
	return fault.Errorf(fault.Check, "", "rank %d of the MPI job cannot compute its share of a gradient that rank 0 "+
		"can; does it read the same files?", rank)
}

// sum makes total the sum of the parts of all ranks.
func (g *gradients[T]) sum() {
	s := g.share
	if !s.exact {
		g.pool.Do(segments, g.reduceTask)
		ranks.Sum(s.group, g.opt.total)
		return
	}
	if s.group.Rank() == 0 {
		g.pool.Do(segments, g.reduceTask)
	}
	ranks.Fold(s.group, g.opt.total, s.last, foldPiece, s.add)
}

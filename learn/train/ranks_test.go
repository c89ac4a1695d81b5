package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/ranks"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// crew is a training on a cap with elastic walls, divided among ranks: a trainer on each.
type crew struct {
	cfg  Config
	data []float64
	proc *langevin.Process
	// What a test changes of a rank; nil: nothing.
	source func(rank int, s method.Source[float32]) method.Source[float32]
	group  func(g ranks.Group) ranks.Group
}

const crewOps = Orders // that a rank 0 of these tests ends with

func newCrew(t *testing.T) *crew {
	t.Helper()
	hemisphere := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
	p := &langevin.Process{Set: hemisphere, Method: langevin.ULLA, Friction: 3,
		Schedule: langevin.Schedule{N: 12, T: 2, SigmaMin: 0.3, SigmaMax: 1.3}}
	data := testkit.Must(langevin.Start(t.Context(), p, 70, 1))
	return &crew{proc: p, data: data, cfg: Config{Epochs: 4, Batch: 20, Refresh: 2, TimesPerPath: 5, Clip: 0.5,
		Average: 0.9, Anneal: 0.5, MaxFailed: 0.5, Seed: 3}}
}

func (c *crew) trainer(rank int, pool *parallel.Pool) *Trainer[float32] {
	m := pathmatch.New(c.proc, pathmatch.Options{})
	src := m.Source(c.data, pool)
	if c.source != nil {
		src = c.source(rank, src)
	}
	r := score.Reading{}
	net := score.NewMLP[float32]([]int{r.Width(3, true), 24, 24, 3}, uint64(4+rank)).Model(r, kernel.Float32)
	return New(c.cfg, src, net, pool)
}

// run runs lead on rank 0 of a group of `size` ranks, with rank 0's trainer. The other ranks follow to the end. It
// returns the other ranks' panics.
func (c *crew) run(size int, exact bool, lead func(tr *Trainer[float32])) []any {
	caught := make([]any, size)
	var wait sync.WaitGroup
	for rank, g := range ranks.Local(size) {
		if c.group != nil {
			g = c.group(g)
		}
		wait.Add(1)
		go func() {
			defer wait.Done()
			defer func() {
				if caught[rank] = recover(); caught[rank] != nil {
					g.Abort(1)
				}
			}()
			pool := parallel.New(1 + rank%2)
			defer pool.Close()
			tr := c.trainer(rank, pool)
			tr.Among(g, exact)
			if rank == 0 {
				lead(tr)
				ranks.Tell(g, ranks.Order{Op: crewOps})
				return
			}
			for o := ranks.Hear(g); o.Op != crewOps; o = ranks.Hear(g) {
				tr.Obey(o)
			}
		}()
	}
	wait.Wait()
	return caught
}

// all returns the bytes of all that a trainer keeps.
func all(tr *Trainer[float32]) []byte {
	var b bytes.Buffer
	for _, p := range tr.opt.parameters() {
		b.Write(ranks.View(p.data))
	}
	return b.Bytes()
}

func epochs(t *testing.T, tr *Trainer[float32], n int) (out []Epoch) {
	t.Helper()
	for range n {
		e, err := tr.Epoch(t.Context())
		if err != nil {
			t.Error(err)
			return out
		}
		e.Seconds, e.Simulated = 0, 0
		out = append(out, e)
	}
	return out
}

// Weights, moments, averages, losses and all else that is reported are the same bytes at any number of ranks, with
// either optimiser, refreshes of some rows and hidden conditions; also of a training that stops and goes on at
// another number.
func TestRanksGiveTheSameBytes(t *testing.T) {
	for _, optimizer := range []Optimizer{Adam, Muon} {
		c := newCrew(t)
		c.cfg.Optimizer = optimizer
		pool := testkit.Pool(t, 2)
		alone := c.trainer(0, pool)
		want := epochs(t, alone, c.cfg.Epochs)
		for _, size := range []int{1, 2, 3, 4, 19} {
			caught := c.run(size, true, func(tr *Trainer[float32]) {
				got := epochs(t, tr, c.cfg.Epochs)
				testkit.Equal(t, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want),
					"%v, %d ranks: other epochs", optimizer, size)
				testkit.EqualSlices(t, all(tr), all(alone), "%v, %d ranks: other weights", optimizer, size)
			})
			if i := slices.IndexFunc(caught, func(v any) bool { return v != nil }); i >= 0 {
				t.Fatalf("%d ranks: rank %d: %v", size, i, caught[i])
			}
		}
		// Two epochs at 3 ranks, the others at 2, from a snapshot, which the others' random weights do not touch.
		var kept *Trainer[float32]
		c.run(3, true, func(tr *Trainer[float32]) {
			epochs(t, tr, 2)
			kept = tr
		})
		c.run(2, true, func(tr *Trainer[float32]) {
			epochs(t, tr, 1) // which Restore throws away on all ranks
			if err := tr.Restore(kept.Snapshot(), kept.State); err != nil {
				t.Error(err)
			}
			epochs(t, tr, c.cfg.Epochs-2)
			testkit.EqualSlices(t, all(tr), all(alone), "%v: stopped and gone on with: other weights", optimizer)
		})
	}
}

// A faulty group is one that does something wrong on the way.
type faulty struct {
	ranks.Group
	send      func(to int, b []byte) []byte
	broadcast func(from int, b []byte)
}

func (f *faulty) Send(to int, b []byte) {
	if f.send != nil {
		b = f.send(to, b)
	}
	f.Group.Send(to, b)
}

func (f *faulty) Broadcast(from int, b []byte) {
	f.Group.Broadcast(from, b)
	if f.broadcast != nil {
		f.broadcast(from, b)
	}
}

// What could go wrong in a sum gives other bytes, so that the test above would see it: parts that are summed rank by
// rank and not one after the other, and one that is missed.
func TestRanksSeeFaultySums(t *testing.T) {
	c := newCrew(t)
	pool := testkit.Pool(t, 1)
	alone := c.trainer(0, pool)
	epochs(t, alone, 1)
	for fault, f := range map[string]func(tr *Trainer[float32]){
		"sums of sums": func(tr *Trainer[float32]) { tr.share.exact = false },
		"a part missed": func(tr *Trainer[float32]) {
			if tr.share.group.Rank() == 1 {
				tr.grads = tr.grads[1:]
				tr.first++
			}
		},
		"parts in turned order": func(tr *Trainer[float32]) {
			if tr.share.group.Rank() == 1 {
				task := tr.laneTask
				tr.laneTask = func(worker, i int) {
					if task(worker, i); i == 1 {
						tr.grads[0], tr.grads[1] = tr.grads[1], tr.grads[0]
					}
				}
			}
		},
	} {
		var wait sync.WaitGroup
		for rank, g := range ranks.Local(2) {
			wait.Add(1)
			go func() {
				defer wait.Done()
				pool := testkit.Pool(t, 1)
				tr := c.trainer(rank, pool)
				if tr.Among(g, true); rank == 1 && fault == "sums of sums" {
					tr.opt.total = tr.grads[0]
				}
				f(tr)
				if rank == 1 {
					for o := ranks.Hear(g); o.Op != crewOps; o = ranks.Hear(g) {
						tr.Obey(o)
					}
					return
				}
				if epochs(t, tr, 1); bytes.Equal(all(tr), all(alone)) {
					t.Errorf("%s gives the same bytes", fault)
				}
				ranks.Tell(g, ranks.Order{Op: crewOps})
			}()
		}
		wait.Wait()
	}
}

// Sums in an order of the group's own give about the same training, and the same weights on all ranks.
func TestRanksWithoutOrder(t *testing.T) {
	c := newCrew(t)
	pool := testkit.Pool(t, 2)
	alone := c.trainer(0, pool)
	want := epochs(t, alone, c.cfg.Epochs)
	for _, size := range []int{1, 2, 3, 19} {
		c.run(size, false, func(tr *Trainer[float32]) {
			got := epochs(t, tr, c.cfg.Epochs)
			for i := range got {
				// Round-off of float32, in 12 updates whose gradients are clipped: a part that is missed, of 16, would
				// change the loss by a hundredth.
				if e := math.Abs(got[i].Loss/want[i].Loss - 1); !(e < 1e-4) {
					t.Errorf("%d ranks: loss %v, alone %v", size, got[i].Loss, want[i].Loss)
				}
			}
			testkit.Equal(t, bytes.Equal(all(tr), all(alone)), size == 1, "%d ranks: the same bytes", size)
		})
	}
}

// A bit that a rank gets wrong is noticed at the end of the epoch.
func TestRanksNoticeDrift(t *testing.T) {
	c := newCrew(t)
	done := false
	c.group = func(g ranks.Group) ranks.Group {
		return &faulty{Group: g, broadcast: func(from int, b []byte) {
			if g.Rank() == 2 && from == 2 && !done {
				done = true
				b[7] ^= 0x80 // the sign of a number of the gradient, after it was sent
			}
		}}
	}
	c.cfg.Refresh, c.proc.Schedule.N = 4, 4
	c.cfg.TimesPerPath = 4
	c.source = func(_ int, s method.Source[float32]) method.Source[float32] { return undivided{s} }
	c.run(3, true, func(tr *Trainer[float32]) {
		_, err := tr.Epoch(t.Context())
		testkit.Refused(t, err, "after epoch 1 the weights of rank 2 ")
	})
	if !done {
		t.Error("no gradient came from the last rank")
	}
}

// undivided hides that a source can be divided.
type undivided struct{ method.Source[float32] }

func (undivided) Capabilities() (c method.SourceCapabilities[float32]) { return c }

// failing is a source whose losses fail on a rank.
type failing struct {
	undivided
	err error
}

func (f failing) NewLoss(r score.Reader[float32], rows int) method.Loss[float32] {
	return failingLoss{f.Source.NewLoss(r, rows), f.err}
}

type failingLoss struct {
	method.Loss[float32]
	err error
}

func (l failingLoss) Prepare(terms []method.Term) ([]float32, error) {
	if slices.ContainsFunc(terms, func(t method.Term) bool { return t.Item == 11 }) {
		return nil, l.err
	}
	return l.Loss.Prepare(terms)
}

// A part that fails ends the training with its own error, wherever it was computed; one that fails elsewhere and not
// on rank 0, with an error that names the rank.
func TestRanksThatFail(t *testing.T) {
	broken := errors.New("it is broken")
	c := newCrew(t)
	c.source = func(_ int, s method.Source[float32]) method.Source[float32] { return failing{undivided{s}, broken} }
	c.run(3, true, func(tr *Trainer[float32]) {
		if _, err := tr.Epoch(t.Context()); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	})
	c.source = func(rank int, s method.Source[float32]) method.Source[float32] {
		if rank == 0 {
			return s
		}
		return failing{undivided{s}, broken}
	}
	c.run(3, true, func(tr *Trainer[float32]) {
		_, err := tr.Epoch(t.Context())
		for err == nil && !tr.Done() { // until rank 1 or 2 computes item 11
			_, err = tr.Epoch(t.Context())
		}
		if testkit.Refused(t, err, "cannot compute its share"); strings.HasPrefix(err.Error(), "rank 0 ") {
			t.Errorf("got %v", err)
		}
	})
}

// An interruption comes between batches or within the simulation, and the training goes on from there to the same
// bytes.
func TestRanksInterrupted(t *testing.T) {
	c := newCrew(t)
	pool := testkit.Pool(t, 1)
	alone := c.trainer(0, pool)
	epochs(t, alone, c.cfg.Epochs)
	c.run(3, true, func(tr *Trainer[float32]) {
		stops := 0
		for after := 0; !tr.Done(); after++ {
			_, err := tr.Epoch(&counted{Context: t.Context(), left: 3 * (after % 13)})
			if Interrupted(err) {
				stops++
			} else if err != nil {
				t.Error(err)
				return
			}
		}
		if stops < 3 {
			t.Errorf("interrupted %d times", stops)
		}
		testkit.EqualSlices(t, all(tr), all(alone), "other weights")
	})
}

// counted is a context that is done when it was asked so often.
type counted struct {
	context.Context
	left int
}

func (c *counted) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestObeyRefuses(t *testing.T) {
	pool := testkit.Pool(t, 1)
	tr := newCrew(t).trainer(0, pool)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	tr.Obey(ranks.Order{Op: Orders})
}

package train

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/ranks"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
)

// An Engine is another program that computes gradients and moves the weights: PyTorch on a GPU. The trainer makes the
// rows, ahead of the steps that use them, and decides all else: the rate, the average, the end of the training.
//
// A message is a safetensors file behind its length in eight bytes; "op" in its metadata names it. The engine begins
// with hello: its rank, the size of its group and, above rank 0, where the rows begin. At rank 0 it gets network (a
// description), weights (named as in a checkpoint), rows (of a batch), step (an update by the next rows) and pull (send
// the weights). It answers steps by done, with losses and gradient norms.
//
// A row is x, p, t and 1 where the condition is hidden, in float64; and c, w, u and Q in float32. The loss of rows is
// Σ w/2 ‖u − c Π F(x, p, t)‖² with the network's output F and Π = I − QᵀQ. Held coordinates do not count.
type Engine struct {
	Rank  int
	size  int
	from  State // where the rows of rank 1 or higher begin
	turn  int   // counts the beginnings of rows; those of an earlier one are void
	conn  io.ReadWriter
	write sync.Mutex
	out   bytes.Buffer
	made  chan batch
	next  *batch // of made
	stop  func() // ends the making of rows; nil: none are made, and the weights here count
	asked int    // steps without an answer
}

// A batch is what the trainer knows of rows that the engine has: the number of items of the epoch, and of rows.
type batch struct {
	items, rows int
	report      method.Report
	err         error
}

const (
	mostAsked    = 2         // steps without an answer
	mostAhead    = 16        // batches of rows that wait
	mostRowBytes = 256 << 20 // of a batch
	normalsRoom  = 1 << 20   // numbers of normals that a worker computes at a time
)

// NewEngine hears the hello of an engine.
func NewEngine(conn io.ReadWriter) (*Engine, error) {
	e := &Engine{conn: conn}
	_, about, err := e.receive()
	if err == nil {
		_, err = fmt.Sscan(about["at"], &e.Rank, &e.size, &e.turn, &e.from.Epoch, &e.from.Step)
	}
	return e, err
}

func (e *Engine) send(op, at string, arrays ...arrayfile.Named) error {
	e.write.Lock()
	defer e.write.Unlock()
	e.out.Reset()
	e.out.Write(make([]byte, 8))
	if err := arrayfile.EncodeSafetensors(&e.out, arrays, map[string]string{"op": op, "at": at}); err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(e.out.Bytes(), uint64(e.out.Len()-8))
	_, err := e.conn.Write(e.out.Bytes())
	return gone(err)
}

func (e *Engine) receive() ([]arrayfile.Named, map[string]string, error) {
	var length [8]byte
	if _, err := io.ReadFull(e.conn, length[:]); err != nil {
		return nil, nil, gone(err)
	}
	most := min(binary.LittleEndian.Uint64(length[:]), 1<<40)
	arrays, about, err := arrayfile.DecodeSafetensors(io.LimitReader(e.conn, int64(most)))
	return arrays, about, gone(err)
}

func gone(err error) error {
	if err == nil {
		return nil
	}
	return fault.Errorf(fault.Failure, "", "the program that computes the gradients has ended (%w); the run keeps its "+
		"last checkpoint", err)
}

// By has an engine train the network of a run, which about describes. It is called before anything else.
func (t *Trainer[T]) By(e *Engine, run string, about any) error {
	t.engine = e
	for i := range t.loss {
		t.taps = append(t.taps, &tap[T]{Reader: t.model})
		t.loss[i] = t.source.NewLoss(t.taps[i], laneRows)
	}
	if _, ok := t.loss[0].(method.Squares); !ok || t.draws > 1 {
		return fault.Errorf(fault.Usage, "", "PyTorch cannot train this method, whose loss is no sum of squares here; "+
			"landing train can")
	}
	var muon []int
	for _, w := range t.opt.muon {
		muon = append(muon, w.At)
	}
	told, err := json.Marshal(map[string]any{"run": run, "network": about, "muon": muon, "clip": t.cfg.Clip})
	if err == nil && e.Rank == 0 {
		err = e.send("network", string(told))
	}
	return err
}

// MakeRows makes the rows of an engine of rank 1 or higher until it is gone.
func (t *Trainer[T]) MakeRows(ctx context.Context) error {
	if err := t.source.Prepare(ctx, t.cfg.Seed); err != nil {
		return err
	}
	return t.makeRows(ctx, t.engine.from, func(batch) {})
}

// await waits for the rows of the next batch. Where the weights came from elsewhere it first gives them to the engine.
func (t *Trainer[T]) await(ctx context.Context) error {
	e, s := t.engine, &t.State
	if e.stop == nil {
		e.turn++
		if err := e.send("weights", fmt.Sprint(e.turn, s.Epoch, s.Step), t.Snapshot()...); err != nil {
			return err
		}
		within, cancel := context.WithCancel(ctx)
		made, ended := make(chan batch, mostAhead), make(chan struct{})
		tell := func(b batch) {
			select {
			case made <- b:
			case <-within.Done():
			}
		}
		e.made, e.asked, e.stop = made, 0, func() { cancel(); <-ended }
		go func() {
			defer close(ended)
			tell(batch{err: t.makeRows(within, State{Epoch: s.Epoch, Step: s.Step}, tell)})
		}()
	}
	if e.next == nil {
		select {
		case b := <-e.made:
			e.next = &b
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if e.next.err != nil {
		return e.next.err
	}
	t.report, t.order = e.next.report, t.order[:e.next.items] // only its length is used
	if float64(t.report.Failed) > t.cfg.MaxFailed*float64(t.source.Items()) || len(t.order) == 0 {
		return t.failure()
	}
	return nil
}

// Leave ends the making of rows: the pool is free. The engine is given the weights here when it is needed again.
func (t *Trainer[T]) Leave() {
	if e := t.engine; e != nil && e.stop != nil {
		e.stop()
		e.stop, e.next = nil, nil
	}
}

// request has the engine make an update by the rows that await found.
func (t *Trainer[T]) request(step kernel.AdamStep, averaged int, decay float64) error {
	e, s := t.engine, &t.State
	if err := e.send("step", fmt.Sprint(step.Rate, decay, step.T)); err != nil {
		return err
	}
	s.Updates, s.Averaged, t.opt.step = step.T, averaged, step
	s.Step++
	s.Rows += int64(e.next.rows)
	e.next = nil
	e.asked++
	_, err := t.settle(mostAsked, false)
	return err
}

// settle waits until at most `most` steps have no answer; with pull, for the weights.
func (t *Trainer[T]) settle(most int, pull bool) (arrays []arrayfile.Named, err error) {
	e, s := t.engine, &t.State
	if pull {
		err = e.send("pull", "")
	}
	for err == nil && (e.asked > most || pull) {
		var about map[string]string
		if arrays, about, err = e.receive(); err != nil || about["op"] == "weights" {
			break
		}
		done := under(arrays, "")
		loss, norm := done["loss"].AsFloat64(), done["norm"].AsFloat64()
		for i, v := range loss[:min(len(norm), e.asked)] {
			if v-v != 0 || norm[i]-norm[i] != 0 {
				return nil, fault.Errorf(fault.Diverged, "", "loss or gradient is not finite in epoch %d, batch %d; a "+
					"lower learning rate may help", s.Epoch+1, s.Step-e.asked+1)
			}
			s.LossSum, s.NormSum, s.LastLoss = s.LossSum+v, s.NormSum+norm[i], v
			e.asked--
		}
	}
	return arrays, err
}

// Fetch brings the weights here from the engine, if one trains them.
func (t *Trainer[T]) Fetch() error {
	if t.engine == nil || t.engine.stop == nil {
		return nil
	}
	arrays, err := t.settle(0, true)
	for _, p := range t.opt.parameters() {
		var v []T
		if err == nil {
			v, err = read(t.model, arrays, p.prefix)
		}
		copy(p.data, v)
	}
	return err
}

// A tap is a reader that records its arguments: x, p, t, and 1 where the condition is hidden.
type tap[T kernel.Float] struct {
	score.Reader[T]
	in    []float64
	basis geometry.Basis
}

func (*tap[T]) In() int { return 0 }

func (p *tap[T]) Row(_ []T, at score.Input) {
	hidden := 0.0
	if at.Null {
		hidden = 1
	}
	p.in = append(append(append(p.in, at.X...), at.P...), at.T, hidden)
}

// rows are those of a batch: what taps keep; and c, w, u and Q.
type rows struct {
	in          []float64
	loss        []float32
	read, width int // numbers of a row
}

// makeRows makes the rows of all batches from an epoch and a step on, until ctx is done or the engine gone.
func (t *Trainer[T]) makeRows(ctx context.Context, from State, tell func(batch)) (err error) {
	e, b, items, turn := t.engine, t.batching, t.source.Items(), t.engine.turn
	b.state, b.order, b.terms, b.uniform = &from, make([]int, 0, items), nil, make([]float64, b.cfg.TimesPerPath)
	b.divided = e.size > 1
	first, end := ranks.Cut(items, e.Rank, e.size)
	if among := b.source.Capabilities().Among; among != nil && b.divided {
		among(ranks.Part{Number: e.Rank, Of: e.size})
	}
	var report method.Report
	var r rows
	for fresh := uint64(0); ; from.Epoch, from.Step = from.Epoch+1, 0 {
		if refresh := keyed.TrainingPaths.At(uint64(from.Epoch / b.cfg.Refresh)); fresh != refresh+1 {
			report, err = b.source.Refresh(ctx, b.cfg.Seed, refresh)
			fresh = refresh + 1
		}
		for b.arrange(from.Epoch); err == nil && from.Step < b.batches(); from.Step++ {
			b.pick(b.now())
			b.hide()
			made := batch{len(b.order), len(b.terms), report, nil}
			if b.divided {
				b.terms = slices.DeleteFunc(b.terms, func(m method.Term) bool {
					return m.Item < first || m.Item >= end || b.source.Failed(m.Item)
				})
			}
			var arrays []arrayfile.Named
			if n := len(b.terms); n > 0 {
				if err = t.fill(&r, b.terms); err == nil {
					arrays = []arrayfile.Named{{Name: "in", Array: arrayfile.Of(r.in[:n*r.read], n, r.read)},
						{Name: "loss", Array: arrayfile.Of(r.loss[:n*r.width], n, r.width)}}
				}
			}
			if err = cmp.Or(ctx.Err(), err); err == nil {
				err = e.send("rows", fmt.Sprint(turn, from.Epoch, from.Step), arrays...)
				tell(made)
			}
		}
		if err != nil {
			return fmt.Errorf("rows of epoch %d: %w", from.Epoch+1, err)
		}
	}
}

// fill makes the rows of terms, in the memory of earlier ones.
func (t *Trainer[T]) fill(r *rows, terms []method.Term) error {
	d := t.model.Out()
	if r.in == nil {
		t.taps[0].in = nil
		if _, err := t.loss[0].Prepare(terms[:1]); err != nil {
			return err
		}
		c := len(t.loss[0].(method.Squares).Squares(make([]float32, 2+d), 2+d).Values())
		n := t.cfg.Batch * t.cfg.TimesPerPath
		if r.read, r.width = len(t.taps[0].in), 2+d+c*d; n*r.width > mostRowBytes/4 {
			return fault.Errorf(fault.Usage, "", "a batch of %d rows with %d×%d normals each takes more than "+
				"%d MB; lower train.batch or train.times_per_path, or train without PyTorch", n, c, d, mostRowBytes>>20)
		}
		r.in, r.loss = make([]float64, n*r.read), make([]float32, n*r.width)
	}
	each := min(laneRows, max(1, normalsRoom/r.width))
	errs := make([]error, parallel.Blocks(len(terms), each))
	t.pool.Do(len(errs), func(worker, b int) {
		lo, hi := parallel.Block(b, len(terms), each)
		p, l, out := t.taps[worker], t.loss[worker], r.loss[lo*r.width:hi*r.width]
		p.in = r.in[lo*r.read : lo*r.read : hi*r.read]
		if _, errs[b] = l.Prepare(terms[lo:hi]); errs[b] == nil {
			p.basis.Of(out, r.width, 2+d, l.(method.Squares).Squares(out, r.width), hi-lo)
		}
	})
	return cmp.Or(errs...)
}

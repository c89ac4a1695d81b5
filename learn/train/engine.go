package train

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

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
// with hello: its rank, the size of its group and, above rank 0, where the rows begin. An engine of rank 0 then gets
// network (a description), weights (named as in a checkpoint), rows of a batch, step (update by the next rows) and pull
// (send the weights). It answers steps by done: their losses and gradient norms.
//
// The loss of a batch is Σ w/2 ‖u − c Π F(x, p, t)‖² with the network's output F and Π = I − QᵀQ, where the rows of Q
// are the array normals. Coordinates that the set holds have no part in it.
type Engine struct {
	Rank, Size int

	from     State // where the rows of rank 1 or higher begin
	turn     int   // counts the beginnings of rows; those of an earlier one are void
	conn     io.ReadWriter
	write    sync.Mutex
	out      bytes.Buffer
	momentum bool

	losses []method.Loss[float32] // by worker
	taps   []*tap
	bases  []geometry.Basis

	made  chan batch
	next  *batch // of made
	stop  func() // ends the making of rows; nil: none are made, and the weights here count
	asked int    // steps without an answer
}

// A batch is what the trainer knows of rows that the engine has.
type batch struct {
	epoch, step, items, rows int // items of the epoch and rows of the batch, of all ranks
	report                   method.Report
	err                      error
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
		_, err = fmt.Sscan(about["at"], &e.Rank, &e.Size, &e.turn, &e.from.Epoch, &e.from.Step)
	}
	return e, err
}

func (e *Engine) send(op string, about map[string]string, arrays ...arrayfile.Named) error {
	e.write.Lock()
	defer e.write.Unlock()
	all := map[string]string{"op": op}
	for k, v := range about {
		all[k] = v
	}
	e.out.Reset()
	e.out.Write(make([]byte, 8))
	if err := arrayfile.EncodeSafetensors(&e.out, arrays, all); err != nil {
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

// By has an engine train the network, which about describes. It is called before anything else.
func (t *Trainer[T]) By(e *Engine, about map[string]string, momentum bool) error {
	src, ok := any(t.source).(method.Source[float32])
	if t.engine, e.momentum = e, momentum; ok {
		for range t.pool.Workers() {
			p := &tap{Reader: any(t.model).(score.Reader[float32])}
			e.taps, e.losses = append(e.taps, p), append(e.losses, src.NewLoss(p, laneRows))
		}
		_, ok = e.losses[0].(method.Squares)
	}
	if e.bases = make([]geometry.Basis, len(e.losses)); !ok || t.draws > 1 {
		return fault.Errorf(fault.Usage, "", "the loss of this method is no sum of squares, which PyTorch would need; "+
			"landing train trains it")
	}
	muon := ""
	for _, w := range t.opt.muon {
		muon += fmt.Sprintln(w.At)
	}
	about["muon"], about["clip"] = muon, fmt.Sprint(t.cfg.Clip)
	if e.Rank > 0 {
		return nil
	}
	return e.send("network", about)
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
		at := fmt.Sprint(e.turn, s.Epoch, s.Step)
		if err := e.send("weights", map[string]string{"at": at}, t.Snapshot()...); err != nil {
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
	for e.next == nil {
		select {
		case b := <-e.made:
			e.next = &b
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond): // a budget has no Done
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if e.next.err != nil {
		return e.next.err
	}
	t.report, t.order = e.next.report, t.order[:e.next.items] // of which only the length is used
	if float64(t.report.Failed) > t.cfg.MaxFailed*float64(t.source.Items()) || len(t.order) == 0 {
		return t.failure()
	}
	return nil
}

// Leave ends the making of rows. The engine is given weights when it is needed again.
func (t *Trainer[T]) Leave() {
	if e := t.engine; e != nil && e.stop != nil {
		e.stop()
		e.stop, e.next = nil, nil
	}
}

// request has the engine make an update by the rows that await found.
func (t *Trainer[T]) request(step kernel.AdamStep, averaged int, decay float64) error {
	e, s := t.engine, &t.State
	if b := e.next; b.epoch != s.Epoch || b.step != s.Step {
		panic(fmt.Sprintf("train: rows of epoch %d, batch %d in epoch %d, batch %d", b.epoch, b.step, s.Epoch, s.Step))
	}
	if err := e.send("step", map[string]string{"at": fmt.Sprint(step.Rate, decay, step.T)}); err != nil {
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

// settle waits until at most so many steps have no answer; with pull, for the weights.
func (t *Trainer[T]) settle(most int, pull bool) (arrays []arrayfile.Named, err error) {
	e, s := t.engine, &t.State
	if pull {
		err = e.send("pull", nil)
	}
	for err == nil && (e.asked > most || pull) {
		var about map[string]string
		arrays, about, err = e.receive()
		if err != nil || about["op"] == "weights" {
			break
		}
		steps := under(arrays, "")
		loss, norm := steps["loss"].AsFloat64(), steps["norm"].AsFloat64()
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

// Fetch brings the weights here from the engine, if one trains them. Until the next batch no rows are made: the pool is
// free.
func (t *Trainer[T]) Fetch() error {
	if t.engine == nil || t.engine.stop == nil {
		return nil
	}
	arrays, err := t.settle(0, true)
	t.Leave()
	for _, p := range t.opt.parameters() {
		var v []T
		if err == nil {
			v, err = read(t.model, arrays, p.prefix)
		}
		copy(p.data, v)
	}
	return err
}

// A tap is a reader that keeps what it is asked to read: the rows of a batch.
type tap struct {
	score.Reader[float32]
	*rows
	at int
}

type rows struct {
	x, p, t                []float64
	u, c, w, null, normals []float32
}

func (*tap) In() int { return 0 }

func (p *tap) Row(_ []float32, at score.Input) {
	copy(p.x[p.at*len(at.X):], at.X)
	copy(p.p[p.at*len(at.P):], at.P)
	p.t[p.at], p.null[p.at] = at.T, 0
	if at.Null {
		p.null[p.at] = 1
	}
	p.at++
}

// makeRows makes the rows of all batches from an epoch and a step on, until ctx is done or the engine gone.
func (t *Trainer[T]) makeRows(ctx context.Context, from State, tell func(batch)) error {
	e, b, items, turn := t.engine, t.batching, t.source.Items(), t.engine.turn
	b.state, b.order, b.terms, b.uniform = &from, make([]int, 0, items), nil, make([]float64, b.cfg.TimesPerPath)
	b.divided = e.Size > 1
	first, end := ranks.Cut(items, e.Rank, e.Size)
	if among := b.source.Capabilities().Among; among != nil && b.divided {
		among(ranks.Part{Number: e.Rank, Of: e.Size})
	}
	var report method.Report
	var made *rows
	for fresh := uint64(0); ; from.Epoch, from.Step = from.Epoch+1, 0 {
		refresh, err := keyed.TrainingPaths.At(uint64(from.Epoch/b.cfg.Refresh)), error(nil)
		if fresh != refresh+1 {
			report, err = b.source.Refresh(ctx, b.cfg.Seed, refresh)
			fresh = refresh + 1
		}
		b.arrange(from.Epoch)
		for ; err == nil && from.Step < b.batches(); from.Step++ {
			b.pick(b.now())
			b.hide()
			told := batch{from.Epoch, from.Step, len(b.order), len(b.terms), report, nil}
			if b.divided {
				b.terms = slices.DeleteFunc(b.terms, func(m method.Term) bool {
					return m.Item < first || m.Item >= end || b.source.Failed(m.Item)
				})
			}
			if made, err = t.fill(made, b.terms); err == nil {
				at := fmt.Sprint(turn, from.Epoch, from.Step)
				err = cmp.Or(ctx.Err(), e.give(made, at, len(b.terms), t.model.Out(), b.cfg.Hidden > 0))
			}
			if err == nil {
				tell(told)
			}
		}
		if err != nil {
			return fmt.Errorf("rows of epoch %d: %w", from.Epoch+1, err)
		}
	}
}

// fill makes the rows of terms, in the memory of earlier ones.
func (t *Trainer[T]) fill(r *rows, terms []method.Term) (*rows, error) {
	e, d := t.engine, t.model.Out()
	if len(terms) == 0 {
		return r, nil
	}
	if r == nil {
		n := t.cfg.Batch * t.cfg.TimesPerPath
		wide, vec := make([]float64, n*(2*d+1)), make([]float32, n*(d+3))
		r = &rows{wide[:n*d], wide[n*d : 2*n*d], wide[2*n*d:], vec[:n*d], vec[n*d:][:n], vec[n*d+n:][:n], vec[n*d+2*n:], nil}
		e.taps[0].rows, e.taps[0].at = r, 0
		if _, err := e.losses[0].Prepare(terms[:1]); err != nil {
			return r, err
		}
		c := len(e.losses[0].(method.Squares).Squares(r.u[:d], r.c[:1], r.w[:1]).Values())
		if n*c*d > mostRowBytes/4 {
			return nil, fault.Errorf(fault.Usage, "", "a batch of %d rows has %d×%d numbers of normals a row, more than "+
				"%d MB; lower train.batch or train.times_per_path, or train without PyTorch", n, c, d, mostRowBytes>>20)
		}
		r.normals = make([]float32, n*c*d)
	}
	width := len(r.normals) / len(r.t)
	each := min(laneRows, max(1, normalsRoom/max(1, width)))
	errs := make([]error, parallel.Blocks(len(terms), each))
	t.pool.Do(len(errs), func(worker, b int) {
		lo, hi := parallel.Block(b, len(terms), each)
		p, l := e.taps[worker], e.losses[worker]
		p.rows, p.at = r, lo
		if _, errs[b] = l.Prepare(terms[lo:hi]); errs[b] == nil {
			g := l.(method.Squares).Squares(r.u[lo*d:hi*d], r.c[lo:hi], r.w[lo:hi])
			e.bases[worker].Of(r.normals[lo*width:hi*width], g, hi-lo)
		}
	})
	return r, cmp.Or(errs...)
}

// give sends n rows.
func (e *Engine) give(r *rows, at string, n, d int, hides bool) error {
	var arrays []arrayfile.Named
	add := func(name string, a arrayfile.Array) { arrays = append(arrays, arrayfile.Named{Name: name, Array: a}) }
	if n > 0 {
		width := len(r.normals) / len(r.t)
		add("x", arrayfile.Of(r.x[:n*d], n, d))
		add("t", arrayfile.Of(r.t[:n], n))
		if e.momentum {
			add("p", arrayfile.Of(r.p[:n*d], n, d))
		}
		add("u", arrayfile.Of(r.u[:n*d], n, d))
		add("c", arrayfile.Of(r.c[:n], n))
		add("w", arrayfile.Of(r.w[:n], n))
		if hides {
			add("hidden", arrayfile.Of(r.null[:n], n))
		}
		add("normals", arrayfile.Of(r.normals[:n*width], n, width/d, d))
	}
	return e.send("rows", map[string]string{"at": at}, arrays...)
}

// Package train fits a score network to forward paths with the CWPM loss: fresh
// paths, batches, Adam, clipping, moving averages, learning-rate schedule, and a
// state that resumes bit for bit.
//
// It touches no files; package run keeps states on disk.
package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/landing-diffusion/landing/cwpm"
	"github.com/landing-diffusion/landing/kernel"
	"github.com/landing-diffusion/landing/keyed"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/score"
)

// Config says how to train.
type Config struct {
	Epochs       int
	Batch        int // paths a batch
	Refresh      int // l_f: epochs between fresh forward paths
	TimesPerPath int // times of each path in a batch, one from each of as many strata; 0 means all N
	LearningRate float64
	Anneal       float64 // share of the updates, the last, over which the rate falls to 0
	Clip         float64 // largest gradient norm; 0 means no limit
	Average      float64 // limit of the decay of the weights' moving average
	Plateau      Plateau
	MaxFailed    float64 // largest share of forward paths that may fail
	Seed         uint64

	Optimizer Optimizer
	Loss      cwpm.Options     // how the network is read, and its targets
	Precision kernel.Precision // of the network's products; all else is as without
}

// lanes is the number of partial gradients of a batch. Rows are cut into lanes
// by their index, so sums run in the same order at any number of workers; it
// also bounds how many workers help.
const lanes = 16

// laneRows bounds the rows that pass through the network at once. From 130 to
// 800 rows, and with 8 or 16 lanes, a step takes the same time.
const laneRows = 256

// A Trainer trains one network. Its fields other than State are fixed.
type Trainer[T kernel.Float] struct {
	cfg  Config
	proc *langevin.Process
	data []float64 // training rows, n×d
	net  *score.MLP[T]
	pack *score.Packed[T] // net's weights after the last update
	opt  *optimizer[T]
	muon []*muon[T] // hidden matrices that Adam leaves alone
	pool *parallel.Pool
	sim  *langevin.Simulator

	State State

	paths  langevin.Paths
	report langevin.Report
	order  []int // this epoch's order of paths
	last   cwpm.LastMomentum
	fresh  uint64 // refresh number of paths, plus one; 0 before the first
	fitted bool   // windows of the loss
	mixed  int    // epoch of order, plus one

	terms   []cwpm.Term
	uniform []float64
	loss    []*cwpm.Loss[T] // by worker
	ws      []*score.Workspace[T]
	ds      [][]T
	grads   [][]T           // by lane
	sums    []float64       // by lane
	errs    []error         // by lane
	squares []float64       // by segment
	step    kernel.AdamStep // of the update in progress
	decay   float64         // of its average; negative if there is none

	laneTask, reduceTask, updateTask, muonTask, packTask func(worker, task int) // bound once: a method value allocates
}

// A State is all of a Trainer that is not in Config or the weights.
type State struct {
	Epoch     int          `json:"epoch"` // epochs completed
	Step      int          `json:"step"`  // batches completed in the current epoch
	Updates   int          `json:"updates"`
	Averaged  int          `json:"averaged"`
	Rate      float64      `json:"rate"`
	Plateau   PlateauState `json:"plateau"`
	LossSum   float64      `json:"loss_sum"`  // over this epoch's batches
	LastLoss  float64      `json:"last_loss"` // of the last batch
	NormSum   float64      `json:"norm_sum"`  // gradient norms of this epoch
	Rows      int64        `json:"rows"`      // network rows trained on, in all
	Seconds   float64      `json:"seconds"`   // time spent, in all
	Simulated float64      `json:"simulated"` // of it, in forward simulation
}

// An Epoch is what happened in one.
type Epoch struct {
	Epoch     int       `json:"epoch"` // from 1
	Loss      float64   `json:"loss"`  // mean over batches
	LastLoss  float64   `json:"last_loss"`
	GradNorm  float64   `json:"grad_norm"` // mean over batches, before clipping
	Rate      float64   `json:"rate"`      // learning rate of its last batch
	Worst     []float64 `json:"worst"`     // largest violation of each component on forward paths
	Failed    int       `json:"failed"`    // forward paths that failed
	Rows      int64     `json:"rows"`      // in all
	Seconds   float64   `json:"seconds"`   // in all
	Simulated float64   `json:"simulated"` // in all
}

// A LossError says that the loss left the finite numbers.
type LossError struct {
	Epoch, Step int
	Path, Time  int // the first term that is not finite; −1 if only the gradient is
}

func (e *LossError) Error() string {
	if e.Path < 0 {
		return fmt.Sprintf("the gradient is not finite in epoch %d, batch %d; a lower learning rate may help", e.Epoch, e.Step)
	}
	return fmt.Sprintf("the loss is not finite in epoch %d, batch %d, at sample %d, step %d; a lower learning rate may help", e.Epoch, e.Step, e.Path, e.Time)
}

// A FailedError says that too many forward paths lost their projection.
type FailedError struct {
	Failed, Paths int
	Limit         float64
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("%d of %d forward paths failed a projection, above the allowed share %g; smaller steps (more of them, or a smaller σ_max) or a landing method help", e.Failed, e.Paths, e.Limit)
}

// New makes a trainer of net's parameters on the rows of data (n×d). Process and
// Config must be valid. The network's precision is that of Config.
func New[T kernel.Float](cfg Config, proc *langevin.Process, data []float64, net *score.MLP[T], pool *parallel.Pool) *Trainer[T] {
	d := proc.Set.Dim()
	n := len(data) / d
	if cfg.Batch > n {
		cfg.Batch = n
	}
	if cfg.TimesPerPath <= 0 || cfg.TimesPerPath > proc.Schedule.N {
		cfg.TimesPerPath = proc.Schedule.N
	}
	net = net.WithPrecision(cfg.Precision)
	t := &Trainer[T]{
		cfg: cfg, proc: proc, data: data, net: net, pack: net.Pack(true), pool: pool,
		opt: newOptimizer(net.Params), sim: langevin.NewSimulator(proc, pool, 64),
		State: State{Rate: cfg.LearningRate},
		order: make([]int, 0, n), terms: make([]cwpm.Term, 0, cfg.Batch*cfg.TimesPerPath),
		uniform: make([]float64, cfg.TimesPerPath),
		grads:   make([][]T, lanes), sums: make([]float64, lanes), errs: make([]error, lanes), squares: make([]float64, segments),
	}
	rows := min(laneRows, (cfg.Batch*cfg.TimesPerPath+lanes-1)/lanes)
	for range pool.Workers() {
		t.loss = append(t.loss, cwpm.NewLoss[T](proc, rows, cfg.Loss))
		t.ws = append(t.ws, net.NewWorkspace(rows))
		t.ds = append(t.ds, make([]T, rows*d))
	}
	for i := range t.grads {
		t.grads[i] = make([]T, len(net.Params))
	}
	t.laneTask, t.reduceTask, t.updateTask = t.lane, t.reduce, t.update
	if cfg.Optimizer == Muon {
		for l := 1; l < net.Layers()-1; l++ {
			t.muon = append(t.muon, newMuon(net, l))
		}
	}
	t.muonTask = t.orthogonal
	t.packTask = func(_, layer int) { t.pack.Update(layer) }
	return t
}

// Done reports whether all epochs are trained.
func (t *Trainer[T]) Done() bool { return t.State.Epoch >= t.cfg.Epochs }

// batches returns the number of batches in an epoch; an incomplete one is
// dropped, unless it is the only one.
func (t *Trainer[T]) batches() int { return max(1, len(t.order)/t.cfg.Batch) }

// Average returns the network of averaged weights, or the raw one before the
// average has begun. It shares the trainer's memory.
func (t *Trainer[T]) Average() *score.MLP[T] {
	if t.State.Averaged == 0 {
		return t.net
	}
	return t.net.With(t.opt.average)
}

// Epoch trains to the end of the current epoch. If ctx is done it stops after
// the current batch with the context's error, in a state that resumes exactly.
func (t *Trainer[T]) Epoch(ctx context.Context) (Epoch, error) {
	start := time.Now()
	before := t.State.Seconds
	clock := func() { t.State.Seconds = before + time.Since(start).Seconds() }
	if err := t.prepare(ctx); err != nil {
		clock()
		return Epoch{}, err
	}
	for t.State.Step < t.batches() {
		if err := ctx.Err(); err != nil {
			clock()
			return Epoch{}, err
		}
		if err := t.batch(); err != nil {
			clock()
			return Epoch{}, err
		}
	}
	s := &t.State
	n := float64(t.batches())
	s.Rate = t.cfg.Plateau.Step(&s.Plateau, s.Rate, s.LastLoss)
	s.Epoch++
	clock()
	e := Epoch{
		Epoch: s.Epoch, Loss: s.LossSum / n, LastLoss: s.LastLoss, GradNorm: s.NormSum / n, Rate: t.step.Rate,
		Worst: append([]float64(nil), t.report.Worst...), Failed: t.report.Failed,
		Rows: s.Rows, Seconds: s.Seconds, Simulated: s.Simulated,
	}
	s.Step, s.LossSum, s.NormSum = 0, 0, 0
	return e, nil
}

// prepare brings the forward paths and the order of the current epoch.
func (t *Trainer[T]) prepare(ctx context.Context) error {
	if err := t.fitWindows(ctx); err != nil {
		return err
	}
	epoch := t.State.Epoch
	refresh := keyed.TrainingPaths.At(uint64(epoch / t.cfg.Refresh))
	if t.fresh != refresh+1 {
		start := time.Now()
		var err error
		t.report, err = t.sim.Forward(ctx, &t.paths, t.data, t.cfg.Seed, refresh)
		t.State.Simulated += time.Since(start).Seconds()
		if err != nil {
			return err
		}
		if float64(t.report.Failed) > t.cfg.MaxFailed*float64(t.paths.Count) {
			return &FailedError{t.report.Failed, t.paths.Count, t.cfg.MaxFailed}
		}
		t.fresh = refresh + 1
		momentum := keyed.PathLastMomentum.Stream(t.cfg.Seed, refresh)
		t.last = func(dst []float64, path int) { momentum.Normals(dst, uint64(path), 0) }
	}
	if t.mixed != epoch+1 {
		t.order = t.order[:t.paths.Count]
		keyed.RowOrder.Stream(t.cfg.Seed, uint64(epoch)).Permutation(t.order, 0, 0)
		kept := t.order[:0]
		for _, i := range t.order {
			if !t.paths.Failed[i] {
				kept = append(kept, i)
			}
		}
		t.order = kept
		t.mixed = epoch + 1
		if len(kept) == 0 {
			return &FailedError{t.report.Failed, t.paths.Count, t.cfg.MaxFailed}
		}
	}
	return nil
}

// fitNumbers is how many coordinates windows are fitted to, for each term. A target
// that explains a share r of the noise's variance is then known to about a part in
// √(r·131 072): 0.9 % for a tenth.
const fitNumbers = 1 << 17

// fitWindows fits the windows of the loss, if it has any, to paths of their own, so
// that they are a function of data and seed alone.
func (t *Trainer[T]) fitWindows(ctx context.Context) error {
	if t.cfg.Loss.Window == 0 || t.fitted {
		return nil
	}
	d, N := t.proc.Set.Dim(), t.proc.Schedule.N
	index := keyed.WindowPaths.At(0)
	var paths langevin.Paths
	if _, err := t.sim.Forward(ctx, &paths, langevin.Starts(t.data, d, (fitNumbers+d-1)/d), t.cfg.Seed, index); err != nil {
		return err
	}
	momentum := keyed.PathLastMomentum.Stream(t.cfg.Seed, index)
	last := func(dst []float64, path int) { momentum.Normals(dst, uint64(path), 0) }
	windows, errs := make([]cwpm.Window, N), make([]error, N)
	t.pool.Do(N, func(worker, k int) { windows[k], errs[k] = t.loss[worker].FitWindow(&paths, k, last) })
	for k, err := range errs {
		if err != nil {
			return fmt.Errorf("window of step %d: %w", k, err)
		}
	}
	for _, l := range t.loss {
		l.SetWindows(windows)
	}
	t.fitted = true
	return nil
}

// batch makes one update.
func (t *Trainer[T]) batch() error {
	s := &t.State
	loss, norm, err := t.gradient(t.order[s.Step*t.cfg.Batch : min((s.Step+1)*t.cfg.Batch, len(t.order))])
	if err != nil {
		return err
	}
	s.Updates++
	t.step = kernel.AdamStep{Rate: s.Rate * t.anneal(), Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Scale: clip(norm, t.cfg.Clip), T: s.Updates}
	if t.decay = -1; s.Epoch > 0 { // the average begins with the second epoch
		s.Averaged++
		t.decay = averageDecay(t.cfg.Average, s.Averaged)
	}
	t.pool.Do(segments, t.updateTask)
	t.pool.Do(len(t.muon), t.muonTask)
	t.pool.Do(t.net.Layers(), t.packTask)
	s.Step++
	s.LossSum += loss
	s.NormSum += norm
	s.LastLoss = loss
	s.Rows += int64(len(t.terms))
	return nil
}

// anneal returns the factor of the learning rate in the update in progress: 1, and over
// the last share Anneal of the updates linear to 0.
func (t *Trainer[T]) anneal() float64 {
	if t.cfg.Anneal == 0 {
		return 1
	}
	left := 1 - (float64(t.State.Epoch)+float64(t.State.Step)/float64(t.batches()))/float64(t.cfg.Epochs)
	return min(1, left/t.cfg.Anneal)
}

// gradient computes the mean loss over paths and, in grads[0], its gradient;
// it returns the gradient's norm.
func (t *Trainer[T]) gradient(batch []int) (loss, norm float64, err error) {
	t.pick(batch)
	t.pool.Do(lanes, t.laneTask)
	for lane, e := range t.errs {
		if e != nil {
			return 0, 0, e
		}
		loss += t.sums[lane]
	}
	if loss-loss != 0 {
		return 0, 0, t.blame()
	}
	t.pool.Do(segments, t.reduceTask)
	for _, sq := range t.squares {
		norm += sq
	}
	norm = math.Sqrt(norm)
	if norm-norm != 0 {
		return 0, 0, &LossError{t.State.Epoch + 1, t.State.Step + 1, -1, -1}
	}
	return loss, norm, nil
}

// pick lists the terms of a batch: all times of each path, or one time from each
// of TimesPerPath strata, weighted by the stratum's size so that the loss and
// its gradient keep their expectation.
func (t *Trainer[T]) pick(batch []int) {
	N, m := t.proc.Schedule.N, t.cfg.TimesPerPath
	t.terms = t.terms[:0]
	draw := keyed.BatchTimes.Stream(t.cfg.Seed, uint64(t.State.Epoch))
	for _, path := range batch {
		if m == N {
			for k := range N {
				t.terms = append(t.terms, cwpm.Term{Path: path, K: k, Weight: 1 / float64(len(batch))})
			}
			continue
		}
		draw.Uniforms(t.uniform, uint64(path), 0)
		for j, u := range t.uniform {
			lo, hi := j*N/m, (j+1)*N/m
			k := min(lo+int(u*float64(hi-lo)), hi-1)
			t.terms = append(t.terms, cwpm.Term{Path: path, K: k, Weight: float64(hi-lo) / float64(len(batch))})
		}
	}
}

// lane computes the loss and gradient of the lane's share of the terms.
func (t *Trainer[T]) lane(worker, lane int) {
	l, ws, ds, grad := t.loss[worker], t.ws[worker], t.ds[worker], t.grads[lane]
	t.sums[lane], t.errs[lane] = 0, nil
	lo, hi := lane*len(t.terms)/lanes, (lane+1)*len(t.terms)/lanes
	if lo == hi {
		clear(grad)
	}
	for first := lo; lo < hi; {
		n := min(l.Rows(), hi-lo)
		in, err := l.Prepare(&t.paths, t.terms[lo:lo+n], t.last)
		if err != nil {
			t.errs[lane] = fmt.Errorf("epoch %d, batch %d, terms from sample %d on: %w", t.State.Epoch+1, t.State.Step+1, t.terms[lo].Path, err)
			return
		}
		t.sums[lane] += l.Evaluate(ds, t.pack.Forward(ws, in, n))
		t.pack.Backward(ws, grad, ds, n, lo > first)
		lo += n
	}
}

// blame finds the first term whose loss is not finite.
func (t *Trainer[T]) blame() error {
	l, ws, ds := t.loss[0], t.ws[0], t.ds[0]
	for i := range t.terms {
		in, err := l.Prepare(&t.paths, t.terms[i:i+1], t.last)
		if err != nil {
			return err
		}
		if v := l.Evaluate(ds, t.pack.Forward(ws, in, 1)); v-v != 0 {
			return &LossError{t.State.Epoch + 1, t.State.Step + 1, t.terms[i].Path, t.terms[i].K}
		}
	}
	return &LossError{t.State.Epoch + 1, t.State.Step + 1, -1, -1}
}

// segments is the number of pieces that parameters are cut into for reductions
// and updates.
const segments = 64

func (t *Trainer[T]) segment(i int) (lo, hi int) {
	n := len(t.net.Params)
	return i * n / segments, (i + 1) * n / segments
}

// reduce sums the lanes of a segment into lane 0, in order.
func (t *Trainer[T]) reduce(_, segment int) {
	lo, hi := t.segment(segment)
	sq, dst := 0.0, t.grads[0][lo:hi]
	for lane := 1; lane < lanes; lane++ {
		kernel.Add(dst, t.grads[lane][lo:hi])
	}
	for _, v := range dst {
		sq += float64(v) * float64(v)
	}
	t.squares[segment] = sq
}

// update applies Adam to a segment, but for what Muon moves, and the moving
// average.
func (t *Trainer[T]) update(_, segment int) {
	lo, hi := t.segment(segment)
	for _, o := range t.muon {
		if first, end := o.lo, o.lo+o.out*o.in; first < hi && end > lo {
			t.adam(lo, min(first, hi))
			lo = max(lo, min(end, hi))
		}
	}
	t.adam(lo, hi)
}

func (t *Trainer[T]) adam(lo, hi int) {
	if lo >= hi {
		return
	}
	kernel.Adam(t.opt.params[lo:hi], t.opt.m[lo:hi], t.opt.v[lo:hi], t.grads[0][lo:hi], t.step)
	t.mix(lo, hi)
}

// orthogonal applies Muon to a hidden matrix.
func (t *Trainer[T]) orthogonal(_, i int) {
	o := t.muon[i]
	lo, hi := o.lo, o.lo+o.out*o.in
	o.step(t.opt.params[lo:hi], t.opt.m[lo:hi], t.grads[0][lo:hi], t.step.Scale, t.step.Rate)
	t.mix(lo, hi)
}

func (t *Trainer[T]) mix(lo, hi int) {
	if t.decay >= 0 {
		kernel.Mix(t.opt.average[lo:hi], t.opt.params[lo:hi], t.decay)
	}
}

// Interrupted reports whether an error of Epoch is the context's.
func Interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

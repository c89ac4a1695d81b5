// Package train fits a score.Model to the material of a method: batches, Adam, Muon, clipping, moving averages,
// learning-rate schedule, and a state that resumes bit for bit.
//
// It touches no files; package run keeps states on disk.
package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
)

// A Trainer trains one network. Its fields other than State and Now are fixed.
type Trainer[T kernel.Float] struct {
	gradients[T]

	model score.Model[T]
	pack  score.Packed[T] // the model after the last update

	State State
	Now   func() time.Time // the clock

	ready  bool // source is prepared
	report method.Report
	fresh  uint64 // refresh number of the source's items, plus one; 0 before the first

	engine *Engine // of By; nil: gradients are computed here
	taps   []*tap[T]

	updateTask, muonTask, packTask func(worker, task int) // bound once: a method value allocates
}

// A State is all of a Trainer that is not in Config or the weights.
type State struct {
	Epoch     int          `json:"epoch"` // epochs completed
	Step      int          `json:"step"`  // batches completed in the current epoch
	Updates   int          `json:"updates"`
	Averaged  int          `json:"averaged"`
	Rate      float64      `json:"rate"`
	Plateau   PlateauState `json:"plateau"`
	LossSum   float64      `json:"loss_sum"`           // over this epoch's batches
	LastLoss  float64      `json:"last_loss"`          // of the last batch
	NormSum   float64      `json:"norm_sum"`           // gradient norms of this epoch
	Rows      int64        `json:"rows"`               // network rows trained on, in all
	Seconds   float64      `json:"seconds"`            // time spent on these epochs
	Simulated float64      `json:"simulated"`          // of it, in forward simulation
	Prepared  float64      `json:"prepared,omitempty"` // of it, in what a source does once a call

	Plan   *Plan      `json:"plan,omitempty"`   // that clocks or held-out distances decided; nil: that of Config
	Budget float64    `json:"budget,omitempty"` // seconds of Spent after which the training ends; 0: none
	Spent  float64    `json:"spent,omitempty"`  // seconds of all calls, whatever they did
	Timed  bool       `json:"timed,omitempty"`  // epochs were timed for the budget
	Clock  []Decision `json:"clock,omitempty"`  // what clocks decided, the last is Plan

	// Trained is the epochs that were trained in all: with those that a verdict undid. Spent is their time.
	Trained int `json:"trained,omitempty"`

	Extended int `json:"extended,omitempty"` // how often Extend was called

	Judged *Judged `json:"judged,omitempty"` // what held-out distances said; nil: none was measured
}

// A Cost is what a training took in all, with the epochs that its weights do not come from.
type Cost struct {
	Epochs  int     `json:"epochs"`
	Seconds float64 `json:"seconds"` // of all calls, with evaluations and held-out distances
}

// Text is empty where nothing is known.
func (c *Cost) Text() string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%d epochs in %s", c.Epochs, text.Clock(c.Seconds))
}

// An Epoch is what happened in one.
type Epoch struct {
	Epoch     int       `json:"epoch"` // from 1
	Trained   int       `json:"-"`     // epochs in all, with those that a verdict undid
	Loss      float64   `json:"loss"`  // mean over batches
	LastLoss  float64   `json:"last_loss"`
	GradNorm  float64   `json:"grad_norm"`        // mean over batches, before clipping
	Rate      float64   `json:"rate"`             // learning rate of its last batch
	Worst     []float64 `json:"worst"`            // largest violation of each component on forward paths
	Failed    int       `json:"failed"`           // forward paths that failed
	Broken    int       `json:"broken,omitempty"` // of these, those that broke down
	Rows      int64     `json:"rows"`             // in all
	Seconds   float64   `json:"seconds"`          // of all epochs to this one
	Simulated float64   `json:"simulated"`        // of these
}

// failure says that too many paths of the last refresh failed.
func (t *Trainer[T]) failure() error {
	r, paths := &t.report, t.source.Items()
	if r.Broken > 0 {
		return fault.Errorf(fault.Check, "", "%d of %d forward paths failed, %d of them broke down, above the allowed "+
			"share %g (train.max_failed): the first: %w; smaller steps (more of them, or a smaller σ_max) help",
			r.Failed, paths, r.Broken, t.cfg.MaxFailed, r.Break)
	}
	return fault.Errorf(fault.Check, "", "%d of %d forward paths failed a projection, above the allowed share %g; "+
		"smaller steps (more of them, or a smaller σ_max) or a landing method help", r.Failed, paths, t.cfg.MaxFailed)
}

// New makes a trainer of m's parameters on what src makes. It panics if Config is not valid.
func New[T kernel.Float](cfg Config, src method.Source[T], m score.Model[T], pool *parallel.Pool) *Trainer[T] {
	if err := cfg.Validate(); err != nil {
		panic("train: " + err.Error())
	}
	cfg = cfg.Resolved(src.Items(), src.Times())
	θ := m.Parameters()
	t := &Trainer[T]{model: m, pack: m.Pack(true), State: State{Rate: cfg.LearningRate}, Now: time.Now}
	t.gradients = gradients[T]{
		batching: batching[T]{
			cfg: cfg, source: src, state: &t.State, order: make([]int, 0, src.Items()),
			terms:   make([]method.Term, 0, cfg.Batch*cfg.TimesPerPath),
			uniform: make([]float64, cfg.TimesPerPath),
		},
		opt: newOptimizer(θ), pool: pool, draws: max(1, src.Capabilities().Draws),
		grads: make([][]T, lanes), sums: make([]float64, lanes), errs: make([]error, lanes),
		parts: lanes, end: lanes,
	}
	rows := max(1, min(laneRows/t.draws, (cfg.Batch*cfg.TimesPerPath+lanes-1)/lanes)) * t.draws
	for range pool.Workers() {
		t.loss = append(t.loss, src.NewLoss(m, rows))
		t.ws = append(t.ws, t.pack.NewWorkspace(rows, true))
		t.ds = append(t.ds, make([]T, rows*m.Out()))
	}
	for i := range t.grads {
		t.grads[i] = make([]T, len(θ))
	}
	t.opt.total = t.grads[0]
	t.laneTask = func(worker, i int) { t.compute(worker, t.first+i, t.grads[i]) }
	t.reduceTask, t.squareTask, t.updateTask = t.reduce, t.opt.square, t.opt.update
	if cfg.Optimizer == Muon {
		for _, w := range m.Matrices() {
			t.opt.muon = append(t.opt.muon, newMuon[T](w, m.Precision()))
		}
	}
	t.muonTask = t.opt.orthogonal
	t.packTask = func(_, part int) { t.pack.Update(part) }
	return t
}

// Done reports whether all epochs are trained.
func (t *Trainer[T]) Done() bool { return t.State.Epoch >= t.Plan().Epochs }

// Plan returns the plan of the training: the last decision of a clock or verdict, or else the Config's. A training with
// a budget and no decision yet may use all epochs of Config.
func (t *Trainer[T]) Plan() Plan {
	switch {
	case t.State.Plan != nil:
		return *t.State.Plan
	case t.State.Budget > 0:
		return Plan{Epochs: t.cfg.Epochs, Factor: 1}
	}
	return Plan{t.cfg.Epochs, t.cfg.Anneal, 1}
}

// Average returns the model of averaged weights, or the raw one before the
// average has begun. It shares the trainer's memory.
func (t *Trainer[T]) Average() score.Model[T] {
	if t.State.Averaged == 0 {
		return t.model
	}
	return t.model.With(t.opt.average)
}

// Epoch trains to the end of the current epoch. If ctx is done it stops after
// the current batch with the context's error, in a state that resumes exactly.
func (t *Trainer[T]) Epoch(ctx context.Context) (Epoch, error) {
	s, start, before := &t.State, t.Now(), t.State.Seconds
	err := t.train(ctx)
	s.Seconds = before + t.Now().Sub(start).Seconds()
	if err != nil {
		return Epoch{}, err
	}
	n := float64(t.batches())
	s.Rate = t.cfg.Plateau.Step(&s.Plateau, s.Rate, s.LastLoss)
	s.Trained = max(s.Trained, s.Epoch) + 1 // states of earlier versions do not count it
	s.Epoch++
	e := Epoch{
		Epoch: s.Epoch, Trained: s.Trained,
		Loss: s.LossSum / n, LastLoss: s.LastLoss, GradNorm: s.NormSum / n, Rate: t.opt.step.Rate,
		Worst: append([]float64(nil), t.report.Worst...), Failed: t.report.Failed, Broken: t.report.Broken,
		Rows: s.Rows, Seconds: s.Seconds, Simulated: s.Simulated,
	}
	s.Step, s.LossSum, s.NormSum = 0, 0, 0
	return e, nil
}

// train trains to the end of the current epoch.
func (t *Trainer[T]) train(ctx context.Context) error {
	if err := t.prepare(ctx); err != nil {
		return err
	}
	var err error
	for err == nil && t.State.Step < t.batches() {
		if err = ctx.Err(); err == nil && t.engine != nil {
			err = t.await(ctx)
		}
		if err == nil {
			err = t.batch()
		}
	}
	if t.engine != nil {
		_, lost := t.settle(0, false)
		err = cmp.Or(lost, err)
	}
	if err == nil {
		err = t.check()
	}
	return err
}

// prepare brings the items and the order of the current epoch.
func (t *Trainer[T]) prepare(ctx context.Context) error {
	if t.share != nil && !t.share.synced { // the others have not rank 0's parameters and moments
		t.share.order(opSync)
		giveAll(t.share.group, t.opt)
		t.share.synced = true
	}
	if !t.ready {
		t.share.order(opReady)
		start := t.Now()
		err := t.source.Prepare(ctx, t.cfg.Seed)
		t.State.Prepared += t.Now().Sub(start).Seconds()
		if err != nil {
			return err
		}
		t.ready = true
	}
	if t.engine != nil {
		return t.await(ctx)
	}
	epoch, items := t.State.Epoch, t.source.Items()
	refresh := keyed.TrainingPaths.At(uint64(epoch / t.cfg.Refresh))
	if t.fresh != refresh+1 {
		start := t.Now()
		var err error
		t.share.order(opRefresh, refresh)
		t.report, err = t.refresh(ctx, refresh)
		t.State.Simulated += t.Now().Sub(start).Seconds()
		if err != nil {
			return err
		}
		if float64(t.report.Failed) > t.cfg.MaxFailed*float64(items) {
			return t.failure()
		}
		t.fresh = refresh + 1
	}
	t.share.order(opArrange, uint64(epoch))
	if t.arrange(epoch); len(t.order) == 0 {
		return t.failure()
	}
	return nil
}

// adam returns update number n at a rate.
func adam(rate float64, n int) kernel.AdamStep {
	return kernel.AdamStep{Rate: rate, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, T: n}
}

// batch makes one update.
func (t *Trainer[T]) batch() error {
	s := &t.State
	averaged, decay := s.Averaged, -1.0
	if s.Epoch > 0 { // the average begins with the second epoch
		averaged++
		decay = averageDecay(t.cfg.Average, averaged)
	}
	step := adam(s.Rate*t.Plan().At(float64(s.Epoch)+float64(s.Step)/float64(t.batches())), s.Updates+1)
	if t.engine != nil {
		return t.request(step, averaged, decay)
	}
	t.share.order(opBatch, uint64(s.Epoch), uint64(s.Step), uint64(step.T), uint64(averaged),
		math.Float64bits(step.Rate), math.Float64bits(decay))
	loss, norm, err := t.gradient(t.now())
	if err != nil {
		return err
	}
	s.Updates, s.Averaged = step.T, averaged
	t.move(step, decay, norm)
	s.Step++
	s.LossSum += loss
	s.NormSum += norm
	s.LastLoss = loss
	s.Rows += int64(len(t.terms) * t.draws)
	return nil
}

// move moves the parameters along the gradient, of the norm given.
func (t *Trainer[T]) move(step kernel.AdamStep, decay, norm float64) {
	t.opt.step, t.opt.decay = step, decay
	t.opt.step.Scale = clip(norm, t.cfg.Clip)
	t.pool.Do(segments, t.updateTask)
	t.pool.Do(len(t.opt.muon), t.muonTask)
	t.pool.Do(t.model.Parts(), t.packTask)
}

// Interrupted reports whether an error of Epoch is the context's.
func Interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Prefixes of the arrays in a snapshot; each is followed by a name of the model's Tensors.
const (
	PrefixRaw     = "raw."     // weights that Adam moves
	PrefixAverage = "average." // their moving average
	prefixM       = "adam_m."
	prefixV       = "adam_v."

	PrefixConstant = "constant." // of a score.Constant
)

// Snapshot returns the arrays that, with State, are all that training needs to go on. They share the trainer's memory.
func (t *Trainer[T]) Snapshot() []arrayfile.Named {
	var out []arrayfile.Named
	for _, p := range t.opt.parameters() {
		for _, a := range t.model.Tensors(p.data) {
			a.Name = p.prefix + a.Name
			out = append(out, a)
		}
	}
	if c, ok := t.model.(score.Constant[T]); ok {
		for _, a := range c.Constants() {
			a.Name = PrefixConstant + a.Name
			out = append(out, a)
		}
	}
	return out
}

// Restore continues from a snapshot of the same network: of one with constants, that of WithConstants.
func (t *Trainer[T]) Restore(arrays []arrayfile.Named, s State) error {
	if err := s.Validate(); err != nil {
		return fault.Errorf(fault.Run, "", "the checkpoint is damaged: %v", err)
	}
	if most := max(1, t.source.Items()/t.cfg.Batch); s.Step > most {
		return fault.Errorf(fault.Run, "", "the checkpoint is damaged: step is %d; expected at most %d, "+
			"the batches of an epoch", s.Step, most)
	}
	if c, ok := t.model.(score.Constant[T]); ok {
		kept := under(arrays, PrefixConstant)
		for _, a := range c.Constants() {
			if !slices.Equal(kept[a.Name].AsFloat64(), a.Array.AsFloat64()) {
				return fault.Errorf(fault.Run, "", "the checkpoint is damaged: its %s is not that of the "+
					"network", a.Name)
			}
		}
	}
	for _, p := range t.opt.parameters() {
		v, err := read(t.model, arrays, p.prefix)
		if err != nil {
			return err
		}
		copy(p.data, v)
	}
	t.pool.Do(t.model.Parts(), t.packTask)
	t.State, t.fresh = s, 0
	if t.share != nil {
		t.share.synced = false
	}
	return nil
}

// Load returns m with the parameters to generate with from a snapshot: the averaged
// ones, or the raw ones if the average had not begun.
func Load[T kernel.Float](m score.Model[T], arrays []arrayfile.Named, s State) (score.Model[T], error) {
	m, err := WithConstants(m, arrays)
	if err != nil {
		return nil, err
	}
	v, err := read(m, arrays, Drawn(s))
	if err != nil {
		return nil, err
	}
	return m.With(v), nil
}

// Drawn returns the prefix of the arrays of a snapshot with which samples are drawn.
func Drawn(s State) string {
	if s.Averaged == 0 {
		return PrefixRaw
	}
	return PrefixAverage
}

// WithConstants returns m with the constants of a snapshot, if it has any; otherwise m.
func WithConstants[T kernel.Float](m score.Model[T], arrays []arrayfile.Named) (score.Model[T], error) {
	c, ok := m.(score.Constant[T])
	if !ok {
		return m, nil
	}
	m, err := c.WithConstants(under(arrays, PrefixConstant))
	if err != nil {
		return nil, fault.Errorf(fault.Run, "", "the checkpoint is damaged: %v", err)
	}
	return m, nil
}

// under returns the arrays whose names begin with prefix, by the rest of their names.
func under(arrays []arrayfile.Named, prefix string) map[string]arrayfile.Array {
	byName := map[string]arrayfile.Array{}
	for _, a := range arrays {
		if name, ok := strings.CutPrefix(a.Name, prefix); ok {
			byName[name] = a.Array
		}
	}
	return byName
}

// read returns parameters of m from the arrays whose names begin with prefix.
func read[T kernel.Float](m score.Model[T], arrays []arrayfile.Named, prefix string) ([]T, error) {
	v, err := m.Read(under(arrays, prefix))
	if err != nil {
		return nil, fault.Errorf(fault.Run, "", "the checkpoint is damaged: %v", err)
	}
	return v, nil
}

// maxCount bounds the counts of a State: no training comes near.
const maxCount = 1e15

// Validate returns an error unless the state is one that a training can be in. It is for states from files.
func (s State) Validate() error {
	for _, c := range []struct {
		key   string
		value float64
	}{
		{"epoch", float64(s.Epoch)}, {"step", float64(s.Step)}, {"updates", float64(s.Updates)},
		{"averaged", float64(s.Averaged)}, {"rate", s.Rate}, {"plateau.bad", float64(s.Plateau.Bad)},
		{"plateau.cooldown", float64(s.Plateau.Cooldown)}, {"rows", float64(s.Rows)},
		{"seconds", s.Seconds}, {"simulated", s.Simulated}, {"prepared", s.Prepared}, {"budget", s.Budget},
		{"spent", s.Spent}, {"extended", float64(s.Extended)}, {"trained", float64(s.Trained)},
	} {
		if !(c.value >= 0 && c.value <= maxCount) {
			return fmt.Errorf("%s is %v; expected a number from 0 to %g", c.key, c.value, float64(maxCount))
		}
	}
	if least := s.Epoch + s.Step; s.Updates < least { // an epoch has at least one batch
		return fmt.Errorf("updates is %d; expected at least %d, after %d epochs and %d batches",
			s.Updates, least, s.Epoch, s.Step)
	}
	if s.Averaged > s.Updates {
		return fmt.Errorf("averaged is %d; expected at most %d, the updates", s.Averaged, s.Updates)
	}
	if s.Plan != nil {
		if err := s.Plan.Validate(); err != nil {
			return fmt.Errorf("plan: %w", err)
		}
	}
	if s.Judged != nil {
		if err := s.Judged.validate(s); err != nil {
			return err
		}
	}
	if len(s.Clock) > 2*maxDecisions {
		return fmt.Errorf("clock has %d decisions; expected at most %d", len(s.Clock), 2*maxDecisions)
	}
	for i, d := range s.Clock {
		if err := d.Plan.Validate(); err != nil {
			return fmt.Errorf("clock[%d]: plan: %w", i, err)
		}
	}
	return nil
}

package train

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
)

// Of trainings that stop by held-out distances.
const (
	// MostJudged bounds their epochs where nothing else does.
	MostJudged = 10_000
	// FewestJudged is the number of rows from which their distance to samples says something.
	FewestJudged = 20

	patience    = 3    // evaluations without a fall that end a training, or losses in a row that say overfitting
	rise        = 2    // standard errors above the lowest distance that are a rise
	times       = 126  // hundredths: the next evaluation comes at 1.26 times the epochs of the last; 1.26³ = 2
	firstAfter  = 1000 // updates before the first: a new network has no meaningful samples
	firstLoss   = 50   // of losses
	flatLoss    = 1000 // updates before losses that no longer fall end a training
	judgedShare = 0.1  // of the work since the last evaluation that one may be
	mostKept    = 3    // estimates that a state holds: of the reference, the lowest, and of a run's lowest
	mostJudged  = 200  // evaluations that a state holds
)

// A Measured is a held-out distance of the averaged weights, or in its place their held-out loss.
type Measured struct {
	Epoch    int          `json:"epoch"`
	Updates  int          `json:"updates"`
	Distance metric.Float `json:"distance"` // energy distance, without bias: metric.EnergyTo; or the loss
	Noise    metric.Float `json:"noise"`    // its standard error
}

// A Verdict ends a training: flat, where the distance has stopped to fall, or rising.
type Verdict struct {
	Rising   bool         `json:"rising,omitempty"`
	Loss     bool         `json:"loss,omitempty"` // of losses, not distances
	After    int          `json:"after_epoch"`    // the evaluation that it was made by
	Distance metric.Float `json:"distance"`       // of it
	Against  int          `json:"against"`        // epoch whose distance it did not fall below, or is above
	Of       metric.Float `json:"of"`             // the distance there
	Noise    metric.Float `json:"noise"`          // of the difference
	From     int          `json:"from_epoch"`     // whose weights the training goes on from
	Plan     Plan         `json:"plan"`           // from there on
}

func (v Verdict) String() string {
	what := Judge(v.Loss)
	s := fmt.Sprintf("the %s no longer falls by more than its noise: %.4g after epoch %d, %.4g after epoch %d, noise "+
		"of the difference %.2g", what, v.Distance, v.After, v.Of, v.Against, v.Noise)
	switch {
	case v.Rising && v.Distance.IsNaN():
		s = fmt.Sprintf("samples break down: there is no %s after epoch %d", what, v.After)
	case v.Rising && v.Loss:
		s = fmt.Sprintf("overfitting: the loss of training rows falls, and the %s does not: %.4g after epoch %d, %.4g "+
			"after epoch %d, noise of the difference %.2g", what, v.Distance, v.After, v.Of, v.Against, v.Noise)
	case v.Rising:
		s = fmt.Sprintf("the %s rises: %.4g after epoch %d, %.4g after epoch %d, noise of the difference %.2g", what,
			v.Distance, v.After, v.Of, v.Against, v.Noise)
	}
	switch {
	case v.Plan.Epochs <= v.After && v.From == v.After:
		return s + ": the training ends here"
	case v.From < v.After:
		return fmt.Sprintf("%s: the training goes on from epoch %d and ends after epoch %d", s, v.From, v.Plan.Epochs)
	}
	return fmt.Sprintf("%s: the training ends after epoch %d", s, v.Plan.Epochs)
}

// Judge names what a training is judged by.
func Judge(loss bool) string {
	if loss {
		return "held-out loss"
	}
	return "held-out distance"
}

// Judged is what held-out distances have said until now: a function of the training, so that one
// which is stopped and goes on decides alike.
//
// The reference is the last evaluation that was below the reference before it by more than the standard error of the
// difference. After 3 evaluations, which are twice the epochs, without another one the training ends (Hear).
type Judged struct {
	Measures  []Measured `json:"measures"`
	Of        int        `json:"of,omitempty"`    // Held.Of of the losses: those of other coordinates do not compare
	Since     int        `json:"since,omitempty"` // epoch from which on the rule looks: of the last Extend
	Reference int        `json:"reference"`       // epoch; 0: there is none
	Waited    int        `json:"waited"`          // evaluations since then, counted up to those that end it
	Low       int        `json:"low"`             // epoch of the lowest distance since then
	Risen     int        `json:"risen,omitempty"` // evaluations in a row above that by a rise, up to those that end it
	Lowest    int        `json:"lowest"`          // of all
	// Epoch of the weights to keep: the latest whose distance is the lowest but for noise, of losses at a constant
	// rate the lowest; and its updates. 0: none yet.
	Chosen        int      `json:"chosen"`
	ChosenUpdates int      `json:"chosen_updates"`
	Verdict       *Verdict `json:"verdict,omitempty"`
	Kept          []Kept   `json:"kept"` // of the epochs that later ones are compared with
}

// A Kept is an estimate after an epoch.
type Kept struct {
	Epoch   int     `json:"epoch"`
	Value   float64 `json:"value"`
	Samples packed  `json:"samples"`
	Rows    packed  `json:"rows"`
	Seen    packed  `json:"seen,omitempty"` // losses of training rows
}

// packed is numbers as JSON has them in base64: exactly, and NaN too.
type packed []float64

// MarshalJSON implements json.Marshaler.
func (p packed) MarshalJSON() ([]byte, error) {
	raw := make([]byte, 0, 8*len(p))
	for _, v := range p {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
	}
	return json.Marshal(raw)
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *packed) UnmarshalJSON(data []byte) error {
	var raw []byte
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	if len(raw)%8 != 0 {
		return fmt.Errorf("%d bytes are no numbers", len(raw))
	}
	*p = make(packed, len(raw)/8)
	for i := range *p {
		(*p)[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return nil
}

// of returns what is kept of an epoch.
func (j *Judged) of(epoch int) (metric.Estimate, bool) {
	for _, k := range j.Kept {
		if k.Epoch == epoch {
			return metric.Estimate{Value: k.Value, Samples: k.Samples, Rows: k.Rows}, true
		}
	}
	return metric.NoEstimate(), false
}

// above returns by how many standard errors of the difference an estimate is above that of an epoch:
// −∞ if there is none of the epoch, NaN if there is none to compare.
func (j *Judged) above(e metric.Estimate, epoch int) float64 {
	other, ok := j.of(epoch)
	switch {
	case !e.Known():
		return math.NaN()
	case !ok:
		return math.Inf(-1)
	}
	difference, noise := e.Minus(other)
	if difference == 0 { // of the same samples
		return 0
	}
	return difference / noise
}

// overfits reports whether a distance is above that of an epoch by a rise. A loss counts earlier: where it is not below
// that of the epoch, and the loss of training rows is, so that it fell by more than what held-out rows gained. Where
// that of training rows rises it is no overfitting: updates of a high rate move the weights about, and until an
// average is over enough of these the loss of all rows may rise for a while.
func (j *Judged) overfits(e metric.Estimate, seen []float64, epoch int) bool {
	i := slices.IndexFunc(j.Kept, func(k Kept) bool { return k.Epoch == epoch })
	if i < 0 || !e.Known() || len(seen) == 0 || len(j.Kept[i].Seen) != len(seen) {
		return !(j.above(e, epoch) <= rise)
	}
	other, _ := j.of(epoch)
	up, noise := e.Minus(other)
	all, allNoise := metric.MeanOf(seen).Minus(metric.MeanOf(j.Kept[i].Seen))
	return up >= 0 && !(all > rise*allNoise) && up-all > rise*math.Hypot(noise, allNoise)
}

// hear takes in the distance after an epoch, and reports whether the distance has stopped to fall. The rule
// looks at it unless the learning rate is falling already, when distances fall by that.
func (j *Judged) hear(epoch, updates int, e metric.Estimate, seen []float64, rule bool) (flat bool) {
	m := Measured{epoch, updates, metric.NaN, metric.NaN}
	if e.Known() {
		m.Distance, m.Noise = metric.Float(e.Value), metric.Float(e.Noise())
	}
	if n := len(j.Measures); n == mostJudged { // 1.26^200 epochs; or as many extensions
		j.Measures = slices.Delete(j.Measures, 1, 2)
	}
	j.Measures = append(j.Measures, m)
	if rule {
		if j.above(e, j.Reference) < -1 {
			j.Reference, j.Waited = epoch, 0
		} else if j.Reference > 0 {
			j.Waited = min(j.Waited+1, patience)
		}
		flat = j.Waited >= patience
	}
	if j.Low > 0 && j.overfits(e, seen, j.Low) {
		j.Risen = min(j.Risen+1, patience)
	} else {
		j.Risen = 0
	}
	for _, low := range []*int{&j.Low, &j.Lowest} {
		if before, ok := j.of(*low); e.Known() && !(ok && before.Value <= e.Value) {
			*low = epoch
		}
	}
	if e.Known() {
		j.Kept = append(slices.Clip(j.Kept), Kept{epoch, e.Value, e.Samples, e.Rows, seen})
	}
	j.Kept = slices.DeleteFunc(slices.Clone(j.Kept), func(k Kept) bool {
		return k.Epoch != j.Reference && k.Epoch != j.Low && k.Epoch != j.Lowest
	})
	return flat
}

// again lets the rule begin anew after an epoch.
func (j *Judged) again(epoch int) {
	j.Since, j.Reference, j.Waited, j.Low, j.Risen, j.Verdict = epoch, 0, 0, 0, 0, nil
}

// next returns the epoch of the first evaluation after one.
func next(epoch int) int { return max(epoch+1, (epoch*times+99)/100) }

// ahead returns how many evaluations come after epoch until the last one.
func (j *Judged) ahead(epoch, last int) (n int) {
	at := next(epoch)
	if j != nil && len(j.Measures) > 0 {
		at = max(epoch+1, next(j.Measures[len(j.Measures)-1].Epoch))
	}
	for ; at < last; at = next(at) {
		n++
	}
	return n + 1 // at the end
}

// due reports whether the distance is to be measured after an epoch, of a training that is done or
// not; worth reports whether so much was trained that a first evaluation may be.
func (j *Judged) due(epoch int, done, worth bool) bool {
	if epoch == 0 {
		return false
	}
	if j == nil || len(j.Measures) == 0 {
		return done || worth
	}
	last := j.Measures[len(j.Measures)-1].Epoch
	return epoch > last && (done || epoch >= next(last))
}

// Due reports whether held-out distances are to be measured now, work being the network rows
// that one evaluation takes, a step of the process counting as one.
//
// The first comes after 1000 updates, of losses after 50, and when it is no more than a tenth of the work of the last
// fifth of them, forward and backward three network rows a row, and the steps of forward paths; each
// other one after 1.26 times the epochs of the one before, which is a smaller share; and one at the end.
func (t *Trainer[T]) Due(work float64) bool {
	s := &t.State
	if s.Step > 0 {
		return false
	}
	refreshed := (s.Epoch + t.cfg.Refresh - 1) / t.cfg.Refresh
	trained := 3*float64(s.Rows) + float64(refreshed)*float64(t.source.Items())*float64(t.source.Times())
	first := firstAfter
	if t.cfg.JudgedByLoss {
		first = firstLoss
	}
	worth := s.Updates >= first && work <= judgedShare*(1-100./times)*trained
	return s.Judged.due(s.Epoch, t.Done(), worth)
}

// Hear records the held-out distance of the averaged weights, when it is Due, and returns the verdict, if there is one.
//
// Where the distance no longer falls after e epochs, the training gets ⌈e/(1 − Anneal)⌉ epochs in all, so that its rate
// falls to 0 from here on. A training planned for this number of epochs would have been the same. Where the distance
// rises, e is the epoch of the lowest distance, and training continues from that epoch's checkpoint (Back).
//
// A single loss may be high by chance, or for a while. Three high losses in a row say that a network overfits
// (overfits); the third comes at twice the epochs of the lowest. The training then ends after 1.26 times the lowest
// loss's epochs, even if the rate falls already. Losses that no longer fall may fall again. They end only a training
// without a budget, and only after 1000 updates.
//
// The training ends if the resume point lies before the last Extend, or if no epoch is left after it.
func (t *Trainer[T]) Hear(e metric.Estimate, seen ...float64) (Verdict, bool) {
	s := &t.State
	j := Judged{}
	if s.Judged != nil {
		j = *s.Judged
		j.Measures = slices.Clone(j.Measures)
	}
	s.Judged = &j
	plan, loss := t.Plan(), t.cfg.JudgedByLoss
	open := j.Verdict == nil && !t.Done()
	within := 1. // the latest within noise of the lowest; but overfitting hardly moves losses at first
	if loss && open && !plan.Falling(s.Epoch) {
		within = 0
	}
	if j.above(e, j.Lowest) <= within {
		j.Chosen, j.ChosenUpdates = s.Epoch, s.Updates
	}
	flat := j.hear(s.Epoch, s.Updates, e, seen, open && !plan.Falling(s.Epoch))
	rising := flat && j.Risen > 0
	if loss {
		rising = j.Risen >= patience
		flat = flat && s.Budget == 0 && s.Updates >= flatLoss
	}
	if !open || !flat && !rising {
		return Verdict{}, false
	}
	against := j.Reference
	if rising {
		against = j.Low
	}
	other, _ := j.of(against)
	_, noise := e.Minus(other)
	v := Verdict{Rising: rising, Loss: loss, After: s.Epoch, Distance: j.Measures[len(j.Measures)-1].Distance,
		Against: against, Of: metric.Float(other.Value), Noise: metric.Float(noise), From: s.Epoch}
	if rising {
		v.From = j.Chosen
	}
	if v.Plan = t.cfg.annealed(v.From, plan); rising && loss {
		v.Plan = soon(v.From, plan)
	}
	if v.From <= j.Since || v.From < s.Epoch && v.Plan.Epochs <= v.From {
		v.From, v.Plan = s.Epoch, plan.Until(s.Epoch, s.Epoch)
	}
	if v.From == s.Epoch {
		s.Plan = &v.Plan
	}
	j.Verdict = &v
	return v, true
}

// soon returns the plan of a training whose rate falls from an epoch to the next one at which it is judged, within
// the epochs of plan: overfitting goes on as long as the training does.
func soon(epoch int, plan Plan) Plan {
	n := next(epoch)
	if n >= plan.Epochs {
		return plan
	}
	return Plan{n, 1 - float64(epoch)/float64(n), plan.At(float64(epoch))}
}

// annealed returns the plan of a training whose rate begins to fall after an epoch, within the epochs of plan.
func (c Config) annealed(epoch int, plan Plan) Plan {
	n := math.Ceil(float64(epoch) / (1 - c.Anneal))
	if !(n < float64(plan.Epochs)) {
		return plan
	}
	return Plan{int(n), c.Anneal, 1}
}

// Back puts the training where a verdict goes on from: arrays and state are those of that epoch.
// Time and epochs that were spent since stay spent, and what was heard is kept.
func (t *Trainer[T]) Back(v Verdict, arrays []arrayfile.Named, state State) error {
	now := t.State
	j := *now.Judged
	j.Measures = slices.DeleteFunc(slices.Clone(j.Measures), func(m Measured) bool { return m.Epoch > v.From })
	state.Judged, state.Plan = &j, &v.Plan
	state.Spent, state.Trained = now.Spent, now.Trained
	state.Clock, state.Timed, state.Budget, state.Extended = now.Clock, now.Timed, now.Budget, now.Extended
	return t.Restore(arrays, state)
}

// Forget drops the chosen epoch: its checkpoint is gone.
func (s *State) Forget() {
	if s.Judged != nil {
		j := *s.Judged
		j.Lowest, j.Chosen, j.ChosenUpdates = 0, 0, 0
		s.Judged = &j
	}
}

// validate returns an error unless a training in a state can have heard so.
func (j *Judged) validate(s State) error {
	switch {
	case len(j.Measures) > mostJudged || len(j.Kept) > mostKept:
		return fmt.Errorf("judged has %d measures and %d estimates; expected at most %d and %d", len(j.Measures),
			len(j.Kept), mostJudged, mostKept)
	case min(j.Waited, j.Risen) < 0 || max(j.Waited, j.Risen) > patience || j.Chosen < 0 || j.Chosen > s.Epoch ||
		j.ChosenUpdates < 0 || j.ChosenUpdates > s.Updates:
		return fmt.Errorf("judged has waited %d evaluations, risen in %d and chosen epoch %d; expected at most %d, "+
			"and an epoch that was trained", j.Waited, j.Risen, j.Chosen, patience)
	}
	last := 0
	for i, m := range j.Measures {
		if m.Epoch <= last || m.Epoch > s.Epoch || m.Updates < 0 {
			return fmt.Errorf("judged.measures[%d] is of epoch %d; expected one after %d, and at most %d", i, m.Epoch,
				last, s.Epoch)
		}
		last = m.Epoch
	}
	if v := j.Verdict; v != nil {
		if err := v.Plan.Validate(); err != nil {
			return fmt.Errorf("judged.verdict: plan: %w", err)
		}
	}
	return nil
}

// HeldTimes is how many times of an item are looked at, at most: one in the middle of each of as many strata.
const HeldTimes = 16

// A Held is items of rows that a training does not see, by which models are judged: always the same items
// and times, so that losses of two models differ by nothing but the models.
type Held[T kernel.Float] struct {
	source method.Source[T]
	pool   *parallel.Pool
	times  []int
	draws  int // of the network, of a term
	// Of, unless 0, takes the losses of the first Of coordinates alone, by their share of the squared gradient: that
	// of the loss, if it is balanced.
	Of     int
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
			g, w := ds[worker], m.Out()
			if out[item] = l.Evaluate(g, ws[worker].Forward(in, rows)); h.Of > 0 {
				own, all := 0.0, 0.0
				for i, v := range g {
					if all += float64(v) * float64(v); i%w < h.Of {
						own += float64(v) * float64(v)
					}
				}
				if all > 0 {
					out[item] *= own / all
				}
			}
		}
	})
	return out
}

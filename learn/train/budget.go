package train

import (
	"fmt"

	"github.com/landing-diffusion/landing/internal/fault"
)

// MaxClocked is the largest number of epochs that a clock decides.
const MaxClocked = 1_000_000

// maxDecisions bounds the decisions that a State holds; one that ends the training is always taken.
const maxDecisions = 200

// Shares of a budget, or of what is left of it when a call begins.
const (
	warmShare   = 0.03 // that is measured before a number of epochs is taken from it,
	slowShare   = 0.10 // or in all, where epochs are long
	aimShare    = 0.98 // that the epochs are to fill: the rest is for a machine that becomes slower
	firstShare  = 0.40 // that the first epoch must take to be the only one that is timed
	changeShare = 0.02 // by which a number of epochs must differ from the last one to be taken,
	regainShare = 0.25 // or where the rate falls already
	windowShare = 0.10 // the last, over which epochs are timed
	markShare   = 0.01 // between the marks of this window
)

// A Decision is a number of epochs that came from a clock.
type Decision struct {
	After  int     `json:"after_epoch"`
	Plan   Plan    `json:"plan"`
	Budget float64 `json:"budget_seconds"` // in all
	Spent  float64 `json:"spent_seconds"`  // in all, until then
	Pace   float64 `json:"epoch_seconds"`  // what an epoch takes; 0: none was timed
	Why    string  `json:"why"`
	Within bool    `json:"within_epoch,omitempty"` // batches of the epoch after it were trained
}

// Repeats reports whether train.epochs and train.anneal of the plan alone give what was trained.
func (d Decision) Repeats() bool { return d.Plan.Factor == 1 && !d.Within }

func (d Decision) String() string {
	return fmt.Sprintf("epochs: %d (from a clock: %.4g s at %.3g s an epoch, after epoch %d: %s)", d.Plan.Epochs,
		d.Budget, d.Pace, d.After, d.Why)
}

// A Reading of clocks, in seconds since the training began; time between calls is not counted.
type Reading struct {
	All       float64 // whatever was done
	Simulated float64 // of it, in forward simulation
	Evaluated float64 // of it, in evaluations
	Judged    float64 // of it, in held-out distances
	Prepared  float64 // of it, once a call, before its first epoch
}

// work is what training alone took.
func (r Reading) work() float64 { return r.All - r.Simulated - r.Evaluated - r.Judged - r.Prepared }

// A Pacer times epochs and says when a training of a budget ends. It reads no clock: what it
// decides is a function of the readings that it is given.
//
// The number of epochs is decided after a short warm-up. Until the rate begins to fall another number would change
// nothing of what was trained (Plan.Until), so just before that it is decided again, now that more epochs were timed.
// At any time it is lowered if the machine became so slow that the budget would not suffice, and raised if far more
// epochs fit than were planned.
type Pacer struct {
	limit     float64 // seconds, in all
	room      float64 // of it, left when the call began
	refresh   int
	evaluate  int
	most      int
	begin     Reading
	now       Reading
	first     int    // epochs trained when the call began
	epoch     int    // now
	marks     []mark // the first is after the first epoch; then those of the window
	refreshes int    // forward simulations timed
	evaluated int    // evaluations timed
	judged    int    // held-out distances timed
	paused    float64
}

type mark struct {
	epoch int
	work  float64
}

// NewPacer returns the pacer of a call that begins after `epoch` epochs and has a budget of limit seconds in all. The
// training simulates paths anew at every refresh-th epoch, and evaluates samples at every evaluate-th (0: never).
func NewPacer(limit float64, refresh, evaluate, most, epoch int, r Reading) *Pacer {
	return &Pacer{limit: limit, room: max(limit-r.All, 0), refresh: max(refresh, 1), evaluate: evaluate,
		most: min(most, MaxClocked), begin: r, now: r, first: epoch, epoch: epoch}
}

// Paused adds seconds in which a decision was saved. They would make the epochs look slow, and new decisions due.
func (p *Pacer) Paused(seconds float64) { p.paused += seconds }

// Epoch records the clocks after `epoch` epochs, and after their evaluation if one was due.
func (p *Pacer) Epoch(epoch int, r Reading) {
	r.Prepared += p.paused
	if r.Simulated > p.now.Simulated {
		p.refreshes++
	}
	if r.Evaluated > p.now.Evaluated {
		p.evaluated++
	}
	if r.Judged > p.now.Judged {
		p.judged++
	}
	p.now, p.epoch = r, epoch
	w := r.work()
	if n := len(p.marks); n == 0 || w-p.marks[n-1].work >= markShare*p.room {
		p.marks = append(p.marks, mark{epoch, w})
	}
	for len(p.marks) > 1 && w-p.marks[1].work >= windowShare*p.room {
		p.marks = p.marks[1:]
	}
}

// measured reports whether enough epochs were timed to decide by.
func (p *Pacer) measured() bool {
	share := slowShare
	switch p.epoch - p.first {
	case 0:
		return false
	case 1: // which may be unlike the others: caches are cold, and molecules and arms have more to set up
		share = firstShare
	}
	return p.now.All-p.begin.All-p.now.Prepared+p.begin.Prepared >= share*p.room ||
		p.epoch > p.marks[0].epoch && p.now.work()-p.marks[0].work >= warmShare*p.room
}

// pace returns the seconds that an epoch takes, with its share of simulations and evaluations. The first epoch of a
// call, which also makes things ready, counts if there is no other.
func (p *Pacer) pace() float64 {
	from := mark{p.first, p.begin.work()}
	if len(p.marks) > 0 && p.marks[0].epoch < p.epoch {
		from = p.marks[0]
	}
	pace := (p.now.work() - from.work) / float64(p.epoch-from.epoch)
	if p.refreshes > 0 {
		pace += (p.now.Simulated - p.begin.Simulated) / float64(p.refreshes) / float64(p.refresh)
	}
	if p.evaluated > 0 {
		pace += (p.now.Evaluated - p.begin.Evaluated) / float64(p.evaluated) / float64(p.evaluate)
	}
	return pace
}

// judging returns the seconds of the held-out distances that are to come, by what the last ones took.
func (p *Pacer) judging(s *State, plan Plan, pace float64) float64 {
	if p.judged == 0 {
		return 0
	}
	last := min(plan.Epochs, p.epoch+int(min((p.limit-p.now.All)/pace, MaxClocked)))
	return (p.now.Judged - p.begin.Judged) / float64(p.judged) * float64(s.Judged.ahead(p.epoch, last))
}

// decide returns the decision that is due, if one is, for a training in a state that goes by plan.
func (p *Pacer) decide(plan Plan, s *State, anneal float64) (d Decision, due bool) {
	e := p.epoch
	d = Decision{After: e, Budget: p.limit, Spent: p.now.All}
	if e > p.first {
		d.Pace = p.pace()
	}
	if e >= 1 && p.now.All >= p.limit {
		d.Plan, d.Why = plan.Until(e, e), "the budget is spent"
		return d, plan.Epochs > e
	}
	if len(s.Clock) >= maxDecisions || !p.measured() || !(d.Pace > 0) {
		return d, false
	}
	most := p.most
	if j := s.Judged; j != nil && j.Verdict != nil {
		most = min(most, j.Verdict.Plan.Epochs)
	}
	left := p.limit - p.now.All - p.judging(s, plan, d.Pace)
	until := func(share float64) int { // which epoch ends with a share of what is left
		return max(e, min(most, e+int(min(share*left/d.Pace, MaxClocked))))
	}
	n := until(max(0, 1-(1-aimShare)*p.room/max(left, 0)))
	longer := float64(n-plan.Epochs) > changeShare*float64(plan.Epochs)
	switch {
	case s.Plan == nil && n > e:
		d.Plan, d.Why = Plan{n, min(anneal, 1-float64(e)/float64(n)), 1}, "the warm-up was timed"
		return d, true
	case s.Plan == nil:
		d.Plan, d.Why = plan.Until(e, e), "the budget holds no more"
		return d, true
	case d.Pace*float64(plan.Epochs-e) > left:
		n = until(aimShare)
		d.Plan, d.Why = plan.Until(e, n), "epochs take longer than was timed"
		return d, n < plan.Epochs
	case !s.Timed && longer:
		d.Plan, d.Why = plan.Until(e, n), "the warm-up was timed"
		return d, true
	case plan.last(e) && longer:
		d.Plan, d.Why = plan.Until(e, n), "timed again before the rate falls"
		return d, true
	case plan.Falling(e) && float64(n-plan.Epochs) > regainShare*float64(plan.Epochs):
		d.Plan, d.Why = plan.Until(e, n), "epochs take much less than was timed"
		d.Plan.Factor = max(d.Plan.Factor, plan.At(float64(e-1))/2) // an epoch may have been half of a plan
		return d, true
	}
	return d, false
}

// last reports whether the plan can change for the last time after `epoch` epochs without changing the training so far:
// the rate falls in the next epoch, or the training ends.
func (p Plan) last(epoch int) bool {
	if p.Anneal == 0 {
		return epoch >= p.Epochs
	}
	return !p.Falling(epoch) && p.At(float64(epoch+1)) < p.Factor
}

// Pace lets a pacer that has heard of the last epoch decide. What it decides is in the State from then on.
func (t *Trainer[T]) Pace(p *Pacer) (Decision, bool) {
	s := &t.State
	d, due := p.decide(t.Plan(), s, t.cfg.Anneal)
	s.Timed = s.Timed || p.measured()
	if due {
		s.Plan, s.Clock = &d.Plan, append(s.Clock[:len(s.Clock):len(s.Clock)], d)
	}
	return d, due
}

// Extend makes a training go on by its Config, which says more epochs than before, or if seconds is above 0 for so
// long. Its plan is the Config's own from there on: a rate that has fallen begins anew where that of a training planned
// so long from the start would be, at min(1, (1 − e/Epochs) / Anneal) after e epochs. By a clock the number of epochs
// follows from what they took until now, as long as no others were timed.
func (t *Trainer[T]) Extend(seconds float64) {
	s := &t.State
	s.Extended++
	s.Plan, s.Clock, s.Timed, s.Budget = nil, nil, false, 0
	if s.Judged != nil {
		j := *s.Judged
		j.again(s.Epoch)
		s.Judged = &j
	}
	if seconds <= 0 {
		return
	}
	s.Budget = s.Spent + seconds
	if s.Epoch == 0 || s.Seconds <= 0 {
		return
	}
	pace := (s.Seconds - s.Prepared) / float64(s.Epoch)
	n := min(t.cfg.Epochs, s.Epoch+max(1, int(min(aimShare*seconds/pace, MaxClocked))), MaxClocked)
	d := Decision{After: s.Epoch, Plan: Plan{max(n, s.Epoch), t.cfg.Anneal, 1}, Budget: s.Budget, Spent: s.Spent,
		Pace: pace, Why: "what epochs took before"}
	s.Plan, s.Clock = &d.Plan, []Decision{d}
}

// Exhausted ends a training whose budget ended within an epoch. It returns an error if this epoch was the first.
func (t *Trainer[T]) Exhausted() (Decision, error) {
	s := &t.State
	if s.Epoch == 0 {
		when, also := "before its first batch: loading, the prior or forward paths took it", ""
		if s.Step > 0 {
			when = fmt.Sprintf("after %d of its %d batches", s.Step, t.batches())
			also = ", or fewer train.times_per_path,"
		}
		return Decision{}, fault.Errorf(fault.Check, "", "the budget of %.4g s ended in the first epoch, %s; a larger "+
			"train.max_seconds (--for)%s helps", s.Budget, when, also)
	}
	d := Decision{After: s.Epoch, Plan: t.Plan().Until(s.Epoch, s.Epoch), Budget: s.Budget, Spent: s.Spent,
		Why: fmt.Sprintf("the budget ended in epoch %d", s.Epoch+1), Within: s.Step > 0}
	s.Plan, s.Clock = &d.Plan, append(s.Clock[:len(s.Clock):len(s.Clock)], d)
	return d, nil
}

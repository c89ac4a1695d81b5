package train

import (
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// The rate of a plan is 1 and falls linearly to 0 over its last share, as the keys say; a plan that is changed before
// it falls is that of the new number of epochs, and one that is changed while it falls goes on from where it is.
func TestPlan(t *testing.T) {
	p := Plan{Epochs: 100, Anneal: 0.4, Factor: 1}
	for _, c := range []struct{ at, want float64 }{{0, 1}, {60, 1}, {80, 0.5}, {90, 0.25}, {99.5, 0.0125}, {100, 0}} {
		testkit.Near(t, p.At(c.at), c.want, 1e-15, "at %v the rate", c.at)
	}
	if q := (Plan{Epochs: 7, Factor: 0.5}); q.At(6.9) != 0.5 || q.Falling(6) {
		t.Error("without anneal the rate falls")
	}
	for _, c := range []struct {
		after, epochs int
		want          Plan
	}{
		{30, 80, Plan{80, 0.4, 1}},   // falls from 48 on
		{30, 200, Plan{200, 0.4, 1}}, // longer
		{60, 80, Plan{80, 0.25, 1}},  // should have fallen: over all that is left
		{60, 100, Plan{100, 0.4, 1}},
		{80, 90, Plan{90, 1 - 80.0/90, 0.5}},
		{80, 160, Plan{160, 0.5, 0.5}},
		{80, 80, Plan{80, 0, 0.5}}, // ends
		{80, 10, Plan{80, 0, 0.5}},
		{40, 40, Plan{40, 0, 1}},
	} {
		got := p.Until(c.after, c.epochs)
		if off := math.Abs(got.Anneal-c.want.Anneal) + math.Abs(got.Factor-c.want.Factor); off > 1e-15 ||
			got.Epochs != c.want.Epochs {
			t.Errorf("until %d, after %d: %+v, want %+v", c.epochs, c.after, got, c.want)
		}
		if c.epochs <= c.after {
			continue
		}
		if at := float64(c.after); math.Abs(got.At(at)-p.At(at)) > 1e-15 {
			t.Errorf("until %d, after %d: the rate jumps from %v to %v", c.epochs, c.after, p.At(at), got.At(at))
		}
		if last := got.At(float64(c.epochs)); math.Abs(last) > 1e-15 {
			t.Errorf("until %d, after %d: the rate ends at %v", c.epochs, c.after, last)
		}
		for e := 0; got.Factor == 1 && e <= c.after; e++ { // what was trained is what the new plan would have
			if got.At(float64(e)) != 1 || p.At(float64(e)) != 1 {
				t.Errorf("until %d, after %d: a plan of factor 1 has the rate %v at epoch %d", c.epochs, c.after,
					got.At(float64(e)), e)
			}
		}
	}
	testkit.Equal(t, (Plan{Epochs: 100, Factor: 1}).Until(50, 60), (Plan{Epochs: 60, Factor: 1}),
		"a plan without anneal becomes")
}

// machine says what an epoch, a simulation and an evaluation take.
type machine struct {
	first    float64 // more, in the first epoch of a call
	epoch    func(epoch int) float64
	simulate float64
	evaluate float64
	judge    float64 // a held-out distance; 0: there are none
	prepare  float64 // before the first epoch
	save     float64 // a decision
}

func constant(v float64) func(int) float64 { return func(int) float64 { return v } }

// untrained is a trainer that only decides.
func untrained(cfg Config, s State) *Trainer[float32] {
	tr := &Trainer[float32]{State: s}
	tr.cfg, tr.source = cfg, paths{}
	return tr
}

// pass is a training of nothing but clocks: it returns the last state, and where it ended. Its rates are recorded.
func pass(limit, spent float64, cfg Config, every int, s State, m machine) (_ State, rates []float64) {
	tr := untrained(cfg, s)
	tr.State.Budget = limit
	r := Reading{All: spent}
	p := NewPacer(limit, cfg.Refresh, every, cfg.Epochs, s.Epoch, r)
	for n := 0; !tr.Done(); n++ {
		e := tr.State.Epoch
		rates = append(rates, tr.Plan().At(float64(e)))
		took := m.epoch(e)
		if n == 0 {
			took += m.first + m.prepare
			r.Prepared += m.prepare
		}
		if n == 0 || e%cfg.Refresh == 0 {
			took += m.simulate
			r.Simulated += m.simulate
		}
		if every > 0 && (e+1)%every == 0 {
			took += m.evaluate
			r.Evaluated += m.evaluate
		}
		r.All += took
		tr.State.Epoch, tr.State.Spent = e+1, r.All
		if limit > 0 {
			p.Epoch(e+1, r)
			if _, due := tr.Pace(p); due {
				p.Paused(m.save)
				r.All += m.save
			}
		}
		if m.judge > 0 && tr.State.Judged.due(e+1, tr.Done(), e >= 50) {
			j := Judged{}
			if tr.State.Judged != nil {
				j = *tr.State.Judged
			}
			j.Measures = append(j.Measures, Measured{Epoch: e + 1})
			tr.State.Judged = &j
			r.All, r.Judged = r.All+m.judge, r.Judged+m.judge
			tr.State.Spent = r.All
		}
	}
	return tr.State, rates
}

// On a machine of steady speed the epochs fill the budget but for two hundredths and an epoch, whatever simulations,
// evaluations and the first epoch cost; the rate falls to its end; and the keys of the decision give the same rates.
func TestSteadyBudget(t *testing.T) {
	for name, c := range map[string]struct {
		cfg   Config
		every int
		m     machine
	}{
		"plain": {Config{Epochs: MaxClocked, Refresh: 1, Anneal: 0.5}, 0,
			machine{epoch: constant(0.71)}},
		"slow start": {Config{Epochs: MaxClocked, Refresh: 1, Anneal: 0.5}, 0,
			machine{first: 9, epoch: constant(0.5), simulate: 0.1}},
		"refresh": {Config{Epochs: MaxClocked, Refresh: 50, Anneal: 0.4}, 0,
			machine{first: 1, epoch: constant(0.3), simulate: 5}},
		"evaluations": {Config{Epochs: MaxClocked, Refresh: 3, Anneal: 0.7}, 20,
			machine{first: 1, epoch: constant(0.2), simulate: 0.1, evaluate: 6}},
		"held-out": {Config{Epochs: MaxClocked, Refresh: 1, Anneal: 0.5}, 0,
			machine{first: 0, epoch: constant(0.3), judge: 2.5}},
		"all falling": {Config{Epochs: MaxClocked, Refresh: 1, Anneal: 1}, 0,
			machine{first: 0, epoch: constant(0.25)}},
		"never falls": {Config{Epochs: MaxClocked, Refresh: 1}, 10,
			machine{first: 0, epoch: constant(0.25), evaluate: 3}},
		"long epochs": {Config{Epochs: MaxClocked, Refresh: 1, Anneal: 0.5}, 0,
			machine{first: 0, epoch: constant(23), simulate: 1}},
		"short epochs": {Config{Epochs: MaxClocked, Refresh: 1, Anneal: 0.5}, 0,
			machine{first: 2, epoch: constant(0.01)}},
		"slow saves": {Config{Epochs: MaxClocked, Refresh: 1, Anneal: 0.5}, 0,
			machine{epoch: constant(0.01), save: 0.5}},
	} {
		s, rates := pass(300, 2, c.cfg, c.every, State{}, c.m)
		if s.Plan == nil || len(s.Clock) == 0 || s.Clock[len(s.Clock)-1].Plan != *s.Plan || s.Epoch != s.Plan.Epochs {
			t.Fatalf("%s: %+v", name, s)
		}
		longest := 300*0.03 + c.m.epoch(0) + c.m.simulate + c.m.evaluate + c.m.judge
		if s.Spent > 300 || s.Spent < 300-longest {
			t.Errorf("%s: %v s are spent of 300; %v", name, s.Spent, s.Clock)
		}
		if first := s.Clock[0]; first.Spent > 300*0.10+c.m.first+2*c.m.epoch(0)+2*c.m.simulate+2 {
			t.Errorf("%s: the first decision comes after %v s", name, first.Spent)
		}
		if len(s.Clock) > 5 || s.Plan.Factor != 1 {
			t.Errorf("%s: %v", name, s.Clock)
		}
		again, same := pass(0, 0, c.cfg, c.every, State{Plan: s.Plan}, c.m)
		testkit.Equal(t, again.Epoch, s.Epoch, "%s: by its keys the training ends after", name)
		for e := range rates {
			testkit.Equal(t, rates[e], same[e], "%s: the rate of epoch %d", name, e)
		}
		if a := s.Plan.Anneal; a > 0 && rates[len(rates)-1] > 1/(a*float64(len(rates)))+1e-12 {
			t.Errorf("%s: the last rate is %v", name, rates[len(rates)-1])
		}
	}
}

// Where the machine becomes slower the training still ends in its budget and its rate goes to
// 0, without a jump: before it falls by other keys, and while it falls by a plan of its own.
func TestSlowerMachine(t *testing.T) {
	cfg := Config{Epochs: MaxClocked, Refresh: 1, Anneal: 0.5}
	for name, c := range map[string]struct {
		from, by   float64 // slower from this share of the first plan on
		repeatable bool
	}{
		"early": {0.2, 3, true}, "late": {0.7, 2, false}, "at once": {0.02, 10, true}, "stalls": {0.9, 50, false},
	} {
		planned := 300.0
		m := machine{epoch: func(e int) float64 {
			if float64(e) >= c.from*planned {
				return c.by
			}
			return 1
		}}
		s, rates := pass(300, 0, cfg, 0, State{}, m)
		if s.Spent > 300+c.by || name != "stalls" && (s.Spent > 300 || s.Spent < 270) {
			t.Errorf("%s: %v s are spent of 300", name, s.Spent)
		}
		last := s.Clock[len(s.Clock)-1]
		if (last.Plan.Factor == 1) != c.repeatable && name != "stalls" {
			t.Errorf("%s: %v", name, s.Clock)
		}
		for e := 1; e < len(rates); e++ {
			if rates[e] > rates[e-1]+1e-12 || rates[e-1]-rates[e] > 0.2 && name != "stalls" {
				t.Errorf("%s: the rate goes from %v to %v at epoch %d", name, rates[e-1], rates[e], e)
			}
		}
		if name != "stalls" && rates[len(rates)-1] > 0.15 {
			t.Errorf("%s: the last rate is %v: %v", name, rates[len(rates)-1], s.Clock)
		}
		if len(s.Clock) > 40 {
			t.Errorf("%s: %d decisions", name, len(s.Clock))
		}
	}
}

// A machine that becomes faster before the rate falls trains more epochs.
func TestFasterMachine(t *testing.T) {
	cfg := Config{Epochs: MaxClocked, Refresh: 1, Anneal: 0.4}
	s, _ := pass(300, 0, cfg, 0, State{}, machine{epoch: func(e int) float64 {
		if e < 30 {
			return 2
		}
		return 0.5
	}})
	if s.Spent > 300 || s.Spent < 285 || s.Plan.Factor != 1 || s.Plan.Anneal != 0.4 {
		t.Errorf("%v s, %+v, %v", s.Spent, s.Plan, s.Clock)
	}
}

// A first epoch that is unlike the others plans nothing that does not suit them: neither what is prepared in it, nor
// where it takes so long that it alone is timed.
func TestFirstEpochUnlikeOthers(t *testing.T) {
	cfg := Config{Epochs: MaxClocked, Refresh: 20, Anneal: 0.7}
	for name, m := range map[string]machine{
		"prepared": {prepare: 60, epoch: constant(0.5), simulate: 1}, "slow": {first: 40, epoch: constant(0.5)},
		"very slow": {first: 99, epoch: constant(0.4)}, "half": {first: 125, epoch: constant(0.4)},
	} {
		s, rates := pass(300, 0, cfg, 0, State{}, m)
		if s.Spent > 300 || s.Spent < 290 || rates[len(rates)-1] > 0.02 || name != "half" && s.Plan.Factor != 1 ||
			s.Plan.Factor < 0.5 || len(s.Clock) > 6 {
			t.Errorf("%s: %v s are spent, the last rate is %v: %v", name, s.Spent, rates[len(rates)-1], s.Clock)
		}
	}
}

// A verdict of held-out distances bounds those of the clock.
func TestBudgetWithVerdict(t *testing.T) {
	plan := Plan{100, 0.5, 1}
	s, rates := pass(300, 0, Config{Epochs: MaxClocked, Refresh: 1, Anneal: 0.5}, 0,
		State{Plan: &plan, Judged: &Judged{Verdict: &Verdict{Plan: plan}}}, machine{epoch: constant(1)})
	if s.Epoch != 100 || len(s.Clock) != 0 || rates[99] > 0.03 {
		t.Errorf("%d epochs, %v", s.Epoch, s.Clock)
	}
}

// The epochs of the problem bound those of the clock, and so does MaxClocked.
func TestBudgetWithMostEpochs(t *testing.T) {
	s, rates := pass(300, 0, Config{Epochs: 40, Refresh: 1, Anneal: 0.5}, 0, State{}, machine{epoch: constant(1)})
	if s.Epoch != 40 || s.Plan.Epochs != 40 || rates[39] > 0.06 {
		t.Errorf("%d epochs, %v", s.Epoch, s.Clock)
	}
	p := NewPacer(1e9, 1, 0, math.MaxInt, 0, Reading{})
	p.Epoch(1, Reading{All: 1e-9})
	p.Epoch(2, Reading{All: 1e9 / 2})
	p.marks = []mark{{1, 0}}
	p.now.All = 1e-6
	p.room = 1e-9
	st := State{}
	if d, due := p.decide(Plan{math.MaxInt, 0, 1}, &st, 0.5); !due || d.Plan.Epochs > MaxClocked {
		t.Errorf("%+v", d)
	}
}

// A training that resumes with the rest of its budget decides as an uninterrupted training does if the clock runs
// alike. It keeps all decisions.
func TestBudgetGoesOn(t *testing.T) {
	cfg := Config{Epochs: MaxClocked, Refresh: 1, Anneal: 0.5}
	whole, _ := pass(300, 0, cfg, 0, State{}, machine{epoch: constant(1)})
	half := State{Epoch: 100, Plan: &Plan{whole.Plan.Epochs, 0.5, 1}, Timed: true, Spent: 100, Clock: whole.Clock[:1:1]}
	s, _ := pass(300, 100, cfg, 0, half, machine{epoch: constant(1)})
	if s.Epoch != whole.Epoch || len(s.Clock) != len(whole.Clock) {
		t.Errorf("%d epochs by %v, want %d by %v", s.Epoch, s.Clock, whole.Epoch, whole.Clock)
	}
	half = State{Epoch: 299, Plan: &Plan{300, 0.5, 1}, Timed: true, Spent: 300}
	if s, _ := pass(300, 300, cfg, 0, half, machine{epoch: constant(1)}); s.Epoch != 300 {
		t.Errorf("a spent budget trained until epoch %d", s.Epoch)
	}
}

// A training that goes on for a time takes the number of epochs from what they took, begins its rate where that of so
// long a training would be, and ends at 0 within the time, on a machine that became slower or faster too.
func TestExtendByTime(t *testing.T) {
	cfg := Config{Epochs: MaxClocked, Refresh: 1, Anneal: 0.5}
	for name, c := range map[string]struct {
		seconds, pace, jump float64
		least, most         int
	}{
		"as fast": {100, 1, (1 - 200.0/298) / 0.5, 95, 100}, "twice as long": {400, 1, 1, 388, 400},
		"slower": {100, 2, (1 - 200.0/298) / 0.5, 45, 50}, "faster": {100, 0.5, (1 - 200.0/298) / 0.5, 185, 200},
	} {
		tr := untrained(cfg, State{Epoch: 200, Seconds: 200, Spent: 210, Plan: &Plan{200, 0.5, 1},
			Timed: true, Budget: 210, Clock: make([]Decision, 3)})
		tr.Extend(c.seconds)
		s := tr.State
		if s.Budget != 210+c.seconds || s.Timed || s.Extended != 1 || len(s.Clock) != 1 || s.Clock[0].After != 200 {
			t.Fatalf("%s: %+v", name, s)
		}
		end, rates := pass(s.Budget, 210, cfg, 0, s, machine{epoch: constant(c.pace)})
		testkit.Near(t, rates[0], c.jump, 1e-12, "%s: the rate begins", name)
		if n := end.Epoch - 200; n < c.least || n > c.most || end.Spent > s.Budget || rates[len(rates)-1] > 0.05 {
			t.Errorf("%s: %d epochs until %v s of %v, the last rate %v: %v", name, n, end.Spent, s.Budget,
				rates[len(rates)-1], end.Clock)
		}
	}
	tr := untrained(Config{Epochs: 90, Anneal: 0.5}, State{Epoch: 60, Plan: &Plan{60, 0.5, 1},
		Budget: 3, Clock: make([]Decision, 1)})
	if tr.Extend(0); tr.Done() || tr.Plan() != (Plan{90, 0.5, 1}) || tr.State.Budget != 0 || tr.State.Clock != nil {
		t.Errorf("by epochs: %+v", tr.State)
	}
}

// A budget that ends in an epoch ends the training after the one before; in the first it is an error.
func TestExhausted(t *testing.T) {
	tr := untrained(Config{Epochs: 50, Batch: 10, Anneal: 0.5}, State{Step: 3, Budget: 60})
	tr.order = make([]int, 70)
	want := "60 s ended in the first epoch, after 3 of its 7 batches"
	testkit.Refused(t, testkit.Err(tr.Exhausted()), want)
	tr.State = State{Budget: 60} // the times of a path have no part in it
	if _, err := tr.Exhausted(); err == nil || !strings.Contains(err.Error(), "before its first batch") ||
		strings.Contains(err.Error(), "times_per_path") {
		t.Errorf("got %v", err)
	}
	tr.State = State{Epoch: 4, Step: 3, Budget: 60, Spent: 61}
	d, err := tr.Exhausted()
	if err != nil || !tr.Done() || d.Plan.Epochs != 4 || d.Repeats() ||
		tr.State.Clock[0].Why != "the budget ended in epoch 5" {
		t.Errorf("%+v, %v", d, err)
	}
}

package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// losing says of the first items that they failed.
type losing struct {
	method.Source[float32]
	failed    int
	prepared  int
	refreshed []uint64
	unread    int  // an item whose terms have no rows; 0: none
	steep     bool // slopes that are not finite
}

var errUnread = errors.New("no rows")

func (l *losing) NewLoss(r score.Reader[float32], rows int) method.Loss[float32] {
	return losingLoss{l.Source.NewLoss(r, rows), l}
}

type losingLoss struct {
	method.Loss[float32]
	of *losing
}

func (l losingLoss) Prepare(terms []method.Term) ([]float32, error) {
	for _, t := range terms {
		if t.Item == l.of.unread && t.Item > 0 {
			return nil, errUnread
		}
	}
	return l.Loss.Prepare(terms)
}

func (l losingLoss) Squares(dst []float32, width int) geometry.Geometry {
	return l.Loss.(method.Squares).Squares(dst, width)
}

func (l *losing) Failed(item int) bool { return item < l.failed }

func (l *losing) Prepare(ctx context.Context, seed uint64) error {
	l.prepared++
	return l.Source.Prepare(ctx, seed)
}

func (l *losing) Refresh(ctx context.Context, seed, refresh uint64) (method.Report, error) {
	l.refreshed = append(l.refreshed, refresh)
	r, err := l.Source.Refresh(ctx, seed, refresh)
	r.Failed += l.failed
	return r, err
}

func (l losingLoss) Evaluate(ds, s []float32) float64 {
	v := l.Loss.Evaluate(ds, s)
	if l.of.steep {
		ds[0] = float32(math.Inf(1))
	}
	return v
}

func lossy(t *testing.T, cfg Config, failed int) (*Trainer[float32], *losing) {
	t.Helper()
	proc, data := gaussian(langevin.ULLA, 50)
	pool := parallel.New(1)
	t.Cleanup(pool.Close)
	src := &losing{Source: pathmatch.NewSource[float32](pathmatch.New(proc, pathmatch.Options{}), data, pool),
		failed: failed}
	return New(cfg, src, model(score.Reading{}, kernel.Float32, true), pool), src
}

// At most the given share of paths may fail. No batch has a failed path, so that there are fewer batches. If all paths
// failed, each call returns the error again, and nothing is trained.
func TestShareOfFailedPaths(t *testing.T) {
	cfg := smallConfig
	cfg.MaxFailed = 0.5
	tr, src := lossy(t, cfg, 25)
	for range 3 {
		if _, err := tr.Epoch(t.Context()); err != nil {
			t.Fatalf("half of the paths failed: %v", err)
		}
		if len(tr.order) != 25 || tr.batches() != 1 {
			t.Errorf("%d paths in %d batches of 16", len(tr.order), tr.batches())
		}
		for _, i := range tr.order {
			if i < 25 {
				t.Errorf("path %d, which failed, is in a batch", i)
			}
		}
	}
	if src.prepared != 1 || len(src.refreshed) != 2 || src.refreshed[0] == src.refreshed[1] {
		t.Errorf("prepared %d times, refreshed as %v in 3 epochs, every other one", src.prepared, src.refreshed)
	}
	tr, _ = lossy(t, cfg, 26)
	err := testkit.Err(tr.Epoch(t.Context()))
	testkit.Refused(t, err, "26 of 50 forward paths failed a projection, above the allowed share 0.5")
	testkit.Equal(t, fault.KindOf(err), fault.Check)
	tr.report.Broken, tr.report.Break = 2, errors.New("at sample 7, step 4")
	testkit.Refused(t, tr.failure(), "26 of 50 forward paths failed, 2 of them broke down, above the allowed share "+
		"0.5 (train.max_failed): the first: at sample 7, step 4; smaller steps")
	cfg.MaxFailed = 1
	tr, _ = lossy(t, cfg, 50)
	for range 2 {
		if _, err := tr.Epoch(t.Context()); err == nil || tr.State.Updates != 0 || tr.State.Epoch != 0 {
			t.Errorf("all failed: %v after %d updates", err, tr.State.Updates)
		}
	}
	tr, _ = lossy(t, cfg, 49) // the only batch is an incomplete one
	if _, err := tr.Epoch(t.Context()); err != nil || tr.State.Updates != 1 || len(tr.terms) != 3 {
		t.Errorf("one path: %v after %d updates of %d terms", err, tr.State.Updates, len(tr.terms))
	}
}

// Terms without rows stop the batch by epoch, batch and the first sample of those that were asked for together,
// wherever they are in it; once there are rows again, training goes on as if nothing had been.
func TestTermsWithoutRows(t *testing.T) {
	cfg := smallConfig
	cfg.Batch = 50
	whole, _ := lossy(t, cfg, 0)
	tr, src := lossy(t, cfg, 0)
	testkit.Must(whole.Epoch(t.Context()))
	for _, at := range []int{0, 3, 20, 49} { // places in the order of the epoch
		src.unread = whole.order[at]
		if src.unread == 0 {
			continue
		}
		_, err := tr.Epoch(t.Context())
		first := -1 // terms are in lanes of nine or ten, three a path
		for lane := range lanes {
			if lo, hi := lane*150/lanes, (lane+1)*150/lanes; first < 0 && lo < 3*at+3 && 3*at < hi {
				first = whole.order[lo/3]
			}
		}
		want := fmt.Sprintf("epoch 1, batch 1, terms from sample %d on: no rows", first)
		if !errors.Is(err, errUnread) || err.Error() != want || tr.State.Updates != 0 {
			t.Errorf("path %d: %v after %d updates, want %q", at, err, tr.State.Updates, want)
		}
	}
	src.unread = 0
	if _, err := tr.Epoch(t.Context()); err != nil || !slices.Equal(tr.opt.params, whole.opt.params) {
		t.Errorf("after terms without rows: %v, or other parameters", err)
	}
}

// A loss that is finite and a gradient that is not stop the batch, and no item is blamed.
func TestGradientThatIsNotFinite(t *testing.T) {
	cfg := smallConfig
	tr, src := lossy(t, cfg, 0)
	testkit.OK(t, tr.prepare(t.Context()))
	src.steep = true
	tr.State.Epoch, tr.State.Step = 3, 1
	loss, norm, err := tr.gradient(tr.order[:16])
	testkit.Refused(t, err, "the gradient is not finite in epoch 4, batch 2; a lower")
	if loss != 0 || norm != 0 || fault.KindOf(err) != fault.Diverged {
		t.Errorf("%v and %v, %+v", loss, norm, err)
	}
	if err := tr.batch(); fault.KindOf(err) != fault.Diverged || tr.State.Updates != 0 || tr.State.Step != 1 {
		t.Errorf("%v after %d updates", err, tr.State.Updates)
	}
	src.steep = false
	if _, _, err := tr.gradient(tr.order[:16]); err != nil {
		t.Error(err)
	}
}

// Enough is measured at exactly a tenth of what is left of the budget in all, or three hundredths
// behind the first epoch; the first epoch alone is enough where it takes two fifths. What a source
// prepares before it does not count.
func TestWhatIsMeasured(t *testing.T) {
	for _, c := range []struct {
		all      []float64 // seconds after each epoch
		prepared float64
		want     bool
	}{
		{nil, 0, false}, {[]float64{39.99}, 0, false}, {[]float64{40}, 0, true}, {[]float64{1, 3.99}, 0, false},
		{[]float64{1, 4}, 0, true}, {[]float64{5}, 0, false}, {[]float64{6, 9.01}, 0, true},
		{[]float64{9, 10}, 0, true}, {[]float64{9, 9.99}, 0, false}, {[]float64{9, 10}, 1, false},
		{[]float64{79}, 40, false}, {[]float64{80}, 40, true}, {[]float64{64, 67}, 40, true},
	} {
		p := NewPacer(107, 1, 0, MaxClocked, 3, Reading{All: 7}) // 100 s are left
		for i, s := range c.all {
			p.Epoch(4+i, Reading{All: 7 + s, Prepared: c.prepared})
		}
		if p.measured() != c.want {
			t.Errorf("epochs that end after %v of 100 s: measured is %v", c.all, !c.want)
		}
	}
}

// Epochs are timed over the last tenth of the budget, by marks a hundredth apart.
func TestTimedWindow(t *testing.T) {
	p := NewPacer(100, 1, 0, MaxClocked, 0, Reading{})
	clock := func(epoch int) float64 { return float64(max(epoch, 2*epoch-30)) } // one a second, then one in two
	for e := 1; e <= 60; e++ {
		at, want := clock(e), 1
		p.Epoch(e, Reading{All: at})
		for m := 2; at-clock(m) >= 10; m++ { // the last that is ten seconds old
			want = m
		}
		testkit.Equal(t, p.marks[0].epoch, want, "after epoch %d, %v s, the window begins with epoch", e, at)
		if pace := p.pace(); e > 40 && pace != 2 || e > 1 && e <= 30 && pace != 1 {
			t.Errorf("after epoch %d an epoch takes %v s", e, pace)
		}
	}
	p = NewPacer(100, 1, 0, MaxClocked, 0, Reading{})
	for e := 1; e <= 9; e++ { // four a second: marks a second apart
		p.Epoch(e, Reading{All: 0.25 * float64(e)})
	}
	if len(p.marks) != 3 || p.marks[1].epoch != 5 || p.marks[2].epoch != 9 {
		t.Errorf("marks %v", p.marks)
	}
}

// Simulations and evaluations are paid for in proportion to how often they come; those before the
// call, and readings that did not grow, count for nothing.
func TestPaceWithSimulations(t *testing.T) {
	p := NewPacer(1000, 4, 5, MaxClocked, 10, Reading{All: 50, Simulated: 20, Evaluated: 10})
	r := Reading{All: 50, Simulated: 20, Evaluated: 10}
	add := func(work, simulated, evaluated float64) {
		r.All += work + simulated + evaluated
		r.Simulated += simulated
		r.Evaluated += evaluated
		p.Epoch(p.epoch+1, r)
	}
	add(3, 8, 0) // the first epoch is left out as soon as there are others
	testkit.Equal(t, p.pace(), 3+8./4, "after one epoch")
	add(20, 0, 0)
	add(20, 12, 0)
	add(20, 0, 15)
	testkit.Equal(t, p.pace(), 20+(8+12)/2./4+15./5, "an epoch takes")
}

// A budget is spent when it is reached, not before; the first epoch is always trained to its end.
func TestBudgetIsSpent(t *testing.T) {
	for _, c := range []struct {
		epoch int
		all   float64
		ends  bool
	}{{1, 100, true}, {1, 99.999, false}, {0, 200, false}, {5, 101, true}} {
		p := NewPacer(100, 1, 0, MaxClocked, 0, Reading{})
		if c.epoch > 0 {
			p.Epoch(c.epoch, Reading{All: c.all})
		} else {
			p.now.All = c.all
		}
		d, due := p.decide(Plan{Epochs: MaxClocked, Factor: 1}, &State{}, 0.5)
		if ends := due && d.Plan.Epochs == c.epoch && d.Why == "the budget is spent"; ends != c.ends {
			t.Errorf("%v of 100 s after epoch %d: %+v, %v", c.all, c.epoch, d, due)
		}
		if c.all == 99.999 && (!due || d.Plan != Plan{1, 0, 1} || d.Why != "the budget holds no more") {
			t.Errorf("with no room for an epoch: %+v, %v", d, due)
		}
	}
}

// Decisions by the clock, computed by hand. With 1005 s and 10 s an epoch, 955 s are left after five epochs. Two
// hundredths of the whole are kept back, which leaves time for 93 epochs. A number of epochs that is at most two
// hundredths larger does not change. Where epochs became slower it falls to 98 hundredths of the rest.
func TestDecisionsByHand(t *testing.T) {
	p := NewPacer(1005, 1, 0, MaxClocked, 0, Reading{})
	s, plan := &State{}, Plan{Epochs: MaxClocked, Factor: 1}
	for e := 1; e <= 5; e++ {
		p.Epoch(e, Reading{All: 10 * float64(e)})
		if _, due := p.decide(plan, s, 0.5); due != (e == 5) {
			t.Errorf("after epoch %d a decision is due: %v", e, due)
		}
	}
	d, _ := p.decide(plan, s, 0.5)
	if d.Plan != (Plan{98, 0.5, 1}) || d.After != 5 || d.Budget != 1005 || d.Spent != 50 || d.Pace != 10 ||
		d.Why != "the warm-up was timed" || !d.Repeats() {
		t.Errorf("%+v", d)
	}
	if d, _ := p.decide(plan, s, 0.99); d.Plan.Anneal != 1-5./98 { // no more than is left
		t.Errorf("%+v", d)
	}
	// Of a plan that no clock has timed: 98 are more than 96 by 2.08 hundredths, than 97 by 1.03.
	for epochs, want := range map[int]bool{96: true, 97: false, 98: false, 99: false} {
		s.Plan = &Plan{epochs, 0.5, 1}
		if d, due := p.decide(*s.Plan, s, 0.5); due != want || due && d.Plan.Epochs != 98 {
			t.Errorf("of a plan of %d epochs: %+v, %v", epochs, d, due)
		}
	}
	s.Plan, s.Timed = &Plan{101, 0.5, 1}, true // 96 epochs do not fit
	if d, due := p.decide(*s.Plan, s, 0.5); !due || d.Plan.Epochs != 98 ||
		d.Why != "epochs take longer than was timed" {
		t.Errorf("%+v, %v", d, due)
	}
	s.Plan = &Plan{100, 0.5, 1} // 95 do, to the last but 5 s
	if d, due := p.decide(*s.Plan, s, 0.5); due {
		t.Errorf("%+v", d)
	}
	s.Clock = make([]Decision, maxDecisions)
	s.Plan = &Plan{101, 0.5, 1}
	if _, due := p.decide(*s.Plan, s, 0.5); due {
		t.Error("one decision too many")
	}
	p.now.All = 1005
	if d, due := p.decide(*s.Plan, s, 0.5); !due || d.Plan.Epochs != 5 {
		t.Errorf("the end of the budget after many decisions: %+v", d)
	}
}

// All random numbers of training come from the ledger, so that another version continues a training as this one would:
// the order of an epoch's items, the times of each item, and the terms with a hidden condition.
func TestDrawsOfTraining(t *testing.T) {
	cfg := smallConfig
	cfg.Hidden = 0.5
	tr, _ := lossy(t, cfg, 0)
	for _, epoch := range []int{0, 5} {
		tr.State.Epoch = epoch
		testkit.OK(t, tr.prepare(t.Context()))
		order := make([]int, 50)
		keyed.RowOrder.Stream(cfg.Seed, uint64(epoch)).Permutation(order, 0, 0)
		testkit.EqualSlices(t, tr.order, order, "epoch %d goes through its items", epoch)
		tr.pick(order[:20])
		tr.hide()
		u, hidden := make([]float64, 3), make([]float64, 1)
		for i, term := range tr.terms {
			keyed.BatchTimes.Stream(cfg.Seed, uint64(epoch)).Uniforms(u, uint64(order[i/3]), 0)
			lo, hi := i%3*32/3, (i%3+1)*32/3 // the strata of 32 times
			keyed.HiddenConditions.Stream(cfg.Seed, uint64(epoch)).Uniforms(hidden, uint64(order[i/3]), term.K)
			want := method.Term{Item: order[i/3], K: lo + int(u[i%3]*float64(hi-lo)), Weight: float64(hi-lo) / 20,
				Null: hidden[0] < 0.5}
			testkit.Equal(t, term, want, "epoch %d: term %d", epoch, i)
		}
	}
}

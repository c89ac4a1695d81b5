package train

import (
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// measured is an estimate with the standard error noise, whose differences from others of the
// same kind have the standard error noise too: half of the variance is its own.
func measured(value, noise float64, epoch uint64) metric.Estimate {
	const n = 64
	e := metric.Estimate{Value: value, Samples: make([]float64, n), Rows: make([]float64, n)}
	if math.IsNaN(value) {
		return metric.NoEstimate()
	}
	common := make([]float64, n)
	keyed.New(1, keyed.Probe, 1<<40).Normals(common, 0, 0)
	keyed.New(2, keyed.Probe, epoch).Normals(e.Samples, 0, 0)
	for i := range n {
		e.Samples[i] = noise * math.Sqrt(n/2) * (e.Samples[i] + common[i])
	}
	return e
}

// sequence gives a training of `most` epochs the distances when they are due. It ends after the last distance, or with
// a verdict.
func sequence(most int, anneal, noise float64, distances ...float64) (*Trainer[float32], Verdict, bool) {
	t := untrained(Config{Epochs: most, Anneal: anneal, Refresh: 1}, State{})
	for e := 1; e <= most && len(distances) > 0; e++ {
		t.State.Epoch, t.State.Updates, t.State.Rows = e, 10*e, int64(1000*e)
		if !t.Due(100) {
			continue
		}
		v, ends := t.Hear(measured(distances[0], noise, uint64(e)))
		if ends {
			return t, v, true
		}
		distances = distances[1:]
	}
	return t, Verdict{}, false
}

// Losses that are above the lowest three times in a row end a training, whether its rate falls already or not: it
// then has 1.26 times the best epoch. With a budget losses that no longer fall do not end it, and without one
// not before 1000 updates.
func TestLossesEndByRising(t *testing.T) {
	constant := Plan{10_000, 0.5, 1}
	for _, c := range []struct {
		budget  float64
		updates int // an epoch
		by      Plan
		losses  []float64
		ends    bool
		plan    Plan // and its share of the epochs to 1e-12
	}{
		{60, 10, constant, []float64{5, 3, 3, 3, 3, 3, 3}, false, Plan{}},
		{0, 10, constant, []float64{5, 3, 3, 3, 3, 3, 3}, true, Plan{508, 0.5, 1}},
		{0, 2, constant, []float64{5, 3, 3, 3, 3, 3, 3}, false, Plan{}},
		{0, 2, constant, []float64{5, 3, 3, 3, 3, 3, 3, 3}, true, Plan{1022, 0.5, 1}},
		{60, 1, constant, []float64{5, 3, 3.5, 4, 4.5}, true, Plan{159, 1 - 126./159, 1}},
		{60, 10, constant, []float64{5, 3, 3, 3, 3, 4, 4.5}, false, Plan{}},
		{60, 10, constant, []float64{5, 3, 3, 3, 3, 4, 4.5, 4}, true, Plan{next(254), 1 - 254/float64(next(254)), 1}},
		{60, 10, constant, []float64{5, 3, 4, 4, 3, 4, 4, 2.9, 4, 4}, false, Plan{}},
		{60, 10, Plan{300, 0.5, 1}, []float64{5, 3, 3.5, 4, 4.5}, true, Plan{159, 1 - 126./159, 1}},
		{60, 10, Plan{1000, 1, 1}, []float64{5, 3, 3.5, 4, 4.5}, true, Plan{159, 1 - 126./159, 1 - 126./1000}},
		{60, 10, Plan{254, 0.5, 1}, []float64{5, 3, 3.5, 4, 4.5}, false, Plan{}},
	} {
		cfg := Config{Epochs: 10_000, Anneal: 0.5, Refresh: 1, JudgedByLoss: true}
		tr := untrained(cfg, State{})
		tr.State.Budget, tr.State.Plan = c.budget, &c.by
		v, ends := Verdict{}, false
		for i, e := 0, 100; i < len(c.losses) && !ends; i, e = i+1, next(e) {
			tr.State.Epoch, tr.State.Updates = e, c.updates*e
			v, ends = tr.Hear(measured(c.losses[i], 0.01, uint64(e)))
			if err := tr.State.Judged.validate(tr.State); err != nil {
				t.Errorf("%+v: of epoch %d no checkpoint is read: %v", c, e, err)
			}
		}
		off := math.Abs(v.Plan.Anneal - c.plan.Anneal)
		if v.Plan.Anneal = c.plan.Anneal; ends != c.ends || v.Plan != c.plan || off > 1e-12 {
			t.Errorf("%+v: a verdict: %v, %+v", c, ends, v)
		}
	}
}

// The rule on sequences whose outcome is known.
func TestVerdicts(t *testing.T) {
	nan := math.NaN()
	// Evaluations come after epochs 100, 126, 159, 201, 254, 321, 405, 511, 644, 812, 1024, 1291.
	for name, c := range map[string]struct {
		distances []float64
		noise     float64
		after     int // 0: no verdict
		rising    bool
		from      int
		chosen    int
	}{
		"falls":                 {[]float64{9, 8, 7, 6, 5, 4, 3, 2}, 0.1, 0, false, 0, 511},
		"flat":                  {[]float64{5, 5, 5, 5, 5, 5}, 0.1, 201, false, 201, 201},
		"falls, then flat":      {[]float64{9, 5, 3, 3.01, 2.99, 3.02, 3}, 0.1, 321, false, 321, 321},
		"flat with noise":       {[]float64{3, 3.5, 2.8, 3.4, 3, 3}, 1, 201, false, 201, 201},
		"slow fall counts":      {[]float64{3, 2.6, 2.2, 1.8, 1.4, 1}, 0.5, 0, false, 0, 321},
		"too slow a fall":       {[]float64{3, 2.9, 2.8, 2.7, 2.6}, 0.5, 201, false, 201, 201},
		"rises":                 {[]float64{5, 3, 3.5, 4, 4.5}, 0.1, 254, true, 126, 126},
		"rises at the end only": {[]float64{5, 3, 3.05, 2.98, 4.5}, 0.1, 254, true, 201, 201},
		"rises after the best":  {[]float64{5, 3, 3.05, 3.04, 4.5}, 0.1, 254, true, 201, 201},
		"one of them is none":   {[]float64{9, 7, nan, 5, 3, 2}, 0.1, 0, false, 0, 321},
		"the first is none":     {[]float64{nan, 7, 6, 5, 4}, 0.1, 0, false, 0, 254},
		"none at all":           {[]float64{nan, nan, nan, nan, nan, nan}, 0.1, 0, false, 0, 0},
		"breaks down":           {[]float64{9, 7, nan, nan, nan}, 0.1, 254, true, 126, 126},
	} {
		tr, v, ends := sequence(10_000, 0.5, c.noise, c.distances...)
		j := tr.State.Judged
		if ends != (c.after > 0) || v.After != c.after || v.Rising != c.rising || v.From != c.from ||
			j.Chosen != c.chosen {
			t.Errorf("%s: %+v; chosen %d of %v", name, v, j.Chosen, j.Measures)
			continue
		}
		if len(j.Kept) > mostKept {
			t.Errorf("%s: %d estimates are kept", name, len(j.Kept))
		}
		if !ends {
			continue
		}
		testkit.Equal(t, v.Plan, (Plan{2 * c.from, 0.5, 1}), "%s: the plan", name)
		if v.From == v.After && tr.Plan() != v.Plan || v.From != v.After && tr.State.Plan != nil {
			t.Errorf("%s: the training goes by %+v", name, tr.Plan())
		}
		if words := v.String(); strings.Contains(words, "rises") != (c.rising && name != "breaks down") {
			t.Errorf("%s: %s", name, words)
		}
	}
}

// A distance is due when it costs at most a tenth of the work since the last one, the first a tenth of that
// of the last fifth of the updates; after as many updates at least; and at the end, once.
func TestDue(t *testing.T) {
	for _, c := range []struct {
		work    float64
		refresh int
		most    int
	}{{1, 1, 500}, {2e4, 1, 2000}, {2e4, 50, 2000}, {5e5, 1, 30_000}, {1e9, 1, 300}} {
		tr := untrained(Config{Epochs: c.most, Refresh: c.refresh}, State{})
		var at []int
		for e := 1; e <= c.most; e++ {
			tr.State.Epoch, tr.State.Updates, tr.State.Rows = e, 10*e, int64(1000*e)
			if tr.State.Step = 1; e < c.most && tr.Due(c.work) {
				t.Errorf("%+v: due in the course of epoch %d", c, e+1)
			}
			if tr.State.Step = 0; !tr.Due(c.work) {
				continue
			}
			if at = append(at, e); tr.Due(c.work) {
				tr.Hear(metric.NoEstimate())
			}
			if tr.Due(c.work) {
				t.Errorf("%+v: due again after epoch %d", c, e)
			}
		}
		if at[len(at)-1] != c.most || c.work == 1e9 && len(at) != 1 {
			t.Errorf("%+v: due after epochs %v", c, at)
		}
		if c.work < 1e9 && (at[0] < 100 || c.work == 1 && at[0] != 100) {
			t.Errorf("%+v: the first is due after %d updates", c, 10*at[0])
		}
		// 3000 rows an epoch, and 10 paths of 20 steps a refresh
		perEpoch := 3000 + 200/float64(c.refresh)
		for i, e := range at[:len(at)-1] {
			since := float64(e) * 26 / 126
			if i > 0 {
				since = float64(e - at[i-1])
			}
			if share := c.work / (perEpoch * since); share > 0.1001 {
				t.Errorf("%+v: after epoch %d a distance costs %.3f of the work before it", c, e, share)
			}
			if i > 0 && i < len(at)-1 && float64(e)/float64(at[i-1]) > 1.27 {
				t.Errorf("%+v: due after epochs %v", c, at)
			}
		}
	}
}

// How often the rule errs, where a doubling of the epochs lowers the distance by a number of standard errors of a
// difference. The figures are shares of 2000 trainings: those that end within one doubling after the first evaluation,
// and within two. A flat one ends within two doublings but for 1 %. One that falls by 3 errors ends too early in 1.3 %
// within the first, and in 5 % within the second. Each share comes from a separate simulation of the rule in 20 000
// trainings. The bounds are 5 binomial standard errors, and 0.01 for the error of an error from 64 numbers: false alarm
// 6e-7 each.
func TestVerdictRates(t *testing.T) {
	const trainings = 2000
	for _, c := range []struct{ fall, one, two float64 }{
		{0, 0.678, 0.993}, {1, 0.361, 0.830}, {2, 0.099, 0.335}, {3, 0.013, 0.049}, {4, 0.001, 0.003},
	} {
		var one, two float64
		for k := range uint64(trainings) {
			j := Judged{}
			for n := range 7 {
				e := measured(0, 1, 1000*k+uint64(n))
				for _, u := range e.Samples {
					e.Value += u / float64(len(e.Samples))
				}
				e.Value -= c.fall * float64(n) / 3
				if j.hear(n+1, n+1, e, nil, true) {
					if n <= 3 {
						one++
					}
					two++
					break
				}
			}
		}
		for _, s := range []struct{ got, want float64 }{{one / trainings, c.one}, {two / trainings, c.two}} {
			if math.Abs(s.got-s.want) > 5*math.Sqrt(s.want*(1-s.want)/trainings)+0.01 {
				t.Errorf("a fall of %v errors a doubling: %.3f and %.3f end in one and two, want %.3f and %.3f", c.fall,
					one/trainings, two/trainings, c.one, c.two)
			}
		}
	}
}

// A network overfits where the loss of training rows falls below that of held-out rows, which does not fall; not
// where the losses of all rows rise, or all fall.
func TestOverfitting(t *testing.T) {
	for _, c := range []struct {
		held, seen float64 // what losses rise by
		first      int     // look that has the loss of training rows; an earlier version left none
		ends       bool
	}{
		{0.1, -0.1, 0, true}, {0.1, 0, 0, true}, {0.1, 0.1, 0, false}, {0, -0.1, 0, true}, {-0.01, -0.1, 0, false},
		{0, 0.1, 0, false}, {0.1, 0.1, 1, true}, {0, -0.1, 1, false},
	} {
		cfg := Config{Epochs: 10_000, Anneal: 0.5, Refresh: 1, JudgedByLoss: true}
		tr := untrained(cfg, State{})
		tr.State.Budget, tr.State.Plan = 60, &Plan{10_000, 0.5, 1}
		ended := false
		for i, e := 0, 100; i < 6 && !ended; i, e = i+1, next(e) {
			tr.State.Epoch, tr.State.Updates = e, e
			all := measured(0, 0.01, uint64(e)).Samples
			for k := range all {
				all[k] += c.seen * float64(i)
			}
			if i < c.first {
				all = nil
			}
			_, ended = tr.Hear(measured(3+c.held*float64(i), 0.01, uint64(e)), all...)
		}
		if ended != c.ends {
			t.Errorf("%+v: a verdict: %v", c, ended)
		}
	}
}

// A training whose rate falls already is not judged, but the best of its weights is chosen; nor is
// one that has its verdict. Bounds of epochs hold.
func TestVerdictWithinBounds(t *testing.T) {
	tr, _, ends := sequence(300, 0.5, 0.1, 9, 5, 5, 5, 5, 5, 4) // falls from 150 on
	if j := tr.State.Judged; ends || j.Chosen != 300 || j.Reference != 126 {
		t.Errorf("a falling rate is judged: %+v", j)
	}
	if tr, v, ends := sequence(405, 0.5, 0.1, 9, 9, 9, 9); !ends || v.Plan != (Plan{402, 0.5, 1}) ||
		tr.State.Plan == nil {
		t.Errorf("%+v", v)
	}
	if _, v, ends := sequence(402, 0.5, 0.1, 9, 9, 9, 9); !ends || v.Plan.Epochs != 402 {
		t.Errorf("%+v", v)
	}
	if _, v, ends := sequence(10_000, 0, 0.1, 9, 9, 9, 9); !ends || v.Plan != (Plan{201, 0, 1}) {
		t.Errorf("without anneal: %+v", v)
	}
	if _, _, ends := sequence(10_000, 1, 0.1, 9, 9, 9, 9, 9, 9, 9); ends {
		t.Error("a rate that falls from the beginning is judged")
	}
	// A clock's plan that ends before stays, and so does the verdict.
	tr = untrained(Config{Epochs: MaxClocked, Anneal: 0.5, Refresh: 1}, State{})
	tr.State.Plan = &Plan{400, 0.2, 1}
	verdicts := 0
	for e := 100; e <= 400; e++ {
		tr.State.Epoch, tr.State.Updates, tr.State.Rows = e, 10*e, int64(1000*e)
		if tr.Due(100) {
			if v, ends := tr.Hear(measured(9, 0.1, uint64(e))); ends {
				verdicts++
				if v.After != 201 || tr.Plan() != (Plan{400, 0.2, 1}) {
					t.Errorf("within a clock's plan: %+v, %+v", v, tr.Plan())
				}
			}
		}
	}
	testkit.Equal(t, verdicts, 1)
	tr, _, _ = sequence(10_000, 0.5, 0.1, 9, 5, 5, 5, 5)
	for _, e := range []int{319, 320, 321, 405, 508} {
		tr.State.Epoch, tr.State.Updates = e, 10*e
		if due := tr.Due(100); due != (e == 321 || e == 405 || e == 508) {
			t.Errorf("after epoch %d of 508 a distance is due: %v", e, due)
		} else if due {
			if _, again := tr.Hear(measured(5-float64(e)/1000, 0.01, uint64(e))); again {
				t.Error("a second verdict")
			}
		}
	}
	if j := tr.State.Judged; j.Chosen != 508 || j.Verdict.After != 254 || !tr.Done() {
		t.Errorf("%+v", j)
	}
}

// paths is a source whose numbers alone are used.
type paths struct{ method.Source[float32] }

func (paths) Items() int { return 10 }
func (paths) Times() int { return 20 }

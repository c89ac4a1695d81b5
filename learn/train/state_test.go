package train

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func TestStateValidate(t *testing.T) {
	good := State{Epoch: 3, Step: 2, Updates: 20, Averaged: 15, Rate: 1e-3, Rows: 100, Seconds: 1.5}
	testkit.OK(t, good.Validate())
	testkit.OK(t, (State{}).Validate())
	full := good
	full.Plan = &Plan{Epochs: 1, Anneal: 1, Factor: 1}
	full.Clock = slices.Repeat([]Decision{{Plan: *full.Plan}}, 400)
	full.Averaged, full.Updates = 5, 5
	testkit.OK(t, full.Validate())
	for want, change := range map[string]func(*State){
		"epoch is -1":                             func(s *State) { s.Epoch = -1 },
		"step is -5":                              func(s *State) { s.Step = -5 },
		"updates is -20":                          func(s *State) { s.Updates = -20 },
		"updates is 4; expected at least 5":       func(s *State) { s.Updates = 4 },
		"updates is 9.2":                          func(s *State) { s.Updates = math.MaxInt },
		"averaged is 21; expected at most 20":     func(s *State) { s.Averaged = 21 },
		"averaged is -1":                          func(s *State) { s.Averaged = -1 },
		"rate is NaN":                             func(s *State) { s.Rate = math.NaN() },
		"rate is -1":                              func(s *State) { s.Rate = -1 },
		"plateau.bad is -1":                       func(s *State) { s.Plateau.Bad = -1 },
		"plateau.cooldown is -1":                  func(s *State) { s.Plateau.Cooldown = -1 },
		"rows is -1; expected a number from 0 to": func(s *State) { s.Rows = -1 },
		"seconds is +Inf":                         func(s *State) { s.Seconds = math.Inf(1) },
		"simulated is -1":                         func(s *State) { s.Simulated = -1 },
		"budget is -1":                            func(s *State) { s.Budget = -1 },
		"spent is -1":                             func(s *State) { s.Spent = -1 },
		"extended is -1":                          func(s *State) { s.Extended = -1 },
		"plan: epochs is 0; expected a number":    func(s *State) { s.Plan = &Plan{Factor: 1} },
		"plan: anneal is 1.1":                     func(s *State) { s.Plan = &Plan{Epochs: 1, Anneal: 1.1} },
		"plan: factor is -0.1":                    func(s *State) { s.Plan = &Plan{Epochs: 1, Factor: -0.1} },
		"plan: factor is NaN":                     func(s *State) { s.Plan = &Plan{Epochs: 1, Factor: math.NaN()} },
		"judged has waited 4 evaluations":         func(s *State) { s.Judged = &Judged{Waited: 4} },
		"and chosen epoch 4":                      func(s *State) { s.Judged = &Judged{Chosen: 4} },
		"judged.verdict: plan: epochs is 0":       func(s *State) { s.Judged = &Judged{Verdict: &Verdict{}} },
		"judged has 0 measures and 4 estimates":   func(s *State) { s.Judged = &Judged{Kept: make([]Kept, 4)} },
		"judged.measures[1] is of epoch 2": func(s *State) {
			s.Judged = &Judged{Measures: []Measured{{Epoch: 2}, {Epoch: 2}}}
		},
		"judged.measures[0] is of epoch 4": func(s *State) { s.Judged = &Judged{Measures: []Measured{{Epoch: 4}}} },
		"clock[1]: plan: epochs is 0":      func(s *State) { s.Clock = []Decision{{Plan: Plan{Epochs: 1}}, {}} },
		"clock has 401 decisions; expected at most 400": func(s *State) {
			s.Clock = slices.Repeat([]Decision{{Plan: Plan{Epochs: 1}}}, 401)
		},
	} {
		s := good
		change(&s)
		testkit.Refused(t, s.Validate(), want)
	}
}

// A snapshot of another network, without an array, or with a state that its training
// cannot be in, is refused as damaged.
func TestRestoreRefuses(t *testing.T) {
	proc, data := gaussian(langevin.ULLA, 50)
	pool := testkit.Pool(t, 1)
	small := model(score.Reading{}, kernel.Float32, true)
	make := func() *Trainer[float32] { return trainer(smallConfig, proc, pathmatch.Options{}, data, small, pool) }
	first := make()
	testkit.Must(first.Epoch(t.Context()))
	arrays, state := first.Snapshot(), first.State
	testkit.OK(t, make().Restore(arrays, state))
	far := state
	far.Step, far.Updates = 1000, 5000
	other := slices.Clone(arrays)
	other[0].Array.Shape = []int{1, other[0].Array.Len()}
	for name, c := range map[string]struct {
		arrays []arrayfile.Named
		state  State
	}{
		"step": {arrays, far}, "epoch": {arrays, State{Epoch: -1}},
		"missing": {arrays[1:], state}, "shape": {other, state},
	} {
		if err := make().Restore(c.arrays, c.state); fault.KindOf(err) != fault.Run {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Load(small, arrays[1:], State{}); fault.KindOf(err) != fault.Run {
		t.Errorf("an array is missing: %v", err)
	}
}

// Which terms do not see their condition is a function of seed, epoch, item and time, a share
// Hidden of them (5 standard deviations: one seed in two million), and none without it.
func TestHiddenTerms(t *testing.T) {
	cfg := smallConfig
	cfg.Hidden, cfg.TimesPerPath = 0.3, 0
	begin := func(cfg Config) *Trainer[float32] {
		proc, data := gaussian(langevin.OLLA, 50)
		pool := parallel.New(1)
		t.Cleanup(pool.Close)
		return trainer(cfg, proc, pathmatch.Options{}, data,
			model(score.Reading{Null: true}, kernel.Float32, false), pool)
	}
	tr := begin(cfg)
	seen := func(epoch int, items ...int) map[method.Term]bool {
		tr.State.Epoch = epoch
		tr.pick(items)
		tr.hide()
		out, hidden := map[method.Term]bool{}, 0
		for _, term := range tr.terms {
			if term.Null {
				hidden++
			}
			out[method.Term{Item: term.Item, K: term.K}] = term.Null
		}
		n := float64(len(tr.terms))
		testkit.Near(t, float64(hidden)/n, 0.3, 5*math.Sqrt(0.21/n), "epoch %d: a share", epoch)
		return out
	}
	var all []int
	for i := range 40 {
		all = append(all, i)
	}
	whole, other := seen(1, all...), seen(2, all...)
	alone, differ := seen(1, 7, 3, 39), 0
	for term, hidden := range alone {
		testkit.Equal(t, whole[term], hidden, "term %+v is hidden in one batch alone", term)
	}
	for term, hidden := range whole {
		if other[term] != hidden {
			differ++
		}
	}
	if differ == 0 {
		t.Error("two epochs hide the same")
	}
	cfg.Hidden = 0
	tr = begin(cfg)
	tr.pick(all)
	tr.hide()
	for _, term := range tr.terms {
		if term.Null {
			t.Fatal("a term is hidden without Hidden")
		}
	}
}

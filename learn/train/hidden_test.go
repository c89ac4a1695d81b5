package train

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

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

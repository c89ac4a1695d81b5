package experiment

import (
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// losses that fall within each n epochs of the same paths by a share, and rise with fresh ones.
func series(epochs, refresh int, rise func(time int) float64) []train.Epoch {
	loss, out := 100.0, []train.Epoch{}
	for e := range epochs {
		if e > 0 && e%refresh == 0 {
			loss *= 1 + rise(e/refresh)
		} else {
			loss *= 0.999
		}
		out = append(out, train.Epoch{Epoch: e + 1, Loss: loss})
	}
	return out
}

// Jumps at refreshes are told with their median and a smaller refresh; small ones, ones of both
// signs, few of them, and those between refreshes are not.
func TestRemembered(t *testing.T) {
	always := func(v float64) func(int) float64 { return func(int) float64 { return v } }
	for name, c := range map[string]struct {
		series  []train.Epoch
		refresh int
		want    string
	}{
		"by heart": {series(300, 10, always(0.2)), 10, "the loss rises by 20 % (median of the last 15 times) where " +
			"forward paths are drawn afresh: the network learns their noise by heart; --set train.refresh=2, or"},
		"at the end": {series(300, 10, func(time int) float64 {
			if time < 15 {
				return -0.1
			}
			return 0.2
		}), 10, "20 %"},
		"of eleven the last ten": {series(12*4, 4, func(time int) float64 { return float64(time) / 10 }), 4,
			"rises by 65 % (median of the last 10 times)"},
		"all but one of 14": {series(29*2, 2, func(time int) float64 { return []float64{0.1, -0.1}[time/28] }), 2,
			"--set train.refresh=1"},
		"a little":   {series(300, 10, always(0.04)), 10, ""},
		"both signs": {series(300, 10, func(time int) float64 { return 0.3 * float64(time%2*2-1) }), 10, ""},
		"three of four": {series(300, 10, func(time int) float64 {
			if time%4 == 0 {
				return -0.2
			}
			return 0.3
		}), 10, ""},
		"few":               {series(100, 10, always(0.2)), 10, ""},
		"always fresh":      {series(300, 10, always(0.2)), 1, ""},
		"between refreshes": {series(301, 10, always(0.2))[1:], 7, ""},
	} {
		if got := remembered(c.series, c.refresh); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q; want %q", name, got, c.want)
		}
	}
	// Where an epoch is missing nothing is compared.
	gap := series(300, 10, always(0.2))
	for i := 10; i < 300; i += 10 {
		gap[i].Epoch = -1
	}
	testkit.Equal(t, remembered(gap, 10), "", "with gaps")
}

// Chances of coins, by hand; and losses of nothing but noise are called jumps in at most one
// training of a thousand: of 4000 in at most 4 + 5 standard deviations.
func TestRememberedByChance(t *testing.T) {
	for _, c := range []struct {
		k, n int
		want float64
	}{{10, 10, 0x1p-10}, {9, 10, 11 * 0x1p-10}, {0, 7, 1}, {2, 2, 0.25}, {1, 2, 0.75}} {
		testkit.Near(t, atLeast(c.k, c.n), c.want, 1e-12, "%d of %d", c.k, c.n)
	}
	told, noise := 0, make([]float64, 200)
	for i := range uint64(4000) {
		keyed.New(5, keyed.Probe, 0).Normals(noise, i, 0)
		var epochs []train.Epoch
		for e, v := range noise {
			epochs = append(epochs, train.Epoch{Epoch: e + 1, Loss: math.Exp(0.3 * v)})
		}
		if remembered(epochs, 10) != "" {
			told++
		}
	}
	if told > 14 {
		t.Errorf("%d of 4000 trainings of nothing but noise are told", told)
	}
}

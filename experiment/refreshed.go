package experiment

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/experiment/report"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/train"
)

// A network that learns the noise of its paths by heart has a loss that falls on paths that it
// knows, and jumps where they are drawn afresh. One that does not finds fresh paths as hard as
// old ones: its loss goes up there as often as down.
const (
	jumpRise   = 0.05 // median rise that is worth a word
	jumpChance = 1e-3 // of so many rises where there is nothing
	jumpFewest = 10   // refreshes, from which on there is a count so unlikely: 2⁻¹⁰
)

// jumps returns the relative rise of the loss at each refresh in the second half of a training,
// at the last jumpFewest of it at least, where epochs follow each other. Paths are fresh in the
// epochs 1 + refresh, 1 + 2 refresh, …
func jumps(epochs []train.Epoch, refresh int) (rises []float64) {
	if refresh < 2 {
		return nil
	}
	for i := 1; i < len(epochs); i++ {
		before, e := epochs[i-1], epochs[i]
		if e.Epoch == before.Epoch+1 && (e.Epoch-1)%refresh == 0 && before.Loss > 0 {
			rises = append(rises, e.Loss/before.Loss-1)
		}
	}
	return rises[min(len(rises)/2, max(0, len(rises)-jumpFewest)):]
}

// remembered says that the loss jumps where paths are drawn afresh, and what helps; "" if it
// does not, by a sign test: of a training that learns nothing by heart it speaks once in
// 1/jumpChance at most.
func remembered(epochs []train.Epoch, refresh int) string {
	rises := jumps(epochs, refresh)
	up := 0
	for _, r := range rises {
		if r > 0 {
			up++
		}
	}
	if len(rises) < jumpFewest || atLeast(up, len(rises)) > jumpChance {
		return ""
	}
	rise := metric.Median(rises)
	if !(rise >= jumpRise) {
		return ""
	}
	return fmt.Sprintf("the loss rises by %.0f %% (median of the last %d times) where forward paths are drawn afresh: "+
		"the network learns their noise by heart; --set train.refresh=%d, or a larger train.window, helps", 100*rise,
		len(rises), max(1, refresh/4))
}

// atLeast returns the chance of k heads or more of n coins.
func atLeast(k, n int) (p float64) {
	logs := func(n int) float64 { v, _ := math.Lgamma(float64(n + 1)); return v }
	for i := k; i <= n; i++ {
		p += math.Exp(logs(n) - logs(i) - logs(n-i) - float64(n)*math.Ln2)
	}
	return p
}

// Remembered says in a line that a training, which draws its forward paths afresh so often, learns them by heart, and
// what helps; "" if it does not.
func Remembered(f *run.Folder, refresh int) string {
	records, err := f.Metrics()
	if err != nil {
		return ""
	}
	epochs, _ := report.Decode(records)
	return remembered(epochs, refresh)
}

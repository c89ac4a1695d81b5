package experiment

import (
	"context"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/method"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/score"
)

// A Likelihood is how likely a network holds test rows, by the measure of Σ: the mean over rows of
// minus the logarithm of the density, in nats.
type Likelihood struct {
	NLL     metric.Float `json:"nll"`     // null if the density of a row cannot be followed
	SE      metric.Float `json:"se"`      // standard error over rows; those that repeat count as others
	Uniform metric.Float `json:"uniform"` // of the uniform law
	Rows    int          `json:"rows"`
	Lost    int          `json:"lost"`   // of them, whose density cannot be followed
	Steps   int          `json:"steps"`  // of Runge and Kutta
	Change  metric.Float `json:"change"` // of NLL, from half as many
}

// String writes it for people, with a verdict where it is not exact.
func (l *Likelihood) String() string {
	if l.Lost > 0 {
		return fmt.Sprintf("not known: the density at %d of %d test points cannot be followed; longer training helps "+
			"a network that sends points away", l.Lost, l.Rows)
	}
	told := fmt.Sprintf("%.3f ± %.3f nats a point (%d test points; uniform law %.3f; %d steps, half as many change it "+
		"by %.1g)", l.NLL, l.SE, l.Rows, l.Uniform, l.Steps, l.Change)
	if math.Abs(float64(l.Change)) > likelihoodChange {
		told += "; WARN: the steps are too long for more digits"
	}
	return told
}

// Steps are doubled until the mean changes by less than likelihoodChange nats, or to mostLikelihood.
const (
	firstLikelihood  = 50
	mostLikelihood   = 1600
	likelihoodChange = 0.005
	likelihoodRows   = 500 // at most, at equal distances in the split
	likelihoodBlock  = 32
)

// Likelihood returns how likely the test rows are under a network: the density is followed by its
// method exactly but for the steps. It is nil where the method or the network know none, and
// without test rows.
func (l *Loaded) Likelihood(ctx context.Context, t *Trained) (*Likelihood, error) {
	density := l.Method.Capabilities().Density
	if density == nil || l.Bare || l.Condition != nil || len(l.Split.Test) == 0 {
		return nil, nil
	}
	rows := l.Data.Rows(l.Split.Test)
	n := len(rows) / l.Data.D
	if n > likelihoodRows {
		n = likelihoodRows
		rows = langevin.Starts(rows, l.Data.D, n)
	}
	workers := l.Pool.Workers()
	block := max(1, min(likelihoodBlock, (n+workers-1)/workers))
	fields := score.NewGuided(t.Model, t.packed(), block*(1+density.Directions), workers, 0)
	scores := func(worker int) method.Along { return fields[worker] }
	out := &Likelihood{Rows: n, Change: metric.NaN, NLL: metric.NaN, SE: metric.NaN,
		Uniform: metric.Float(math.Log(l.Process.Set.Capabilities().Volume))}
	log, before := make([]float64, n), math.NaN()
	for steps := firstLikelihood; steps <= mostLikelihood; steps *= 2 {
		known, err := density.Log(ctx, log, rows, block, steps, l.Pool, scores)
		if err != nil || !known {
			return nil, err
		}
		out.Steps, out.Lost = steps, 0
		sum, sq := 0.0, 0.0
		for _, p := range log {
			if p-p != 0 {
				out.Lost++
			}
			sum -= p / float64(n)
		}
		for _, p := range log {
			sq += (p + sum) * (p + sum)
		}
		if out.Lost > 0 {
			out.NLL, out.SE, out.Change = metric.NaN, metric.NaN, metric.NaN
			return out, nil
		}
		out.NLL, out.SE = metric.Float(sum), metric.Float(math.Sqrt(sq/float64(max(n-1, 1))/float64(n)))
		out.Change, before = metric.Float(sum-before), sum
		if math.Abs(float64(out.Change)) < likelihoodChange {
			break
		}
	}
	return out, nil
}

package experiment

import (
	"context"
	"math"

	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
)

// Steps are doubled until the mean changes by less than judge.LikelihoodChange, or to mostLikelihood.
const (
	firstLikelihood = 50
	mostLikelihood  = 1600
	likelihoodRows  = 500 // at most, at equal distances in the split
	likelihoodBlock = 32
)

// Likelihood returns how likely the test rows are under a network: the density is followed by its
// method exactly but for the steps. It is nil where the method or the network know none, and
// without test rows.
func Likelihood(ctx context.Context, l *Loaded, t *Trained) (*judge.Likelihood, error) {
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
	out := &judge.Likelihood{Rows: n, Change: metric.NaN, NLL: metric.NaN, SE: metric.NaN,
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
		if math.Abs(float64(out.Change)) < judge.LikelihoodChange {
			break
		}
	}
	return out, nil
}

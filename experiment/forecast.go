package experiment

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/internal/processor"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/check"
)

// Of a training with a budget.
const (
	preparedShare = 0.1       // of it, that all before the first epoch may take
	refreshShare  = 0.1       // of it, that the paths of a refresh may take
	fewestPaired  = 64        // paths that a refresh has in any case
	leastShare    = 1.0 / 512 // of the paths of a preparation
	pathsTimed    = 0.05      // seconds that paths are timed for, at least
)

// before returns how many forward paths are simulated before the first epoch, beside those that src is trained on.
func (l *Loaded) before(src method.Source[float32]) int {
	n := src.Capabilities().Prepares
	if l.Method.Prior() == nil && l.Problem.Prior == "empirical" {
		n += priorPaths(l)
	}
	if l.Problem.Train.ByLoss() {
		_, held, seen := heldOutCounts(l)
		n += held + seen
	}
	return n
}

// spare plans the preparation of a training with a budget. Forward paths are timed. Where those before the first epoch
// would take more than a tenth of the budget, a share of them is simulated, a power of ½, and where the paths of one
// refresh would, rows take turns. What is chosen is in the problem from then on: the training is a function of it.
func (l *Loaded) spare(ctx context.Context, report func(string)) error {
	budget := l.Problem.Train.MaxSeconds
	if budget == 0 || l.Problem.Train.Preparation > 0 {
		return nil
	}
	src, rows := l.Method.Source(l.Learned, l.Pool), len(l.Learned)/l.Data.D
	n := l.before(src)
	report("timing forward paths")
	now := clock(l.Problem.Train.Clock, l.Pool)
	start := now()
	each, err := l.timePaths(ctx, n)
	l.loading += now().Sub(start)
	if err != nil || n == 0 { // a failure of paths is reported where paths are needed
		return ctx.Err()
	}
	q := *l.Problem
	set := func(key string, value any, format string, v ...any) {
		l.Chosen = append(l.Chosen, choose.Choice{Key: key, Value: value, Reason: fmt.Sprintf(format, v...)})
	}
	left := preparedShare*budget - l.loading.Seconds()
	if share := left / (each * float64(n)); share < 1 {
		q.Train.Preparation = math.Exp2(math.Floor(math.Log2(max(share, leastShare))))
		set(problem.KeyTrainPreparation, q.Train.Preparation, "all %d paths before the first epoch would take %.2g s; "+
			"of a tenth of the %.4g s, %.2g s are left", n, each*float64(n), budget, max(left, 0))
	}
	few := src.Capabilities().Draws > 0 // keeps levels of its paths alone, of all rows
	if most := refreshShare * budget / each; float64(src.Items()) > most && q.Train.Paths == 0 && !few {
		q.Train.Paths = min(max(fewestPaired, 1<<int(math.Log2(max(most, 1)))), rows)
		set(problem.KeyTrainPaths, q.Train.Paths, "paths of all %d rows would take %.2g s, more than a tenth of the "+
			"time", rows, each*float64(rows))
	}
	if q.Train == l.Problem.Train {
		return nil
	}
	l.Problem = &q
	l.Method, err = q.Method(l.Process)
	return err
}

// clock returns the clock that train.clock names.
func clock(by string, pool *parallel.Pool) func() time.Time {
	if by == "processor" {
		return processor.Clock(pool.Workers())
	}
	return time.Now
}

// timePaths returns the seconds that a forward path takes, of some of n.
func (l *Loaded) timePaths(ctx context.Context, n int) (float64, error) {
	now, workers := clock(l.Problem.Train.Clock, l.Pool), l.Pool.Workers()
	for tried := workers; ; tried *= 4 {
		starts, start := langevin.Starts(l.Learned, l.Data.D, tried), now()
		_, err := l.Method.Sampler(tried/workers, l.Pool).Ends(ctx, starts, l.Problem.Seed, keyed.PriorPaths.At(0))
		took := now().Sub(start).Seconds()
		if err != nil || took > pathsTimed || tried > n/8 {
			return took / float64(tried), err
		}
	}
}

// training is what the forecast of the training needs to know.
func (l *Loaded) training() (*check.Training, error) {
	p := l.Problem
	network, err := prepared(l.network(), p, l.Process, l.Data, l.TrainRows, l.Split.Train)
	if err != nil {
		return nil, err
	}
	brief := *p
	brief.Train.Preparation = leastShare // what is tried is prepared quickly
	quick, err := brief.Method(l.Process)
	if err != nil {
		return nil, err
	}
	return &check.Training{Config: p.Train.Config(p.Seed, p.Condition.Drop), Learned: l.Learned, Method: quick,
		Network: network, Before: l.before(l.Method.Source(l.Learned, l.Pool)), Budget: p.Train.MaxSeconds,
		Judged: p.Train.HeldOut(), Now: clock(p.Train.Clock, l.Pool)}, nil
}

// Forecast says what the training takes on this machine, by trying a little of it, as landing check does.
func (l *Loaded) Forecast(ctx context.Context) (check.Cost, error) {
	t, err := l.training()
	if err != nil {
		return check.Cost{}, err
	}
	return t.Cost(ctx, l.Process.Set, l.Pool)
}

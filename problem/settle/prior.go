package settle

import (
	"context"
	"fmt"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/problem"
)

// startDoubt is the p-value up to which prior: auto takes the empirical prior. It is far above the level at which a
// verdict rejects a prior. An empirical prior costs little where it is not needed, but a small difference that the
// test hardly sees is visible in the samples.
const startDoubt = 0.05

// Bounds of the numbers of the paths whose ends are held against a prior: those that are taken
// however few samples there are, and the most.
const (
	startCheap   = 1e7
	startNumbers = 1e8
	blockRows    = 128 // paths that are simulated at a time
)

// MostPaths is the most paths that a comparison takes; tests take fewer.
var MostPaths = 2000

// TestPoints bounds the points of the energy test on each side; its p-value comes from Permutations permutations.
const (
	TestPoints   = 1000
	Permutations = 999
)

// PathCount returns how many forward paths a comparison takes, for a number of samples: at least MostPaths if they are
// cheap, since a few do not show that they remember the rows. There may be more paths than rows: the network learns
// from ends like these, of the same rows.
func PathCount(proc *langevin.Process, samples int) int {
	path := float64(proc.Schedule.N+1) * float64(proc.Set.Dim())
	return min(max(samples, int(startCheap/path)), MostPaths, max(1, int(startNumbers/path)))
}

// CompareStart simulates `paths` forward paths from the training rows and returns their ends. It compares the ends with
// as many draws of a prior, by the energy test. The p-value is NaN if no path kept its projection.
func CompareStart(ctx context.Context, m method.Method, prior method.Prior, train []float64, d, paths int, seed uint64,
	pool *parallel.Pool) (ends []float64, t metric.TwoSample, err error) {
	starts := langevin.Starts(train, d, paths)
	ends, err = m.Sampler(blockRows, pool).Ends(ctx, starts, seed, keyed.StartPaths.At(0))
	if err != nil || len(ends) == 0 {
		return nil, metric.NoTest(), err
	}
	u := langevin.SamplePrior(pool, prior, d, keyed.StartDraws.Stream(seed, 0), len(ends)/d)
	return ends, metric.EnergyTest(ends, u, d, TestPoints, Permutations, seed), nil
}

// start settles prior: auto.
func (s *Settled) start(ctx context.Context, rows *Rows, pool *parallel.Pool, report func(string)) error {
	if s.Problem.Prior != problem.AutoPrior {
		return nil
	}
	samples := len(rows.All) / s.Process.Set.Dim()
	prior, reason, err := startLaw(ctx, s.Problem, s.Method, s.Process, rows.Learned, samples, pool, report)
	if err != nil {
		return err
	}
	s.Problem.Prior = prior // of resolve's copy
	s.Chosen = append(s.Chosen, choose.Choice{Key: problem.KeyPrior, Value: prior, Reason: reason})
	return nil
}

// startLaw says what prior: auto becomes. The uniform law holds nothing of the training rows, so it is taken where
// generation may begin with it: where it can be drawn from and forward paths end in it as far as their test can tell,
// which is the one by which an evaluation judges a run by as many paths. Else generation begins where paths end.
func startLaw(ctx context.Context, p *problem.Problem, m method.Method, proc *langevin.Process, train []float64,
	samples int, pool *parallel.Pool, report func(string)) (prior, reason string, err error) {
	d := proc.Set.Dim()
	switch {
	case m.Prior() != nil:
		return "uniform", fmt.Sprintf("not needed: %s has a start law of its own", m.Name()), nil
	case method.Leaves(m, proc.Set):
		return "empirical", fmt.Sprintf("paths of %s leave the set", m.Name()), nil
	case proc.Potential != nil:
		return "empirical", "the potential makes paths end in exp(−f), not in the uniform law", nil
	case p.Set.Unbounded():
		return "empirical", "the set is unbounded and has no uniform law", nil
	}
	u, err := langevin.UniformPrior(proc)
	if err != nil {
		return "empirical", "the uniform law of the set has no closed form", nil
	}
	report(fmt.Sprintf("simulating %d paths, to see whether they end in the uniform law", PathCount(proc, samples)))
	ends, t, err := CompareStart(ctx, m, u, train, d, PathCount(proc, samples), p.Seed, pool)
	if err != nil {
		return "", "", err
	}
	told := fmt.Sprintf("the uniform law (energy test, p = %.3f, %d paths)", t.PValue, len(ends)/d)
	switch {
	case len(ends) == 0:
		return "uniform", "no forward path keeps its projection", nil
	case t.PValue <= startDoubt:
		return "empirical", "forward paths do not end in " + told, nil
	}
	return "uniform", "forward paths cannot be told to end elsewhere than in " + told, nil
}

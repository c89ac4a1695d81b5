package experiment

import (
	"context"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem"
)

// pathsAtOnce is how many forward paths are simulated between two reports of progress.
const pathsAtOnce = 1 << 14

// Forward simulates n forward paths of the process that a run was trained on, from its training rows (langevin.Starts).
// It returns the states x_k (rows of d numbers, 0 ≤ k ≤ N) of the paths that did not fail a projection or break down,
// and the numbers of those that did. Path i is a function of the seed, n and i; with the run's seed its end is that of
// an empirical prior of n states. The error is a *problem.KeyError where the method noises points by no process of
// package langevin.
func (r *Run) Forward(ctx context.Context, n, k int, seed uint64, tick func(done, of int)) (
	states []float64, failed []uint64, err error) {
	proc := r.Method.Capabilities().Noising
	if proc == nil {
		return nil, nil, &problem.KeyError{Key: problem.KeyProcessMethod, Value: r.Problem.Process.Method,
			Want: "a method that noises points step by step, such as ULLA"}
	}
	d, refresh := proc.Set.Dim(), keyed.PriorPaths.At(0)
	states = langevin.Starts(r.learned(), d, n)
	if k == 0 {
		return states, nil, nil
	}
	sim := langevin.NewSimulator(proc, r.Pool, generateRows).Tolerate()
	x, lost, kept := make([]float64, pathsAtOnce*d), make([]bool, pathsAtOnce), states[:0]
	for first := 0; first < n; first += pathsAtOnce {
		m := min(pathsAtOnce, n-first)
		if _, err := sim.Partway(ctx, x[:m*d], lost[:m], states[first*d:(first+m)*d], []int{k}, uint64(first),
			keyed.PathNoise.Stream(seed, refresh), keyed.PathMomentum.Stream(seed, refresh)); err != nil {
			return nil, nil, err
		}
		for i := range m {
			if lost[i] {
				failed = append(failed, uint64(first+i))
			} else {
				kept = append(kept, x[i*d:(i+1)*d]...)
			}
		}
		tick(first+m, n)
	}
	return kept, failed, nil
}

package particles

import (
	"context"

	"github.com/landing-diffusion/landing/constraint/geometry"
)

// Guided draws by the shifted noise alone, without weights: what guidance by gradients does. The points are then
// projected onto the whole set.
func Guided(ctx context.Context, o Options, n int) ([]float64, error) {
	workers := []*worker{newWorker(&o, o.Scores(0))}
	for i := 1; i < o.Pool.Workers(); i++ {
		workers = append(workers, newWorker(&o, o.Scores(i)))
	}
	plan, _, _, err := guesses(ctx, &o, workers)
	if err != nil {
		return nil, err
	}
	w, p := workers[0], newPopulation(n, o.Process.Set.Dim())
	w.plan = plan
	if err := w.walk(ctx, p, o.Begin(o.Seed, 0, p.failed), o.Seed, 0, func(int) bool { return true }); err != nil {
		return nil, err
	}
	Onto(o, p.x)
	return p.x, nil
}

// Corrected follows the chain, and after each step moves the state as its look-ahead moves when that is projected onto
// the whole set, more so the nearer the end (1 − k/N), as Physics-Constrained Flow Matching does.
func Corrected(ctx context.Context, o Options, n int) ([]float64, error) {
	w, d, N := newWorker(&o, o.Scores(0)), o.Process.Set.Dim(), float64(o.Process.Schedule.N)
	w.plan = make([][]guess, o.Process.Schedule.N) // nothing is shifted
	for k := range w.plan {
		w.plan[k] = []guess{{a: 1, ε: 1}}
	}
	s, z, all := geometry.NewSolver(o.Whole, 0), make([]float64, d), []float64{}
	for lo := 0; lo < n; lo += rows {
		p := newPopulation(rows, d)
		if err := w.walk(ctx, p, o.Begin(o.Seed, 0, p.failed), o.Seed, uint64(lo), func(k int) bool {
			for i := 0; i < len(p.x); i += d {
				copy(z, w.ahead[i:i+d])
				if k > guided(o.Process) || !s.Project(z, 0) && !s.Descend(z, 1e-9) {
					continue
				}
				for j := range z {
					move := (1 - float64(k)/N) * (z[j] - w.ahead[i+j])
					p.x[i+j], p.next[i+j] = p.x[i+j]+move, p.next[i+j]+move
				}
			}
			return true
		}); err != nil {
			return nil, err
		}
		all = append(all, p.x...)
	}
	all = all[:n*d]
	Onto(o, all)
	return all, nil
}

// Onto projects points onto the whole set.
func Onto(o Options, x []float64) {
	s, d := geometry.NewSolver(o.Whole, 0), o.Process.Set.Dim()
	for i := 0; i < len(x); i += d {
		if row := x[i : i+d]; !s.Project(row, 0) {
			s.Descend(row, 1e-12)
		}
	}
}

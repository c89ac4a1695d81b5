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
	plan, _, err := measured(ctx, &o, workers)
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

// Onto projects points onto the whole set.
func Onto(o Options, x []float64) {
	s, d := geometry.NewSolver(o.Whole, 0), o.Process.Set.Dim()
	for i := 0; i < len(x); i += d {
		if row := x[i : i+d]; !s.Project(row, 0) {
			s.Descend(row, 1e-12)
		}
	}
}

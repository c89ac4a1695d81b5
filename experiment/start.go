package experiment

import (
	"context"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem/settle"
)

const startFloors = 5 // pairs of sets of prior draws

// CompareStart compares 2000 forward paths, or where these are dear as many as there are
// samples and no more than that, with the prior: by the data's histogram distance where there is one, its floor
// being that of two sets of prior draws; else by the energy distance, its floor
// being that of relabelled points. The p-value is that of metric.EnergyTest in
// either case. Errors are those of forward paths.
func (l *Loaded) CompareStart(ctx context.Context, prior *Prior, samples int) (*judge.Start, error) {
	s := &judge.Start{Prior: prior.Kind, Distance: metric.NaN, Floor: metric.NaN, FloorSD: metric.NaN,
		PValue: metric.NaN, Apart: metric.NaN}
	if s.Prior == "empirical" || samples < 1 {
		return s, nil
	}
	d, seed := l.Process.Set.Dim(), l.Problem.Seed
	paths := settle.PathCount(l.Process, samples)
	ends, t, err := settle.CompareStart(ctx, l.Method, prior, l.learned(), d, paths, seed, l.Pool)
	if err != nil || len(ends) == 0 { // all failed
		return s, err
	}
	s.Paths = len(ends) / d
	drawn := func(set uint64) []float64 {
		return langevin.SamplePrior(l.Pool, prior, d, keyed.StartDraws.Stream(seed, set), s.Paths)
	}
	u := drawn(0)
	s.Apart = metric.Float(verdict.Apart(ends, u, d))
	s.Metric, s.Distance, s.Floor, s.FloorSD, s.PValue = "energy distance", t.Statistic, t.Mean, t.SD, t.PValue
	if h := l.Domain.Distance; h != nil {
		floors := make([]float64, startFloors)
		for k := range floors {
			floors[k] = h.Between(h.Marks(drawn(uint64(2*k))), h.Marks(drawn(uint64(2*k+1))))
		}
		floor := metric.NewFloor(floors)
		s.Metric, s.Distance, s.Floor, s.FloorSD = h.Name, metric.Float(h.Between(h.Marks(ends), h.Marks(u))),
			floor.Mean,
			floor.SD
	}
	s.Judge()
	return s, nil
}

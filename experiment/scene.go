package experiment

import (
	"math"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/metric"
)

// sceneRows bounds the rows of data that a scene shows.
const sceneRows = 2000

// Scene shows samples x on a canvas, as far as their kind has a view to turn, and with data some of its rows beside
// them.
func (l *Loaded) Scene(c domain.Canvas, x []float64, data bool) {
	if l.Domain.Scene == nil {
		return
	}
	v := domain.View{Dim: l.Process.Set.Dim(), Samples: x, Worst: metric.Float(math.NaN()), Seed: l.Problem.Seed}
	if data && !l.Bare {
		v.Data = langevin.Starts(l.Data.X, v.Dim, min(sceneRows, l.Data.N))
	}
	l.Domain.Scene(c, v)
}

// Observed returns what is compared of points, with ranges, or what the problem observes beside it; nil if nothing
// is told of a point, or the data is not there.
func (l *Loaded) Observed() *domain.Observables {
	switch {
	case l.observed != nil:
		return l.observed.observables
	case l.distance != nil:
		return l.distance.observables
	}
	return nil
}

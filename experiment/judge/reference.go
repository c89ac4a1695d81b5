package judge

import (
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/problem"
)

// A Reference is what samples are held against.
type Reference struct {
	Problem *problem.Problem // its seed and limits
	Process *langevin.Process
	Method  method.Method
	Domain  *domain.Domain // of points with their condition
	Points  *domain.Domain // of points alone; Domain where nothing is given
	Given   []string       // names of the condition, the last coordinates of points

	Dim                   int
	All, Train, HeldOut   []float64 // rows of data: n×Dim; none where the data is not there
	Distance, Observables *Compared // of the run, and of observables beside a published distance; nil: there are none
	Pool                  *parallel.Pool
}

// Compared is the data as a distance sees it.
type Compared struct {
	*domain.Reference
	Observables *domain.Observables // whose laws the parts of the distance compare; nil: it is another
	drawn       bool                // by the domain
}

// Compare makes the distances that rows of data are compared by: the domain's own distance is that of the run, and
// observables, or else the domain's if its distance is of something else, stand beside it; a domain without one is
// compared by observables, or else by the domain's.
func Compare(by *domain.Domain, observables *domain.Observables, all, train, heldOut []float64, d int,
	pool *parallel.Pool) (distance, beside *Compared, err error) {
	own := by.Distance
	if observables == nil && (own == nil || len(own.Parts) == 0) {
		observables = by.Observables
	}
	if own != nil {
		distance = &Compared{Reference: own.Against(all, train, heldOut), drawn: true}
		if of := by.Observables; of != nil && len(own.Parts) == len(of.List) {
			distance.Observables = of
		}
	}
	if observables == nil {
		return distance, nil, nil
	}
	if observables, err = observables.Over(all, d, pool); err != nil {
		return nil, nil, err
	}
	of := &Compared{Reference: observables.Distance(d, pool).Against(all, train, heldOut), Observables: observables}
	if own == nil {
		return of, nil, nil
	}
	return distance, of, nil
}

// DistanceTo returns the distance of points to all data; NaN where none is defined.
func (r *Reference) DistanceTo(x []float64) metric.Float {
	if r.Distance == nil || len(x) == 0 {
		return metric.NaN
	}
	return r.Distance.To(x)
}

// sceneRows bounds the rows of data that a scene shows.
const sceneRows = 2000

// Scene shows samples x on a canvas, as far as their kind has a view to turn, and with data some of its rows beside
// them.
func (r *Reference) Scene(c domain.Canvas, x []float64, data bool) {
	if r.Domain.Scene == nil {
		return
	}
	v := domain.View{Dim: r.Dim, Samples: x, Worst: metric.NaN, Seed: r.Problem.Seed}
	if data && len(r.All) > 0 {
		v.Data = langevin.Starts(r.All, v.Dim, min(sceneRows, len(r.All)/r.Dim))
	}
	r.Domain.Scene(c, v)
}

// Observed returns what is compared of points, with ranges, or what the problem observes beside it; nil if nothing
// is known of a point, or the data is not there.
func (r *Reference) Observed() *domain.Observables {
	switch {
	case r.Observables != nil:
		return r.Observables.Observables
	case r.Distance != nil:
		return r.Distance.Observables
	}
	return nil
}

// Laid returns points as their distances in R^d are taken.
func (r *Reference) Laid(x []float64) []float64 { return laid(r.Domain, x) }

func laid(by *domain.Domain, x []float64) []float64 {
	if by.Lay == nil {
		return x
	}
	return by.Lay(x)
}

// Alone returns points as they are compared with others without their condition, and their dimension.
func (r *Reference) Alone(x []float64) (points []float64, d int) {
	d = r.Dim - len(r.Given)
	if d == r.Dim {
		return r.Laid(x), d
	}
	points = make([]float64, 0, len(x))
	for ; len(x) > 0; x = x[r.Dim:] {
		points = append(points, x[:d]...)
	}
	return laid(r.Points, points), d
}

// Scores returns the distances to the data of n points, given by their marks.
func (r *Reference) Scores(by *Compared, marks []float64, n int) *JSD {
	out := by.score(marks, r.Problem.Seed)
	if o := by.Observables; o != nil {
		for k, h := range o.Histograms(by.Reference, marks, r.Problem.Seed) {
			out.Parts[k].Histogram = &h
		}
	}
	if prior, err := langevin.UniformPrior(r.Process); err == nil {
		out.Uniform = by.To(langevin.SamplePrior(r.Pool, prior, r.Dim, keyed.UniformScore.Stream(r.Problem.Seed, 0), n))
	}
	return out
}

// score returns the distances of points, given by their marks, to the data.
func (c *Compared) score(marks []float64, seed uint64) *JSD {
	whole, parts := c.Score(marks, seed)
	out := &JSD{Metric: c.Name, Score: whole, Uniform: metric.NaN}
	for k, name := range c.Parts {
		out.Parts = append(out.Parts, Part{Name: name, Score: parts[k]})
	}
	return out
}

// Draw shows the observables of points x, if it is they that are compared.
func (c *Compared) Draw(canvas domain.Canvas, x []float64, j *JSD, seed uint64) {
	if c != nil && c.Observables != nil && !c.drawn {
		c.Observables.Draw(canvas, c.Reference, c.Marks(x), j.Scores(), seed)
	}
}

// Limit is the largest violation that samples may have: 0, where any, if the method does not bring them to the set.
func (r *Reference) Limit() float64 {
	if !r.Method.Feasible() {
		return 0
	}
	return r.Problem.Generate.MaxViolation
}

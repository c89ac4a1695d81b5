package check

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin/evidence"
)

// connectedness looks for parts of Σ that no walk along Σ joins. It links points of Σ by walks, nearest pairs first
// (single linkage), each a descent of the distance along the tangent space; what stays apart after many tries is
// called a component. A set can have components that no start reached, and a walk can fail to find a way that exists:
// the finding is a warning.
func connectedness(e *Evidence) []Finding {
	if len(e.On) < 2 || e.anyFlat() || len(e.Set.Capabilities().Held) > 0 { // each condition has a Σ of its own
		return nil
	}
	points := make([]evidence.Point, min(32, len(e.On))) // of at most 96 points; half of these are from random starts
	for i := range points {
		points[i] = e.On[i*len(e.On)/len(points)]
	}
	group := make([]int, len(points))
	for i := range group {
		group[i] = i
	}
	type pair struct {
		i, j int
		d    float64
	}
	var pairs []pair
	diff := make([]float64, e.D)
	for i := range points {
		for j := range i {
			dense.AddScaled(diff, points[i].X, -1, points[j].X)
			pairs = append(pairs, pair{i, j, dense.Norm(diff)})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.d, b.d) })
	tries := map[[2]int]int{}
	w := &walk{e, make([]float64, e.D), make([]float64, e.D), make([]float64, e.D),
		geometry.New(constraint.EqualitiesOf(e.Set), 1, 0), geometry.NewSolver(e.Set, 0).Until(e.ctx)}
	left := e.Budget(300*e.Factoring(), 400)
	for n, p := range pairs {
		a, b := group[p.i], group[p.j]
		key := [2]int{min(a, b), max(a, b)}
		if a == b || tries[key] >= 6 || left == 0 || e.ctx.Err() != nil {
			continue
		}
		left--
		tries[key]++
		if w.reaches(points[p.i].X, points[p.j].X, n) || w.reaches(points[p.j].X, points[p.i].X, n) {
			for i := range group {
				if group[i] == a {
					group[i] = b
				}
			}
		}
	}
	count := map[int]int{}
	for _, g := range group {
		count[g]++
	}
	sizes := slices.SortedFunc(maps.Values(count), func(a, b int) int { return b - a })
	f := Finding{Numbers: Numbers{"components": float64(len(sizes)), "points": float64(len(points)),
		"largest": float64(sizes[0])}}
	switch {
	case len(sizes) == 1:
		f.Message = fmt.Sprintf("one: walks along Σ join all of %d points", len(points))
	case left == 0:
		f.say(Skip, "not settled: walks joined %d points into %d groups before the work allowed was done",
			len(points), len(sizes))
	default:
		f.say(Warn, "Σ seems to have %d components: no walk joins groups of %v of the %d points. Paths "+
			"stay on the component that they start from, %s", len(sizes), sizes, len(points), e.priorAdvice())
	}
	return []Finding{f}
}

func (e *Evidence) priorAdvice() string {
	if e.in.Uniform && e.Set.Capabilities().SampleUniform == nil {
		return "so the chains behind the uniform prior will not mix: use prior: empirical, or keep one component"
	}
	if e.in.Uniform {
		return "and the uniform prior gives each its share of the area, not of the data: use prior: empirical, or " +
			"keep one component"
	}
	return "so the prior (terminal states of paths from the data) gives each the share that it has in the training rows"
}

// A walk goes along Σ towards a goal. Its steps follow the equalities; the descent
// that lands them keeps to the inequalities, at whose edges a walk may start.
type walk struct {
	e       *Evidence
	x, y, v []float64
	smooth  geometry.Geometry // of the equalities
	descent *geometry.Solver
}

// reaches walks from a towards b by tangential steps of a tenth of the way or of the size of Σ, each landed on Σ, and
// reports whether it arrives. Where the distance stops falling it takes up to three random steps.
func (w *walk) reaches(a, b []float64, seed int) bool {
	copy(w.x, a)
	distance := w.to(b, w.x)
	goal := 1e-3 * w.e.Scale
	for tries := 0; tries < 4; tries++ {
		for range 60 {
			if distance < goal {
				return true
			}
			if w.e.ctx.Err() != nil || w.smooth.At(w.x, 1) != nil {
				return false
			}
			w.smooth.Tangent(w.v, w.v)
			step := 0.5
			if n := dense.Norm(w.v); n > 0 {
				step = min(0.5, 0.2*w.e.Scale/n)
			}
			moved := false
			for ; step > 1e-2; step /= 2 {
				dense.AddScaled(w.y, w.x, step, w.v)
				if !w.descent.Descend(w.y, evidence.Tolerance) {
					continue
				}
				old := append([]float64(nil), w.v...)
				if d := w.to(b, w.y); d < 0.999*distance && w.gap() < 2*step*dense.Norm(old)+1e-12 {
					distance, moved = d, true
					copy(w.x, w.y)
					break
				}
				copy(w.v, old)
			}
			if !moved {
				break
			}
		}
		if w.smooth.At(w.x, 1) != nil {
			return false
		}
		w.smooth.Tangent(w.v, w.e.Direction(seed*8+tries, evidence.ForWalks))
		dense.AddScaled(w.y, w.x, 0.3*min(distance, w.e.Scale), w.v)
		if w.descent.Descend(w.y, evidence.Tolerance) && w.gap() < 2*distance {
			copy(w.x, w.y)
		}
		distance = w.to(b, w.x)
	}
	return distance < goal
}

// to sets v to the way from x to b, and returns its length.
func (w *walk) to(b, x []float64) float64 {
	dense.AddScaled(w.v, b, -1, x)
	return dense.Norm(w.v)
}

// gap returns how far y is from x.
func (w *walk) gap() float64 { return math.Sqrt(dense.SquaredDistance(w.y, w.x)) }

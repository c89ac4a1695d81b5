package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
)

// connectedness looks for parts of Σ that no walk along Σ joins. It links points
// of Σ by walks, nearest pairs first (single linkage), each a descent of the
// distance along the tangent space; what stays apart after many tries is called
// a component. A set can have components that no start reached, and a walk can
// fail to find a way that exists: the finding is a warning.
func connectedness(s *subject) []Finding {
	if len(s.on) < 2 || s.anyFlat() {
		return nil
	}
	points := s.spreadOut()
	group := make([]int, len(points))
	for i := range group {
		group[i] = i
	}
	join := func(a, b int) {
		for i := range group {
			if group[i] == a {
				group[i] = b
			}
		}
	}
	type pair struct {
		i, j int
		d    float64
	}
	var pairs []pair
	diff := make([]float64, s.d)
	for i := range points {
		for j := range i {
			dense.AddScaled(diff, points[i].x, -1, points[j].x)
			pairs = append(pairs, pair{i, j, dense.Norm(diff)})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.d, b.d) })
	tries := map[[2]int]int{}
	w := newWalk(s)
	left := s.budget(300*s.factoring(), 400)
	for n, p := range pairs {
		a, b := group[p.i], group[p.j]
		key := [2]int{min(a, b), max(a, b)}
		if a == b || tries[key] >= 6 || left == 0 {
			continue
		}
		left--
		tries[key]++
		if w.reaches(points[p.i].x, points[p.j].x, n) || w.reaches(points[p.j].x, points[p.i].x, n) {
			join(a, b)
		}
	}
	var sizes []int
	for g := range group {
		n := 0
		for _, h := range group {
			if g == h {
				n++
			}
		}
		if n > 0 {
			sizes = append(sizes, n)
		}
	}
	slices.SortFunc(sizes, func(a, b int) int { return b - a })
	f := Finding{Numbers: Numbers{"components": float64(len(sizes)), "points": float64(len(points)), "largest": float64(sizes[0])}}
	switch {
	case len(sizes) == 1:
		f.Message = fmt.Sprintf("one: walks along Σ join all of %d points", len(points))
	case left == 0:
		f.Message = fmt.Sprintf("not settled: walks joined %d points into %d groups before the work allowed was done", len(points), len(sizes))
	default:
		f.Status = Warn
		f.Message = fmt.Sprintf("Σ seems to have %d components: no walk joins groups of %v of the %d points. Paths stay on the component that they start from, %s",
			len(sizes), sizes, len(points), s.priorAdvice())
	}
	return []Finding{f}
}

func (s *subject) priorAdvice() string {
	if s.Uniform && s.set.Capabilities().SampleUniform == nil {
		return "so the chains behind the uniform prior will not mix: use prior: empirical, or keep one component"
	}
	if s.Uniform {
		return "and the uniform prior gives each its share of the area, not of the data: use prior: empirical, or keep one component"
	}
	return "so the prior (terminal states of paths from the data) gives each the share that it has in the training rows"
}

func (s *subject) anyFlat() bool { return slices.Contains(s.flat, true) }

// spreadOut returns at most 32 points of Σ, half of them from random starts.
func (s *subject) spreadOut() []point {
	n := min(32, len(s.on)) // of at most 96
	out := make([]point, n)
	for i := range out {
		out[i] = s.on[i*len(s.on)/n]
	}
	return out
}

// A walk goes along Σ towards a goal. Its steps follow the equalities; the descent
// that lands them keeps to the inequalities, at whose edges a walk may start.
type walk struct {
	s       *subject
	x, y, v []float64
	smooth  geometry.Geometry // of the equalities
	descent *geometry.Solver
}

func newWalk(s *subject) *walk {
	return &walk{s, make([]float64, s.d), make([]float64, s.d), make([]float64, s.d), geometry.New(constraint.EqualitiesOf(s.set), 1, 0), geometry.NewSolver(s.set, 0)}
}

// reaches walks from a towards b by tangential steps of a tenth of the way or of
// the size of Σ, each landed on Σ, and reports whether it arrives. Where the
// distance stops falling it takes up to three random steps.
func (w *walk) reaches(a, b []float64, seed int) bool {
	copy(w.x, a)
	distance := w.to(b, w.x)
	goal := 1e-3 * w.s.scale
	for tries := 0; tries < 4; tries++ {
		for range 60 {
			if distance < goal {
				return true
			}
			if w.smooth.At(w.x, 1) != nil {
				return false
			}
			w.smooth.Tangent(w.v, w.v)
			step := 0.5
			if n := dense.Norm(w.v); n > 0 {
				step = min(0.5, 0.2*w.s.scale/n)
			}
			moved := false
			for ; step > 1e-2; step /= 2 {
				dense.AddScaled(w.y, w.x, step, w.v)
				if !w.descent.Descend(w.y, onΣ) {
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
		w.smooth.Tangent(w.v, w.s.direction(seed*8+tries, 7))
		dense.AddScaled(w.y, w.x, 0.3*min(distance, w.s.scale), w.v)
		if w.descent.Descend(w.y, onΣ) && w.gap() < 2*distance {
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
func (w *walk) gap() float64 {
	s := 0.0
	for j := range w.x {
		s += (w.y[j] - w.x[j]) * (w.y[j] - w.x[j])
	}
	return math.Sqrt(s)
}

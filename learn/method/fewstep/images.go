package fewstep

import (
	"math"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// The law of x_0 given x_k ends at a wall, and an answer of a network that is smooth does not: it keeps away from the
// wall. But P_Σ mirrors answers beyond a wall, so that a point y that is mirrored to x_0, its image, is as right an
// answer, and whichever of the two is learned, samples have the law. A path that walls mirror is one of the unfolded
// set, whose law goes on behind the wall as in a mirror: there x_k comes from x_0 or from y with odds of
// exp(−‖x_k − x_0‖²/2s_k²) to exp(−‖x_k − y‖²/2s_k²), and the law of the one that it came from has no edge.
//
// images are those of the rows in their nearest walls, NaN where there is none near.
type images []float64

// imaged is how far from a wall rows have images, in spreads of the first level below N.
const imaged = 2

// An imager finds images. It serves one goroutine.
type imager struct {
	retract    *retraction
	eval       constraint.Evaluator
	m, c       int       // equalities, components
	far, exact float64   // rows farther from walls have none; how near to the row P_Σ of an image must be
	h, g       []float64 // c; c×d
	n, along   []float64 // of a wall, tangent; d
	off        []float64 // d
	ok         []bool
}

func newImager(set constraint.Set, far, exact float64) *imager {
	d, m := set.Dim(), len(set.Equalities())
	c := m + len(set.Inequalities())
	vec := func() []float64 { return make([]float64, d) }
	return &imager{newRetraction(set, 1), set.NewEvaluator(1), m, c, far, exact, make([]float64, c),
		make([]float64, c*d), vec(), vec(), vec(), make([]bool, 1)}
}

// image writes that of a row x, or NaN: the mirror image in the tangent plane of the nearest wall, brought by steps
// y ← y + R(x − P_Σ(y)), R being the reflection in that plane, to where P_Σ(y) = x.
func (r *imager) image(y, x []float64) {
	const steps = 6
	if r.reflected(y, x) {
		for range steps {
			copy(r.off, y)
			if r.retract.block(r.off, r.ok, 1); !r.ok[0] {
				break
			}
			for j, v := range r.off {
				r.off[j] = x[j] - v
			}
			if dense.Norm(r.off) <= r.exact {
				return
			}
			dense.Axpy(r.off, -2*dense.Dot(r.off, r.n), r.n)
			dense.Axpy(y, 1, r.off)
		}
	}
	for j := range y {
		y[j] = math.NaN()
	}
}

// reflected writes the mirror image of x in the tangent plane of the nearest wall, whose normal along Σ is n; false if
// none is near.
func (r *imager) reflected(y, x []float64) bool {
	if r.retract.at.At(x, 1) != nil {
		return false
	}
	d, near := len(x), r.far
	r.eval.Jacobians(r.h, r.g, x, 1)
	for k := r.m; k < r.c; k++ {
		gradient := r.g[k*d : (k+1)*d]
		if !(-r.h[k] < near*dense.Norm(gradient)) { // along Σ it is farther still
			continue
		}
		r.retract.at.Tangent(r.along, gradient)
		size := dense.Norm(r.along)
		if δ := -r.h[k] / size; δ > 0 && δ < near {
			near = δ
			dense.Scaled(r.n, 1/size, r.along)
		}
	}
	dense.AddScaled(y, x, 2*near, r.n)
	return near < r.far
}

// mirror finds the images of the rows.
func (s *Source[T]) mirror() {
	set, d, n := s.m.proc.Set, s.d, len(s.failed)
	if len(set.Inequalities()) == 0 || len(s.ks) < 2 {
		return
	}
	s.images = make(images, n*d)
	imagers := make([]*imager, s.pool.Workers())
	s.pool.Do(parallel.Blocks(n, simulated), func(w, b int) {
		if imagers[w] == nil {
			imagers[w] = newImager(set, imaged*s.m.s[1], 1e-3*s.m.s[len(s.m.s)-1])
		}
		lo, hi := parallel.Block(b, n, simulated)
		for i := lo; i < hi; i++ {
			imagers[w].image(s.images[i*d:(i+1)*d], s.data[i*d:(i+1)*d])
		}
	})
}

// unfolded returns a row, or its image, of which a path came to x at level k of ks; u is uniform on [0, 1). At level N
// noise has forgotten on which side a path began.
func (s *Source[T]) unfolded(item, k int, x, x0 []float64, u float64) []float64 {
	if s.images == nil || k == len(s.ks)-1 {
		return x0
	}
	y := s.images[item*s.d : (item+1)*s.d]
	if math.IsNaN(y[0]) {
		return x0
	}
	σ := s.m.s[len(s.ks)-1-k]
	near, beyond := 0.0, 0.0
	for j, v := range x {
		near += (v - x0[j]) * (v - x0[j])
		beyond += (v - y[j]) * (v - y[j])
	}
	if u < 1/(1+math.Exp((beyond-near)/(2*σ*σ))) {
		return y
	}
	return x0
}

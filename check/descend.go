package check

import (
	"errors"
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/geometry"
)

// A descent moves one point at a time towards a set.
type descent struct {
	eval     constraint.Evaluator
	m        int
	block    *geometry.Block // ε = 0
	val, jac []float64
	y, step  []float64
}

func newDescent(s constraint.Set) *descent {
	d, c := s.Dim(), len(constraint.Components(s))
	return &descent{
		eval: s.NewEvaluator(1), m: len(s.Equalities()), block: geometry.NewBlock(s, 1, 0),
		val: make([]float64, c), jac: make([]float64, c*d), y: make([]float64, d), step: make([]float64, d),
	}
}

// run moves x towards Σ by Gauss–Newton steps −∇Jᵀ G† J, the landing direction,
// and reports whether it arrived: each violation at most tol (1 + Σ_j |x_j ∂_j c|),
// the size of the constraint's terms. It goes on while the violation falls, so
// that a squared constraint, on which each step only halves the distance, is
// followed down to round-off too. Where it does not arrive, x is left at the least
// violation found.
//
// Whole steps come first: they may raise the violation on the way, when a step
// that lands one inequality breaks another, which then joins J. Where they do not
// arrive, steps are halved until they help.
func (w *descent) run(x []float64, tol float64) bool {
	if w.whole(x); w.arrived(x, tol) {
		return true
	}
	w.halved(x)
	return w.arrived(x, tol)
}

// whole takes whole steps until 12 have not helped.
func (w *descent) whole(x []float64) {
	const iterations, patience = 200, 12
	copy(w.y, x)
	best, err := w.at(w.y)
	for i, idle := 0, 0; i < iterations && idle < patience && err == nil && best > 0; i++ {
		w.block.Landing(w.step)
		along(w.y, w.y, -1, w.step)
		var v float64
		if v, err = w.at(w.y); v < best {
			best, idle = v, 0
			copy(x, w.y)
		} else {
			idle++
		}
	}
}

// halved takes steps that each lower the violation.
func (w *descent) halved(x []float64) {
	violation, err := w.at(x)
	for i := 0; i < 50 && err == nil && violation > 0; i++ {
		w.block.Landing(w.step)
		better := false
		for t := 0.5; t > 1e-3 && !better; t /= 2 {
			along(w.y, x, -t, w.step)
			v, e := w.at(w.y)
			if v < violation {
				violation, err, better = v, e, true
				copy(x, w.y)
			}
		}
		if !better {
			break
		}
	}
}

// at evaluates the geometry at x and returns the largest violation, +Inf where
// it is not finite. The error says that the landing direction is not defined.
func (w *descent) at(x []float64) (float64, error) {
	err := w.block.At(x, 1)
	if errors.As(err, new(*geometry.NonFiniteError)) {
		return math.Inf(1), err
	}
	worst := 0.0
	for i, v := range w.block.Values() {
		worst = max(worst, violated(v, i < w.m))
	}
	return worst, err
}

func (w *descent) arrived(x []float64, tol float64) bool {
	w.eval.Jacobians(w.val, w.jac, x, 1)
	for i, v := range w.val {
		size := 1.0
		for j, u := range x {
			size += math.Abs(u * w.jac[i*len(x)+j])
		}
		if !(violated(v, i < w.m) <= tol*size) {
			return false
		}
	}
	return true
}

// violated returns |v| of an equality and max(v, 0) of an inequality, +Inf for
// NaN.
func violated(v float64, equality bool) float64 {
	switch {
	case math.IsNaN(v):
		return math.Inf(1)
	case equality:
		return math.Abs(v)
	}
	return max(v, 0)
}

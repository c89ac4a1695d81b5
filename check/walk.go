package check

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/evidence"
	"github.com/landing-diffusion/landing/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A walk goes along Σ towards a goal. Its steps follow the equalities; the descent
// that lands them keeps to the inequalities, at whose edges a walk may start.
type walk struct {
	e       *Evidence
	x, y, v []float64
	smooth  geometry.Geometry // of the equalities
	descent *geometry.Solver
}

func newWalk(e *Evidence) *walk {
	return &walk{e, make([]float64, e.D), make([]float64, e.D), make([]float64, e.D),
		geometry.New(constraint.EqualitiesOf(e.Set), 1, 0), geometry.NewSolver(e.Set, 0).Until(e.ctx)}
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
func (w *walk) gap() float64 {
	s := 0.0
	for j := range w.x {
		s += (w.y[j] - w.x[j]) * (w.y[j] - w.x[j])
	}
	return math.Sqrt(s)
}

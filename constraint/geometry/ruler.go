package geometry

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A Gap is how far a point is from Σ, to first order, in the unit of the point: no matter how components are scaled.
type Gap struct {
	Step      float64 // ‖∇Jᵀ G† J‖, the length of Newton's step, with J = [h; max(g, 0)]
	Single    float64 // the largest |h_i|/‖∇h_i‖ or max(g_j, 0)/‖∇g_j‖; +Inf where only the gradient vanishes
	Component int     // of which; −1 if nothing is violated
	Excess    float64 // |h| or max(g, 0) of it
}

// A Ruler measures the gaps of single points. It is scratch space for one goroutine.
type Ruler struct {
	*layout
	at            Geometry
	der           derivatives
	m             int
	val, jac      []float64
	singles, step []float64
}

// NewRuler makes a Ruler for s.
func NewRuler(s constraint.Set) *Ruler {
	l, c, d := newLayout(s), len(constraint.Components(s)), s.Dim()
	return &Ruler{
		layout: l, at: New(s, 1, 0), der: newDerivatives(s.NewEvaluator(1), l, c, d, 1), m: len(s.Equalities()),
		val: make([]float64, c), jac: make([]float64, l.mat), singles: make([]float64, c), step: make([]float64, d),
	}
}

// Singles returns how far x is from satisfying each component, to first order: |h_i|/‖∇h_i‖ and max(g_j, 0)/‖∇g_j‖;
// +Inf where a gradient vanishes or something is not finite. It is true until the next call of r.
func (r *Ruler) Singles(x []float64) []float64 {
	r.der.at(r.val, r.jac, x, 1)
	for a := range r.groups {
		g := &r.groups[a]
		for l, comp := range g.comp {
			excess, norm := constraint.Excess(r.val[comp], comp < r.m), dense.Norm(r.jac[g.mat+l*g.d:][:g.d])
			switch {
			case norm-norm != 0:
				r.singles[comp] = math.Inf(1)
			case excess == 0:
				r.singles[comp] = 0
			default:
				r.singles[comp] = excess / norm
			}
		}
	}
	return r.singles
}

// Gap measures x. Where Newton's step is not defined, because a value is not finite or the
// gradient of an equality vanishes, it is as long as Single.
func (r *Ruler) Gap(x []float64) Gap {
	out := Gap{Component: -1}
	for i, far := range r.Singles(x) {
		if far > out.Single {
			out.Single, out.Component, out.Excess = far, i, constraint.Excess(r.val[i], i < r.m)
		}
	}
	out.Step = out.Single
	if len(r.val) > 1 && out.Component >= 0 && r.at.At(x, 1) == nil { // of one component they are the same
		r.at.Landing(r.step)
		out.Step = dense.Norm(r.step)
	}
	return out
}

package geometry

import (
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// CanCurve returns nil if the set has the Hessian-vector products that the
// curvature terms need, and a *constraint.UnsupportedError otherwise.
func CanCurve(s constraint.Set) error {
	if s.NewEvaluator(1).HessianVectors == nil {
		return &constraint.UnsupportedError{
			Set: constraint.Name(s), Need: "Hessian-vector products", For: "curvature terms",
		}
	}
	return nil
}

// A Curvature computes the curvature terms of a set at the points of a Geometry of
// it. It is scratch space for one goroutine.
type Curvature struct {
	hessian func(dst, x, v []float64, n int)
	d, c    int
	hv, hd  []float64 // rows×c×d Hessian-vector products and rows×d directions
	comp    []float64 // rows×c
}

// NewCurvature makes room for rows points. The error is that of CanCurve.
func NewCurvature(s constraint.Set, rows int) (*Curvature, error) {
	if err := CanCurve(s); err != nil {
		return nil, err
	}
	d, c := s.Dim(), len(constraint.Components(s))
	return &Curvature{
		hessian: s.NewEvaluator(rows).HessianVectors, d: d, c: c,
		hv: make([]float64, rows*c*d), hd: make([]float64, rows*d), comp: make([]float64, rows*c),
	}, nil
}

// Mean writes 𝓗(x) = −∇Jᵀ G† [tr(∇²J_i Π)]_i at every point of g: n×d
// (Proposition 1). On a sphere of radius r it is −(d−1)x/r².
func (k *Curvature) Mean(dst []float64, g Geometry) {
	d, x := k.d, g.Points()
	n := len(x) / d
	tr := k.comp[:n*k.c]
	clear(tr)
	for j := range d { // tr(∇²J_i Π) = Σ_j e_jᵀ ∇²J_i Π e_j
		clear(k.hd)
		for i := range n {
			k.hd[i*d+j] = 1
		}
		g.Tangent(k.hd[:n*d], k.hd[:n*d])
		k.hessian(k.hv, x, k.hd, n)
		for a := range tr {
			tr[a] -= k.hv[a*d+j]
		}
	}
	g.Normal(dst, tr)
}

// Momentum writes ∇Jᵀ G† (𝓗₁(x, p) + s 𝓗₂(x, p)) at every point of g: n×d, with
// [𝓗₁]_i = pᵀ∇²J_i p and [𝓗₂]_i = pᵀ∇²J_i (∇Jᵀ G† J) (Proposition 2).
func (k *Curvature) Momentum(dst []float64, g Geometry, p []float64, s float64) {
	d, c, x := k.d, k.c, g.Points()
	n := len(x) / d
	k.hessian(k.hv, x, p, n)
	landing := k.hd[:n*d]
	g.Landing(landing)
	u := k.comp[:n*c]
	for i := range n {
		pi, li := p[i*d:(i+1)*d], landing[i*d:(i+1)*d]
		for a := range c {
			hv := k.hv[(i*c+a)*d : (i*c+a+1)*d]
			u[i*c+a] = dense.Dot4(pi, hv) + s*dense.Dot4(li, hv)
		}
	}
	g.Normal(dst, u)
}

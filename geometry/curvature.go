package geometry

import (
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// CanCurve returns nil if the set has the Hessian-vector products that the
// curvature terms need, and a *constraint.UnsupportedError otherwise.
func (b *Block) CanCurve() error {
	if b.eval.HessianVectors == nil {
		return &constraint.UnsupportedError{Set: constraint.Name(b.set), Need: "Hessian-vector products", For: "curvature terms"}
	}
	return nil
}

func (b *Block) curvatureScratch() {
	if b.hv == nil {
		if err := b.CanCurve(); err != nil {
			panic("geometry: " + err.Error())
		}
		b.hv = make([]float64, b.rows*b.c*b.d)
		b.hd = make([]float64, b.rows*b.d)
	}
}

// MeanCurvature writes 𝓗(x) = −∇Jᵀ G† [tr(∇²J_i Π)]_i at every point: n×d
// (Proposition 1). On a sphere of radius r it is −(d−1)x/r².
func (b *Block) MeanCurvature(dst []float64) {
	b.curvatureScratch()
	n, d, c := b.n, b.d, b.c
	tr := b.comp[:n*c]
	clear(tr)
	for j := range d { // tr(∇²J_i Π) = Σ_j e_jᵀ ∇²J_i Π e_j
		clear(b.hd)
		for i := range n {
			b.hd[i*d+j] = 1
		}
		b.Tangent(b.hd[:n*d], b.hd[:n*d])
		b.eval.HessianVectors(b.hv, b.x, b.hd, n)
		for a := range tr {
			tr[a] -= b.hv[a*d+j]
		}
	}
	b.Normal(dst, tr)
}

// MomentumCurvature writes ∇Jᵀ G† (𝓗₁(x, p) + s 𝓗₂(x, p)) at every point: n×d,
// with [𝓗₁]_i = pᵀ∇²J_i p and [𝓗₂]_i = pᵀ∇²J_i (∇Jᵀ G† J) (Proposition 2).
func (b *Block) MomentumCurvature(dst, p []float64, s float64) {
	b.curvatureScratch()
	n, d, c := b.n, b.d, b.c
	b.eval.HessianVectors(b.hv, b.x, p, n)
	landing := b.hd[:n*d]
	b.Landing(landing)
	u := b.comp[:n*c]
	for i := range n {
		pi, li := p[i*d:(i+1)*d], landing[i*d:(i+1)*d]
		for a := range c {
			hv := b.hv[(i*c+a)*d : (i*c+a+1)*d]
			u[i*c+a] = dense.Dot4(pi, hv) + s*dense.Dot4(li, hv)
		}
	}
	b.Normal(dst, u)
}

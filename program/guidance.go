package program

import (
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A Guidance computes the gradient of the violation
//
//	V(x) = ½‖h(x)‖² + ½‖max(g(x), 0)‖²,   ∇V = Σ_i h_i ∇h_i + Σ_{g_j > 0} g_j ∇g_j
//
// of blocks of points. It is scratch space for one goroutine.
type Guidance struct {
	eval        constraint.Evaluator
	d, m, c     int
	block       int
	values, jac []float64
}

// NewGuidance makes room for rows points of s.
func NewGuidance(s constraint.Set, rows int) *Guidance {
	d, c := s.Dim(), len(constraint.Components(s))
	block := max(1, min(rows, blockNumbers/max(1, c*d)))
	return &Guidance{s.NewEvaluator(block), d, len(s.Equalities()), c, block, make([]float64, block*c),
		make([]float64, block*c*d)}
}

// Gradient writes ∇V at the n points x: n×d. steep (n) gets Σ‖∇c_i‖² over the components in it,
// which bounds the curvature of V but for that of the components.
func (g *Guidance) Gradient(dst, steep, x []float64, n int) {
	d, c := g.d, g.c
	clear(dst[:n*d])
	clear(steep[:n])
	if c == 0 {
		return
	}
	for lo := 0; lo < n; lo += g.block {
		k := min(g.block, n-lo)
		g.eval.Jacobians(g.values[:k*c], g.jac[:k*c*d], x[lo*d:(lo+k)*d], k)
		for i := range k {
			to := dst[(lo+i)*d : (lo+i+1)*d]
			for a, v := range g.values[i*c : (i+1)*c] {
				if a >= g.m && !(v > 0) && v == v {
					continue
				}
				grad := g.jac[(i*c+a)*d : (i*c+a+1)*d]
				dense.Axpy(to, v, grad)
				steep[lo+i] += dense.Dot4(grad, grad)
			}
		}
	}
}

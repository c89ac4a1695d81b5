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
	support     [][]int // of each component; nil: all coordinates
	derivatives int     // kept of a point
	block       int
	values, jac []float64
}

// NewGuidance makes room for rows points of s.
func NewGuidance(s constraint.Set, rows int) *Guidance {
	c, support := len(constraint.Components(s)), s.Capabilities().Support
	derivatives := c * s.Dim()
	if support != nil {
		derivatives = 0
		for _, cols := range support {
			derivatives += len(cols)
		}
	}
	block := max(1, min(rows, blockNumbers/max(1, derivatives)))
	return &Guidance{s.NewEvaluator(block), s.Dim(), len(s.Equalities()), c, support, derivatives, block,
		make([]float64, block*c), make([]float64, block*derivatives)}
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
		jacobians(&g.eval, g.values[:k*c], g.jac[:k*g.derivatives], x[lo*d:(lo+k)*d], k)
		rest := g.jac
		for i := range k {
			to := dst[(lo+i)*d : (lo+i+1)*d]
			for a, v := range g.values[i*c : (i+1)*c] {
				size := d
				if g.support != nil {
					size = len(g.support[a])
				}
				grad := rest[:size]
				rest = rest[size:]
				if a >= g.m && !(v > 0) && v == v {
					continue
				}
				steep[lo+i] += dense.Dot4(grad, grad)
				if g.support == nil {
					dense.Axpy(to, v, grad)
					continue
				}
				for e, j := range g.support[a] {
					to[j] += v * grad[e]
				}
			}
		}
	}
}

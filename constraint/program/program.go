// Package program brings points to Σ = {h = 0, g ≤ 0} by general-purpose programs of constrained optimisation, which
// know of Σ its components and their first derivatives. The rivals of the paper's tables are made of them:
//
//	Interior    the nearest point, by an interior-point method
//	Lagrangian  the nearest point, by an augmented Lagrangian with dual ascent
//	Guidance    the gradient of the violation ½‖h‖² + ½‖max(g, 0)‖²
//	Correction  Gauss–Newton steps, as of an extrapolated end state
//
// It is not for the house's own dynamics: these use package geometry, which knows more of Σ.
package program

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A point is on Σ where each excess is at most tolerance, or at most roundoff of the terms
// that the component is made of, Σ_j |x_j ∂_j c|.
const (
	tolerance = 1e-12
	roundoff  = 0x1p-46
)

// met reports whether a component with this value and these derivatives along the coordinates cols, nil
// for all, is as Σ asks at x.
func met(v float64, equality bool, gradient []float64, cols []int, x []float64) bool {
	e := constraint.Excess(v, equality)
	if e <= tolerance {
		return true
	}
	terms := 0.0
	for k, u := range gradient {
		j := k
		if cols != nil {
			j = cols[k]
		}
		terms += math.Abs(u * x[j])
	}
	return e <= roundoff*terms
}

// A test tells whether single points are on Σ.
type test struct {
	eval           constraint.Evaluator
	parts          []part
	values, jac, y []float64
}

func newTest(s constraint.Set) test {
	parts, derivatives := parts(s)
	return test{s.NewEvaluator(1), parts, make([]float64, len(constraint.Components(s))), make([]float64, derivatives),
		make([]float64, s.Dim())}
}

// met reports whether all components are as Σ asks at the point x.
func (t *test) met(x []float64) bool {
	jacobians(&t.eval, t.values, t.jac, x, 1)
	for i := range t.parts {
		q := &t.parts[i]
		q.take(t.y, x)
		if !q.met(t.y, t.values, t.jac) {
			return false
		}
	}
	return dense.Finite(x)
}

// jacobians evaluates a set with the derivatives that parts keeps.
func jacobians(e *constraint.Evaluator, values, jac, x []float64, n int) {
	if e.SparseJacobians != nil {
		e.SparseJacobians(values, jac, x, n)
	} else {
		e.Jacobians(values, jac, x, n)
	}
}

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

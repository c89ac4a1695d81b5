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
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
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

// A Correction moves points by Gauss–Newton steps x ← x − ∇JᵀG†J, with J = [h; g_I] of the equalities and the
// inequalities that are not met. It is the projection by which physics-constrained flow matching (Utkarsh et al. 2025)
// corrects the end state that a step of generation extrapolates: once on the way, and to round-off at the end. It is
// scratch space for one goroutine; methods allocate at most once.
type Correction struct {
	at, one  geometry.Geometry
	approach *geometry.Approach
	test     test
	d, rows  int
	y        []float64 // d: where a point began
}

// NewCorrection makes room for rows points of s.
func NewCorrection(s constraint.Set, rows int) *Correction {
	c := &Correction{
		at: geometry.New(s, rows, 0), one: geometry.New(s, 1, 0), test: newTest(s), d: s.Dim(), rows: rows,
		y: make([]float64, s.Dim()),
	}
	c.approach = geometry.NewApproach(c.one, c.d, geometry.ApproachOptions{Inequalities: len(s.Inequalities())})
	return c
}

// Step writes to dst one step from each of the n points x (n×d; dst may be x). On an affine {h = 0} that is the nearest
// point of it. A row stays where there is no step: components or the step are not finite, or an equality has no
// gradient; ok (n) tells, and the outcome counts it.
func (c *Correction) Step(dst, x []float64, ok []bool, n int) geometry.Outcome {
	if n > c.rows {
		panic(fmt.Sprintf("program: %d points in a correction for %d", n, c.rows))
	}
	d, o := c.d, geometry.Outcome{Points: n}
	if err := c.at.At(x, n); err == nil {
		c.move(c.at, dst[:n*d], ok[:n], &o)
		return o
	}
	for i := range n { // some row has no step: the others do
		from, to := x[i*d:(i+1)*d], dst[i*d:(i+1)*d]
		if err := c.one.At(from, 1); err == nil {
			c.move(c.one, to, ok[i:i+1], &o)
			continue
		} else {
			lose(&o, err)
		}
		ok[i] = false
		copy(to, from)
	}
	return o
}

// move writes a step from each point of at.
func (c *Correction) move(at geometry.Geometry, dst []float64, ok []bool, o *geometry.Outcome) {
	at.Landing(dst)
	x, d := at.Points(), c.d
	for i := range ok {
		from, to := x[i*d:(i+1)*d], dst[i*d:(i+1)*d]
		for j, v := range from {
			to[j] = v - to[j]
		}
		o.Iterations++
		if ok[i] = dense.Finite(to); !ok[i] {
			o.NotFinite++
			copy(to, from)
		}
	}
}

// Land moves the n points x (n×d) to Σ in place by steps until |h|, g ≤ 1e-13 or their round-off, at most 50 of them
// (geometry.Approach). A row that does not arrive stays; ok (n) tells, and the outcome counts it.
func (c *Correction) Land(x []float64, ok []bool, n int) geometry.Outcome {
	d, o := c.d, geometry.Outcome{Points: n}
	for i := range n {
		row := x[i*d : (i+1)*d]
		copy(c.y, row)
		steps, arrived := c.approach.Run(row)
		o.Iterations += steps
		if ok[i] = arrived && c.test.met(row); ok[i] {
			continue
		}
		copy(row, c.y)
		lose(&o, c.one.At(row, 1))
	}
	return o
}

// lose counts a point from which no step leads on, for the reason err, or to nowhere.
func lose(o *geometry.Outcome, err error) {
	switch err.(type) {
	case nil:
		o.Stalled++
	case *geometry.NonFiniteError:
		o.NotFinite++
	default:
		o.Unreachable++
	}
}

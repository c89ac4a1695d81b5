package geometry

import (
	"math"
	"slices"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// Normals tells how near the gradients of equalities are to a loss of rank. It is scratch space for one goroutine.
type Normals struct {
	p                 *pattern
	derivatives       func(values, jac, x []float64, n int)
	values, jac, y, z []float64
	low, up, inverse  []vec // L D R
}

// NewNormals uses the pattern of ∇h ∇hᵀ if sparse is true and s has one, else the equalities in their order. It returns
// nil where a point takes more than 2²⁴ multiply-adds.
func NewNormals(s constraint.Set, sparse bool) *Normals {
	s = constraint.EqualitiesOf(s)
	e, support, rows := s.NewEvaluator(1), s.Capabilities().Support, make([][]int32, len(s.Equalities()))
	n := &Normals{derivatives: e.Jacobians}
	if sparse = sparse && support != nil; sparse {
		n.derivatives = e.SparseJacobians
	}
	for a := range rows {
		for j := range int32(s.Dim()) {
			if !sparse || slices.Contains(support[a], int(j)) {
				rows[a] = append(rows[a], j)
			}
		}
	}
	if n.p = newPattern(rows, len(rows), s.Dim(), 1<<24); n.p == nil {
		return nil
	}
	size := max(len(n.p.col), len(n.p.li), len(rows))
	for _, v := range []*[]float64{&n.values, &n.jac, &n.y, &n.z} {
		*v = make([]float64, size)
	}
	for _, v := range []*[]vec{&n.low, &n.up, &n.inverse} {
		*v = make([]vec, size)
	}
	return n
}

// At returns the lengths of the gradients of the equalities index at x outside the span of those eliminated before
// them, 0 where the sine is below 10⁻⁶, and packed unit gradients, 0 of others; nil where something is not finite.
func (n *Normals) At(x []float64, index []int) (parts, unit []float64) {
	p := n.p
	if n.derivatives(n.values, n.jac, x, 1); !dense.Finite(n.values) || !dense.Finite(n.jac) {
		return nil, nil
	}
	parts, unit = make([]float64, len(p.order)), make([]float64, len(p.col))
	for _, l := range index {
		row := n.jac[p.start[l]:p.start[l+1]]
		if parts[l] = dense.Norm(row); parts[l] >= GradientTolerance {
			dense.Scaled(unit[p.start[l]:p.start[l+1]], 1/parts[l], row)
		}
	}
	p.factorGeneral(n.low, n.up, n.inverse, unit, unit, n.y, n.z, faint)
	for k, l := range p.order {
		if v := n.inverse[k][0]; v > 0 {
			parts[l] /= math.Sqrt(v)
		} else {
			parts[l] = 0
		}
	}
	return parts, unit
}

const faint = 1e-12 // a squared sine

// Turned reports whether the unit gradients at two points that At was at have opposite orientations: det(A Bᵀ) < 0.
func (n *Normals) Turned(a, b []float64) (turned bool) {
	n.p.factorGeneral(n.low, n.up, n.inverse, a, b, n.y, n.z, faint)
	for _, v := range n.inverse {
		turned = turned != (v[0] < 0)
	}
	return turned
}

// A Basis computes orthonormal bases of normal spaces. It is scratch space for one goroutine.
type Basis struct {
	u, v, q, r, scale []float64
	pivot             []int
}

// Of writes the basis at point i of the n points of g to dst[i*width+from:], as c rows for the c components of the set;
// where the rank is less the last are zeros.
func (b *Basis) Of(dst []float32, width, from int, g Geometry, n int) {
	c, d := len(g.Values())/n, len(g.Points())/n
	if len(b.u) < n*c {
		b.u, b.v, b.q, b.r = make([]float64, n*c), make([]float64, n*c*d), make([]float64, c*d), make([]float64, c*c)
		b.scale, b.pivot = make([]float64, c), make([]int, c)
	}
	for a := range c { // ∇Jᵀ G† e_a span the normals
		clear(b.u)
		for i := range n {
			b.u[i*c+a] = 1
		}
		g.Normal(b.v[a*n*d:(a+1)*n*d], b.u[:n*c])
	}
	for i := range n {
		k := 0
		for a := range c {
			v := b.v[(a*n+i)*d:][:d]
			if norm := dense.Norm(v); norm > 0 {
				dense.Scaled(b.q[k*d:(k+1)*d], 1/norm, v)
				k++
			}
		}
		k = dense.PivotedQR(b.q, b.r, b.pivot, b.scale, k, c, d, RankTolerance)
		clear(b.q[k*d : c*d])
		for j, v := range b.q[:c*d] {
			dst[i*width+from+j] = float32(v)
		}
	}
}

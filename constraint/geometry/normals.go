package geometry

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// Normals tells how near ∇h of many sparse equalities is to a loss of rank, by the pattern of ∇h ∇hᵀ. It is scratch
// space for one goroutine.
type Normals struct {
	p                   *pattern
	eval                constraint.Evaluator
	values              []float64 // m
	low, right, inverse []float64 // of L D R
	y, z                []float64 // m
}

// NewNormals returns nil where a dense factorisation takes no more operations.
func NewNormals(s constraint.Set) *Normals {
	s = constraint.EqualitiesOf(s)
	m := len(s.Equalities())
	rows := make([][]int32, m)
	for a, js := range s.Capabilities().Support {
		for _, j := range js {
			rows[a] = append(rows[a], int32(j))
		}
	}
	p := newPattern(rows, m, s.Dim(), fewer(m, s.Dim()))
	if p == nil || len(p.col) == 0 {
		return nil
	}
	vec := func(n int) []float64 { return make([]float64, n) }
	return &Normals{p: p, eval: s.NewEvaluator(1), values: vec(m), low: vec(len(p.li)), right: vec(len(p.li)),
		inverse: vec(m), y: vec(m), z: vec(m)}
}

// At writes to parts, for each equality i of index, the length of the part of ∇h_i outside the span of those before it
// in the order of elimination, 0 where its sine is below 10⁻³. It returns the packed directions of the gradients, 0 of
// other equalities; nil where something is not finite.
func (n *Normals) At(parts, x []float64, index []int) []float64 {
	p, jac := n.p, make([]float64, len(n.p.col))
	unit := make([]float64, len(jac))
	if n.eval.SparseJacobians(n.values, jac, x, 1); !dense.Finite(n.values) || !dense.Finite(jac) {
		return nil
	}
	for _, l := range index {
		from, to := p.start[l], p.start[l+1]
		if parts[l] = dense.Norm(jac[from:to]); parts[l] >= GradientTolerance {
			dense.Scaled(unit[from:to], 1/parts[l], jac[from:to])
		}
	}
	p.factor(n.low, n.inverse, unit, n.y, nearSpan)
	for k, l := range p.order {
		if v := n.inverse[k]; v > 0 {
			parts[l] /= math.Sqrt(v)
		} else {
			parts[l] = 0
		}
	}
	return unit
}

// Turned reports whether det(A Bᵀ) < 0, A and B the directions at two points near each other, but for rows that depend
// on others.
func (n *Normals) Turned(a, b []float64) (turned bool) {
	n.p.factorGeneral(n.low, n.right, n.inverse, a, b, n.y, n.z, nearSpan)
	for _, v := range n.inverse {
		turned = turned != (v < 0)
	}
	return turned
}

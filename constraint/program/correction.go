package program

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
)

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

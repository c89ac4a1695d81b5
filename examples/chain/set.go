package main

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/constraint/formula"
)

const (
	beads = 8
	dim   = 3 * beads
	bond  = 0.6 // length
	ball  = 1.0 // radius; its centre is the origin
)

var anchor = [3]float64{-2, 0, 0} // where the first bond begins

// clearance is the distance to keep for beads: a bond between two points at this
// distance from the centre touches the ball with its middle and no more.
var clearance = math.Sqrt(ball*ball + bond*bond/4)

// chainSet is the feasible set, built from Go. problem.yaml writes the same set down; a test compares the two.
func chainSet() (*formula.Set, error) {
	b := formula.NewBuilder(dim)
	bead := b.X().Reshape(beads, 3)
	length := b.Const(bond)
	from := expr.Join(b.Const(anchor[0]), b.Const(anchor[1]), b.Const(anchor[2]))
	b.Equality("first", expr.Distance(from, bead.At(0)).Sub(length))
	for i := range beads - 1 {
		b.Equality(fmt.Sprintf("bond[%d]", i), expr.Distance(bead.At(i), bead.At(i+1)).Sub(length))
	}
	for i := range beads {
		b.Inequality(fmt.Sprintf("ball[%d]", i), b.Const(clearance).Sub(expr.Norm(bead.At(i))))
	}
	return b.Set()
}

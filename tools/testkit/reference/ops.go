package reference

import (
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

// Landed holds Π of the case's y, and a step of 0.1 Πy that lands at the points x (n×d) or at its proposal, against the
// golden numbers named where: "on" or "off" Σ. b is at x.
func Landed(t *testing.T, f func(name string) []float64, where string, b geometry.Geometry, x []float64, ατ float64) {
	t.Helper()
	tangent, landing := make([]float64, len(x)), make([]float64, len(x))
	b.Tangent(tangent, f("y"))
	golden.Near(t, "Πy", tangent, f("tangent_"+where))
	b.Landing(landing)
	explicit, implicit := make([]float64, len(x)), make([]float64, len(x))
	for i, x := range x {
		explicit[i] = x + 0.1*tangent[i] - ατ*landing[i]
		implicit[i] = x - landing[i]
	}
	golden.Near(t, "explicit landing", explicit, f("explicit_"+where))
	golden.Near(t, "implicit landing", implicit, f("implicit_"+where))
}

// Moved is the block of points named base, moved by that named move; "" moves none.
func Moved(f func(name string) []float64, base, move string) []float64 {
	y := slices.Clone(f(base))
	if move != "" {
		for i, v := range f(move) {
			y[i] += v
		}
	}
	return y
}

// Projected holds projections of moved points, with gradients of those named base, against the golden numbers named
// want, and returns which of the n converged.
func Projected(t *testing.T, f func(name string) []float64, s constraint.Set, n int, base, move, want string) []bool {
	t.Helper()
	b := geometry.New(s, n, 0)
	if err := b.At(f(base), n); err != nil {
		t.Fatal(err)
	}
	y, ok := Moved(f, base, move), make([]bool, n)
	geometry.NewProjection(s, n).Project(b, y, y, ok, 0)
	golden.Near(t, want, y, f(want))
	return ok
}

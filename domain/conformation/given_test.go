package conformation_test

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A dihedral is in one of its windows where none of the inequalities is violated, and beside an edge an inequality is
// the angle from it.
func TestSeveralWindows(t *testing.T) {
	windows := [][2]float64{{170, 200}, {-60, -20}, {40, 90}}
	c := conformation.Condition{Coordinate: conformation.Coordinate{Kind: dihedral, Atoms: []int{0, 1, 2, 3}}}
	for _, w := range windows {
		c.Windows = append(c.Windows, [2]float64{w[0] * degree, w[1] * degree})
	}
	s := set(t, 4, conformation.Spec{Conditions: []conformation.Condition{c}})
	for deg := -179.5; deg < 180; deg++ {
		inside, edge := false, math.Inf(1)
		for _, w := range windows {
			for _, turn := range []float64{-360, 0, 360} {
				inside = inside || deg+turn >= w[0] && deg+turn <= w[1]
				edge = min(edge, math.Abs(deg+turn-w[0]), math.Abs(deg+turn-w[1]))
			}
		}
		x := dihedralOf(deg * degree)
		v := constraint.Values(s, x)
		worst := max(v[0], v[1], v[2])
		testkit.Equal(t, inside, worst <= 0, "at %v: %v", deg, v)
		testkit.Equal(t, inside, c.Excess(x) == 0, "excess at %v", deg)
		if edge < 3 && math.Abs(math.Abs(worst)-edge*degree) > 0.12*edge*degree {
			t.Errorf("at %v, %v from an edge: %v", deg, edge, worst/degree)
		}
	}
}

// What is given stands behind the positions and is held: the set of one value is that of an equality.
func TestGivenCoordinates(t *testing.T) {
	given := on(dihedral, 0, 0, 0, 1, 2, 3)
	given.Name, given.Given = "φ", true
	far := on(distance, 0, 0, 0, 3)
	far.Name, far.Given = "r", true
	whole := set(t, 4, conformation.Spec{Conditions: []conformation.Condition{given, on(distance, 1.5, 1.5, 0, 1),
		far}})
	testkit.EqualSlices(t, whole.Capabilities().HeldNames, []string{"cos_φ", "sin_φ", "r"})
	held := constraint.Hold(whole, []int{12, 13, 14})
	x := dihedralOf(2.5)
	c := whole.Given(x[:12:12])[12:]
	one := set(t, 4, conformation.Spec{Conditions: []conformation.Condition{on(dihedral, 2.5, 2.5, 0, 1, 2, 3),
		on(distance, 1.5, 1.5, 0, 1), on(distance, c[2], c[2], 0, 3)}})
	slice := constraint.Slice(held, c)
	for _, θ := range []float64{2.5, -2.9, 3.1, 0.1} {
		y := dihedralOf(θ)
		testkit.Near(t, constraint.Values(slice, y)[0], constraint.Values(one, y)[0], 1e-15, "at %v", θ)
		testkit.Near(t, constraint.Values(slice, y)[2], constraint.Values(one, y)[2], 1e-15, "at %v", θ)
	}
	constrainttest.Run(t, slice, constrainttest.Options{Points: 8})
}

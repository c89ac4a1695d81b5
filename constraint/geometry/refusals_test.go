package geometry

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A block refuses by name what it has no room for, more points than rows or fewer numbers than points need, whatever
// its geometry, and takes as many as there is room for; numbers behind the points are not looked at.
func TestRoomOfBlocks(t *testing.T) {
	refusal := func(f func()) (message string) {
		defer func() {
			if r := recover(); r != nil {
				message = fmt.Sprint(r)
			}
		}()
		f()
		return ""
	}
	x := []float64{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 2}
	for name, s := range map[string]constraint.Set{
		"closed": zoo.Sphere{D: 3}, "single": zoo.Ellipsoid{Axes: []float64{1, 1, 1}},
		"factored": zoo.Affine{A: [][]float64{{1, 1, 1}, {1, 1, 2}}, B: []float64{1, 1}},
	} {
		if got := refusal(func() { New(s, 0, 0) }); !strings.HasPrefix(got, "geometry: a block needs") {
			t.Errorf("%s: a block of no rows: %q", name, got)
		}
		g := New(s, 3, 0)
		for _, c := range []struct {
			n, numbers int
			refused    bool
		}{{3, 9, false}, {3, 12, false}, {2, 6, false}, {1, 9, false}, {0, 0, false}, {4, 12, true}, {3, 8, true},
			{2, 5, true}, {1, 2, true}} {
			got := refusal(func() {
				if err := g.At(x[:c.numbers], c.n); err != nil {
					t.Errorf("%s: %d points: %v", name, c.n, err)
				}
			})
			if want := fmt.Sprintf("geometry: %d points", c.n); (got != "") != c.refused ||
				c.refused && !strings.HasPrefix(got, want) {
				t.Errorf("%s: %d points from %d numbers: %q", name, c.n, c.numbers, got)
			}
			if !c.refused && (len(g.Points()) != 3*c.n || len(g.Values()) != c.n*len(s.Equalities())) {
				t.Errorf("%s: of %d points %d numbers and %d values are held", name, c.n, len(g.Points()),
					len(g.Values()))
			}
		}
	}
}

// Errors at a point name the component, the number and the row.
func TestErrorsTell(t *testing.T) {
	rank := &RankError{Row: 4, Component: "knot", Norm: 1.5e-20}
	for _, part := range []string{`constraint "knot"`, "norm 1.5e-20", "point 4", "write it without squares"} {
		testkit.Contains(t, rank.Error(), part, "%v", rank)
	}
	lost := &NonFiniteError{Row: 2, Component: "tube", Value: -3}
	testkit.Equal(t, lost.Error(), `constraint "tube" is not finite (-3) at point 2`)
}

// A point has arrived where each excess is at most tol (1 + Σ|x_j ∂_j c|), an equality's on either
// side, an inequality's beyond its wall alone.
func TestWhereDescentsEnd(t *testing.T) {
	const tol = 0.125
	for _, c := range []struct {
		equality bool
		x, at    float64 // of the constraint 2(x − at)
		want     bool
	}{
		{true, 1, 0.8125, true}, {true, 1, 0.8, false}, {true, 1, 1.1875, true}, {true, 1, 1.19, false},
		{true, 0, 0.0625, true}, {true, 0, 0.07, false}, {false, 1, 0.8125, true}, {false, 1, 0.8, false},
		{false, 1, 9, true}, {true, 1, math.NaN(), false},
	} {
		set := sided{zoo.Affine{A: [][]float64{{2}}, B: []float64{2 * c.at}}, c.equality}
		testkit.Equal(t, NewSolver(set, 0).arrived([]float64{c.x}, tol), c.want, "%+v: arrived", c)
	}
}

// sided is {2x = b}, or {2x ≤ b}.
type sided struct {
	zoo.Affine
	equality bool
}

func (s sided) Equalities() []string {
	if s.equality {
		return s.Affine.Equalities()
	}
	return nil
}

func (s sided) Inequalities() []string {
	if s.equality {
		return nil
	}
	return s.Affine.Equalities()
}

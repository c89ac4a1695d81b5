package zoo_test

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Components at points where they can be told without the code.
func TestValues(t *testing.T) {
	const θ = 1.9 // a chain that starts along x and turns by π − θ at its inner atom
	sin, cos := math.Sincos(math.Pi - θ)
	bent := []float64{0, 0, 0, 1, 0, 0, 1 + 1.5*cos, 0, 1.5 * sin}
	for _, c := range []struct {
		set  constraint.Set
		x    []float64
		want map[string]float64
	}{
		{testkit.Must(zoo.NewChain(3, []float64{1, 1.5}, []float64{θ}, true)), bent,
			map[string]float64{"bond[0]": 0, "bond[1]": 0, "angle[0]": 0, "anchor[0]": 0, "anchor[1]": 0,
				"anchor[2]": 0}},
		{testkit.Must(zoo.NewChain(3, []float64{0.5, 2}, nil, false)), bent,
			map[string]float64{"bond[0]": 0.5, "bond[1]": -0.5}},
		{testkit.Must(zoo.NewCurve([]zoo.Term{{2, 3, 1}, {-1, 0, 2}, {0.5, 0, 0}})), []float64{2, 3},
			map[string]float64{"curve": 2*8*3 - 9 + 0.5}},
		{testkit.Must(zoo.NewBox([]float64{-1, math.Inf(-1)}, []float64{2, 5})), []float64{0.5, 7},
			map[string]float64{"lower[0]": -1.5, "upper[0]": -1.5, "upper[1]": 2}},
		{testkit.Must(zoo.NewSimplex(2)), []float64{0.7, 0.5},
			map[string]float64{"sum": 0.2, "lower[0]": -0.7, "lower[1]": -0.5}},
		{testkit.Must(zoo.NewCap([]float64{0, 3}, 0.25)), []float64{0, 2},
			map[string]float64{"radius": 1, "height": -1.75}},
		{testkit.Must(zoo.NewStiefel(3, 2)), []float64{1, 2, 0, 1, 2, 0},
			map[string]float64{"gram[0,0]": 4, "gram[0,1]": 2, "gram[1,1]": 4}},
		{testkit.Must(zoo.NewOrthogonal(2, zoo.OrthogonalOptions{})), []float64{1, 2, 0, 1},
			map[string]float64{"gram[0,0]": 0, "gram[0,1]": 2, "gram[1,1]": 4}},
		{zoo.RedundantAxis{}, []float64{2, -1, 9}, map[string]float64{"x[0]": 2, "x[1]": -1, "redundant": 5}},
	} {
		names := constraint.Components(c.set)
		v := constraint.Values(c.set, c.x)
		if len(names) != len(c.want) {
			t.Errorf("%s: components %v", constraint.Name(c.set), names)
		}
		for i, name := range names {
			if want, ok := c.want[name]; !ok || math.Abs(v[i]-want) > 1e-14 {
				t.Errorf("%s: %s = %v, want %v", constraint.Name(c.set), name, v[i], want)
			}
		}
	}
}

package discover

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Arcs of any length about another centre are found by their centre and radius, though two decimals hide a square
// beside the rest.
func TestArcs(t *testing.T) {
	const n = 2000
	for _, arc := range []float64{1, 1.3, 1.9, 2.1, 2.5, 2.9, 4, 6.28} {
		u, x := rand.New(rand.NewPCG(1, 1)), make([]float64, 2*n)
		for i := range n {
			φ := 0.4 + arc*u.Float64()
			x[2*i], x[2*i+1] = math.Round(1e2*(100+80*math.Cos(φ)))/1e2, math.Round(1e2*80*math.Sin(φ))/1e2
		}
		r, err := Look(Table{X: x, N: n, D: 2})
		testkit.OK(t, err)
		got := r.Exact()
		if len(got) != 1 || got[0].Expr != "distance(x, [100, 0]) = 80" {
			t.Errorf("%v rad: %v", arc, fmt.Sprint(got))
		}
	}
}

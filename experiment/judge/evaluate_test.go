package judge

import (
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A sample may violate a constraint by the round-off of its terms, in large units, and by no more; the worst that
// does is named. With a support, derivatives are of each component's own coordinates.
func TestInfeasible(t *testing.T) {
	const big = 1e6
	circle := func(at int) string {
		return fmt.Sprintf(`{name: "r%d", expr: "x[%d]^2 + x[%d]^2 = 1e12"}`, at, at, at+1)
	}
	for dim, equalities := range map[int]string{2: circle(0), 4: circle(2) + ", " + circle(0), 40: circle(38) + ", " +
		circle(0)} {
		p, err := problem.Load(fmt.Appendf(nil, "set: {dim: %d, equality: [%s]}", dim, equalities), "p.yaml", "", nil)
		testkit.OK(t, err)
		proc := testkit.Must(p.Build())
		component := len(proc.Set.Equalities()) - 1 // of x[0] and x[1]
		x := make([]float64, 3*dim)
		for i, off := range []float64{1e-11, 1e-10, -2e-10} { // h is 2·10¹² times that, and its terms
			at := 0.3 + float64(i)
			r := big * (1 + 1e-4*off)
			x[i*dim], x[i*dim+1] = r*math.Cos(at), r*math.Sin(at)
		}
		if row, worst := infeasible(proc.Set, x, component, 1e-9); row != -1 {
			t.Errorf("dim %d: row %d has more than round-off, %v", dim, row, worst)
		}
		for i, off := range []float64{1e-11, 1e-10, -2e-10} {
			at := 0.3 + float64(i)
			r := big * (1 + off)
			x[i*dim], x[i*dim+1] = r*math.Cos(at), r*math.Sin(at)
		}
		if row, worst := infeasible(proc.Set, x, component, 1e-9); row != 2 || math.Abs(worst-400) > 1 {
			t.Errorf("dim %d: row %d has %v, want row 2 and 400", dim, row, worst)
		}
		if row, _ := infeasible(proc.Set, x, component, 401); row != -1 {
			t.Errorf("dim %d: row %d is above the limit", dim, row)
		}
	}
}

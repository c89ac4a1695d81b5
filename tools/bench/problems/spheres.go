package problems

import (
	"fmt"
	"strings"
)

// A lobe is a part of a mixture on a sphere: the density ∝ exp(κ at·x), with a weight.
type lobe struct {
	weight, κ float64
	at        []float64
}

// The mixtures of the suite.
var (
	lobes2 = []lobe{
		{0.3, 200, unit(0, 0, 1)}, {0.3, 80, unit(2, 0, -1)}, {0.2, 30, unit(-1, 2, -1)}, {0.2, 15, unit(-1, -2, -1)},
	}
	lobesWide = []lobe{{0.3, 10_000, unit(1, 0, 0)}, {0.35, 300, unit(-1, 3, 1)}, {0.35, 3, unit(-1, -2, 0)}}
	lobes9    = []lobe{
		{0.3, 60, unit(1, 0, 0, 0, 0, 0, 0, 0, 0, 0)}, {0.25, 40, unit(1, 1, 1, 0, 0, 0, 0, 0, 0, 0)},
		{0.2, 80, unit(0, 0, 0, -1, 0, 0, 0, 0, 0, 0)}, {0.15, 30, unit(0, 0, 0, 0, 1, -1, 0, 0, 0, 0)},
		{0.1, 50, unit(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1)},
	}
	lobes300 = quarters(300)
)

// quarters are four lobes in R^n, the k-th about the vector whose entries are equal in the
// k-th quarter and 0 elsewhere.
func quarters(n int) (out []lobe) {
	for k, w := range []float64{0.4, 0.3, 0.2, 0.1} {
		at := make([]float64, n)
		for j := k * n / 4; j < (k+1)*n/4; j++ {
			at[j] = 1
		}
		out = append(out, lobe{w, 900, unit(at...)})
	}
	return out
}

func spheres() []Problem {
	// The cosines to the centres; of the narrow lobes the logarithm of the distance, in which
	// their law is as wide as that of the wide one.
	narrow := ""
	for k, l := range lobesWide[:2] {
		narrow += fmt.Sprintf("\n- {name: \"log distance[%d]\", expr: \"log(distance(x, %s))\"}", k, literal(l.at))
	}
	return []Problem{
		mixture("s2", 4000, lobes2, cosines(lobes2), "sphere S², four modes of width 4 to 15 degrees"),
		mixture("s2-widths", 4000, lobesWide, narrow+cosines(lobesWide[2:]),
			"sphere S², three modes of width 0.6, 3 and 35 degrees"),
		mixture("s9", 4000, lobes9, cosines(lobes9), "sphere S⁹, five modes"),
		mixture("rows-200000", 200_000, lobes2, cosines(lobes2), "the four modes on S², 200 000 rows"),
		mixture("d300", 4000, lobes300, `
- {name: "quarter[k]", for: "k in 0..3", expr: "sum(x[75*k:75*k+75])/sqrt(75)"}
- {name: x, expr: "x[0]"}
- {name: length of a half, expr: "norm(x[0:150])"}`, "sphere in R^300, four modes"),
	}
}

func mixture(name string, rows int, lobes []lobe, observe, about string) Problem {
	n := len(lobes[0].at)
	weights := make([]float64, len(lobes))
	for k, l := range lobes {
		weights[k] = l.weight
	}
	return Problem{
		Name: name, Dim: n, Rows: rows, About: about, observe: observe,
		set:     fmt.Sprintf("{kind: sphere, dim: %d}", n),
		formula: fmt.Sprintf("\ndim: %d\nequality: [{name: sphere, expr: \"norm(x) = 1\"}]", n),
		row: func(x []float64, d *dice) {
			l := lobes[d.of(weights...)]
			d.fisher(x, l.at, l.κ)
		},
	}
}

// cosines observes the cosine to each centre.
func cosines(lobes []lobe) string {
	var b strings.Builder
	for k, l := range lobes {
		fmt.Fprintf(&b, "\n- {name: \"cosine[%d]\", expr: \"dot(x, %s)\"}", k, literal(l.at))
	}
	return b.String()
}

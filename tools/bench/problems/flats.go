package problems

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

func flats() []Problem {
	return []Problem{{
		Name: "simplex", Dim: 5, Rows: 4000,
		About: "compositions of five parts, a mixture of three Dirichlet laws, some parts often near 0",
		set:   "{kind: simplex, dim: 5}",
		formula: `
dim: 5
equality: [{name: sum, expr: "sum(x) = 1"}]
inequality: [{name: part, expr: "x >= [0, 0, 0, 0, 0]"}]`,
		observe: "\n- {name: \"part[j]\", for: \"j in 0..4\", expr: \"x[j]\", range: [0, 1]}",
		row: func(x []float64, d *dice) {
			d.dirichlet(x, compositions[d.of(compositionShare...)]...)
		},
	}, {
		Name: "box", Dim: 4, Rows: 4000,
		About: "box in R⁴, correlated normal coordinates cut at its walls",
		set: fmt.Sprintf("{kind: box, lower: %s, upper: %s}", literal(boxed.lower[:]),
			literal(boxed.upper[:])),
		formula: fmt.Sprintf(`
dim: 4
inequality:
  - {name: lower, expr: "x >= %s"}
  - {name: upper, expr: "x <= %s"}`, literal(boxed.lower[:]), literal(boxed.upper[:])),
		observe: `
- {name: "x[j]", for: "j in 0..3", expr: "x[j]"}
- {name: "difference[j]", for: "j in 0..2", expr: "x[j] - x[j+1]"}`,
		row: func(x []float64, d *dice) {
			for ok := false; !ok; {
				ok = true
				var z [4]float64
				d.normals(z[:])
				e := 0.0
				for j := range x { // a stationary chain: correlations ρ^|i−j|
					if e = boxed.ρ*e + math.Sqrt(1-boxed.ρ*boxed.ρ)*z[j]; j == 0 {
						e = z[0]
					}
					x[j] = boxed.mean[j] + boxed.sd[j]*e
					ok = ok && boxed.lower[j] <= x[j] && x[j] <= boxed.upper[j]
				}
			}
		},
	}, {
		Name: "affine", Dim: 6, Rows: 4000,
		About: "two linear equations in R⁶, without bounds; three normal laws, one of them wide",
		set:   "{kind: affine, a: [[1, 1, 1, 0, 0, 0], [0, 0, 1, -1, 2, 0]], b: [1, 0]}",
		observe: `
- {name: "x[j]", for: "j in 0..5", expr: "x[j]"}
- {name: spread, expr: "log(norm(x))"}`,
		row: func(x []float64, d *dice) {
			m := clouds[d.of(0.5, 0.35, 0.15)]
			var z [4]float64
			d.normals(z[:])
			for k, j := range [4]int{0, 3, 4, 5} {
				x[j] = m.mean[k] + m.sd*z[k]
			}
			x[2] = x[3] - 2*x[4]
			x[1] = 1 - x[0] - x[2]
		},
	}}
}

// The mixture on the simplex.
var (
	compositions     = [][]float64{{8, 3, 1, 1, 2}, {1, 1, 6, 4, 2}, {0.8, 5, 2, 6, 0.8}}
	compositionShare = []float64{0.4, 0.35, 0.25}
)

// boxed is the normal law that is cut: the correlation of coordinates i and j is ρ^|i−j|.
var boxed = struct {
	lower, upper, mean, sd [4]float64
	ρ                      float64
}{[4]float64{0, 0, -1, 0}, [4]float64{1, 1, 2, 3}, [4]float64{0.3, 0.8, 0.5, 1}, [4]float64{0.4, 0.4, 0.8, 1}, 0.7}

// precision returns the inverse of the normal law's correlations.
func precision() *mat.Dense {
	c := mat.NewDense(4, 4, nil)
	for i := range 4 {
		for j := range 4 {
			c.Set(i, j, math.Pow(boxed.ρ, math.Abs(float64(i-j))))
		}
	}
	var inverse mat.Dense
	if err := inverse.Inverse(c); err != nil {
		panic("problems: " + err.Error()) // constants
	}
	return &inverse
}

// clouds are the parts of the mixture on the affine set, in the coordinates 0, 3, 4 and 5.
var clouds = []struct {
	mean [4]float64
	sd   float64
}{{[4]float64{0, 0, 0, 0}, 0.3}, {[4]float64{2, -1, 1, 0.5}, 0.5}, {[4]float64{-1, 2, 0, -2}, 2}}

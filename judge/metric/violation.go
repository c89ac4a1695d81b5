package metric

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/landing-diffusion/landing/constraint"
)

// Violation says how far n samples are from satisfying one component of a constraint, in the units of its values.
// WorstSample is the first sample that attains Worst.
type Violation struct {
	Component   string `json:"name"`
	Worst       Float  `json:"worst"`
	WorstSample int    `json:"worst_sample"`
	Mean        Float  `json:"mean"`
	Median      Float  `json:"median"`
	Q90         Float  `json:"q90"`
	Q99         Float  `json:"q99"`
}

// Violations measures constraint values, row-major n×len(names) with one row for each sample. The first equality
// columns are components of h = 0, whose violation is |h|; the others are components of g ≤ 0, with violation max(g,
// 0). A value that is NaN is violated by +Inf. There must be at least one sample.
func Violations(names []string, values []float64, n int, equality int) []Violation {
	c := len(names)
	if n < 1 || len(values) != n*c {
		panic(fmt.Sprintf("metric: %d constraint values for %d samples of %d components", len(values), n, c))
	}
	excess := slices.Clone(values)
	Excess(excess, c, equality)
	out := make([]Violation, c)
	v := make([]float64, n)
	for j, name := range names {
		worst := 0
		for i := range v {
			v[i] = excess[i*c+j]
			if v[i] > v[worst] {
				worst = i
			}
		}
		out[j] = Violation{Component: name, Worst: Float(v[worst]), WorstSample: worst}
		slices.Sort(v)
		out[j].Mean = Float(floats.Sum(v) / float64(n))
		out[j].Median = Float(quantile(v, 0.5))
		out[j].Q90 = Float(quantile(v, 0.9))
		out[j].Q99 = Float(quantile(v, 0.99))
	}
	return out
}

// Excess replaces constraint values, row-major in rows of c, by how far each is from satisfying its constraint
// (constraint.Excess); the first equality columns are components of h = 0, the others of g ≤ 0.
func Excess(values []float64, c, equality int) {
	if equality < 0 || equality > c || c > 0 && len(values)%c != 0 || c == 0 && len(values) > 0 {
		panic(fmt.Sprintf("metric: %d constraint values of %d components, %d of them equalities",
			len(values), c, equality))
	}
	for i, v := range values {
		values[i] = constraint.Excess(v, i%c < equality)
	}
}

// MeanLargest returns the mean over rows of c numbers of each row's largest; NaN
// without rows, and 0 without numbers in them: a set without components asks nothing.
func MeanLargest(x []float64, c int) float64 {
	if c == 0 {
		return 0
	}
	sum, n := 0.0, rowsOf("MeanLargest", x, c)
	for i := range n {
		sum += slices.Max(x[i*c : (i+1)*c])
	}
	return sum / float64(n)
}

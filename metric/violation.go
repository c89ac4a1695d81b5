package metric

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Violation says how far n samples are from satisfying one component of a
// constraint, in the units of its values. WorstSample is the first sample
// that attains Worst.
type Violation struct {
	Component                     string
	Worst, Mean, Median, Q90, Q99 float64
	WorstSample                   int
}

// Violations measures constraint values, row-major n×len(names) with one row
// for each sample. The first equality columns are components of h = 0, whose
// violation is |h|; the others are components of g ≤ 0, with violation
// max(g, 0). A value that is NaN is violated by +Inf. There must be at least
// one sample.
func Violations(names []string, values []float64, n int, equality int) []Violation {
	c := len(names)
	if n < 1 || len(values) != n*c || equality < 0 || equality > c {
		panic(fmt.Sprintf("metric: %d constraint values for %d samples of %d components, %d of them equalities",
			len(values), n, c, equality))
	}
	out := make([]Violation, c)
	v := make([]float64, n)
	for j, name := range names {
		worst := 0
		for i := range v {
			v[i] = violation(values[i*c+j], j < equality)
			if v[i] > v[worst] {
				worst = i
			}
		}
		out[j] = Violation{Component: name, Worst: v[worst], WorstSample: worst}
		slices.Sort(v)
		out[j].Mean = floats.Sum(v) / float64(n)
		out[j].Median = quantile(v, 0.5)
		out[j].Q90 = quantile(v, 0.9)
		out[j].Q99 = quantile(v, 0.99)
	}
	return out
}

// violation returns |value| of an equality, max(value, 0) of an inequality.
func violation(value float64, equality bool) float64 {
	switch {
	case math.IsNaN(value):
		return math.Inf(1)
	case equality:
		return math.Abs(value)
	default:
		return max(value, 0)
	}
}

package evidence

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/metric"
)

// OnWalls returns how many rows of data, n×d, lie on the edge of each inequality to rounding: to first order within
// 10⁻¹⁰ of the spread of a coordinate. A law with a density on Σ has no such rows, so that no sample of a process is
// where they are. An inequality without a gradient there has no edge.
func OnWalls(set constraint.Set, data []float64) []int {
	const onEdge, looked = 1e-10, 16
	m, l, d := len(set.Equalities()), len(set.Inequalities()), set.Dim()
	on := make([]int, l)
	if l == 0 || len(data) == 0 {
		return on
	}
	var f Feasibility
	f.scales(data, d, set.Capabilities().Held)
	c, n, values := m+l, len(data)/d, constraint.Values(set, data)
	at, val, jac := set.NewEvaluator(1), make([]float64, c), make([]float64, c*d)
	for j := range l {
		// Rows that may be: where g is small beside what it is at others.
		size := 0.0
		for i := range n {
			if v := math.Abs(values[i*c+m+j]); v-v == 0 {
				size = max(size, v)
			}
		}
		var slopes []float64
		for i := 0; i < n && len(slopes) < looked; i++ {
			if math.Abs(values[i*c+m+j]) <= 1e-6*size {
				at.Jacobians(val, jac, data[i*d:(i+1)*d], 1)
				slopes = append(slopes, dense.Norm(jac[(m+j)*d:(m+j+1)*d]))
			}
		}
		slope := metric.Median(slopes)
		if !(slope > 0) || math.IsInf(slope, 1) {
			continue
		}
		for i := range n {
			if math.Abs(values[i*c+m+j]) <= onEdge*slope*f.Spread {
				on[j]++
			}
		}
	}
	return on
}

// Walled reports whether so many of n rows on an edge are a part of the law.
func Walled(on, n int) bool {
	const fewest, least = 5, 0.01
	return on >= fewest && float64(on) >= least*float64(n)
}

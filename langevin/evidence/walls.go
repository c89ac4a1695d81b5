package evidence

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/judge/metric"
)

// OnWalls returns how many rows of data, n×d, of so many that were looked at, lie on the edge of each inequality to
// rounding: to first order within 10⁻¹⁰ of the spread of a coordinate. A law with a density on Σ has no such rows, so
// that no sample of a process is where they are. An inequality without a gradient there has no edge.
func OnWalls(set constraint.Set, data []float64) (on []int, looked int) {
	const onEdge, slopesOf, most, block = 1e-10, 16, 20_000, 128
	m, l, d := len(set.Equalities()), len(set.Inequalities()), set.Dim()
	on = make([]int, l)
	n := len(data) / d
	if l == 0 || n == 0 {
		return on, 0
	}
	var f Feasibility
	f.scales(data, d, set.Capabilities().Held)
	c, step := m+l, (n+most-1)/most
	several, one := set.NewEvaluator(block), set.NewEvaluator(1)
	x, values := make([]float64, 0, block*d), make([]float64, block*c)
	each := func(see func(row []float64, g []float64)) { // all rows that are looked at
		for at := 0; at < n; at += block * step {
			x = x[:0]
			for i := at; i < min(n, at+block*step); i += step {
				x = append(x, data[i*d:(i+1)*d]...)
			}
			k := len(x) / d
			several.Values(values[:k*c], x, k)
			for i := range k {
				see(x[i*d:(i+1)*d], values[i*c+m:(i+1)*c])
			}
		}
	}
	size, slopes := make([]float64, l), make([][]float64, l)
	each(func(_, g []float64) {
		looked++
		for j, v := range g {
			if v = math.Abs(v); v-v == 0 {
				size[j] = max(size[j], v)
			}
		}
	})
	val, jac := make([]float64, c), make([]float64, c*d)
	each(func(row, g []float64) { // where g is small beside what it is at others
		known := false
		for j, v := range g {
			if math.Abs(v) > 1e-6*size[j] || len(slopes[j]) == slopesOf {
				continue
			}
			if !known {
				one.Jacobians(val, jac, row, 1)
				known = true
			}
			slopes[j] = append(slopes[j], dense.Norm(jac[(m+j)*d:(m+j+1)*d]))
		}
	})
	edge := make([]float64, l)
	for j := range edge {
		if edge[j] = onEdge * f.Spread * metric.Median(slopes[j]); !(edge[j] > 0) || math.IsInf(edge[j], 1) {
			edge[j] = -1
		}
	}
	each(func(_, g []float64) {
		for j, v := range g {
			if math.Abs(v) <= edge[j] {
				on[j]++
			}
		}
	})
	return on, looked
}

// Walled reports whether so many of n rows on an edge are a part of the law.
func Walled(on, n int) bool {
	const fewest, least = 5, 0.01
	return on >= fewest && float64(on) >= least*float64(n)
}

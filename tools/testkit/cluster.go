package testkit

import (
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/dense"
)

// Cluster returns n points of the unit sphere of R^d around its first axis, a tenth of it
// wide; every other one around the opposite point, if both.
func Cluster(n, d int, both bool) []float64 {
	x := make([]float64, n*d)
	for i := range n {
		row := x[i*d : (i+1)*d]
		keyed.New(7, keyed.Probe, 1).Normals(row, uint64(i), 0)
		for j := range row {
			row[j] *= 0.1
		}
		row[0]++
		if both && i%2 == 1 {
			row[0] -= 2
		}
		size := dense.Norm(row)
		for j := range row {
			row[j] /= size
		}
	}
	return x
}

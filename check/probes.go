package check

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/keyed"
)

const (
	quadratic  = 6  // directions from second moments, at most
	iterations = 20 // of the subspace
)

// directions returns unit vectors of R^d along which the points x (n×d) differ from
// u: that between the means first, then the eigenvectors of the largest
// eigenvalues, by size, of the difference of second moments about the mean of u.
// Modes whose shifts cancel in the mean show there. The vectors are approximate
// (subspace iteration): tests along them are valid all the same.
func directions(x, u []float64, d int) [][]float64 {
	centre := make([]float64, d)
	add(centre, u, 1)
	x, u = minus(x, centre), minus(u, centre)
	mean := make([]float64, d)
	add(mean, x, 1)

	k := min(quadratic, d)
	basis, next := make([][]float64, k), make([][]float64, k)
	for i := range basis {
		basis[i], next[i] = make([]float64, d), make([]float64, d)
		keyed.SubspaceStart.Stream(0, 0).Normals(basis[i], uint64(i), 0)
	}
	for range iterations {
		orthonormalise(basis)
		for i, v := range basis {
			clear(next[i])
			moment(next[i], x, v, 1)
			moment(next[i], u, v, -1)
		}
		basis, next = next, basis
	}
	orthonormalise(basis)
	out := append([][]float64{mean}, basis...)
	orthonormalise(out[:1])
	return slices.DeleteFunc(out, func(v []float64) bool { return dense.Norm(v) == 0 })
}

// add adds c times the mean of the rows of x to dst.
func add(dst, x []float64, c float64) {
	d := len(dst)
	for i := 0; i < len(x); i += d {
		dense.AddScaled(dst, dst, c*float64(d)/float64(len(x)), x[i:i+d])
	}
}

func minus(x, centre []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v - centre[i%len(centre)]
	}
	return out
}

// moment adds c times (mean x_i x_iᵀ) v to dst.
func moment(dst, x, v []float64, c float64) {
	d := len(v)
	for i := 0; i < len(x); i += d {
		row := x[i : i+d]
		dense.AddScaled(dst, dst, c*float64(d)/float64(len(x))*dense.Dot(row, v), row)
	}
}

// orthonormalise is the modified Gram–Schmidt process; a vector that depends on
// those before it becomes 0.
func orthonormalise(v [][]float64) {
	for i, a := range v {
		was := dense.Norm(a)
		dense.Reject(a, v[:i], nil)
		size := dense.Norm(a)
		for j := range a {
			if size > 1e-12*was {
				a[j] /= size
			} else {
				a[j] = 0
			}
		}
	}
}

// project returns the rows of x along v.
func project(x, v []float64) []float64 {
	out := make([]float64, 0, len(x)/len(v))
	for i := 0; i < len(x); i += len(v) {
		out = append(out, dense.Dot(x[i:i+len(v)], v))
	}
	return out
}

func meanSD(x []float64) (mean, sd float64) { return stat.MeanStdDev(x, nil) }

// distributionTest returns the largest distance D of the distribution functions of a and
// b, which it sorts, and a bound of its p-value, 2 exp(−2D² nm/(n+m)): the first
// term of Kolmogorov's alternating series. D is at most the total variation
// distance of the laws.
func distributionTest(a, b []float64) (D, p float64) {
	slices.Sort(a)
	slices.Sort(b)
	D = stat.KolmogorovSmirnov(a, nil, b, nil)
	n, m := float64(len(a)), float64(len(b))
	return D, min(1, 2*math.Exp(-2*D*D*n*m/(n+m)))
}

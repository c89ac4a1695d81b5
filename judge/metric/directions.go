package metric

import (
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/dense"
)

const (
	quadratic  = 6  // directions from second moments, at most
	iterations = 20 // of the subspace
)

// Directions returns unit vectors of R^d along which the points x (n×d) differ from u: that between the means first,
// then the eigenvectors of the largest eigenvalues, by size, of the difference of second moments about the mean of u.
// Modes whose shifts cancel in the mean show there. The vectors are approximate (subspace iteration): tests along them
// are valid all the same.
func Directions(x, u []float64, d int) [][]float64 {
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

// orthonormalise is the modified Gram–Schmidt process; a vector that depends on those before it becomes 0.
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

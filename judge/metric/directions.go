package metric

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

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

const (
	principalLeast = 1e-9 // variance of a direction, as a part of the first's
	principalSide  = 1024 // of the largest matrix whose eigenvectors are taken
	principalRows  = 512  // that are taken where there are more rows and coordinates than that
)

// Principal returns the mean of rows of d numbers, at most so many leading directions of theirs, of unit length and
// with the largest entry positive, and the directions' share of the variance. Directions in which the rows vary by less
// than 1e-9 of the first's variance are left out. They are eigenvectors of the covariance or, where there are fewer
// rows than coordinates, come from those of the rows' products (XXᵀu = λu gives Xᵀu). Of more than 1024 of both, 512
// rows are taken, evenly.
func Principal(rows []float64, d, most int) (mean []float64, axes [][]float64, share float64) {
	n := len(rows) / d
	mean = make([]float64, d)
	for i := range n {
		floats.Add(mean, rows[i*d:(i+1)*d])
	}
	floats.Scale(1/float64(max(n, 1)), mean)
	take, byRows := n, n < d
	if min(n, d) > principalSide {
		take, byRows = principalRows, true
	}
	if take == 0 {
		return mean, nil, 0
	}
	x := mat.NewDense(take, d, nil)
	for i := range take {
		floats.SubTo(x.RawRowView(i), rows[i*n/take*d:][:d], mean)
	}
	var products mat.SymDense
	if byRows {
		products.SymOuterK(1, x)
	} else {
		products.SymOuterK(1, x.T())
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(&products, true) {
		return mean, nil, 0
	}
	values := eigen.Values(nil) // ascending
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	total := floats.Sum(values)
	for k := range min(most, len(values)) {
		at := len(values) - 1 - k
		if !(values[at] > principalLeast*values[len(values)-1]) {
			break
		}
		v := mat.Col(nil, at, &vectors)
		if byRows {
			var y mat.VecDense
			y.MulVec(x.T(), mat.NewVecDense(len(v), v))
			v = y.RawVector().Data
		}
		floats.Scale(1/floats.Norm(v, 2), v)
		if big := slices.MaxFunc(v, larger); big < 0 {
			floats.Scale(-1, v)
		}
		axes = append(axes, v)
		share += values[at] / total
	}
	return mean, axes, share
}

// Project returns ⟨x − mean, v⟩.
func Project(x, mean, v []float64) (y float64) {
	for j, w := range v {
		y += (x[j] - mean[j]) * w
	}
	return y
}

func larger(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) }

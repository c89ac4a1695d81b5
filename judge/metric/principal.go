package metric

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

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

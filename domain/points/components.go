package points

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/metric"
)

const (
	most    = 4    // components
	least   = 1e-9 // variance of one, as a part of the first's
	maxRows = 512  // training rows that components are fitted to where there are more coordinates
)

// Components returns the leading principal components of the training rows as
// observables: at most four, those that vary. They are nil if the rows do not vary.
func Components(train []float64, d int) *domain.Observables {
	mean, axes, share := principal(train, d)
	o := &domain.Observables{}
	for k := range axes {
		o.List = append(o.List, domain.Observable{
			Name: fmt.Sprintf("principal component %d", k+1), File: fmt.Sprintf("component-%d", k+1),
			Bins: metric.Bins{N: domain.DefaultBins},
		})
	}
	if len(axes) == 0 {
		return nil
	}
	o.Note = fmt.Sprintf("Principal components of the training rows, %.3g %% of their variance in all; "+
		"observe in the problem file names numbers that say more.", 100*share)
	o.Values = func(dst, x []float64, n int) {
		for i := range n {
			for k, v := range axes {
				dst[i*len(axes)+k] = project(x[i*d:(i+1)*d], mean, v)
			}
		}
	}
	return o
}

// project returns ⟨x − mean, v⟩.
func project(x, mean, v []float64) (y float64) {
	for j, w := range v {
		y += (x[j] - mean[j]) * w
	}
	return y
}

// principal returns the mean of the rows, their leading directions of unit length, the
// largest entry of each positive, and the directions' share of the variance. With
// fewer coordinates than maxRows they are eigenvectors of the covariance; with more,
// of the products of at most so many rows, taken evenly (XXᵀu = λu gives Xᵀu).
func principal(rows []float64, d int) (mean []float64, axes [][]float64, share float64) {
	n := len(rows) / d
	mean = make([]float64, d)
	for i := range n {
		floats.Add(mean, rows[i*d:(i+1)*d])
	}
	floats.Scale(1/float64(max(n, 1)), mean)
	take := n
	if d > maxRows {
		take = min(n, maxRows)
	}
	if take == 0 {
		return mean, nil, 0
	}
	x := mat.NewDense(take, d, nil)
	for i := range take {
		floats.SubTo(x.RawRowView(i), rows[i*n/take*d:][:d], mean)
	}
	var products mat.SymDense
	if d <= maxRows {
		products.SymOuterK(1, x.T())
	} else {
		products.SymOuterK(1, x)
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
		if !(values[at] > least*values[len(values)-1]) {
			break
		}
		v := mat.Col(nil, at, &vectors)
		if d > maxRows {
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

// larger compares sizes.
func larger(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) }

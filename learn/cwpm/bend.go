package cwpm

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A windowed target is shorter where Σ bends more: the directions that a path took have turned, momentum has been lost
// to the normals, and noise has spread over a curved ball. To the first order these are corrections by the square of
// the second fundamental form, II² (geometry.Curvature), in units of the window's length w: by its trace ‖II‖² in all
// directions, by itself along those that bend. The regressors
//
//	r b  and  w²r II² b,   r = 1/(1 + w²‖II‖²),   b = v, p_j, p̃
//
// hold both and stay bounded where w is no longer short; at x_{k+1}, which is an input of the network.
//
// The forms of a set in up to three dimensions are remembered by cells of space, a part of a window wide: that of a
// cell is that of the level set of h through its centre, whoever asks first. In more dimensions no cell is met twice;
// there ‖II‖² is looked at along v alone, ‖II(v, v)‖²/‖v‖⁴, which is one Hessian product, and II² b is left out. On a
// set without Hessian products, and where geodesics are known, as on spheres and SO(n), which bend alike everywhere,
// there is nothing to correct: r = 0.
type bends struct {
	d         int
	curvature *geometry.Curvature
	normal    []float64 // rows×d: II(v, v), in more than three dimensions

	// Up to three dimensions: the cells met so far, by their numbers along the axes.
	size    float64
	limit   int // of cells
	index   map[[rememberDim]int32]int
	squares []float64 // of each cell d×d
	asked   []int     // rows: the cells of a block
	fresh   []float64 // centres of those not met before
	block   geometry.Geometry
}

const (
	rememberDim = 3       // largest dimension in which forms are remembered
	cellShare   = 0.25    // of a window's length
	cellBlock   = 56      // cells whose forms are computed at once
	maxCells    = 1 << 19 // after that many all are forgotten: 60 MB
	farCell     = 1 << 30 // largest number of a cell
)

// newBends makes room for rows points of the set s and windows of that length; nil if there is nothing to correct.
func newBends(s constraint.Set, rows int, length float64) *bends {
	if len(s.Equalities()) == 0 || s.NewEvaluator(1).Geodesic != nil || geometry.CanCurve(s) != nil {
		return nil
	}
	d := s.Dim()
	b := &bends{d: d}
	if d > rememberDim {
		b.curvature, _ = geometry.NewCurvature(s, rows)
		b.normal = make([]float64, rows*d)
		return b
	}
	s = constraint.EqualitiesOf(s)
	b.curvature, _ = geometry.NewCurvature(s, cellBlock)
	b.block, b.size, b.asked = geometry.New(s, cellBlock, 0), cellShare*length, make([]int, rows)
	b.index, b.limit = map[[rememberDim]int32]int{}, maxCells
	return b
}

// along writes b_i = ‖II(v, v)‖²/‖v‖² at the points of g, in more than three dimensions.
func (b *bends) along(dst []float64, g geometry.Geometry, v []float64) {
	d := b.d
	b.curvature.Momentum(b.normal, g, v, 0)
	for i := range dst {
		dst[i] = 0
		if s := dense.Dot(v[i*d:(i+1)*d], v[i*d:(i+1)*d]); s > 0 {
			dst[i] = dense.Dot(b.normal[i*d:(i+1)*d], b.normal[i*d:(i+1)*d]) / s
		}
	}
}

// ask finds the cells of n points x; square then has their forms. It allocates while cells are new.
func (b *bends) ask(x []float64, n int) {
	if len(b.index) >= b.limit {
		clear(b.index)
		b.squares = b.squares[:0]
	}
	d := b.d
	known := len(b.squares) / (d * d)
	b.fresh = b.fresh[:0]
	for i := range n {
		var key [rememberDim]int32
		for j, v := range x[i*d : (i+1)*d] {
			q := math.Floor(v / b.size)
			if !(math.Abs(q) < farCell) {
				q = farCell
			}
			key[j] = int32(q)
		}
		at, ok := b.index[key]
		if !ok {
			at = known + len(b.fresh)/d
			b.index[key] = at
			for _, q := range key[:d] {
				b.fresh = append(b.fresh, (float64(q)+0.5)*b.size)
			}
		}
		b.asked[i] = at
	}
	for lo := 0; lo < len(b.fresh); lo += cellBlock * d {
		b.meet(b.fresh[lo:min(lo+cellBlock*d, len(b.fresh))])
	}
}

// meet appends II² at the points x; 0 where Σ has no tangent.
func (b *bends) meet(x []float64) {
	d := b.d
	n, from := len(x)/d, len(b.squares)
	b.squares = append(b.squares, make([]float64, n*d*d)...)
	if b.block.At(x, n) == nil {
		b.curvature.Square(b.squares[from:], b.block)
		return
	}
	for i := range n {
		if b.block.At(x[i*d:], 1) == nil {
			b.curvature.Square(b.squares[from+i*d*d:], b.block)
		}
	}
}

// square returns II² of the cell of point i, d×d.
func (b *bends) square(i int) []float64 {
	at := b.asked[i] * b.d * b.d
	return b.squares[at : at+b.d*b.d]
}

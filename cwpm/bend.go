package cwpm

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A windowed target is shorter where Σ bends more: the directions that a path took have
// turned, momentum has been lost to the normals, and noise has spread over a curved
// ball. To the first order these are corrections by the square of the second
// fundamental form, II² (geometry.Curvature), in units of the window's length w: by its
// trace ‖II‖² in all directions, by itself along those that bend. The regressors
//
//	r b  and  w²r II² b,   r = 1/(1 + w²‖II‖²),   b = v, p_j, p̃
//
// hold both and stay bounded where w is no longer short; at x_{k+1}, which is an input of
// the network.
//
// The forms of a set in up to three dimensions are remembered by cells of space, a small
// part of a window wide: that of a cell is that of the level set of h through
// its centre, whoever asks first. In more dimensions no cell is met twice; there ‖II‖² is
// looked at along v alone, ‖II(v, v)‖²/‖v‖⁴, which is one Hessian product, and
// II² b is left out. On a set without Hessian products, and where geodesics are known, as
// on spheres and SO(n), which bend alike everywhere, there is nothing to correct: r = 0.
type bends struct {
	d, c      int
	curvature *geometry.Curvature
	normal    []float64 // rows×d: II(v, v), in more than three dimensions

	// Up to three dimensions: one point, and the cells, a direct-mapped cache.
	point   geometry.Geometry
	size    float64
	centre  []float64
	key     []cell
	squares []float64 // d×d each
}

// A cell of space, by its numbers along the axes; those that are not used are 0.
type cell struct {
	at    [3]int32
	taken bool
}

const (
	rememberDim = 3       // largest dimension in which forms are remembered
	cellsLog    = 16      // log₂ of the cells kept
	cellShare   = 1. / 8  // of a window's length
	farCell     = 1 << 30 // largest number of a cell
)

// newBends makes room for rows points of a process's set, s, and windows of that length; nil if
// there is nothing to correct.
func newBends(s constraint.Set, rows int, length float64) *bends {
	if len(s.Equalities()) == 0 || s.NewEvaluator(1).Geodesic != nil || geometry.CanCurve(s) != nil {
		return nil
	}
	d := s.Dim()
	b := &bends{d: d, c: len(constraint.Components(s))}
	if d > rememberDim {
		b.curvature, _ = geometry.NewCurvature(s, rows)
		b.normal = make([]float64, rows*d)
		return b
	}
	s = constraint.EqualitiesOf(s)
	b.curvature, _ = geometry.NewCurvature(s, 1)
	b.point, b.size, b.centre = geometry.New(s, 1, 0), cellShare*length, make([]float64, d)
	b.key, b.squares = make([]cell, 1<<cellsLog), make([]float64, d*d<<cellsLog)
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

// square returns II² of the cell of x, d×d, until the next call; it is 0 where Σ has no tangent.
func (b *bends) square(x []float64) []float64 {
	var c cell
	c.taken = true
	hash := uint64(0)
	for j, v := range x {
		q := math.Floor(v / b.size)
		if !(math.Abs(q) < farCell) {
			q = farCell
		}
		c.at[j] = int32(q)
		b.centre[j] = (q + 0.5) * b.size
		hash = (hash ^ uint64(uint32(c.at[j]))) * 0x9e3779b97f4a7c15
		hash ^= hash >> 32
	}
	slot := int(hash >> (64 - cellsLog))
	out := b.squares[slot*b.d*b.d : (slot+1)*b.d*b.d]
	if b.key[slot] == c {
		return out
	}
	b.key[slot] = c
	if b.point.At(b.centre, 1) != nil {
		clear(out)
		return out
	}
	b.curvature.Square(out, b.point)
	return out
}

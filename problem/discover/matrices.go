package discover

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/internal/dense"
)

// wholeMatrices finds rows that are matrices with orthonormal rows or columns, but for a
// factor: by the shape of a row, or else by every way to make a matrix of its numbers.
func (s *search) wholeMatrices() {
	var shapes [][2]int
	if len(s.Shape) == 2 {
		shapes = append(shapes, [2]int{s.Shape[0], s.Shape[1]})
	} else {
		for n := 2; n <= s.D/2; n++ {
			if s.D%n == 0 {
				shapes = append(shapes, [2]int{n, s.D / n})
			}
		}
		// Square ones first, then those nearest to it.
		slices.SortStableFunc(shapes, func(a, b [2]int) int { return abs(a[0]-a[1]) - abs(b[0]-b[1]) })
	}
	for _, v := range shapes {
		n, p := v[0], v[1]
		if n < 2 || p < 2 {
			continue
		}
		m := &Orthogonal{N: n, P: p, Stride: p, Columns: p < n}
		if s.orthonormal(m) && s.take(m) {
			return
		}
	}
}

func abs(n int) int { return max(n, -n) }

// matrixBlocks finds 3×3 rotations among the coordinates, one after the other or as the first
// columns of matrices of poses.
func (s *search) matrixBlocks() {
	strides := []int{3, 4}
	if n := len(s.Shape); n > 1 && (s.Shape[n-1] == 3 || s.Shape[n-1] == 4) {
		strides = s.Shape[n-1:]
	}
	for _, stride := range strides {
		for at := 0; at+2*stride+3 <= s.D; at++ {
			m := &Orthogonal{At: at, N: 3, P: 3, Stride: stride}
			if s.D == 9 || !s.orthonormal(m) {
				continue
			}
			if s.take(m) {
				at += 2*stride + 2
			}
		}
	}
}

// vector returns row i of a matrix of which rows are orthonormal, or column i.
func (m *Orthogonal) vector(dst, x []float64, i int) {
	for k := range dst {
		if m.Columns {
			dst[k] = x[m.At+k*m.Stride+i]
		} else {
			dst[k] = x[m.At+i*m.Stride+k]
		}
	}
}

// size returns how many vectors are orthonormal, and of how many numbers.
func (m *Orthogonal) size() (count, length int) {
	if m.Columns {
		return m.P, m.N
	}
	return m.N, m.P
}

// orthonormal reports whether a matrix nearly has orthonormal vectors, of one length, in a few
// rows; it tells the length.
func (s *survey) orthonormal(m *Orthogonal) bool {
	count, length := m.size()
	if count > length {
		return false
	}
	u, v := make([]float64, length), make([]float64, length)
	m.Scale = 0
	bad := 0
rows:
	for _, i := range some(s.fit, screened) {
		for a := range count {
			m.vector(u, s.row(i), a)
			m.Scale = cmp.Or(m.Scale, dense.Norm(u))
			for b := range a + 1 {
				m.vector(v, s.row(i), b)
				want := 0.0
				if a == b {
					want = m.Scale * m.Scale
				}
				if !(math.Abs(dense.Dot(u, v)-want) <= 3*Near*m.Scale*m.Scale) {
					bad++
					continue rows
				}
			}
		}
	}
	return bad <= 2 && m.Scale > 0
}

// take offers the equations of a matrix, and remembers it if they hold to round-off.
func (s *search) take(m *Orthogonal) bool {
	count, length := m.size()
	size := make([]float64, 0, len(s.fit)*count)
	u := make([]float64, length)
	for _, i := range s.fit {
		for a := range count {
			m.vector(u, s.row(i), a)
			size = append(size, dense.Norm(u))
		}
	}
	slices.Sort(size)
	m.Scale = s.settled(size).round
	var out []*Relation
	for a := range count {
		for b := a; b < count; b++ {
			value, name, equals := 0.0, "orthogonal", "0"
			text := fmt.Sprintf("dot(x[@0:@0+%d], x[@1:@1+%[1]d])", length)
			at := []int{m.At + a*m.Stride, m.At + b*m.Stride}
			if m.Columns {
				text = fmt.Sprintf("sum(k in 0..%d, x[%[2]d*k+@0]*x[%[2]d*k+@1])", length-1, m.Stride)
				at = []int{m.At + a, m.At + b}
			}
			if a == b {
				value, name, equals, at = m.Scale, "unit", number(m.Scale), at[:1]
				text = fmt.Sprintf("norm(x[@0:@0+%d])", length)
				if m.Columns {
					text = fmt.Sprintf("norm(k in 0..%d, x[%d*k+@0])", length-1, m.Stride)
				}
			}
			r := relation(Orthonormal, value, text+" = "+equals, name, at...)
			r.Matrix = m
			out = append(out, r)
		}
	}
	// Unit vectors first: a family stands together.
	slices.SortStableFunc(out, func(a, b *Relation) int { return len(a.form.at) - len(b.form.at) })
	before := len(s.exact)
	if s.offerAll(out); len(s.exact)-before != len(out) {
		for _, r := range s.exact[before:] {
			r.Matrix = nil
		}
		return false
	}
	s.matrices = append(s.matrices, m)
	if m.N == m.P {
		a := make([]float64, m.N*m.N)
		for i := range s.N {
			for k := range m.N {
				copy(a[k*m.N:(k+1)*m.N], s.X[i*s.D+m.At+k*m.Stride:])
			}
			if dense.Eliminate(a, nil, m.N) > 0 {
				m.Positive++
			} else {
				m.Negative++
			}
		}
	}
	return true
}

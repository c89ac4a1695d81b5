package program

import (
	"cmp"
	"slices"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A part of a set is components that share coordinates with no others: the point of Σ nearest to a
// proposal is, part by part, the nearest of the part. Within a part coordinates are numbered from 0.
//
// Components are in the order of the first coordinate that they depend on, and the gradient of each is
// kept over its span, from its first coordinate to its last. Those of neighbouring steps of a
// sequence then overlap, and others do not: their Gram matrix is a band.
type part struct {
	comp  []int  // numbers of its components in the set
	equal []bool // which are equalities
	m     int    // how many
	coord []int  // its coordinates in a point; nil: all
	c, d  int

	from   []int   // where the derivatives of each component begin among those of a point
	cols   [][]int // their coordinates; nil: all
	lo, hi []int   // the span of each component
	at     []int   // where it begins among the part's gradients
	size   int     // numbers in these
	band   int     // numbers of the triangle of its Gram matrix that spans can make other than 0
}

// parts returns those of s, and how many derivatives are kept of a point.
func parts(s constraint.Set) (all []part, derivatives int) {
	d, m, support := s.Dim(), len(s.Equalities()), s.Capabilities().Support
	from := make([]int, len(constraint.Components(s)))
	for a := range from {
		from[a] = derivatives
		if derivatives += d; support != nil {
			derivatives += len(support[a]) - d
		}
	}
	for _, g := range geometry.Shares(s) {
		p := part{comp: g.Components, coord: g.Coordinates, c: len(g.Components), d: d}
		local := make([]int, d)
		if p.coord != nil {
			p.d = len(p.coord)
			for k, j := range p.coord {
				local[j] = k
			}
		}
		if support != nil {
			slices.SortStableFunc(p.comp, func(a, b int) int {
				return cmp.Compare(first(support[a]), first(support[b]))
			})
			p.cols = make([][]int, p.c)
		}
		for i, a := range p.comp {
			lo, hi := 0, p.d
			if support != nil {
				lo, hi = 0, 0
				for _, j := range support[a] {
					k := j
					if p.coord != nil {
						k = local[j]
					}
					p.cols[i] = append(p.cols[i], k)
				}
				if n := len(p.cols[i]); n > 0 {
					lo, hi = p.cols[i][0], p.cols[i][n-1]+1
				}
			}
			p.equal = append(p.equal, a < m)
			if a < m {
				p.m++
			}
			p.from = append(p.from, from[a])
			p.lo, p.hi, p.at = append(p.lo, lo), append(p.hi, hi), append(p.at, p.size)
			p.size += hi - lo
		}
		before := 0
		for i := range p.comp {
			for before < i && p.hi[before] <= p.lo[i] {
				before++
			}
			p.band += i - before + 1
		}
		all = append(all, p)
	}
	return all, derivatives
}

func first(support []int) int {
	if len(support) == 0 {
		return 0
	}
	return support[0]
}

// row returns the derivatives of component i among those of a point.
func (q *part) row(jac []float64, i int) []float64 {
	if q.cols == nil {
		return jac[q.from[i] : q.from[i]+q.d]
	}
	return jac[q.from[i] : q.from[i]+len(q.cols[i])]
}

// span returns the gradient of component i, from coordinate lo[i] to hi[i], among those of the part.
func (q *part) span(gradient []float64, i int) []float64 {
	return gradient[q.at[i] : q.at[i]+q.hi[i]-q.lo[i]]
}

// spread writes scale times the derivatives of component i over its span.
func (q *part) spread(gradient []float64, scale, jac []float64) {
	for i := range q.c {
		to, row := q.span(gradient, i), q.row(jac, i)
		if q.cols == nil {
			dense.Scaled(to, scale[i], row)
			continue
		}
		clear(to)
		for k, j := range q.cols[i] {
			to[j-q.lo[i]] = scale[i] * row[k]
		}
	}
}

// take writes the part's coordinates of a point to the beginning of dst.
func (q *part) take(dst, x []float64) {
	if q.coord == nil {
		copy(dst, x)
		return
	}
	for k, j := range q.coord {
		dst[k] = x[j]
	}
}

func (q *part) put(x, from []float64) {
	if q.coord == nil {
		copy(x, from)
		return
	}
	for k, j := range q.coord {
		x[j] = from[k]
	}
}

// finite reports whether values and derivatives of its components at a point are.
func (q *part) finite(val, jac []float64) bool {
	for i, a := range q.comp {
		if v := val[a]; v-v != 0 || !dense.Finite(q.row(jac, i)) {
			return false
		}
	}
	return true
}

// met reports whether all its components are as Σ asks at y.
func (q *part) met(y, val, jac []float64) bool {
	for i, a := range q.comp {
		var cols []int
		if q.cols != nil {
			cols = q.cols[i]
		}
		if !met(val[a], q.equal[i], q.row(jac, i), cols, y) {
			return false
		}
	}
	return true
}

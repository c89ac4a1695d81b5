package discover

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/internal/dense"
)

// compile makes one set of formulas of relations; relation i is component i. Their formulas
// are of this package: one that cannot be is a fault of it.
func (s *search) compile(relations []*Relation) *formula.Set {
	spec := formula.Spec{Dim: s.D}
	for i, r := range relations {
		spec.Equality = append(spec.Equality, formula.Component{Name: fmt.Sprint("c", i), Expr: r.Expr})
	}
	set, err := formula.New(spec)
	if err != nil {
		panic("discover: " + err.Error())
	}
	return set
}

// blocks calls f with the values and sparse gradients of relations at rows, block by block:
// k is the place in rows of the first of count. Gradients of relation c of row i of the block
// are g[i*length+from[c] : i*length+from[c+1]].
func (s *search) blocks(set *formula.Set, rows []int, f func(k, count int, h, g []float64, from []int)) {
	const size = 128
	from := []int{0}
	for _, js := range set.Support() {
		from = append(from, from[len(from)-1]+len(js))
	}
	m, length := len(from)-1, from[len(from)-1]
	e := set.NewEvaluator(size)
	x, h, g := make([]float64, size*s.D), make([]float64, size*m), make([]float64, size*length)
	for k := 0; k < len(rows); k += size {
		count := min(size, len(rows)-k)
		for i, row := range rows[k : k+count] {
			copy(x[i*s.D:], s.X[row*s.D:(row+1)*s.D])
		}
		e.SparseJacobians(h[:count*m], g[:count*length], x[:count*s.D], count)
		f(k, count, h, g, from)
	}
}

// residual returns |h|/(Σ(∂_j h s_j)²)^½, and what of it rounding of the coordinates may be:
// slack·Σ|∂_j h| last_j over the same, or Roundoff. Where no gradient is left there is no
// distance, and the residual is infinite unless h is 0.
func (s *search) residual(h float64, g []float64, columns []int, x []float64) (residual, rounding float64) {
	spread, last := 0.0, 0.0
	for k, j := range columns {
		t := g[k] * s.scale[j]
		spread += t * t
		last += math.Abs(g[k]) * (s.last[j] + 0x1p-53*math.Abs(x[j]))
	}
	spread = math.Sqrt(spread)
	if h == 0 {
		return 0, Roundoff
	}
	if !(spread > 0) || math.IsNaN(h) {
		return math.Inf(1), Roundoff
	}
	return math.Abs(h) / spread, max(Roundoff, slack*last/spread)
}

const maxExceptions = 20 // that are told of

// measure fills in the residuals of relations on all rows.
func (s *search) measure(relations []*Relation) {
	if len(relations) == 0 {
		return
	}
	all := make([]int, s.N)
	for i := range all {
		all[i] = i
	}
	held := map[int]bool{}
	for _, i := range s.held {
		held[i] = true
	}
	for at := 0; at < len(relations); at += 256 { // some at a time: scratch is bounded
		part := relations[at:min(at+256, len(relations))]
		set := s.compile(part)
		support := set.Support()
		of := make([][]float64, len(part)) // residuals of held rows
		worse := make([]int, len(part))    // rows that rounding does not explain
		for c, r := range part {
			r.Columns = support[c]
			r.Max, r.RMS, r.Violation, r.Roundoff, r.Exceptions = 0, 0, 0, 0, nil
		}
		s.blocks(set, all, func(k, count int, h, g []float64, from []int) {
			m, length := len(part), from[len(part)]
			for i := range count {
				for c, r := range part {
					v := h[i*m+c]
					res, rounding := s.residual(v, g[i*length+from[c]:i*length+from[c+1]], support[c],
						s.X[(k+i)*s.D:(k+i+1)*s.D])
					r.Max, r.RMS = max(r.Max, res), r.RMS+res*res/float64(s.N)
					r.Violation, r.Roundoff = max(r.Violation, math.Abs(v)), max(r.Roundoff, rounding)
					if res > rounding {
						if worse[c]++; len(r.Exceptions) < maxExceptions {
							r.Exceptions = append(r.Exceptions, k+i)
						}
					}
					if held[k+i] {
						of[c] = append(of[c], res)
					}
				}
			}
		})
		for c, r := range part {
			r.RMS = math.Sqrt(r.RMS)
			informs := r.Roundoff <= informative
			r.Exact = worse[c] == 0 && informs && !r.vague
			r.ExceptionCount = worse[c]
			if !informs || r.vague || worse[c] == 0 || float64(worse[c]) > 0.01*float64(s.N) {
				r.Exceptions, r.ExceptionCount = nil, 0
			}
			r.near = trimmed(of[c])
			if r.Kind == Constant || len(s.held) == 0 {
				r.near = r.RMS
			}
		}
	}
}

// trimmed returns the root mean square of residuals without the worst hundredth of them, at
// least one: a few bad rows shall not hide what the others keep.
func trimmed(of []float64) float64 {
	if len(of) == 0 {
		return math.Inf(1)
	}
	slices.Sort(of)
	of = of[:len(of)-max(1, len(of)/100)]
	sum := 0.0
	for _, r := range of {
		sum += r * r / float64(len(of))
	}
	return math.Sqrt(sum)
}

// A span is what the gradients of the relations taken so far span at some rows, in units of
// the rows' spread: a relation whose gradient lies in it follows from them near those rows.
type span struct {
	s     *search
	rows  []int
	basis [][][]float64 // of each row, orthonormal
}

// The sine of the angle between a relation's gradient and the span up to which it follows
// from what spans, or nearly does. It must exceed what a fit to rounded numbers leaves.
const (
	dependent       = 1e-2
	nearlyDependent = 0.3
)

func newSpan(s *search) *span {
	p := &span{s: s}
	const count, numbers = 24, 10_000_000
	rows := s.fit
	if len(rows) == 0 {
		rows = []int{0}
	}
	p.rows = some(rows, max(3, min(count, numbers/(s.D*s.D))))
	p.basis = make([][][]float64, len(p.rows))
	return p
}

// covers reports whether gradients, written for a row of the table, lie in the span at half of
// the rows or more.
func (p *span) covers(gradient func(g []float64, row int), tolerance float64) bool {
	v, free := make([]float64, p.s.D), 0
	for k, row := range p.rows {
		clear(v)
		gradient(v, row)
		for j := range v {
			v[j] *= p.s.scale[j]
		}
		size := dense.Norm(v)
		if !(size > 0) || math.IsInf(size, 0) {
			continue
		}
		dense.Scaled(v, 1/size, v)
		dense.Reject(v, p.basis[k], nil)
		dense.Reject(v, p.basis[k], nil)
		if dense.Norm(v) > tolerance {
			free++
		}
	}
	return 2*free <= len(p.rows)
}

// add adds a relation's gradients unless they lie in the span at half of the rows or more,
// and reports whether it did.
func (p *span) add(r *Relation, tolerance float64) bool {
	set := p.s.compile([]*Relation{r})
	columns := set.Support()[0]
	rest, free := make([][]float64, len(p.rows)), 0
	p.s.blocks(set, p.rows, func(k, count int, _, g []float64, from []int) {
		for i := range count {
			v := make([]float64, p.s.D)
			for c, j := range columns {
				v[j] = g[i*from[1]+c] * p.s.scale[j]
			}
			size := dense.Norm(v)
			if !(size > 0) || math.IsInf(size, 0) {
				continue
			}
			dense.Scaled(v, 1/size, v)
			dense.Reject(v, p.basis[k+i], nil)
			dense.Reject(v, p.basis[k+i], nil)
			if left := dense.Norm(v); left > tolerance {
				dense.Scaled(v, 1/left, v)
				rest[k+i] = v
				free++
			}
		}
	})
	if 2*free <= len(p.rows) {
		return false
	}
	for i, v := range rest {
		if v != nil {
			p.basis[i] = append(p.basis[i], v)
		}
	}
	return true
}

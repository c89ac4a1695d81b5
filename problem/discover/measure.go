package discover

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/internal/dense"
)

// compile makes one set of formulas of relations; relation i is component i. Their formulas
// are of this package: one that cannot be is a fault of it.
func (s *survey) compile(relations []*Relation) *formula.Set {
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

// blocks calls f with the values and sparse gradients of relations at rows, block by block: k is the place in rows of
// the first of count. Gradients of relation c of row i of the block are g[i*length+from[c] : i*length+from[c+1]].
func (s *survey) blocks(set *formula.Set, rows []int, f func(k, count int, h, g []float64, from []int)) {
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

// residual returns |h|/(Σ(∂_j h s_j)²)^½, and what of it rounding of the coordinates may be: slack·Σ|∂_j h| last_j over
// the same, or Roundoff. Where no gradient is left there is no distance, and the residual is infinite unless h is 0.
func (s *survey) residual(h float64, g []float64, columns []int, x []float64) (residual, rounding float64) {
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

// roundingError returns how far rounding to the columns' decimals takes a relation off: the standard deviation of
// errors that are uniform and independent, and the most.
func (s *survey) roundingError(g []float64, columns []int) (sd, most float64) {
	for k, j := range columns {
		v := math.Abs(g[k]) * s.columns[j].Half()
		sd, most = sd+v*v/3, most+v
	}
	return math.Sqrt(sd), most
}

// roundedRatio is the largest mean square of what rows are off a relation, beside what rounding alone would have them
// off: of 40 rows or more it is below that with odds of a thousand to one.
const roundedRatio = 1.8

const fewDigits = 4 // of numbers that a person would write

// plain reports whether the numbers of a relation have few digits, or were given.
func (r *Relation) plain() bool {
	few := func(v float64) bool { return v == rounded(v, fewDigits) }
	for _, t := range r.Terms {
		if len(t.Columns) > 0 && !few(t.Coefficient) {
			return false
		}
	}
	switch r.Kind {
	case Formula:
		return r.few
	case Given, Distance, Circle, Norm, Torus, Orthonormal:
	case Linear, Quadratic, Ellipsoid:
		if r.Terms == nil && !r.few {
			return false
		}
	default:
		return false
	}
	return r.Kind == Given || few(r.Value)
}

const maxExceptions = 20 // in a report

// measure fills in the residuals of relations on all rows. Of many rows some are looked at first, and
// relations that these are far from keep the residuals of those.
func (s *search) measure(relations []*Relation) {
	const many, few = 20_000, 1000
	for at := 0; at < len(relations); at += 256 { // some at a time: scratch is bounded
		part := relations[at:min(at+256, len(relations))]
		set := s.compile(part)
		if s.N > many {
			s.measureOn(part, set, some(s.held, few), some(s.held, few))
			part = slices.DeleteFunc(slices.Clone(part), func(r *Relation) bool { return !(r.near <= 2*Near) })
			if len(part) == 0 {
				continue
			}
			set = s.compile(part)
		}
		s.measureOn(part, set, s.all, s.held)
		s.span.gradients(part, set)
	}
}

// measureOn measures relations, the components of a set, on rows; held are the rows that they were not fitted to.
func (s *survey) measureOn(part []*Relation, set *formula.Set, rows, held []int) {
	support := set.Support()
	of := make([][]float64, len(part)) // residuals of held rows
	worse := make([]int, len(part))    // rows that rounding does not explain
	// Whether rounding to the decimals explains all rows, and the mean square of what they are off beside that of it.
	explained, ratio := make([]bool, len(part)), make([]float64, len(part))
	for c, r := range part {
		r.Columns = support[c]
		r.Max, r.RMS, r.Violation, r.Roundoff, r.Exceptions = 0, 0, 0, 0, nil
		of[c], explained[c] = make([]float64, 0, len(held)), true
	}
	next := 0 // in held, which are ascending as rows are
	s.blocks(set, rows, func(k, count int, h, g []float64, from []int) {
		m, length := len(part), from[len(part)]
		for i, row := range rows[k : k+count] {
			isHeld := next < len(held) && held[next] == row
			if isHeld {
				next++
			}
			for c, r := range part {
				v := h[i*m+c]
				res, rounding := s.residual(v, g[i*length+from[c]:i*length+from[c+1]], support[c],
					s.X[row*s.D:(row+1)*s.D])
				r.Max, r.RMS = max(r.Max, res), r.RMS+res*res/float64(len(rows))
				r.Violation, r.Roundoff = max(r.Violation, math.Abs(v)), max(r.Roundoff, rounding)
				if res > rounding {
					if worse[c]++; len(r.Exceptions) < maxExceptions {
						r.Exceptions = append(r.Exceptions, row)
					}
				}
				off, most := s.roundingError(g[i*length+from[c]:i*length+from[c+1]], support[c])
				ratio[c] += v * v / (off * off) / float64(len(rows))
				explained[c] = explained[c] && math.Abs(v) <= 1.01*most
				if isHeld {
					of[c] = append(of[c], res)
				}
			}
		}
	})
	for c, r := range part {
		r.RMS = math.Sqrt(r.RMS)
		informs := r.Roundoff <= informative
		r.Exact = worse[c] == 0 && informs && !r.vague && len(rows) == s.N
		r.ExceptionCount = worse[c]
		if !informs || r.vague || worse[c] == 0 || float64(worse[c]) > 0.01*float64(s.N) || len(rows) < s.N {
			r.Exceptions, r.ExceptionCount = nil, 0
		}
		r.near = trimmed(of[c])
		if r.Kind == Constant || len(s.held) == 0 {
			r.near = r.RMS
		}
		r.Rounded = !r.Exact && !r.vague && explained[c] && ratio[c] <= roundedRatio && r.near <= Near && r.plain() &&
			len(rows) == s.N
	}
}

// gradients remembers those of relations at the rows of the span, in units of the rows' spread.
func (p *span) gradients(part []*Relation, set *formula.Set) {
	support := set.Support()
	for c, r := range part {
		r.gradient = make([]float64, 0, len(p.rows)*len(support[c]))
	}
	p.s.blocks(set, p.rows, func(_, count int, _, g []float64, from []int) {
		for i := range count {
			for c, r := range part {
				for k, j := range support[c] {
					r.gradient = append(r.gradient, g[i*from[len(part)]+from[c]+k]*p.s.scale[j])
				}
			}
		}
	})
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
	s     *survey
	rows  []int
	basis []basis // of each row
}

// A basis is orthonormal vectors of few columns each.
type basis struct {
	columns [][]int
	values  [][]float64
	of      map[int][]int // vectors that have a column
}

// The sine of the angle between a relation's gradient and the span up to which it follows
// from what spans, or nearly does. It must exceed what a fit to rounded numbers leaves.
const (
	dependent       = 1e-2
	nearlyDependent = 0.3
)

func newSpan(s *survey) *span {
	p := &span{s: s}
	const count, numbers = 24, 10_000_000
	rows := s.fit
	if len(rows) == 0 {
		rows = []int{0}
	}
	p.rows = some(rows, max(3, min(count, numbers/(s.D*s.D))))
	p.basis = make([]basis, len(p.rows))
	for k := range p.basis {
		p.basis[k].of = map[int][]int{}
	}
	return p
}

// meeting appends the vectors that have one of some columns, each once: seen is false at all of them, before and after.
func (b *basis) meeting(out, columns []int, seen []bool) []int {
	for _, j := range columns {
		for _, i := range b.of[j] {
			if !seen[i] {
				seen[i], out = true, append(out, i)
			}
		}
	}
	for _, i := range out {
		seen[i] = false
	}
	return out
}

// dot is the product of vector i with one that is dense.
func (b *basis) dot(i int, dense []float64) float64 {
	sum, values := 0.0, b.values[i]
	for k, j := range b.columns[i] {
		sum += values[k] * dense[j]
	}
	return sum
}

// inside returns the squared length of the part of a vector that lies in the basis: of others than
// those that meet it there is none.
func (b *basis) inside(columns []int, v []float64, w *scratch) float64 {
	for k, j := range columns {
		w.dense[j] = v[k]
	}
	sum := 0.0
	w.meeting = b.meeting(w.meeting[:0], columns, w.vectors)
	for _, i := range w.meeting {
		d := b.dot(i, w.dense)
		sum += d * d
	}
	for _, j := range columns {
		w.dense[j] = 0
	}
	return sum
}

// rest returns what is left of a vector without its part in the basis.
func (b *basis) rest(columns []int, v []float64, w *scratch) (of []int, left []float64) {
	of = slices.Clone(columns)
	for k, j := range columns {
		w.dense[j], w.columns[j] = v[k], true
	}
	for range 2 { // twice: rounding in the first leaves some
		w.meeting = b.meeting(w.meeting[:0], of, w.vectors)
		for _, i := range w.meeting {
			d := b.dot(i, w.dense)
			if d == 0 {
				continue
			}
			for k, j := range b.columns[i] {
				if w.dense[j] -= d * b.values[i][k]; !w.columns[j] {
					w.columns[j], of = true, append(of, j)
				}
			}
		}
	}
	for _, j := range of {
		left = append(left, w.dense[j])
		w.dense[j], w.columns[j] = 0, false
	}
	return of, left
}

// scratch is 0 and false between uses.
type scratch struct {
	dense            []float64 // a number a column
	columns, vectors []bool    // at most as many vectors as columns are independent
	meeting          []int
}

func newScratch(d int) *scratch {
	return &scratch{make([]float64, d), make([]bool, d), make([]bool, d+1), nil}
}

func (b *basis) add(columns []int, v []float64) {
	for _, j := range columns {
		b.of[j] = append(b.of[j], len(b.columns))
	}
	b.columns, b.values = append(b.columns, columns), append(b.values, v)
}

// covers reports whether gradients, in some columns at a row of the table, lie in the span at half of the rows or more.
func (p *span) covers(columns []int, gradient func(g []float64, row int), tolerance float64) bool {
	v, free := make([]float64, len(columns)), 0
	for k, row := range p.rows {
		clear(v)
		gradient(v, row)
		for i, j := range columns {
			v[i] *= p.s.scale[j]
		}
		size := dense.Norm(v)
		if !(size > 0) || math.IsInf(size, 0) {
			continue
		}
		dense.Scaled(v, 1/size, v)
		if 1-p.basis[k].inside(columns, v, p.s.scratch) > tolerance*tolerance {
			free++
		}
	}
	return 2*free <= len(p.rows)
}

// add adds a measured relation's gradients unless they lie in the span at half of the rows or more,
// and reports whether it did.
func (p *span) add(r *Relation, tolerance float64) bool {
	columns, rest, free := make([][]int, len(p.rows)), make([][]float64, len(p.rows)), 0
	for k := range p.rows {
		v := slices.Clone(r.gradient[k*len(r.Columns) : (k+1)*len(r.Columns)])
		size := dense.Norm(v)
		if !(size > 0) || math.IsInf(size, 0) {
			continue
		}
		dense.Scaled(v, 1/size, v)
		if 1-p.basis[k].inside(r.Columns, v, p.s.scratch) < 0.25*tolerance*tolerance {
			continue
		}
		of, left := p.basis[k].rest(r.Columns, v, p.s.scratch)
		if size := dense.Norm(left); size > tolerance {
			dense.Scaled(left, 1/size, left)
			columns[k], rest[k] = of, left
			free++
		}
	}
	if 2*free <= len(p.rows) {
		return false
	}
	for k, v := range rest {
		if v != nil {
			p.basis[k].add(columns[k], v)
		}
	}
	return true
}

// An Internal is an internal coordinate of a molecule over the rows: the length of a bond, in the
// unit of the coordinates, or an angle or a dihedral along bonds, in degrees.
type Internal struct {
	Mean, SD    float64
	Least, Most float64 // of a dihedral about its mean, and so perhaps beyond ±180
}

// Measure measures the distance, angle or dihedral of two, three or four atoms on n rows of d numbers.
func Measure(x []float64, n, d int, atoms []int) Internal {
	q := Internal{Least: math.Inf(1), Most: math.Inf(-1)}
	v, period := make([]float64, n), 0.0
	if len(atoms) == 4 {
		period = 360
	}
	sin, cos := 0.0, 0.0
	for i := range v {
		switch row := x[i*d : (i+1)*d]; len(atoms) {
		case 2:
			v[i] = molecule.Distance(row, atoms[0], atoms[1])
		case 3:
			v[i] = molecule.Angle(row, atoms[0], atoms[1], atoms[2]) * 180 / math.Pi
		default:
			v[i] = molecule.Torsion(row, atoms[0], atoms[1], atoms[2], atoms[3]) * 180 / math.Pi
		}
		sn, cs := math.Sincos(v[i] * math.Pi / 180)
		sin, cos = sin+sn, cos+cs
	}
	middle := 0.0
	if period > 0 {
		middle = math.Atan2(sin, cos) * 180 / math.Pi
		for i := range v {
			v[i] = math.Remainder(v[i]-middle, period)
		}
	}
	for _, u := range v {
		q.Mean += u / float64(n)
	}
	for _, u := range v {
		q.SD += (u - q.Mean) * (u - q.Mean) / float64(n)
		q.Least, q.Most = min(q.Least, u), max(q.Most, u)
	}
	q.SD = math.Sqrt(q.SD)
	q.Mean, q.Least, q.Most = q.Mean+middle, q.Least+middle, q.Most+middle
	return q
}

package discover

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/internal/dense"
)

// Relations of fixed form, with a constant at most: what is looked for is a number that
// hardly varies from row to row. Most candidates fail on a few rows.

const screened = 12 // rows that a candidate must pass first

// steady looks whether a number hardly varies over rows: its values are q(row), and its spread, were the coordinates
// independent, is spread. It returns the median, and the roundest number near it.
func (s *survey) steady(q func(x []float64) float64, spread float64) (of values, ok bool) {
	outside := 0
	v := make([]float64, 0, screened)
	for k, i := range some(s.fit, screened) {
		v = append(v, q(s.row(i)))
		if k == screened/2-1 { // most fail here: no more than two of these may be bad
			slices.Sort(v)
			near := false
			for a := range 3 {
				near = near || !(v[k-2+a]-v[a] > 6*Near*spread)
			}
			if !near {
				return values{}, false
			}
		}
	}
	slices.Sort(v)
	mid := v[len(v)/2]
	for _, u := range v {
		if math.Abs(u-mid) > 3*Near*spread {
			outside++
		}
	}
	if outside > 2 { // bad rows may be among them
		return values{}, false
	}
	v = s.sorted(q)
	if v[len(v)*99/100]-v[len(v)/100] > 6*Near*spread {
		return values{}, false
	}
	return s.settled(v), true
}

// values are a number that should be constant: its median, and the roundest number that serves as well, if another.
type values struct{ round, median float64 }

// settled tells the constant that sorted numbers vary about. A round number may stand for it
// within rounding, or within a fraction of what it varies by.
func (s *survey) settled(sorted []float64) values {
	mid := sorted[len(sorted)/2]
	vary := sorted[len(sorted)*95/100] - sorted[len(sorted)*5/100]
	tolerance := s.fine
	if mid != 0 {
		tolerance = max(tolerance, vary/math.Abs(mid)/8)
	}
	return values{s.plain(mid, tolerance), mid}
}

// relation makes one with the round number, and the median instead of it.
func (v values) relation(kind, text, name string, at ...int) *Relation {
	r := relation(kind, v.round, text+" = "+number(v.round), name, at...)
	if v.median != v.round {
		r.alt = relation(kind, v.median, text+" = "+number(v.median), name, at...)
	}
	return r
}

// plain returns the roundest number within a relative tolerance of v: the fewest digits, if they are few, or a ratio
// of small whole numbers or its root; else v. What is proposed by it is measured on the rows like anything else.
func (s *survey) plain(v, tolerance float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	exponent := math.Floor(math.Log10(math.Abs(v)))
	for digits := range 4 {
		p := math.Pow(10, float64(digits)-exponent)
		if w := tidy(math.Round(v*p) / p); w != 0 && math.Abs(w-v) <= tolerance*math.Abs(v) {
			return w
		}
	}
	return v
}

// constants finds columns that do not vary.
func (s *search) constants() {
	var out []*Relation
	for j, c := range s.columns {
		if c.Constant() {
			v := s.plain(c.Median, 2*slack*c.Last/math.Abs(c.Median))
			switch {
			case c.Max == c.Min:
				v = c.Min
			case c.Zero:
				v = 0
			}
			out = append(out, relation(Constant, v, "x[@0] = "+number(v), "constant", j))
		}
	}
	s.offer(out)
}

// circles finds pairs of coordinates at a constant distance from 0: cosines and sines.
func (s *search) circles() {
	var out []*Relation
	for a, i := range s.varies {
		for _, j := range s.varies[a+1:] {
			// r varies by (x_i s_i, x_j s_j)/r, which is at least as much as the smaller s.
			spread := min(s.scale[i], s.scale[j])
			r, ok := s.steady(func(x []float64) float64 { return math.Hypot(x[i], x[j]) }, spread)
			switch {
			case !ok || r.round == 0:
			case j == i+1:
				out = append(out, r.relation(Circle, "norm(x[@0:@0+2])", "circle", i))
			default:
				out = append(out, r.relation(Circle, "norm([x[@0], x[@1]])", "circle", i, j))
			}
		}
	}
	s.offer(out)
}

// norms finds runs of neighbouring coordinates with a constant norm, short ones first.
func (s *search) norms() {
	const longest = 64 // but for all coordinates
	var out []*Relation
	for length := 3; length <= s.D; length++ {
		if length > longest {
			length = s.D
		}
		for at := 0; at+length <= s.D; at++ {
			spread := 0.0
			for _, v := range s.scale[at : at+length] {
				if spread == 0 || v < spread {
					spread = v
				}
			}
			r, ok := s.steady(func(x []float64) float64 { return dense.Norm(x[at : at+length]) }, spread)
			switch {
			case !ok || r.round == 0:
			case length == s.D:
				out = append(out, r.relation(Norm, "norm(x)", "radius"))
			default:
				out = append(out, r.relation(Norm, fmt.Sprintf("norm(x[@0:@0+%d])", length), "norm", at))
			}
		}
	}
	s.offer(out)
}

// distances finds blocks of three or two coordinates, points, at a constant distance from each
// other. The row's shape says which, or else three are tried first.
func (s *search) distances() {
	sizes := []int{3, 2}
	if n := len(s.Shape); n > 1 && (s.Shape[n-1] == 2 || s.Shape[n-1] == 3) {
		sizes = s.Shape[n-1:]
	}
	for _, b := range sizes {
		const few = 40 // coordinates among which points may begin anywhere
		step := b
		if s.D%b != 0 && s.D <= few {
			step = 1
		}
		if s.D%b != 0 && step > 1 {
			continue
		}
		var out []*Relation
		for apart := b; apart <= s.D-b; apart += step { // neighbours first: bonds before what follows from them
			for p := 0; p+apart+b <= s.D; p += step {
				q := p + apart
				spread := math.Inf(1)
				for k := range b {
					spread = min(spread, math.Hypot(s.scale[p+k], s.scale[q+k]))
				}
				r, ok := s.steady(func(x []float64) float64 {
					sum := 0.0
					for k := range b {
						sum += (x[p+k] - x[q+k]) * (x[p+k] - x[q+k])
					}
					return math.Sqrt(sum)
				}, spread)
				if ok && r.round > 0 {
					out = append(out, r.relation(Distance, fmt.Sprintf("distance(x[@0:@0+%d], x[@1:@1+%[1]d])", b),
						"distance", p, q))
				}
			}
		}
		if s.offer(out) > 0 {
			return
		}
	}
}

// tori finds three neighbouring coordinates on a torus about any centre and axis. With p = x − c it is |p|⁴ + pᵀMp + k
// = 0, where M has the eigenvalue 2(R² − r²) along the axis and −2(R² + r²) across. This is a combination of 13
// functions of x; the coefficients of |x|²x give the centre.
func (s *search) tori() {
	const p, rows = 13, 600
	var out []*Relation
	for at := 0; at+3 <= s.D; at++ {
		unit, middle := slices.Max(s.scale[at:at+3]), [3]float64{}
		for k := range middle {
			middle[k] = s.columns[at+k].Mean
		}
		var phi []float64
		for _, i := range some(s.fit, rows) {
			var y [3]float64
			for k := range y {
				y[k] = (s.X[i*s.D+at+k] - middle[k]) / unit
			}
			q := dense.Dot(y[:], y[:])
			phi = append(phi, q*q, q*y[0], q*y[1], q*y[2], y[0]*y[0], y[1]*y[1], y[2]*y[2], y[0]*y[1], y[0]*y[2],
				y[1]*y[2], y[0], y[1], y[2])
		}
		f, ok := combine(phi, p, 4*s.rounding([]int{at, at + 1, at + 2}))
		found := append(f.exact, f.near...)
		if !ok || len(found) == 0 || len(f.exact) > 1 {
			continue
		}
		a := coefficients(found[0], f.sd, 0)
		dense.Scaled(a, 1/a[0], a)
		c := []float64{-a[1] / 4, -a[2] / 4, -a[3] / 4}
		m := mat.NewSymDense(3, []float64{a[4], a[7] / 2, a[8] / 2, 0, a[5], a[9] / 2, 0, 0, a[6]})
		for i := range 3 {
			for j := i; j < 3; j++ {
				v := m.At(i, j) - 4*c[i]*c[j]
				if i == j {
					v -= 2 * dense.Dot(c, c)
				}
				m.SetSym(i, j, v)
			}
		}
		var e mat.EigenSym
		if a[0]-a[0] != 0 || !e.Factorize(m, true) {
			continue
		}
		of, v := e.Values(nil), mat.Dense{}
		e.VectorsTo(&v)
		major, minor := unit*math.Sqrt((of[2]-of[0])/4), unit*math.Sqrt(-(of[0]+of[2])/4)
		if !(of[1]-of[0] < 0.1*(of[2]-of[0])) || !(minor > 0) || !(major > minor) {
			continue
		}
		for k := range c {
			c[k] = unit*c[k] + middle[k]
		}
		// Fitted numbers are off by a fraction of what rows are off by: 1e-3 serves to guess round ones.
		var chain *Relation
		for _, tolerance := range []float64{0, s.fine, 1e-3} {
			r := s.torus(at, c, mat.Col(nil, 2, &v), major, minor, tolerance)
			r.vague, r.alt, chain = len(f.exact) > 0 && !f.clear, chain, r
		}
		out = append(out, chain)
	}
	s.offer(out)
}

// torus writes a torus about a centre and an axis in the plainest numbers within a tolerance.
func (s *survey) torus(at int, centre, axis []float64, major, minor, tolerance float64) *Relation {
	a, b := s.plain(major, tolerance), s.plain(minor, tolerance)
	c, text, along := make([]float64, 3), make([]string, 3), -1
	for k := range c {
		c[k] = s.plain(centre[k], tolerance*max(1, major/math.Abs(centre[k])))
		if math.Abs(c[k]) <= max(1e-9, tolerance)*major {
			c[k] = 0
		}
		text[k] = strings.Trim(shifted(fmt.Sprintf("x[@0+%d]", k), c[k]), "()")
		if 1-math.Abs(axis[k]) <= max(1e-9, tolerance)/2 {
			along = k
		}
	}
	r := (*Relation)(nil)
	switch {
	case along == 2 && c[0] == 0 && c[1] == 0 && c[2] == 0:
		r = relation(Torus, b, fmt.Sprintf("norm([norm(x[@0:@0+2]) - %s, x[@0+2]]) = %s", number(a), number(b)),
			"torus", at)
		r.Terms = []Term{{Coefficient: a}}
	case along >= 0:
		across := slices.Delete(slices.Clone(text), along, along+1)
		r = relation(Polynomial, b, fmt.Sprintf("norm([norm([%s]) - %s, %s]) = %s", strings.Join(across, ", "),
			number(a), text[along], number(b)), "torus", at)
	default:
		axis = positiveFirst(slices.Clone(axis))
		height := shifted(fmt.Sprintf("dot([%s], x[@0:@0+3])", numbers(axis)), dense.Dot(axis, c))
		r = relation(Polynomial, b, fmt.Sprintf("norm([sqrt(distance(x[@0:@0+3], [%s])^2 - %s^2) - %s, %s]) = %s",
			numbers(c), height, number(a), height, number(b)), "torus", at)
	}
	return r
}

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

// vector returns row i of a matrix with orthonormal rows, or column i.
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
	step, norm := m.Stride, fmt.Sprintf("norm(x[@0:@0+%d])", length)
	dot := fmt.Sprintf("dot(x[@0:@0+%d], x[@1:@1+%[1]d])", length)
	if m.Columns {
		step, norm = 1, fmt.Sprintf("norm(k in 0..%d, x[%d*k+@0])", length-1, m.Stride)
		dot = fmt.Sprintf("sum(k in 0..%d, x[%[2]d*k+@0]*x[%[2]d*k+@1])", length-1, m.Stride)
	}
	var out []*Relation
	for a := range count {
		out = append(out, relation(Orthonormal, m.Scale, norm+" = "+number(m.Scale), "unit", m.At+a*step))
	}
	for a := range count {
		for b := a + 1; b < count; b++ {
			out = append(out, relation(Orthonormal, 0, dot+" = 0", "orthogonal", m.At+a*step, m.At+b*step))
		}
	}
	for _, r := range out {
		r.Matrix = m
	}
	before := len(s.exact)
	if s.offer(out); len(s.exact)-before != len(out) {
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

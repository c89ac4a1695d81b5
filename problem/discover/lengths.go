package discover

import (
	"cmp"
	"fmt"
	"math"
	"slices"

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
	s.offerAll(out)
}

// offerAll is offer of any number of relations, by parts.
func (s *search) offerAll(all []*Relation) (taken int) {
	for len(all) > 0 {
		n := min(len(all), maxCandidates)
		taken += s.offer(all[:n])
		all = all[n:]
	}
	return taken
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
	s.offerAll(out)
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
	s.offerAll(out)
}

// distances finds blocks of three or two coordinates, points, at a constant distance from each
// other. The row's shape says which, or else three are tried first.
func (s *search) distances() {
	sizes := []int{3, 2}
	if n := len(s.Shape); n > 1 && (s.Shape[n-1] == 2 || s.Shape[n-1] == 3) {
		sizes = s.Shape[n-1:]
	}
	for _, b := range sizes {
		if s.D%b != 0 || s.D < 2*b {
			continue
		}
		var out []*Relation
		for apart := 1; apart < s.D/b; apart++ { // neighbours first: bonds before what follows from them
			for i := 0; i+apart < s.D/b; i++ {
				p, q := b*i, b*(i+apart)
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
		if s.offerAll(out) > 0 {
			return
		}
	}
}

// tori finds three neighbouring coordinates on a torus about the last of them: with ρ = (x²+y²)^½
// ρ² + z² = 2Rρ + (r² − R²), a line in the plane of ρ and ρ² + z².
func (s *search) tori() {
	var out []*Relation
	for at := 0; at+3 <= s.D; at++ {
		var n, mean, square, cross, vary float64
		rows := some(s.fit, 2000)
		value := func(i int) (ρ, w float64) {
			x := s.X[i*s.D+at : i*s.D+at+3]
			ρ = math.Hypot(x[0], x[1])
			return ρ, ρ*ρ + x[2]*x[2]
		}
		for _, i := range rows {
			ρ, w := value(i)
			n, mean, square = n+1, mean+ρ, square+w
		}
		mean, square = mean/n, square/n
		for _, i := range rows {
			ρ, w := value(i)
			cross, vary = cross+(ρ-mean)*(w-square), vary+(ρ-mean)*(ρ-mean)
		}
		if !(vary > 0) {
			continue
		}
		major := cross / vary / 2
		minor := math.Sqrt(square - 2*major*mean + major*major)
		if !(minor > 0) || !(major > minor) {
			continue
		}
		// Fitted radii are off by a fraction of what rows are off by: 1e-3 serves to guess round ones.
		var chain *Relation
		for _, tolerance := range []float64{0, s.fine, 1e-3} {
			a, b := s.plain(major, tolerance), s.plain(minor, tolerance)
			r := relation(Torus, b, fmt.Sprintf("norm([norm(x[@0:@0+2]) - %s, x[@0+2]]) = %s", number(a), number(b)),
				"torus", at)
			r.Terms, r.alt, chain = []Term{{Coefficient: a}}, chain, r
		}
		out = append(out, chain)
	}
	s.offerAll(out)
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

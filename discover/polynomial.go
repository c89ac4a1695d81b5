package discover

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Rows × terms² of a fit, about, and of those of all runs of neighbours of one length.
const (
	fitWork = 10_000_000_000
	allWork = 100_000_000
)

// polynomials finds polynomial relations in small blocks of columns: quadratic ones of all columns if they are few,
// of pairs and runs of neighbours otherwise; of two or three columns of higher degree too.
func (s *search) polynomials() {
	columns := s.independent()
	d := len(columns)
	switch {
	case d < 2:
		return
	case d == 2:
		before := len(s.exact)
		if s.rising(columns, 6); len(s.exact) == before {
			s.polar(columns[0], columns[1])
		}
		return
	case d == 3:
		s.rising(columns, 4)
		return
	}
	for _, width := range []int{2, 3, 4, 6} { // simple ones first
		for at := 0; at+width <= d; at++ {
			s.polynomial(columns[at:at+width], 2, allWork/d)
			if width == 2 {
				s.polynomial(columns[at:at+width], 4, allWork/d)
			}
		}
	}
	const pairs, whole = 40, 30
	if d <= pairs {
		for a := range d {
			for b := a + 2; b < d; b++ {
				s.polynomial([]int{columns[a], columns[b]}, 2, fitWork)
			}
		}
	}
	if d > whole {
		s.remark("quadratic relations were looked for among at most 6 neighbours of %d coordinates, and of the whole "+
			"as norms, distances and matrices alone", d)
		return
	}
	if n := monomialCount(d, 2); len(s.fit) < n+spare {
		s.remark("%d distinct rows are too few to look for quadratic relations among all %d coordinates, which takes "+
			"%d", len(s.first), d, 2*(n+spare))
		return
	}
	s.polynomial(columns, 2, fitWork)
}

// rising looks for polynomials of one degree after the other until one is found: those of
// higher degree are its multiples, or too many to be told apart.
func (s *search) rising(columns []int, most int) {
	before := len(s.exact)
	for degree := 2; degree <= most; degree++ {
		if n := monomialCount(len(columns), degree); len(s.fit) < n+spare {
			s.remark("%d distinct rows are too few to look for relations of degree %d, which takes %d", len(s.first),
				degree, 2*(n+spare))
			return
		}
		if s.polynomial(columns, degree, fitWork); len(s.exact) > before {
			return
		}
	}
}

// independent returns the columns that vary without one of each linear relation, and without
// those of few values: n values are n roots of a polynomial.
func (s *search) independent() (out []int) {
	const fewest = 25
	gone := map[int]bool{}
	for _, r := range slices.Concat(s.exact, s.near) {
		if r.Kind != Linear || !r.Exact && !r.settled {
			continue
		}
		best, at := 0.0, -1
		for _, t := range r.Terms {
			if len(t.Columns) == 1 {
				if v := math.Abs(t.Coefficient) * s.scale[t.Columns[0]]; v > best && !gone[t.Columns[0]] {
					best, at = v, t.Columns[0]
				}
			}
		}
		if at >= 0 {
			gone[at] = true
		}
	}
	var few []string
	for _, j := range s.varies {
		if s.columns[j].Distinct < fewest {
			few = append(few, fmt.Sprintf("x[%d]", j))
		} else if !gone[j] {
			out = append(out, j)
		}
	}
	if len(few) > 0 {
		s.remark("%s has few values, and was left out of the search for polynomials", strings.Join(few, ", "))
	}
	return out
}

// monomialCount is how many monomials of k variables have degree 1 to q.
func monomialCount(k, q int) int {
	n := 1
	for i := range q {
		n = n * (k + i + 1) / (i + 1)
	}
	return n - 1
}

// monomials returns the powers of k variables of total degree q down to 1: the highest first,
// and of those pure powers.
func monomials(k, q int) (out [][]int) {
	var add func(powers []int, left int)
	for degree := q; degree >= 1; degree-- {
		add = func(powers []int, left int) {
			if len(powers) == k-1 {
				out = append(out, append(slices.Clone(powers), left))
				return
			}
			for p := left; p >= 0; p-- {
				add(append(powers, p), left-p)
			}
		}
		add(nil, degree)
	}
	return out
}

// polynomial finds polynomials of a degree that vanish on columns. Columns far from 0 are moved by their middle
// first: powers of numbers that hardly vary beside their size are all alike. work is rows × terms² of the fit, about.
func (s *search) polynomial(columns []int, degree, work int) {
	const rows, most = 3000, 8 // that are fitted to at most; proposals of relations that are nearly kept
	powers := monomials(len(columns), degree)
	p := len(powers)
	centre := map[int]float64{}
	rounding := 0.0
	for _, j := range columns {
		c := s.columns[j]
		if math.Abs(c.Mean) > 3*c.SD {
			centre[j] = rounded(c.Mean, 1+max(0, int(math.Ceil(math.Log10(math.Abs(c.Mean)/c.SD)))))
		}
		rounding = max(rounding, float64(degree)*s.last[j]/s.scale[j])
	}
	chosen := some(s.fit, max(min(rows, work/(p*p)), 2*(p+spare)))
	if len(chosen) < p+spare {
		return
	}
	phi := make([]float64, 0, len(chosen)*p)
	y := make([]float64, len(columns))
	for _, i := range chosen {
		for k, j := range columns {
			y[k] = (s.X[i*s.D+j] - centre[j]) / s.scale[j]
		}
		for _, power := range powers {
			v := 1.0
			for k, n := range power {
				for range n {
					v *= y[k]
				}
			}
			phi = append(phi, v)
		}
	}
	f, ok := combine(phi, p, rounding)
	if !ok {
		return
	}
	// Monomials in x − centre have these standard deviations.
	sd := make([]float64, p)
	for m, power := range powers {
		sd[m] = f.sd[m]
		for k, n := range power {
			sd[m] *= math.Pow(s.scale[columns[k]], float64(n))
		}
	}
	var out []*Relation
	echelon(f.exact, f.sd)
	// Most of what runs of neighbours have follows from what is known: that is seen before it is written down.
	follows := func(a []float64, tolerance float64) bool {
		if !s.span.covers(columns, s.gradient(columns, centre, powers, a), tolerance) {
			return false
		}
		s.follow++
		return true
	}
	for _, direction := range f.exact {
		if follows(coefficients(direction, sd, 0), dependent) {
			continue
		}
		out = append(out, s.vanishing(columns, centre, powers, coefficients(direction, sd, max(1e-8, 100*rounding)),
			true, f.clear))
	}
	s.sparsestFirst(out)
	s.offer(out)
	out = nil
	for k, direction := range f.proposals() {
		if k == most {
			break
		}
		if len(s.near) >= maxNear {
			s.crowded = true
			break
		}
		a := coefficients(direction, sd, 0)
		if s.farOff(columns, centre, powers, a) || follows(a, nearlyDependent) {
			continue
		}
		out = append(out, s.vanishing(columns, centre, powers, a, false, false))
	}
	s.offer(out)
}

// farOff reports whether rows that were not fitted to are so far from a polynomial's zeros that no way
// to write it is nearly kept: what hardly varies beside its terms may vary much beside its gradient.
func (s *search) farOff(columns []int, centre map[int]float64, powers [][]int, a []float64) bool {
	const count = 200
	fitted := make([]float64, 0, count)
	for _, i := range some(s.fit, count) {
		fitted = append(fitted, s.value(columns, centre, powers, a, i))
	}
	slices.Sort(fitted)
	middle := fitted[len(fitted)/2]
	gradient, g := s.gradient(columns, centre, powers, a), make([]float64, len(columns))
	of := make([]float64, 0, count)
	for _, i := range some(s.held, count) {
		clear(g)
		gradient(g, i)
		spread := 0.0
		for k, j := range columns {
			spread += g[k] * s.scale[j] * g[k] * s.scale[j]
		}
		of = append(of, math.Abs(s.value(columns, centre, powers, a, i)-middle)/math.Sqrt(spread))
	}
	return !(trimmed(of) <= 2*Near)
}

// vanishing makes the relation Σ a_k (x − centre)^power_k = c, in its best known form.
func (s *search) vanishing(columns []int, centre map[int]float64, powers [][]int, a []float64,
	exact, clear bool,
) *Relation {
	degree := 0
	for k, power := range powers {
		if a[k] != 0 {
			degree = max(degree, total(power))
		}
	}
	if degree == 1 { // a linear one, that the others led to
		plain := make([]float64, len(columns))
		for k, power := range powers {
			if total(power) == 1 {
				plain[slices.Index(power, 1)] = a[k]
			}
		}
		return s.affine(columns, plain, exact, clear)
	}
	weight := make([]float64, len(powers))
	for k, power := range powers {
		weight[k] = 1
		for m, n := range power {
			weight[k] *= math.Pow(s.scale[columns[m]], float64(n))
		}
	}
	var last *Relation
	if plain := expanded(columns, centre, powers, a); plain != nil {
		last = s.chain(columns, centre, powers, a, weight, exact, clear, nil)
		most := 0.0
		for k := range plain {
			most = max(most, math.Abs(plain[k])*weight[k])
		}
		for k := range plain { // what expanding left of terms that are not there
			if math.Abs(plain[k])*weight[k] < 1e-6*most {
				plain[k] = 0
			}
		}
		return s.chain(columns, nil, powers, plain, weight, exact, clear, last)
	}
	return s.chain(columns, centre, powers, a, weight, exact, clear, nil)
}

// expanded returns the coefficients in powers of x of a polynomial in x − centre, without the
// constant; nil if there is no centre.
func expanded(columns []int, centre map[int]float64, powers [][]int, a []float64) []float64 {
	if !moved(centre, columns) {
		return nil
	}
	out := make([]float64, len(a))
	place := map[string]int{}
	for k, power := range powers {
		place[fmt.Sprint(power)] = k
	}
	for k, power := range powers {
		if a[k] == 0 {
			continue
		}
		// Π (x_m − c_m)^n_m, a factor at a time.
		terms := map[string]float64{fmt.Sprint(make([]int, len(columns))): a[k]}
		of := map[string][]int{fmt.Sprint(make([]int, len(columns))): make([]int, len(columns))}
		for m, n := range power {
			for range n {
				next, nextOf := map[string]float64{}, map[string][]int{}
				for _, key := range slices.Sorted(maps.Keys(terms)) {
					v, p := terms[key], of[key]
					up := slices.Clone(p)
					up[m]++
					next[fmt.Sprint(up)] += v
					nextOf[fmt.Sprint(up)] = up
					if c := centre[columns[m]]; c != 0 {
						next[key] -= c * v
						nextOf[key] = p
					}
				}
				terms, of = next, nextOf
			}
		}
		for _, key := range slices.Sorted(maps.Keys(terms)) {
			if at, ok := place[key]; ok {
				out[at] += terms[key]
			}
		}
	}
	return out
}

// chain makes the ways of writing a polynomial, each an alternative to the one before; last is
// the alternative to all of them.
func (s *search) chain(columns []int, centre map[int]float64, powers [][]int, a, weight []float64, exact, clear bool,
	last *Relation,
) *Relation {
	share := roughly
	if exact {
		share = closely
	}
	ways := s.ways(a, weight, share)
	for k := len(ways) - 1; k >= 0; k-- {
		for _, round := range []bool{false, true} {
			q := s.vanishingAs(columns, centre, powers, ways[k], weight, exact, round)
			q.vague = !clear && !whole(ways[k])
			q.alt, last = last, q
		}
		if q := s.round(columns, centre, powers, ways[k], exact); q != nil {
			q.vague = !clear && !whole(ways[k])
			q.alt, last = last, q
		}
	}
	return last
}

func (s *search) vanishingAs(columns []int, centre map[int]float64, powers [][]int, a, weight []float64,
	exact, round bool,
) *Relation {
	a = lead(slices.Clone(a))
	if !whole(a) {
		size, digits := s.slope(columns, centre, powers, a), -1
		if !exact {
			digits = 6
		}
		for k := range a {
			a[k] = rounded(a[k]/size, digits)
		}
	}
	values := make([]float64, 0, 2001)
	for _, i := range some(s.fit, 2001) {
		values = append(values, s.value(columns, centre, powers, a, i))
	}
	slices.Sort(values)
	spread, degree := 0.0, 0
	for k, power := range powers {
		if a[k] != 0 {
			degree = max(degree, total(power))
		}
		spread += math.Abs(a[k]) * weight[k]
	}
	c := s.constant(values, spread, exact, round)
	kind := Quadratic
	if degree > 2 {
		kind = Polynomial
	}
	r := &Relation{Kind: kind, Value: c}
	for k, power := range powers {
		if a[k] == 0 {
			continue
		}
		t := Term{Coefficient: a[k]}
		for m, n := range power {
			if n > 0 {
				t.Columns, t.Powers = append(t.Columns, columns[m]), append(t.Powers, n)
			}
		}
		r.Terms = append(r.Terms, t)
	}
	text := sum(r.Terms, centre, nil) + " = " + number(c)
	r.Expr, r.Name = text, fmt.Sprintf("%s[%d]", kind, columns[0])
	if len(centre) == 0 && uses(r.Terms) <= 10 {
		var at []int
		r.form = form{sum(r.Terms, centre, &at) + " = " + number(c), kind, at}
	}
	r.Terms = append(r.Terms, Term{Coefficient: -c})
	if moved(centre, columns) {
		r.Terms = nil // they are of x − centre
	}
	return r
}

// uses is how often terms name a coordinate.
func uses(terms []Term) int {
	n := 0
	for _, t := range terms {
		n += len(t.Columns)
	}
	return n
}

func moved(centre map[int]float64, columns []int) bool {
	return slices.ContainsFunc(columns, func(j int) bool { return centre[j] != 0 })
}

func total(power []int) int {
	n := 0
	for _, k := range power {
		n += k
	}
	return n
}

func (s *search) value(columns []int, centre map[int]float64, powers [][]int, a []float64, row int) float64 {
	sum := 0.0
	for k, power := range powers {
		if a[k] == 0 {
			continue
		}
		v := a[k]
		for m, n := range power {
			for range n {
				v *= s.X[row*s.D+columns[m]] - centre[columns[m]]
			}
		}
		sum += v
	}
	return sum
}

// gradient returns a function that adds a polynomial's gradient at a row, of columns alone.
func (s *search) gradient(columns []int, centre map[int]float64, powers [][]int, a []float64) func(g []float64,
	row int) {
	shift := make([]float64, len(columns))
	for k, j := range columns {
		shift[k] = centre[j]
	}
	y := make([]float64, len(columns))
	return func(g []float64, row int) {
		for k, j := range columns {
			y[k] = s.X[row*s.D+j] - shift[k]
		}
		for k, power := range powers {
			if a[k] == 0 {
				continue
			}
			for by, n := range power {
				if n == 0 {
					continue
				}
				v := a[k] * float64(n)
				for m, n := range power {
					if m == by {
						n--
					}
					for range n {
						v *= y[m]
					}
				}
				g[by] += v
			}
		}
	}
}

// slope is the root mean square of the length of a polynomial's gradient on rows: divided by it,
// a violation is a distance.
func (s *search) slope(columns []int, centre map[int]float64, powers [][]int, a []float64) float64 {
	sum, rows := 0.0, some(s.fit, 200)
	gradient, g := s.gradient(columns, centre, powers, a), make([]float64, len(columns))
	for _, i := range rows {
		clear(g)
		gradient(g, i)
		for _, v := range g {
			sum += v * v / float64(len(rows))
		}
	}
	if sum == 0 {
		return 1
	}
	return math.Sqrt(sum)
}

// round makes a quadratic relation with squares alone, and lines, one about a centre: with equal
// coefficients a distance from it, else the equation of an ellipsoid. nil if it is neither.
func (s *search) round(columns []int, centre map[int]float64, powers [][]int, a []float64, exact bool) *Relation {
	square, line := make([]float64, len(columns)), make([]float64, len(columns))
	for k, power := range powers {
		switch j := slices.Index(power, 2); {
		case a[k] == 0:
		case total(power) == 2 && j >= 0:
			square[j] = a[k]
		case total(power) == 1:
			line[slices.Index(power, 1)] = a[k]
		default:
			return nil
		}
	}
	tolerance := max(1e-7, 1000*s.rounding(columns))
	if !exact {
		tolerance = 1e-3
	}
	// Σ q_j (x_j − m_j)² = c, with m_j = −line/(2q_j) from the centre.
	var about, axes []float64
	var used []int
	equal := true
	for k, j := range columns {
		if square[k] == 0 && line[k] == 0 {
			continue
		}
		if square[k]*firstOf(square) <= 0 {
			return nil
		}
		m := centre[j] - line[k]/(2*square[k])
		if math.Abs(m) <= tolerance*s.scale[j] && exact {
			m = 0
		}
		about, used = append(about, m), append(used, j)
		axes = append(axes, square[k])
		equal = equal && math.Abs(square[k]-axes[0]) <= tolerance*math.Abs(axes[0])
	}
	digits := -1
	if !exact {
		digits = 8
	}
	neighbours := true
	for k := range used {
		neighbours = neighbours && used[k] == used[0]+k
		about[k] = rounded(s.plain(about[k], s.fine), digits)
	}
	radius := func(weight func(k int) float64) float64 {
		values := make([]float64, 0, 2001)
		for _, i := range some(s.fit, 2001) {
			sum := 0.0
			for k, j := range used {
				v := (s.X[i*s.D+j] - about[k]) * weight(k)
				sum += v * v
			}
			values = append(values, math.Sqrt(sum))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	origin := !slices.ContainsFunc(about, func(m float64) bool { return m != 0 })
	parts := make([]string, len(used))
	write := func(divide func(k int) string) string {
		for k, j := range used {
			parts[k] = "x[" + strconv.Itoa(j) + "]"
			if about[k] > 0 {
				parts[k] = "(" + parts[k] + " - " + number(about[k]) + ")"
			} else if about[k] < 0 {
				parts[k] = "(" + parts[k] + " + " + number(-about[k]) + ")"
			}
			parts[k] += divide(k)
		}
		return "norm([" + strings.Join(parts, ", ") + "])"
	}
	if equal {
		r := rounded(s.plain(radius(func(int) float64 { return 1 }), s.fine), digits)
		if !(r > 0) {
			return nil
		}
		kind, name := Norm, "norm"
		if len(used) == 2 {
			kind, name = Circle, "circle"
		}
		text := write(func(int) string { return "" })
		whole := fmt.Sprintf("x[%d:%d]", used[0], used[0]+len(used))
		if len(used) == s.D {
			whole = "x"
		}
		if neighbours && origin {
			text = "norm(" + whole + ")"
		} else if neighbours {
			text = "distance(" + whole + ", [" + joined(about) + "])"
		}
		q := &Relation{Kind: kind, Value: r, Expr: text + " = " + number(r), Name: fmt.Sprintf("%s[%d]", name, used[0])}
		if !origin {
			q.Kind = Quadratic // no ready-made sphere
		}
		return q
	}
	// Semi-axes: Σ ((x_j − m_j)/a_j)² = 1 with a_j = c/√q_j.
	c := radius(func(k int) float64 { return math.Sqrt(math.Abs(axes[k])) })
	q := &Relation{Kind: Quadratic, Value: 1, Name: fmt.Sprintf("ellipsoid[%d]", used[0])}
	for k := range axes {
		axes[k] = rounded(s.plain(c/math.Sqrt(math.Abs(axes[k])), s.fine), digits)
	}
	q.Expr = write(func(k int) string {
		if axes[k] == 1 {
			return ""
		}
		return "/" + number(axes[k])
	}) + " = 1"
	if origin && neighbours {
		for k, j := range used {
			q.Terms = append(q.Terms, Term{axes[k], []int{j}, []int{2}})
		}
		q.Kind = Ellipsoid
	}
	return q
}

func firstOf(a []float64) float64 {
	for _, v := range a {
		if v != 0 {
			return v
		}
	}
	return 0
}

func joined(v []float64) string {
	out := make([]string, len(v))
	for k := range v {
		out[k] = number(v[k])
	}
	return strings.Join(out, ", ")
}

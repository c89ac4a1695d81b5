package discover

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/internal/dense"
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
		s.rising(columns, 6)
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
		s.addRemark("quadratic relations were looked for among at most 6 neighbours of %d coordinates, and of the "+
			"whole as norms, distances and matrices alone", d)
		return
	}
	if n := monomialCount(d, 2); len(s.fit) < n+spare {
		s.addRemark("%d distinct rows are too few to look for quadratic relations among all %d coordinates, which "+
			"takes %d", len(s.first), d, 2*(n+spare))
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
			s.addRemark("%d distinct rows are too few to look for relations of degree %d, which takes %d", len(s.first),
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
		s.addRemark("%s has few values, and was left out of the search for polynomials", strings.Join(few, ", "))
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

// A monomial is a product of powers of columns, by their places in a list of columns, ascending.
type monomial struct{ at, powers []int }

func (m monomial) degree() (n int) {
	for _, power := range m.powers {
		n += power
	}
	return n
}

// pure reports whether a monomial is that power of one column alone.
func (m monomial) pure(power int) bool { return len(m.powers) == 1 && m.powers[0] == power }

// times returns a monomial with the power of another column.
func (m monomial) times(at, power int) monomial {
	return monomial{append(slices.Clip(m.at), at), append(slices.Clip(m.powers), power)}
}

// monomials returns those of k columns of total degree q down to 1: the highest first, and of those pure powers.
func monomials(k, q int) (out []monomial) {
	var add func(m monomial, at, left int)
	add = func(m monomial, at, left int) {
		if left == 0 {
			out = append(out, m)
			return
		}
		for power := left; power > 0; power-- {
			if at < k-1 || power == left {
				add(m.times(at, power), at+1, left-power)
			}
		}
		if at < k-1 {
			add(m, at+1, left)
		}
	}
	for degree := q; degree >= 1; degree-- {
		add(monomial{}, 0, degree)
	}
	return out
}

// powers are the monomials of columns about a centre; a polynomial is a sum of these.
type powers struct {
	s       *survey
	columns []int
	centre  map[int]float64 // of columns; 0 of others
	of      []monomial
	weight  []float64 // size of each monomial over the rows
}

func (s *survey) powersOf(columns []int, centre map[int]float64, degree int) *powers {
	m := &powers{s, columns, centre, monomials(len(columns), degree), nil}
	for _, f := range m.of {
		m.weight = append(m.weight, m.scaled(f, 1))
	}
	return m
}

// scaled multiplies a number by the size of the columns of a monomial.
func (m *powers) scaled(f monomial, v float64) float64 {
	for i, at := range f.at {
		v *= math.Pow(m.s.scale[m.columns[at]], float64(f.powers[i]))
	}
	return v
}

// polynomial finds polynomials of a degree that vanish on columns. Columns far from 0 are moved by their middle first:
// powers of numbers that hardly vary beside their size are all alike. work is rows × terms² of the fit, about.
func (s *search) polynomial(columns []int, degree, work int) {
	// Of degrees above 1: rows that are fitted to, and proposals of relations that are nearly kept, at most.
	const mostRows, mostNear = 3000, 8
	centre, negligible := map[int]float64{}, max(1e-9, 10*s.rounding(columns))
	rounding := float64(degree) * s.rounding(columns)
	if degree > 1 {
		negligible = max(1e-8, 100*rounding)
		for _, j := range columns {
			if c := s.columns[j]; math.Abs(c.Mean) > 3*c.SD {
				centre[j] = rounded(c.Mean, 1+max(0, int(math.Ceil(math.Log10(math.Abs(c.Mean)/c.SD)))))
			}
		}
	}
	m := s.powersOf(columns, centre, degree)
	p := len(m.of)
	rows := work / (p * p)
	if degree > 1 {
		rows = min(rows, mostRows)
	}
	f, ok := combine(m.at(some(s.fit, max(rows, 2*(p+spare)))), p, rounding)
	if !ok {
		return
	}
	sd := f.sd // of the monomials
	if degree > 1 {
		sd = slices.Clone(f.sd)
		for i, power := range m.of {
			sd[i] = m.scaled(power, sd[i])
		}
	}
	// Most of what runs of neighbours have follows from what is known: that is seen before it is written down.
	follows := func(a []float64, tolerance float64) bool {
		if degree == 1 || !s.span.covers(columns, m.gradient(a), tolerance) {
			return false
		}
		s.follow++
		return true
	}
	var out []*Relation
	if degree == 1 {
		for _, a := range plainest(f.exact, f.sd, max(1e-6, 100*rounding)) {
			out = append(out, m.vanishing(a, true, f.clear))
		}
		f.exact = nil
	}
	if !f.clear && len(f.exact) > maxNear/4 { // too many that rounding does not tell from each other
		f.exact, s.crowded = nil, true
	}
	echelon(f.exact, f.sd)
	tried := map[*Relation][]float64{}
	for _, direction := range f.exact {
		if !follows(coefficients(direction, sd, 0), dependent) {
			out = append(out, m.vanishing(coefficients(direction, sd, negligible), true, f.clear))
			tried[out[len(out)-1]] = direction
		}
	}
	slices.SortStableFunc(out, func(a, b *Relation) int { return len(a.Expr) - len(b.Expr) }) // the shortest first
	s.offer(out)
	followed := s.follow
	for _, r := range out { // with terms that rounding hides, where rows are far from it without
		direction := tried[r]
		for share := negligible / 3; degree > 1 && f.clear && r.near > Near && share > rounding; share /= 3 {
			finer := m.vanishing(coefficients(direction, sd, share), true, true)
			s.offer([]*Relation{finer})
			r = finer
		}
	}
	s.follow, out = followed, nil
	if degree == 1 && len(f.alike) > 1 {
		for _, a := range plainest(f.proposals()[:len(f.alike)], f.sd, roughly) {
			out = append(out, m.vanishing(a, false, false))
		}
	}
	for k, direction := range f.proposals() {
		if k == mostNear && degree > 1 {
			break
		}
		if len(s.near) >= maxNear && degree > 1 {
			s.crowded = true
			break
		}
		if a := coefficients(direction, sd, 0); degree == 1 || !m.farOff(a) && !follows(a, nearlyDependent) {
			out = append(out, m.vanishing(a, false, false))
		}
	}
	s.offer(out)
}

// at returns the monomials at rows, in which columns of powers above 1 are in units of their spread.
func (m *powers) at(rows []int) []float64 {
	phi, y := make([]float64, 0, len(rows)*len(m.of)), make([]float64, len(m.columns))
	for _, i := range rows {
		for k, j := range m.columns {
			if y[k] = m.s.X[i*m.s.D+j] - m.centre[j]; !m.linear() {
				y[k] /= m.s.scale[j]
			}
		}
		for _, f := range m.of {
			phi = append(phi, f.value(1, y))
		}
	}
	return phi
}

// value multiplies a number by a monomial of numbers.
func (m monomial) value(v float64, y []float64) float64 {
	for i, at := range m.at {
		for range m.powers[i] {
			v *= y[at]
		}
	}
	return v
}

// farOff reports whether rows that were not fitted to are so far from a polynomial's zeros that no way
// to write it is nearly kept: what hardly varies beside its terms may vary much beside its gradient.
func (m *powers) farOff(a []float64) bool {
	const count = 200
	value := m.value(a)
	fitted := make([]float64, 0, count)
	for _, i := range some(m.s.fit, count) {
		fitted = append(fitted, value(m.s.row(i)))
	}
	slices.Sort(fitted)
	middle := fitted[len(fitted)/2]
	gradient, g := m.gradient(a), make([]float64, len(m.columns))
	of := make([]float64, 0, count)
	for _, i := range some(m.s.held, count) {
		clear(g)
		gradient(g, i)
		spread := 0.0
		for k, j := range m.columns {
			spread += g[k] * m.s.scale[j] * g[k] * m.s.scale[j]
		}
		of = append(of, math.Abs(value(m.s.row(i))-middle)/math.Sqrt(spread))
	}
	return !(trimmed(of) <= 2*Near)
}

// vanishing makes the relation Σ a_k (x − centre)^power_k = c, in its best known form.
func (m *powers) vanishing(a []float64, exact, clear bool) *Relation {
	if !m.linear() && m.degree(a) == 1 { // a linear one, that the others led to
		plain := make([]float64, len(m.columns))
		for k, f := range m.of {
			if f.pure(1) {
				plain[f.at[0]] = a[k]
			}
		}
		return m.s.powersOf(m.columns, nil, 1).chain(plain, exact, clear, nil)
	}
	last := m.chain(a, exact, clear, nil)
	if !m.moved() {
		return last
	}
	plain := m.expanded(a)
	most := largestEffect(plain, m.weight)
	for k := range plain { // what expanding left of terms that are not there
		if math.Abs(plain[k])*m.weight[k] < 1e-6*most {
			plain[k] = 0
		}
	}
	return (&powers{m.s, m.columns, nil, m.of, m.weight}).chain(plain, exact, clear, last)
}

// degree is that of a polynomial with coefficients a.
func (m *powers) degree(a []float64) (most int) {
	for k, f := range m.of {
		if a[k] != 0 {
			most = max(most, f.degree())
		}
	}
	return most
}

// linear reports whether there are no higher powers.
func (m *powers) linear() bool { return m.of[0].degree() == 1 }

// expanded returns the coefficients in powers of x of a polynomial in x − centre, without the constant.
func (m *powers) expanded(a []float64) []float64 {
	out, none := make([]float64, len(a)), make([]int, len(m.columns))
	for k, f := range m.of {
		if a[k] == 0 {
			continue
		}
		// Π (x_m − c_m)^n_m, a factor at a time; terms are by the powers of all columns.
		terms, of := map[string]float64{fmt.Sprint(none): a[k]}, map[string][]int{fmt.Sprint(none): none}
		for i, by := range f.at {
			for range f.powers[i] {
				next, nextOf := map[string]float64{}, map[string][]int{}
				for _, key := range slices.Sorted(maps.Keys(terms)) {
					v, p := terms[key], of[key]
					up := slices.Clone(p)
					up[by]++
					next[fmt.Sprint(up)] += v
					nextOf[fmt.Sprint(up)] = up
					if c := m.centre[m.columns[by]]; c != 0 {
						next[key] -= c * v
						nextOf[key] = p
					}
				}
				terms, of = next, nextOf
			}
		}
		for at, f := range m.of {
			all := slices.Clone(none)
			for i, by := range f.at {
				all[by] = f.powers[i]
			}
			out[at] += terms[fmt.Sprint(all)]
		}
	}
	return out
}

// chain makes the ways of writing a polynomial, each an alternative to the one before; last is the alternative to all
// of them. Unless the fit was clear, plain coefficients alone prove it.
func (m *powers) chain(a []float64, exact, clear bool, last *Relation) *Relation {
	share := roughly
	if exact {
		share = closely
	}
	list := ways(a, m.weight, share)
	if m.linear() {
		base := slices.Clone(a)
		for k := range base { // without what noise leaves of terms that are not there
			if !exact && math.Abs(a[k])*m.weight[k] < share*largestEffect(a, m.weight) {
				base[k] = 0
			}
		}
		if plain, ok := decimal(base, m.s.coefficientError(m.columns)); ok {
			list = slices.Insert(list, 0, plain)
		}
	}
	for _, way := range slices.Backward(list) {
		made := []*Relation{m.relation(way, exact, false), m.relation(way, exact, true)}
		if q := m.round(way, exact); q != nil {
			made = append(made, q)
		}
		for _, q := range made {
			q.vague = !clear && !whole(way)
			q.alt, last = last, q
		}
	}
	return last
}

// relation writes a polynomial as a sum of terms that is a constant, with a round constant if round is true.
func (m *powers) relation(a []float64, exact, round bool) *Relation {
	a = positiveFirst(slices.Clone(a))
	if short := !slices.ContainsFunc(a, func(v float64) bool { return v != rounded(v, 5) }); !whole(a) &&
		!(short && m.linear()) {
		size, digits := m.slope(a), -1
		if m.linear() {
			size = max(slices.Max(a), -slices.Min(a))
		}
		if !exact {
			digits = 6
		}
		for k := range a {
			a[k] = rounded(a[k]/size, digits)
		}
	}
	spread, uses := 0.0, 0 // how often terms name a coordinate
	r := &Relation{Kind: Quadratic}
	if m.linear() {
		r.Kind = Linear
	} else if m.degree(a) > 2 {
		r.Kind = Polynomial
	}
	for k, f := range m.of {
		spread += math.Abs(a[k]) * m.weight[k]
		if a[k] == 0 {
			continue
		}
		t := Term{Coefficient: a[k], Powers: f.powers}
		for _, at := range f.at {
			t.Columns = append(t.Columns, m.columns[at])
		}
		r.Terms, uses = append(r.Terms, t), uses+len(f.at)
	}
	r.Value = m.s.constant(m.s.sorted(m.value(a)), spread, exact, round)
	equals := " = " + number(r.Value)
	r.Expr = sum(r.Terms, m.centre, nil) + equals
	var at []int
	placed := sum(r.Terms, m.centre, &at) + equals
	switch first := m.columns[0]; {
	case r.Kind != Linear:
		r.Name = fmt.Sprintf("%s[%d]", r.Kind, first)
		if len(m.centre) == 0 && uses <= 10 {
			r.form = form{placed, r.Kind, at}
		}
	case uses <= 3:
		q := relation(Linear, r.Value, placed, "linear", at...)
		r.form, r.Name = q.form, q.Name
	case !oneRun(r.Terms):
		r.Name = "linear"
		from, to := r.Terms[0].Columns[0], r.Terms[uses-1].Columns[0]+1
		row := make([]string, to-from)
		for k := range row {
			row[k] = "0"
		}
		for _, t := range r.Terms {
			row[t.Columns[0]-from] = number(t.Coefficient)
		}
		if x := fmt.Sprintf("x[%d:%d]", from, to); 4*uses >= 3*(to-from) && !whole(a) {
			if to-from == m.s.D {
				x = "x"
			}
			r.Expr = "dot([" + strings.Join(row, ", ") + "], " + x + ")" + equals
		}
	case uses == m.s.D:
		r.Name, r.Expr = "sum", "sum(x)"+equals
	default:
		from := r.Terms[0].Columns[0]
		r.Name, r.Expr = "sum", fmt.Sprintf("sum(x[%d:%d])", from, from+uses)+equals
	}
	r.Terms = append(r.Terms, Term{Coefficient: -r.Value})
	if m.moved() {
		r.Terms = nil // they are of x − centre
	}
	return r
}

func (m *powers) moved() bool {
	return slices.ContainsFunc(m.columns, func(j int) bool { return m.centre[j] != 0 })
}

// about returns a function that tells how far the columns of a point are from the centre.
func (m *powers) about() func(x []float64) []float64 {
	shift, y := make([]float64, len(m.columns)), make([]float64, len(m.columns))
	for k, j := range m.columns {
		shift[k] = m.centre[j]
	}
	return func(x []float64) []float64 {
		for k, j := range m.columns {
			y[k] = x[j] - shift[k]
		}
		return y
	}
}

// value returns the polynomial with coefficients a, as a function of a point.
func (m *powers) value(a []float64) func(x []float64) float64 {
	about := m.about()
	return func(x []float64) (sum float64) {
		y := about(x)
		for k, f := range m.of {
			if a[k] != 0 {
				sum += f.value(a[k], y)
			}
		}
		return sum
	}
}

// gradient returns a function that adds a polynomial's gradient at a row, of columns alone.
func (m *powers) gradient(a []float64) func(g []float64, row int) {
	type part struct {
		by int
		c  float64
		of monomial
	}
	var parts []part
	for k, f := range m.of {
		for i, by := range f.at {
			if a[k] != 0 {
				less := monomial{f.at, slices.Clone(f.powers)}
				less.powers[i]--
				parts = append(parts, part{by, a[k] * float64(f.powers[i]), less})
			}
		}
	}
	about := m.about()
	return func(g []float64, row int) {
		y := about(m.s.row(row))
		for _, p := range parts {
			g[p.by] += p.of.value(p.c, y)
		}
	}
}

// slope is the root mean square of the length of a polynomial's gradient on rows: divided by it,
// a violation is a distance.
func (m *powers) slope(a []float64) float64 {
	if m.linear() {
		return dense.Norm(a)
	}
	sum, rows := 0.0, some(m.s.fit, 200)
	gradient, g := m.gradient(a), make([]float64, len(m.columns))
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

// balls finds spheres about a centre in the planes that are known, such as a tilted circle, by the columns of a plane,
// three neighbours that hold it, or all.
func (s *search) balls() {
	const most = 9
	within := func(q *Relation, columns []int) bool {
		return q.Kind == Linear && len(q.Terms) > 1 && !slices.ContainsFunc(q.Columns, func(j int) bool {
			return !slices.Contains(columns, j)
		})
	}
	var sets [][]int
	for _, plane := range s.exact {
		first := plane.Columns[0] / 3 * 3
		for _, c := range [][]int{plane.Columns, {first, first + 1, first + 2}, s.varies} {
			if len(c) >= 3 && len(c) <= most && c[len(c)-1] < s.D && within(plane, c) {
				sets = append(sets, c)
			}
		}
	}
	slices.SortFunc(sets, slices.Compare)
	for _, columns := range slices.CompactFunc(sets, slices.Equal) {
		var planes []*Relation
		for _, q := range s.exact {
			if within(q, columns) {
				planes = append(planes, q)
			}
		}
		if r := s.ball(columns, planes); r != nil {
			r.only = true
			s.offer([]*Relation{r})
		}
	}
}

// ball fits ‖y‖² = b·y + c, y = x − mean, with b along planes: the centre is mean + b/2.
func (s *survey) ball(columns []int, planes []*Relation) *Relation {
	d, rows := len(columns), some(s.fit, 2000)
	mean, y, a, b := make([]float64, d), make([]float64, d), make([]float64, d*d), make([]float64, d)
	outer := func(scale float64) {
		for k := range d {
			dense.Axpy(a[k*d:(k+1)*d], scale*y[k], y)
		}
	}
	for k, j := range columns {
		for _, i := range rows {
			mean[k] += s.row(i)[j] / float64(len(rows))
		}
	}
	size := 0.0
	for _, i := range rows {
		for k, j := range columns {
			y[k] = s.row(i)[j] - mean[k]
		}
		size += dense.Dot(y, y)
		dense.Axpy(b, dense.Dot(y, y), y)
		outer(1)
	}
	for _, q := range planes { // the rows say nothing along its normal
		clear(y)
		for _, t := range q.Terms[:len(q.Terms)-1] {
			y[slices.Index(columns, t.Columns[0])] = t.Coefficient
		}
		outer(size / dense.Dot(y, y))
	}
	if !dense.Gauss(a, b, d) {
		return nil
	}
	m := s.powersOf(columns, nil, 2)
	of := make([]float64, len(m.of))
	for k, f := range m.of {
		if f.pure(2) {
			of[k] = 1
		} else if f.pure(1) {
			of[k] = -2*mean[f.at[0]] - b[f.at[0]]
		}
	}
	return m.round(of, true)
}

// medianError bounds how far the median of n distances is off by rounding, in half places over √n.
const medianError = 4

// round makes a quadratic relation with squares alone, and lines, one about a centre: with equal
// coefficients a distance from it, else the equation of an ellipsoid. nil if it is neither.
func (m *powers) round(a []float64, exact bool) *Relation {
	square, line := make([]float64, len(m.columns)), make([]float64, len(m.columns))
	for k, f := range m.of {
		switch {
		case a[k] == 0:
		case f.pure(2):
			square[f.at[0]] = a[k]
		case f.pure(1):
			line[f.at[0]] = a[k]
		default:
			return nil
		}
	}
	tolerance, digits := max(1e-7, 1000*m.s.rounding(m.columns)), -1
	if !exact {
		tolerance, digits = 1e-3, 8
	}
	plain := func(v float64) float64 { return rounded(m.s.plain(v, m.s.fine), digits) }
	// Σ q_j (x_j − m_j)² = c, with m_j = −line/(2q_j) from the centre.
	var about, axes, roots []float64
	var used []int
	equal, neighbours, origin := true, true, true
	for k, j := range m.columns {
		if square[k] == 0 && line[k] == 0 {
			continue
		}
		if axes = append(axes, square[k]); square[k]*axes[0] <= 0 {
			return nil
		}
		middle := m.centre[j] - line[k]/(2*square[k])
		if math.Abs(middle) <= tolerance*m.s.scale[j] && exact {
			middle = 0
		}
		middle = plain(middle)
		about, used, roots = append(about, middle), append(used, j), append(roots, math.Sqrt(math.Abs(square[k])))
		equal = equal && math.Abs(square[k]-axes[0]) <= tolerance*math.Abs(axes[0])
		neighbours, origin = neighbours && j == used[0]+len(used)-1, origin && middle == 0
	}
	distances := m.s.sorted(func(x []float64) float64 {
		sum := 0.0
		for k, j := range used {
			v := x[j] - about[k]
			if !equal {
				v *= roots[k]
			}
			sum += v * v
		}
		return math.Sqrt(sum)
	})
	radius := distances[len(distances)/2]
	if !equal { // semi-axes: Σ ((x_j − m_j)/a_j)² = 1
		for k := range axes {
			axes[k] = plain(radius / roots[k])
		}
	} else {
		half := 0.0
		for _, j := range used {
			half = max(half, m.s.columns[j].Half())
		}
		off := medianError * half / math.Sqrt(float64(len(distances)))
		if radius = rounded(m.s.plain(radius, max(m.s.fine, off/radius)), digits); !(radius > 0) {
			return nil
		}
	}
	parts, middle := make([]string, len(used)), make([]string, len(used))
	for k, j := range used {
		middle[k], parts[k] = number(about[k]), shifted("x["+strconv.Itoa(j)+"]", about[k])
		if parts[k] = strings.Trim(parts[k], "()"); !equal && axes[k] != 1 {
			parts[k] = shifted("x["+strconv.Itoa(j)+"]", about[k]) + "/" + number(axes[k])
		}
	}
	text := "norm([" + strings.Join(parts, ", ") + "])"
	if !equal {
		q := &Relation{Kind: Quadratic, Value: 1, Name: fmt.Sprintf("ellipsoid[%d]", used[0]), Expr: text + " = 1"}
		if origin && neighbours {
			for k, j := range used {
				q.Terms = append(q.Terms, Term{axes[k], []int{j}, []int{2}})
			}
			q.Kind = Ellipsoid
		}
		return q
	}
	whole := fmt.Sprintf("x[%d:%d]", used[0], used[0]+len(used))
	if len(used) == m.s.D {
		whole = "x"
	}
	if neighbours && origin {
		text = "norm(" + whole + ")"
	} else if neighbours {
		text = "distance(" + whole + ", [" + strings.Join(middle, ", ") + "])"
	}
	kind, name := Norm, "norm"
	if len(used) == 2 {
		kind, name = Circle, "circle"
	}
	if !origin {
		kind = Quadratic // no ready-made sphere
	}
	few := !slices.ContainsFunc(about, func(v float64) bool { return v != rounded(v, fewDigits) })
	return &Relation{Kind: kind, Value: radius, Name: fmt.Sprintf("%s[%d]", name, used[0]),
		Expr: text + " = " + number(radius), few: few}
}

// power reports whether a polynomial is about a power h^k, k ≥ 2, of something simpler: it then seems a k-th as far
// from the rows as {h = 0} is, and has no gradient where it holds, so that no process can keep it. Newton's step
// from a row leaves (1 − 1/k)^k of it, a quarter or more; of a polynomial that is none, at the distance of relations
// that are nearly kept, a few hundredths.
func (p *span) power(r *Relation) bool {
	if r.Kind != Quadratic && r.Kind != Polynomial {
		return false
	}
	const much = 0.15
	set := p.s.compile([]*Relation{r})
	e, columns := set.NewEvaluator(1), set.Support()[0]
	x, h, g := make([]float64, p.s.D), make([]float64, 1), make([]float64, len(columns))
	left, rows := 0, 0
	for _, i := range p.rows {
		copy(x, p.s.X[i*p.s.D:(i+1)*p.s.D])
		e.SparseJacobians(h, g, x, 1)
		before, slope := h[0], 0.0
		for k, j := range columns {
			slope += g[k] * p.s.scale[j] * g[k] * p.s.scale[j]
		}
		if before == 0 || !(slope > 0) {
			continue
		}
		for k, j := range columns {
			x[j] -= before / slope * g[k] * p.s.scale[j] * p.s.scale[j]
		}
		e.SparseJacobians(h, g, x, 1)
		if rows++; !(math.Abs(h[0]) <= much*math.Abs(before)) {
			left++
		}
	}
	return 2*left > rows
}

// roots adds to the nearly kept relations those that powers are powers of, if they are at most twice as far as that.
func (s *search) roots() {
	for _, p := range s.powers {
		for k, r := range s.almost {
			if r != nil && s.span.along(p, r) {
				s.near, s.almost[k] = append(s.near, r), nil
			}
		}
	}
}

// along reports whether the gradients of two relations are parallel at most of the rows of the span.
func (p *span) along(a, b *Relation) bool {
	const cosine = 0.95
	alike := 0
	for i := range p.rows {
		dot, aa, bb := 0.0, 0.0, 0.0
		for k, j := range a.Columns {
			p.s.scratch.dense[j] = a.gradient[i*len(a.Columns)+k]
			aa += p.s.scratch.dense[j] * p.s.scratch.dense[j]
		}
		for k, j := range b.Columns {
			v := b.gradient[i*len(b.Columns)+k]
			dot, bb = dot+p.s.scratch.dense[j]*v, bb+v*v
		}
		for _, j := range a.Columns {
			p.s.scratch.dense[j] = 0
		}
		if math.Abs(dot) >= cosine*math.Sqrt(aa*bb) && aa*bb > 0 {
			alike++
		}
	}
	return 4*alike >= 3*len(p.rows)
}

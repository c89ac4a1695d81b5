package discover

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/internal/dense"
)

// A fit is what the singular values of standardised columns tell: of combinations Σ a_k φ_k(x)
// of functions φ those that hardly vary.
type fit struct {
	mean, sd, norm []float64   // of each function, over the rows fitted to; norm is sd·√rows
	exact          [][]float64 // orthonormal combinations of φ_k/sd_k that do not vary but for rounding
	near           [][]float64 // others whose standard deviation is below nearSigma, the steadiest first
	alike          [][]float64 // those of near that hardly differ in that from the steadiest
	last           []float64   // the steadiest that is not exact
	// clear says that all others vary far more than the exact ones. Where they do not, rows fill so little of the space
	// that many combinations hardly vary: a short piece of a curve is on any number of polynomials, to any digit.
	clear bool
	gap   float64 // how many times as far the first other one varies as the last exact one
}

const (
	exactSigma = 1e-8
	nearSigma  = 0.05
)

// combine finds the combinations of p functions that rows keep. The functions' values at rows are columns of phi,
// rows×p; combine overwrites phi. rounding is the error of the last place of the numbers, relative to the spread. A few
// bad rows must not hide what the others keep: combine leaves out rows, at most one in a hundred, that alone keep a
// combination from being steady. ok is false if there are too few rows for p functions.
func combine(phi []float64, p int, rounding float64) (f fit, ok bool) {
	const rounds = 4
	most := max(1, len(phi)/p/100)
	for range rounds {
		if f, ok = steadiest(phi, p, rounding); !ok || f.last == nil {
			return f, ok
		}
		bad := apart(phi, f.last)
		if most -= len(bad); len(bad) == 0 || most < 0 || len(phi)/p-len(bad) < p+spare {
			return f, true
		}
		kept := phi[:0]
		for i := range len(phi) / p {
			if len(bad) > 0 && bad[0] == i {
				bad = bad[1:]
				continue
			}
			kept = append(kept, phi[i*p:(i+1)*p]...)
		}
		phi = kept
		for i := range len(phi) / p { // plain again
			for k := range p {
				phi[i*p+k] = phi[i*p+k]*f.norm[k] + f.mean[k]
			}
		}
	}
	return steadiest(phi, p, rounding)
}

// apart returns the rows whose combination is far beyond that of nineteen in twenty.
func apart(phi, direction []float64) (out []int) {
	p := len(direction)
	value := func(i int) float64 { return math.Abs(dense.Dot(phi[i*p:(i+1)*p], direction)) }
	n := len(phi) / p
	all := make([]float64, n)
	for i := range all {
		all[i] = value(i)
	}
	slices.Sort(all)
	limit := 10 * all[n*95/100]
	if all[n-1] <= 2*limit || all[n-1] < 1e-9 {
		return nil
	}
	for i := range n {
		if value(i) > limit {
			out = append(out, i)
		}
	}
	return out
}

// steadiest is combine of all rows. It leaves phi standardised.
func steadiest(phi []float64, p int, rounding float64) (f fit, ok bool) {
	n := len(phi) / p
	if n < p+spare {
		return fit{}, false
	}
	for k := range p {
		mean, sd := 0.0, 0.0
		for i := range n {
			mean += phi[i*p+k] / float64(n)
		}
		for i := range n {
			phi[i*p+k] -= mean
			sd += phi[i*p+k] * phi[i*p+k] / float64(n)
		}
		if sd = math.Sqrt(sd); sd == 0 {
			sd = 1 // the function does not vary: its combination is found
		}
		size := sd * math.Sqrt(float64(n))
		for i := range n {
			phi[i*p+k] /= size
		}
		f.mean, f.sd, f.norm = append(f.mean, mean), append(f.sd, sd), append(f.norm, size)
	}
	// Through R of QR = φ: singular values to round-off, which φᵀφ would lose the half of.
	var qr mat.QR
	qr.Factorize(mat.NewDense(n, p, phi))
	var tall mat.Dense
	qr.RTo(&tall)
	var svd mat.SVD
	if !svd.Factorize(tall.Slice(0, p, 0, p), mat.SVDThin) {
		return fit{}, false
	}
	sigma := svd.Values(nil)
	var v mat.Dense
	svd.VTo(&v)
	first := 0.0
	for k := p - 1; k >= 0 && sigma[k] < nearSigma; k-- {
		direction := mat.Col(nil, k, &v)
		if sigma[k] <= max(exactSigma, slack*rounding) {
			f.exact = append(f.exact, direction)
			continue
		}
		if first == 0 {
			first = sigma[k]
		}
		if sigma[k] <= 5*first {
			f.alike = append(f.alike, direction)
		}
		f.near = append(f.near, direction)
	}
	f.clear = true
	if at := p - 1 - len(f.exact); at >= 0 {
		const others, apart = 1e-3, 100
		f.last = mat.Col(nil, at, &v)
		if f.gap = math.Inf(1); at < p-1 {
			f.gap = sigma[at] / max(sigma[at+1], 0x1p-52)
		}
		f.clear = sigma[at] >= others && (f.gap >= apart || sigma[at] >= apart*slack*rounding)
	}
	return f, true
}

// echelon brings combinations, rows of p numbers in units of scale, to reduced echelon form by complete pivoting:
// each has a function that the others lack, and as few others as can be. It returns the places of those functions.
func echelon(rows [][]float64, scale []float64) (pivots []int) {
	p := len(scale)
	used := map[int]bool{}
	for r := range rows {
		best, at, in := 0.0, -1, -1
		for i := r; i < len(rows); i++ {
			for k := range p {
				if v := math.Abs(rows[i][k]); v > best*(1+1e-9) && !used[k] {
					best, at, in = v, k, i
				}
			}
		}
		if at < 0 {
			return pivots
		}
		rows[r], rows[in] = rows[in], rows[r]
		used[at], pivots = true, append(pivots, at)
		s := rows[r][at]
		for k := range p {
			rows[r][k] /= s
		}
		for i := range rows {
			if t := rows[i][at]; i != r && t != 0 {
				for k := range p {
					rows[i][k] -= t * rows[r][k]
				}
				rows[i][at] = 0
			}
		}
	}
	return pivots
}

// plainest returns as many independent combinations as directions span that a person would write, in plain
// coefficients: those of 0, 1 and −1 first, the shortest of them before others, then such with as few terms as can
// be. Effects below a tolerance of the largest are none; sd are those of the functions.
func plainest(directions [][]float64, sd []float64, tolerance float64) (out [][]float64) {
	const most = 6                        // up to this many rows all sums are tried, beyond it sums of two
	negligible := max(1e-7, tolerance/10) // what differences leave
	effects := func(a []float64) (n int) {
		most := largestEffect(a, sd)
		for k := range a {
			if math.Abs(a[k])*sd[k] > negligible*most {
				n++
			}
		}
		return n
	}
	var rows, units [][]float64
	for i, at := range echelon(directions, sd) {
		a := coefficients(directions[i], sd, tolerance)
		dense.Scaled(a, 1/a[at], a)
		rows = append(rows, a)
	}
	var add func(sum []float64, from, left int)
	add = func(sum []float64, from, left int) {
		if !slices.ContainsFunc(sum, func(v float64) bool {
			return math.Abs(v-math.Round(v)) > tolerance || math.Abs(v) > 1.5
		}) {
			units = append(units, sum)
		}
		for i := from; i < len(rows) && left > 0; i++ {
			for _, sign := range []float64{1, -1} {
				next := slices.Clone(sum)
				dense.Axpy(next, sign, rows[i])
				add(next, i+1, left-1)
			}
		}
	}
	depth := 1
	if len(rows) <= most {
		depth = len(rows) - 1
	}
	for i := range rows {
		add(rows[i], i+1, depth)
	}
	slices.SortStableFunc(units, func(a, b []float64) int { return effects(a) - effects(b) })
	for again := len(rows) <= 20; again; { // multiples of others are subtracted as long as that makes coefficients 0
		again = false
		for i := range rows {
			count := effects(rows[i])
			for j, b := range rows {
				for k := range b {
					if i == j || rows[i][k] == 0 || math.Abs(b[k])*sd[k] <= negligible*largestEffect(b, sd) {
						continue
					}
					less := slices.Clone(rows[i])
					dense.Axpy(less, -less[k]/b[k], b)
					less[k] = 0
					if n := effects(less); n < count {
						rows[i], count, again = less, n, true
					}
				}
			}
		}
	}
	for i, a := range rows {
		for _, u := range units { // a sum to a constant may be taken from a row any number of times
			least, inside := math.Inf(1), true
			for k := range a {
				if inside = inside && (math.Abs(u[k]-1) <= tolerance || math.Abs(a[k]) <= tolerance); u[k] > 0.5 {
					least = min(least, a[k])
				}
			}
			if inside && least < -tolerance {
				rows[i] = slices.Clone(a)
				dense.Axpy(rows[i], -least, u)
				break
			}
		}
	}
	var basis [][]float64
	for _, a := range append(units, rows...) {
		a = coefficients(weighted(a, sd), sd, negligible)
		v := weighted(a, sd)
		size := dense.Norm(v)
		for range 2 {
			for _, b := range basis {
				dense.Axpy(v, -dense.Dot(v, b), b)
			}
		}
		if rest := dense.Norm(v); rest > 1e-4*size && len(out) < len(rows) {
			dense.Scaled(v, 1/rest, v)
			basis, out = append(basis, v), append(out, a)
		}
	}
	return out
}

func largestEffect(a, weight []float64) (most float64) {
	for k := range a {
		most = max(most, math.Abs(a[k])*weight[k])
	}
	return most
}

func weighted(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for k := range a {
		out[k] = a[k] * b[k]
	}
	return out
}

// decimal scales coefficients such that they have few digits: three beside a coefficient of 1, or those of whole
// numbers up to a thousand (10⁵ with three sizes), whichever are fewer in all; false if no factor does that within a
// tolerance.
func decimal(a []float64, tolerance float64) (best []float64, ok bool) {
	most, fewest := max(slices.Max(a), -slices.Min(a)), math.Inf(1)
	out, least := make([]float64, len(a)), 1.5 // least: what whole numbers of a digit each cost
	for _, v := range a {
		if math.Abs(v) > tolerance*most {
			least++
		}
	}
	try := func(factor, unit, cost float64, round func(v float64) float64) {
		for k, v := range a {
			if out[k] = round(v * factor); math.Abs(out[k]-v*factor) > tolerance*most*factor {
				return
			}
			if out[k] = tidy(out[k] / unit); out[k] != 0 {
				digits, _, _ := strings.Cut(strconv.FormatFloat(math.Abs(out[k]), 'e', -1, 64), "e")
				cost += float64(len(strings.Replace(digits, ".", "", 1)))
			}
		}
		if cost < fewest {
			best, fewest, ok = positiveFirst(slices.Clone(out)), cost, true
		}
	}
	for _, v := range a {
		if most < 1000*math.Abs(v) {
			try(1/math.Abs(v), 1, 0, func(v float64) float64 { return rounded(v, 3) })
		}
	}
	// A single ratio is near to one of whole numbers below 10⁵ by chance, two are not.
	sizes, limit := map[float64]bool{0: true}, 1000.0
	for _, v := range a {
		sizes[rounded(math.Abs(v)/most, 6)] = true
	}
	if len(sizes) > 3 {
		limit = 100_000
	}
	unit := 1.0
	for n := 1.0; n <= min(limit, 0.1/tolerance) && fewest > least; n++ {
		if n >= 2*unit {
			unit *= 10
		}
		try(n/most, unit, 1.5, math.Round) // a coefficient of 1 is worth more than a digit
	}
	return best, ok
}

// coefficients turns a combination of standardised functions into one of plain ones, the largest effect having
// coefficient 1 where plain numbers do not say better; what is below rounding beside it is 0.
func coefficients(direction, sd []float64, negligible float64) []float64 {
	a, most := make([]float64, len(direction)), 0.0
	for _, v := range direction {
		most = max(most, math.Abs(v))
	}
	for k, v := range direction {
		if math.Abs(v) > negligible*most {
			a[k] = v / sd[k]
		}
	}
	return a
}

// simple scales coefficients such that they are small whole numbers, if some factor does that
// to all of them within a tolerance; false if none does.
func simple(a []float64, tolerance float64) ([]float64, bool) {
	least := math.Inf(1)
	for _, v := range a {
		if v != 0 {
			least = min(least, math.Abs(v))
		}
	}
next:
	for by := 1; by <= 12; by++ {
		out := make([]float64, len(a))
		for k, v := range a {
			w := v / least * float64(by)
			if out[k] = math.Round(w); math.Abs(w-out[k]) > tolerance*math.Abs(w) || math.Abs(out[k]) > 1000 {
				continue next
			}
		}
		return positiveFirst(out), true
	}
	return nil, false
}

// positiveFirst turns the sign such that the first coefficient that is not 0 is positive.
func positiveFirst(a []float64) []float64 {
	for _, v := range a {
		if v < 0 {
			for k := range a {
				a[k] = -a[k]
			}
		}
		if v != 0 {
			break
		}
	}
	return a
}

// linear finds linear relations between the columns that vary: of all of them, or where rows
// are too few for that, of runs of neighbours.
func (s *search) linear() {
	const work = 1_000_000_000        // of one fit: rows × columns²
	const most, neighbours = 600, 200 // columns that are looked at together; where they are more
	p := len(s.varies)
	if p < 2 {
		return
	}
	width := p
	if p > most {
		width = neighbours
		s.addRemark("linear relations were looked for among %d neighbours of %d columns at a time, and as the sum of "+
			"all: the whole takes at most %d", width, p, most)
		s.wholeSum()
	}
	if rows := len(s.fit) - spare; width > rows {
		if width = rows; width < 2 {
			s.addRemark("%d rows are too few to look for linear relations among %d columns", len(s.fit)+len(s.held), p)
			return
		}
		s.addRemark("%d rows are too few to look for linear relations among all %d columns, which takes %d: they were "+
			"looked for among %d neighbours at a time", len(s.first), p, 2*(p+spare), width)
	}
	for at := 0; ; at += max(1, width/2) {
		at = min(at, p-width)
		s.polynomial(s.varies[at:at+width], 1, work)
		if at == p-width {
			return
		}
	}
}

// wholeSum looks whether the sum of all columns is constant.
func (s *search) wholeSum() {
	columns, ones, spread := make([]int, s.D), make([]float64, s.D), 0.0
	for j := range ones {
		columns[j], ones[j], spread = j, 1, math.Hypot(spread, s.scale[j])
	}
	_, ok := s.steady(func(x []float64) float64 {
		sum := 0.0
		for _, v := range x {
			sum += v
		}
		return sum
	}, spread)
	if ok {
		s.offer([]*Relation{s.powersOf(columns, nil, 1).chain(ones, true, true, nil)})
	}
}

// proposals are combinations that are nearly steady: such as are alike in echelon form, and each as it is.
func (f *fit) proposals() [][]float64 {
	var out [][]float64
	for _, v := range f.alike {
		out = append(out, slices.Clone(v))
	}
	if len(out) > 1 {
		echelon(out, f.sd)
	}
	return append(out, f.near...)
}

// rounding is the largest last place of columns relative to their spread.
func (s *survey) rounding(columns []int) float64 {
	most := 0.0
	for _, j := range columns {
		most = max(most, s.last[j]/s.scale[j])
	}
	return most
}

// coefficientError is about how far fitted coefficients of a linear relation are off, relative to the largest effect.
func (s *survey) coefficientError(columns []int) float64 {
	decimals := 0.0
	for _, j := range columns {
		decimals = max(decimals, s.columns[j].Half()/s.scale[j])
	}
	return max(1e-9, 10*decimals/math.Sqrt(float64(len(s.fit))))
}

// A guess at coefficients leaves out terms of less than a share of the largest effect, and takes what is within that
// of ratios of small whole numbers for them. Guesses are measured like anything else.
const (
	roughly = 0.02 // in relations that rows nearly keep
	closely = 1e-3 // in others
)

// ways are the coefficients that a relation is tried with, the plainest first. weight is what a
// unit of each coefficient does.
func ways(a, weight []float64, share float64) (out [][]float64) {
	most := largestEffect(a, weight)
	sparse := slices.Clone(a)
	for k, v := range a {
		if math.Abs(v)*weight[k] < share*most {
			sparse[k] = 0
		}
	}
	if plain, ok := simple(sparse, share); ok {
		out = append(out, plain)
	}
	if slices.Equal(sparse, a) {
		return append(out, a)
	}
	if plain, ok := simple(a, share); ok { // of columns that vary little whole numbers are small terms
		out = append(out, plain)
	}
	return append(out, sparse, a)
}

// constant returns the constant of a relation of sorted values of its left side: 0 where it is
// that beside their spread, a round number if asked for, or their median.
func (s *survey) constant(sorted []float64, spread float64, exact, round bool) float64 {
	v := s.settled(sorted)
	vary := sorted[len(sorted)*95/100] - sorted[len(sorted)*5/100]
	if math.Abs(v.median) <= max(1e-9*spread, vary/4) {
		if round || exact && math.Abs(v.median) <= 1e-12*spread {
			return 0
		}
	}
	switch {
	case round:
		return v.round
	case exact:
		return v.median
	}
	return rounded(v.median, 8)
}

func whole(a []float64) bool {
	return !slices.ContainsFunc(a, func(v float64) bool { return v != math.Trunc(v) })
}

// oneRun reports whether a linear sum is that of neighbouring coordinates.
func oneRun(terms []Term) bool {
	for k, t := range terms {
		if t.Coefficient != 1 || t.Columns[0] != terms[0].Columns[0]+k {
			return false
		}
	}
	return true
}

// rounded keeps `digits` digits; −1: all.
func rounded(v float64, digits int) float64 {
	if digits < 0 || v == 0 {
		return v
	}
	p := math.Pow(10, float64(digits-1)-math.Floor(math.Log10(math.Abs(v))))
	if w := math.Round(v*p) / p; w-w == 0 {
		return tidy(w)
	}
	return v
}

// shifted writes x − m.
func shifted(x string, m float64) string {
	switch {
	case m > 0:
		return "(" + x + " - " + number(m) + ")"
	case m < 0:
		return "(" + x + " + " + number(-m) + ")"
	}
	return x
}

// sum writes a sum of terms over x − centre; coordinates that centre lacks have the centre 0. With at, indices are
// places in a form, and at collects the coordinates.
func sum(terms []Term, centre map[int]float64, at *[]int) string {
	var b strings.Builder
	for _, t := range terms {
		c := t.Coefficient
		switch {
		case b.Len() == 0 && c < 0:
			b.WriteString("-")
		case b.Len() > 0 && c < 0:
			b.WriteString(" - ")
		case b.Len() > 0:
			b.WriteString(" + ")
		}
		c = math.Abs(c)
		var factors []string
		for k, j := range t.Columns {
			x := "x[" + strconv.Itoa(j) + "]"
			if at != nil {
				x = "x[@" + strconv.Itoa(len(*at)) + "]"
				*at = append(*at, j)
			}
			x = shifted(x, centre[j])
			if t.Powers[k] > 1 {
				x += "^" + strconv.Itoa(t.Powers[k])
			}
			factors = append(factors, x)
		}
		if c != 1 || len(factors) == 0 {
			factors = append([]string{number(c)}, factors...)
		}
		b.WriteString(strings.Join(factors, "*"))
	}
	if b.Len() == 0 {
		return "0"
	}
	return b.String()
}

package discover

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/landing-diffusion/landing/judge/metric"
)

// A Column is what one column of a table looks like.
type Column struct {
	Min, Max, Mean, SD float64
	Low, Median, High  float64 // quartiles
	Distinct           int     // values, of at most maxRows rows
	Whole              bool    // all are whole numbers
	Counts             bool    // they go up from row to row, by 1 but for a few rows: numbers of the rows
	Decimals           int     // that its numbers have; −1 where they have no last one
	Single             bool    // its numbers are of single precision
	// SpaceLow and SpaceHigh are the mean distances of neighbours in the outer twentieths of the range; 0: hardly a
	// number is there.
	SpaceLow, SpaceHigh float64
	// Last is half of the last place that the numbers keep: by which each may be off.
	Last float64
	// Coarse is half of the last place of its largest number, where all have few significant digits; 0: they have more.
	Coarse float64
	// Zero reports whether all its numbers are rounding errors beside the spread of the other columns.
	Zero bool
}

// Constant reports whether the column does not vary by more than its last place, or than Steady of the spread of the
// other columns.
func (c Column) Constant() bool { return c.Max-c.Min <= 2*slack*c.Last }

// Label reports whether the column looks like one that names things by whole numbers: few values, each often.
func (c Column) Label(rows int) bool {
	const values, times = 30, 5
	return c.Whole && c.Distinct >= 2 && c.Distinct <= values && rows >= times*c.Distinct
}

// Number reports whether the column looks like the number of the row.
func (c Column) Number(rows int) bool { return c.Counts && rows >= 10 }

const maxDecimals = 9

// Columns looks at the columns of n rows of d finite numbers.
func Columns(x []float64, n, d int) []Column {
	out := make([]Column, d)
	step := max(1, (n+maxRows-1)/maxRows)
	if total := 20_000_000; d*(n/step) > total { // numbers that are sorted, at most
		step = (n*d + total - 1) / total
	}
	sorted := make([]float64, 0, n/step+1)
	for j := range out {
		c := &out[j]
		*c = Column{Min: math.Inf(1), Max: math.Inf(-1), Whole: true, Counts: true, Single: true}
		for i := range n {
			v := x[i*d+j]
			c.Min, c.Max, c.Mean = min(c.Min, v), max(c.Max, v), c.Mean+v/float64(n)
			c.Whole = c.Whole && v == math.Trunc(v) && math.Abs(v) < 1<<53
			c.Counts = c.Counts && (i == 0 || v > x[(i-1)*d+j])
			c.Single = c.Single && float64(float32(v)) == v
		}
		sorted = sorted[:0]
		for i := range n {
			dv := x[i*d+j] - c.Mean
			c.SD += dv * dv / float64(n)
			if i%step == 0 {
				sorted = append(sorted, x[i*d+j])
			}
		}
		c.SD = math.Sqrt(c.SD)
		c.Counts = c.Counts && c.Whole && c.Max-c.Min < 2*float64(n)
		c.Decimals = decimals(x, n, d, j, c)
		slices.Sort(sorted)
		c.Low, c.Median, c.High = quantile(sorted, 0.25), quantile(sorted, 0.5), quantile(sorted, 0.75)
		for i, v := range sorted {
			if i == 0 || v != sorted[i-1] {
				c.Distinct++
			}
		}
		c.Last, c.Coarse = c.last(x[j:], d), c.coarse(sorted)
		const edge, fewest = 0.05, 0.01
		reach := edge * (c.Max - c.Min)
		low, _ := slices.BinarySearch(sorted, c.Min+reach)
		high, _ := slices.BinarySearch(sorted, c.Max-reach)
		if most := fewest * float64(len(sorted)); float64(low) > most && float64(len(sorted)-high) > most {
			c.SpaceLow, c.SpaceHigh = reach/float64(low), reach/float64(len(sorted)-high)
		}
	}
	for j := range out {
		c := &out[j]
		// Beside sums of money in dollars a rate is no rounding error.
		if spread := min(typicalSpread(out, j), 100); c.Max-c.Min <= Steady*spread {
			c.Last = max(c.Last, (c.Max-c.Min)/(2*slack))
			c.Zero = max(math.Abs(c.Min), math.Abs(c.Max)) <= Steady*spread
		}
	}
	return out
}

// typicalSpread is the median standard deviation of the other columns that vary; 0 if none does.
func typicalSpread(columns []Column, but int) float64 {
	var spreads []float64
	for j, c := range columns {
		if j != but && !c.Constant() {
			spreads = append(spreads, c.SD)
		}
	}
	if len(spreads) == 0 {
		return 0
	}
	slices.Sort(spreads)
	return spreads[len(spreads)/2]
}

func quantile(sorted []float64, q float64) float64 { return sorted[int(q*float64(len(sorted)-1)+0.5)] }

// decimals returns the fewest decimals that write all numbers of a column, or −1.
func decimals(x []float64, n, d, j int, c *Column) int {
	if c.Whole {
		return 0
	}
	size := max(math.Abs(c.Min), math.Abs(c.Max))
	power, from := 1.0, 0
next:
	for k := 0; k <= maxDecimals; k++ {
		if size*power > 1e13 { // rounding hides where this many digits end
			return -1
		}
		for i := from; i < n; i++ {
			v := x[i*d+j] * power
			if math.Abs(v-math.Round(v)) > 4*0x1p-52*math.Abs(v) {
				from, power = i, power*10 // rows before it have no more decimals
				continue next
			}
		}
		return k
	}
	return -1
}

// last returns half of the last place: that of the decimals where there are some, and enough
// of them to say more than the numbers' spread; else that of single or double precision. x begins at the column.
func (c *Column) last(x []float64, d int) float64 {
	size := max(math.Abs(c.Min), math.Abs(c.Max))
	double := 0x1p-53 * size
	const digits = 1e7 // that single precision has
	if long := c.Decimals < 0 || size*math.Pow(10, float64(c.Decimals)) >= digits; long && !c.Whole {
		if c.Single = c.Single || writtenSingles(x, d); c.Single {
			return 0x1p-24 * size
		}
	}
	if half := 0.5 * math.Pow(10, -float64(c.Decimals)); c.Decimals > 0 && half < informative*c.SD {
		return max(half, double)
	}
	return double
}

// coarse is Coarse: of half precision, or of decimal numbers.
func (c *Column) coarse(x []float64) float64 {
	size := max(math.Abs(c.Min), math.Abs(c.Max))
	_, exponent := math.Frexp(size)
	longer := func(v float64) bool { f, _ := math.Frexp(v); return math.Mod(f, 0x1p-11) != 0 }
	if c.Decimals < 0 && !slices.ContainsFunc(x, longer) {
		return math.Ldexp(0.5, exponent-11)
	}
	for digits := 2; digits <= 5 && !c.Whole; digits++ {
		places := digits - 1 - int(math.Floor(math.Log10(size))) // of the largest number
		longer := func(v float64) bool { return v != rounded(v, digits) }
		if (c.Decimals < 0 || c.Decimals > places+1) && !slices.ContainsFunc(x, longer) {
			return 0.5 * math.Pow10(-places)
		}
	}
	return 0
}

// Half is half of the last decimal of the column's numbers, Coarse or Last where they have none that can be told.
func (c Column) Half() float64 {
	if c.Decimals >= 0 {
		return max(c.Last, c.Coarse, 0.5*math.Pow(10, -float64(c.Decimals)))
	}
	return max(c.Last, c.Coarse)
}

// writtenSingles reports whether every d-th number is the text of a number of single precision: the shortest one, or of
// eight or nine digits.
func writtenSingles(x []float64, d int) bool {
	return slices.ContainsFunc([]int{-1, 8, 9}, func(digits int) bool {
		for k := 0; k < len(x); k += d {
			v, _ := strconv.ParseFloat(strconv.FormatFloat(float64(float32(x[k])), 'g', digits, 32), 64)
			if v != x[k] {
				return false
			}
		}
		return true
	})
}

// An Outlier is a number far from the rest of its column.
type Outlier struct {
	Row, Column int
	Value       float64
}

// fence is how many interquartile ranges beyond the quartiles a number is an outlier. Of
// independent Gaussian numbers it is beyond 8.8 standard deviations: one in 10¹⁷.
const fence = 6

const maxOutliers = 20 // in a report

// gap is how many interquartile ranges without a number stand before an outlier.
const gap = 3

// findOutliers finds numbers beyond the fences of their columns, and beyond a gap: a tail that thins
// out is part of the law, and so are many numbers.
func (s *survey) findOutliers() {
	const share = 0.01
	for _, j := range s.varies {
		c := s.columns[j]
		width := c.High - c.Low
		if width <= 0 {
			continue
		}
		var rows []int
		most := max(1, int(share*float64(s.N)))
		least, last := math.Inf(1), math.Inf(-1) // within the fences
		for i := range s.N {
			v := s.X[i*s.D+j]
			if v >= c.Low-fence*width && v <= c.High+fence*width {
				least, last = min(least, v), max(last, v)
			} else if rows = append(rows, i); len(rows) > most {
				break
			}
		}
		if len(rows) > most {
			continue
		}
		value := func(i int) float64 { return s.X[i*s.D+j] }
		slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(value(a), value(b)) })
		for _, i := range rows { // up the tail
			if v := value(i); v > last && v-last <= gap*width {
				last = v
			}
		}
		for _, i := range slices.Backward(rows) { // and down the other
			if v := value(i); v < least && least-v <= gap*width {
				least = v
			}
		}
		rows = slices.DeleteFunc(rows, func(i int) bool { return value(i) >= least && value(i) <= last })
		slices.Sort(rows)
		for _, i := range rows {
			if s.odd[i] = true; len(s.outliers) < maxOutliers {
				s.outliers = append(s.outliers, Outlier{i, j, s.X[i*s.D+j]})
			}
		}
	}
}

// roundBeyond returns the roundest number within reach beyond an end, or the end itself.
func roundBeyond(v, reach float64, up bool) float64 {
	for _, unit := range []float64{1, 0.5, 0.1} {
		step := unit * math.Pow(10, math.Ceil(math.Log10(reach))+1)
		for range 3 {
			w := math.Floor(v/step) * step
			if up {
				w = math.Ceil(v/step) * step
			}
			if math.Abs(w-v) <= reach {
				return tidy(w)
			}
			step /= 10
		}
	}
	return v
}

// tidy returns the number without the last bits that multiplying by powers of ten leaves.
func tidy(v float64) float64 {
	if v == 0 {
		return 0
	}
	p := math.Pow(10, 12-math.Ceil(math.Log10(math.Abs(v))))
	if w := math.Round(v*p) / p; w-w == 0 {
		return w
	}
	return v
}

// A Seam is a column that takes all angles of a circle as plain numbers: what is next to each other across ±180° is
// far apart in R^d.
type Seam struct {
	Column int
	Unit   string // radians, degrees
}

// angleRanges are the ranges of angles.
var angleRanges = []struct {
	low, high float64
	unit      string
}{{-math.Pi, math.Pi, "radians"}, {0, 2 * math.Pi, "radians"}, {-180, 180, "degrees"}, {0, 360, "degrees"}}

const (
	seamValues = 50   // more of them
	seamShare  = 0.98 // of a circle
)

// Circle returns the unit of the column's numbers if they look like all angles of a circle, else "". Angles come
// round: numbers stand near both ends of the range, and as near to them as to each other. The coordinate of a law that
// thins out, or ends elsewhere, does not.
func (c Column) Circle() string {
	const near = 8
	place := 0.0 // whole degrees end at 359
	if c.Decimals >= 0 {
		place = 1.5 * math.Pow10(-c.Decimals)
	}
	for _, r := range angleRanges {
		if c.Min-r.low < near*c.SpaceLow+place && r.high-c.Max < near*c.SpaceHigh+place && c.Distinct > seamValues &&
			c.Min >= r.low && c.Max <= r.high && c.Max-c.Min > seamShare*(r.high-r.low) {
			return r.unit
		}
	}
	return ""
}

// Seams returns the columns of n rows of d finite numbers that look like all angles of a circle.
func Seams(x []float64, n, d int) (out []Seam) {
	for k := range d {
		c := Column{Min: math.Inf(1), Max: math.Inf(-1), Distinct: seamValues + 1, SpaceLow: math.Inf(1),
			SpaceHigh: math.Inf(1)}
		for i := range n {
			c.Min, c.Max = min(c.Min, x[i*d+k]), max(c.Max, x[i*d+k])
		}
		if c.Circle() == "" { // few columns are to be sorted
			continue
		}
		if unit := Columns(metric.Column(x, k, d), n, 1)[0].Circle(); unit != "" {
			out = append(out, Seam{k, unit})
		}
	}
	return out
}

// Repeated are rows that are equal to an earlier one.
type Repeated struct {
	Count  int
	First  [][2]int // such a row and the first one that it is equal to; at most 20
	Looked int      // rows that were looked at, from the first
}

// maxHashed bounds the rows among which equal ones are looked for.
const maxHashed = 1 << 21

// Duplicates finds rows that are equal to earlier ones, number by number.
func Duplicates(x []float64, n, d int) Repeated {
	r, _ := repeated(x, n, d)
	return r
}

// repeated is Duplicates, which also returns the rows that are first of their kind.
func repeated(x []float64, n, d int) (r Repeated, first []int) {
	r.Looked = min(n, maxHashed)
	seen := make(map[uint64][]int32, r.Looked)
	for i := range r.Looked {
		row := x[i*d : (i+1)*d]
		h := Hash(row)
		at := -1
		for _, k := range seen[h] {
			if slices.Equal(row, x[int(k)*d:int(k+1)*d]) {
				at = int(k)
				break
			}
		}
		if at < 0 {
			seen[h], first = append(seen[h], int32(i)), append(first, i)
			continue
		}
		if r.Count++; len(r.First) < 20 {
			r.First = append(r.First, [2]int{i, at})
		}
	}
	return r, first
}

// Hash is that of Fowler, Noll and Vo, by words; −0 is 0.
func Hash(row []float64) uint64 {
	h := uint64(14695981039346656037)
	for _, v := range row {
		h = (h ^ math.Float64bits(v+0)) * 1099511628211
		h ^= h >> 29
	}
	return h
}

// choose parts distinct rows without outliers, evenly thinned, in those that relations are
// fitted to and those that they are held against, in turn.
func (s *survey) choose() {
	_, s.first = repeated(s.X, s.N, s.D)
	var kept []int
	for _, i := range s.first {
		if !s.odd[i] {
			kept = append(kept, i)
		}
	}
	step := max(1, (len(kept)+maxRows-1)/maxRows)
	for k := 0; k < len(kept); k += step {
		if (k/step)%2 == 0 {
			s.fit = append(s.fit, kept[k])
		} else {
			s.held = append(s.held, kept[k])
		}
	}
}

// some returns at most n of the rows, evenly.
func some(rows []int, n int) []int {
	if len(rows) <= n {
		return rows
	}
	out := make([]int, n)
	for k := range out {
		out[k] = rows[k*len(rows)/n]
	}
	return out
}

// row returns the numbers of a row.
func (s *survey) row(i int) []float64 { return s.X[i*s.D : (i+1)*s.D] }

// sorted returns a number of at most 2001 rows that relations are fitted to, in order.
func (s *survey) sorted(q func(x []float64) float64) []float64 {
	rows := some(s.fit, 2001)
	out := make([]float64, len(rows))
	for k, i := range rows {
		out[k] = q(s.row(i))
	}
	slices.Sort(out)
	return out
}

// fills estimates the dimension that rows fill by the ratio of each row's distances to its
// nearest two others: locally uniform points in p dimensions have P(ratio > μ) = μ^−p, whose
// maximum likelihood estimate is 1/mean(log ratio) (Facco et al., Scientific Reports 7, 2017).
// Columns are in units of their spread. It is NaN for fewer than 100 distinct rows.
func (s *survey) fills() float64 {
	rows := slices.Concat(s.fit, s.held)
	const work = 400_000_000 // numbers that are compared
	most := min(4000, int(math.Sqrt(work/float64(s.D))))
	// Of fewer rows the nearest are further: the dimension is that of a coarser look.
	if rows = some(rows, most); len(rows) < 100 {
		return math.NaN()
	}
	p, unit := len(s.varies), 0.0
	z := make([]float64, 0, len(rows)*p)
	// One unit for all columns: each its own would stretch the surface, which is harmless, but
	// columns of noise about a constant would become dimensions.
	for _, j := range s.varies {
		unit = max(unit, s.columns[j].SD)
	}
	for _, i := range rows {
		for _, j := range s.varies {
			z = append(z, s.X[i*s.D+j]/unit)
		}
	}
	sum, count := 0.0, 0
	for a := range rows {
		one, two := math.Inf(1), math.Inf(1)
		u := z[a*p : (a+1)*p]
		for b := range rows {
			if a == b {
				continue
			}
			dist := 0.0
			for j, v := range z[b*p : (b+1)*p] {
				dist += (u[j] - v) * (u[j] - v)
				if dist > two {
					break
				}
			}
			switch {
			case dist < one:
				one, two = dist, one
			case dist < two:
				two = dist
			}
		}
		if one > 0 && !math.IsInf(two, 0) {
			sum, count = sum+0.5*math.Log(two/one), count+1
		}
	}
	if count < 100 || sum == 0 {
		return math.NaN()
	}
	return float64(count) / sum
}

package choose

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
)

// Measures are lengths of rows of data and of the set that they lie on, in the unit of the
// rows: what a process and a network are chosen from.
//
// They are a function of the rows as a set, of the set and of a seed: the order of rows and the number of workers
// change no bit, and where rows and set are 2^k times larger every length is so exactly. Of many rows some are looked
// at, chosen by a hash of their numbers under the seed, never by place. Distances between rows leave out held
// coordinates (constraint.Hold): noise does not move them.
type Measures struct {
	Rows, Coordinates int // as given
	Dim               int // coordinates that noise moves less the most frequent rank of ∇h at the rows
	Components        int // of h and g

	Work float64 // constraint.Capabilities.Work

	Torsions bool // points are torsions of a molecule, on circles of radius 1, and angles; not measured

	Center   []float64 // mean of the rows
	Scales   []float64 // their standard deviation along each coordinate
	Spread   float64   // root mean square distance of rows from it
	Diameter float64   // twice the distance from it within which 99 % of the rows lie

	// Narrow is the least standard deviation, of any direction, in the narrowest part of the law that rows resolve, and
	// Mode that of the narrowest part as a whole: about the geometric mean over directions (scales.go). Both are at 5 %
	// quantiles over rows, and at most Spread/√Dim: that of a Gaussian so wide. Of a law that is thin everywhere, as
	// that of smooth paths is, Narrow is far below Mode.
	Narrow, Mode float64

	// Radius is the radius of curvature 1/|II(u, u)| of {h = 0} along random unit tangents u, at a
	// 5 % quantile over rows and tangents; RadiusThin is the 1 % quantile, as at the rim of a thin body. +Inf where it
	// is flat.
	Radius, RadiusMedian, RadiusThin float64

	// WindowMedian is how far a straight move along ±Π∇g_j goes from wall to wall, of whatever components,
	// through a row: the least over the eight walls nearest to the row, the median over rows.
	// It is +Inf where a move within twice the diameter meets no wall on one of the sides.
	WindowMedian float64

	Notes []string // what could not be measured, or was left out; in words
}

const (
	low      = 0.05 // quantile that stands for "small"
	lowest   = 0.01 // for "thin"
	one      = 1e-9 // of the spread: rows nearer than this are one
	lookedAt = 4096 // rows, for medians of distances from the middle

	// An outlier is farther from the median of each coordinate than outlying times all but 1 % of
	// the rows: by accident, none is, of laws whose moments exist.
	outlying    = 20
	outlierRows = 20 // fewer rows have none
)

func unmeasured(m *Measures, why string) error {
	return fault.Errorf(fault.Data, "", "%d rows of %d coordinates cannot be measured: %s", m.Rows, m.Coordinates, why)
}

// Measure measures rows (n×d) on or near a set. It needs at most some 10⁹ operations and, beside the
// rows, 16 bytes a row and some 100 MB. The error is of kind fault.Data: there is no finite row.
// What the set refuses is a note. A context that is done ends it with its error.
func Measure(ctx context.Context, set constraint.Set, rows []float64, seed uint64,
	pool *parallel.Pool) (*Measures, error) {
	d := set.Dim()
	if len(rows)%d != 0 {
		panic(fmt.Sprintf("choose: %d numbers are no rows of %d", len(rows), d))
	}
	m := &Measures{Rows: len(rows) / d, Coordinates: d, Radius: inf, RadiusMedian: inf, RadiusThin: inf,
		WindowMedian: inf,
		Components:   len(constraint.Components(set)), Work: set.Capabilities().Work}
	if m.Rows == 0 {
		return nil, unmeasured(m, "there are none")
	}
	t := arrange(set, rows, seed)
	if len(t.order) == 0 {
		return nil, unmeasured(m, "none has finite numbers alone")
	}
	if n := m.Rows - len(t.order); n > 0 {
		m.note("%d of %d rows have numbers that are not finite and were left out", n, m.Rows)
	}
	m.extent(t)
	s := newSurvey(ctx, set, pool, t.length(m), seed)
	if err := m.surroundings(s, t); err != nil {
		return nil, err
	}
	if err := m.scales(s, t); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Measures) note(format string, a ...any) {
	m.Notes = append(m.Notes, fmt.Sprintf(format, a...))
}

var inf = math.Inf(1)

// A table is the finite rows in an order that their numbers alone decide: random, yet the same
// whatever order they came in.
type table struct {
	d     int
	rows  []float64
	free  []int   // coordinates that are not held
	order []int32 // rows
	size  float64 // a power of 2 just above every number's size; 1 if all are 0
}

// arrange orders rows by a hash of their free coordinates under the seed, then by their numbers:
// rows that agree stand together.
func arrange(set constraint.Set, rows []float64, seed uint64) *table {
	t := &table{d: set.Dim(), rows: rows, size: 1}
	held := set.Capabilities().Held
	for j := range t.d {
		if _, still := slices.BinarySearch(held, j); !still {
			t.free = append(t.free, j)
		}
	}
	largest := 0.0
	for i := range len(rows) / t.d {
		row := rows[i*t.d : (i+1)*t.d]
		if slices.ContainsFunc(row, func(v float64) bool { return !finite(v) }) {
			continue
		}
		t.order = append(t.order, int32(i))
		for _, j := range t.free {
			largest = max(largest, math.Abs(row[j]))
		}
	}
	if largest > 0 {
		_, e := math.Frexp(largest)
		t.size = math.Ldexp(1, min(max(e, -1000), 1000)) // its inverse is a number too
	}
	start := uint64(keyed.MeasuredRows.Stream(seed, 0).Index(math.MaxInt, 0, 0))
	keys := make([]uint64, len(rows)/t.d)
	for _, i := range t.order {
		key := start
		for _, j := range t.free {
			key = mixed(key ^ math.Float64bits(t.at(i)[j]/t.size+0)) // −0 + 0 = 0
		}
		keys[i] = key
	}
	slices.SortFunc(t.order, func(a, b int32) int {
		if c := cmp.Compare(keys[a], keys[b]); c != 0 {
			return c
		}
		return slices.Compare(t.at(a), t.at(b))
	})
	return t
}

// mixed is a bijection of 64 bits that looks random (the finaliser of SplitMix64; Steele, Lea and Flood 2014).
func mixed(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (t *table) at(i int32) []float64 { return t.rows[int(i)*t.d : (int(i)+1)*t.d] }

// distinct returns at most n rows that differ in their free coordinates, in units of size (count×len(free)), and the
// indices of these rows.
func (t *table) distinct(n int) (x []float64, rows []int32) {
	for _, i := range t.order {
		if t.repeats(i, rows) {
			continue
		}
		if len(rows) == n {
			break
		}
		rows = append(rows, i)
		for _, j := range t.free {
			x = append(x, t.at(i)[j]/t.size)
		}
	}
	return x, rows
}

// repeats reports whether row i has the free coordinates of the last of some rows.
func (t *table) repeats(i int32, rows []int32) bool {
	if len(rows) == 0 {
		return false
	}
	row, last := t.at(i), t.at(rows[len(rows)-1])
	return !slices.ContainsFunc(t.free, func(j int) bool { return row[j] != last[j] })
}

// from returns the distance of a row from a point along free coordinates, in units of size.
func (t *table) from(row, point []float64) float64 {
	sum := 0.0
	for _, j := range t.free {
		v := (row[j] - point[j]) / t.size
		sum += v * v
	}
	return math.Sqrt(sum)
}

// extent measures where the rows are and how wide they lie.
func (m *Measures) extent(t *table) {
	looked := t.order[:min(len(t.order), lookedAt)]
	middle := t.median(looked)
	bound := inf
	if len(t.order) >= outlierRows {
		away := t.away(looked, middle)
		slices.Sort(away)
		if b := outlying * away[99*(len(away)-1)/100]; b > 0 { // 0: nearly all rows are one point
			bound = b
		}
	}
	near := func(i int32) bool { return t.from(t.at(i), middle) <= bound }
	m.Center, m.Scales = make([]float64, t.d), make([]float64, t.d)
	n := 0.0
	for _, i := range t.order {
		if near(i) {
			n++
			for j, v := range t.at(i) {
				m.Center[j] += v / t.size
			}
		}
	}
	for j := range m.Center {
		m.Center[j] *= t.size / n
	}
	sum := 0.0
	for _, i := range t.order {
		if near(i) {
			r := t.from(t.at(i), m.Center)
			sum += r * r
			for j, v := range t.at(i) {
				m.Scales[j] += (v - m.Center[j]) / t.size * ((v - m.Center[j]) / t.size) / n
			}
		}
	}
	for j, v := range m.Scales {
		m.Scales[j] = math.Sqrt(v) * t.size
	}
	m.Spread = math.Sqrt(sum/n) * t.size
	kept := slices.DeleteFunc(slices.Clone(looked), func(i int32) bool { return !near(i) })
	m.Diameter = 2 * metric.Quantile(t.away(kept, m.Center), 0.99) * t.size
	if n := len(t.order) - int(n); n > 0 {
		m.note("%d of %d rows are more than %d times farther from the middle than 99 %% of them: "+
			"center, spread and diameter are without them", n, len(t.order), outlying)
	}
}

// away returns the distances of rows from a point, in units of size.
func (t *table) away(rows []int32, point []float64) []float64 {
	out := make([]float64, len(rows))
	for k, i := range rows {
		out[k] = t.from(t.at(i), point)
	}
	return out
}

// median returns the median of each coordinate.
func (t *table) median(looked []int32) []float64 {
	out, column := make([]float64, t.d), make([]float64, len(looked))
	for j := range out {
		for k, i := range looked {
			column[k] = t.at(i)[j] / t.size
		}
		out[j] = metric.Median(column) * t.size
	}
	return out
}

// length returns a length that says what is small: the spread or, of one point, how far it is from 0, or 1.
func (t *table) length(m *Measures) float64 {
	far := t.from(m.Center, make([]float64, t.d)) * t.size
	switch {
	case m.Spread > one*far:
		return m.Spread
	case far > 0:
		return far
	}
	return 1
}

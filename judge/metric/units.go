package metric

import (
	"cmp"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/dense"
)

// Units of rows.
const (
	Apart     = 5   // the gap around a unit, in the largest step within it
	Repeats   = 100 // the same, from which on the rows of a unit are one place
	fewestOf  = 30  // units of more than a row, where rows are clustered
	mostOf    = 0.1 // of the rows, in a unit
	mostAlone = 0.5 // of the rows, where rows are clustered
	fewestIn  = 5   // rows of a unit, from which on four fifths of its steps count, and
	looser    = 0.6 // this part of the gap suffices: a step or two may be wide by chance
	unitsWork = 1e8 // numbers, at most, of all pairs of rows that Units takes
)

// Units tells rows of d numbers that came together from rows that came alone: bursts of events, copies, restarts of one
// place. A unit is a group of at most the share largest of the rows, and the gap around it is at least apart times the
// largest step within it, and the rounding of the numbers. It returns the unit of each row, numbered as they come; nil
// if less than half of the rows share one. Rows of a density seldom do: the chance is about apart^−dimension.
//
// It looks at the single-linkage tree of the rows, at all scales at once. Of units within units those count that are
// such over more of the scales, as in HDBSCAN (Campello, Moulavi and Sander, PAKDD 2013).
func Units(x []float64, d int, apart, largest float64) (unit []int) {
	n := len(x) / d
	edges := spanning(x, d)
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Compare(a.length, b.length) })
	of, rows, steps := make([]int, n), make([][]int, n), make([][]float64, n) // steps of the tree within, which rise
	rounding, most := Step(x, d), int(largest*float64(n))
	mass := make([]float64, n) // of the units within: rows times the inverse lengths between which they are one
	unit = make([]int, n)
	for i := range n {
		of[i], rows[i], unit[i] = i, []int{i}, i
	}
	for _, e := range edges {
		a, b := of[e.i], of[e.j]
		for _, c := range []int{a, b} {
			k := len(rows[c])
			if k < 2 || k > most {
				continue
			}
			inner := steps[c][k-2]
			if k >= fewestIn {
				inner = min(inner, looser*steps[c][(k-2)*4/5])
			}
			own := float64(k) * (1/max(steps[c][k-2], rounding, math.SmallestNonzeroFloat32) - 1/e.length)
			if e.length > apart*max(inner, rounding) && own > mass[c] {
				mass[c] = own
				for _, i := range rows[c] {
					unit[i] = c
				}
			}
		}
		if len(rows[a]) < len(rows[b]) {
			a, b = b, a
		}
		for _, i := range rows[b] {
			of[i] = a
		}
		rows[a], rows[b], mass[a] = append(rows[a], rows[b]...), nil, mass[a]+mass[b]
		if len(rows[a]) <= most {
			steps[a] = append(append(steps[a], steps[b]...), e.length)
			slices.Sort(steps[a])
		}
	}
	number, shared, alone := map[int]int{}, make([]int, n), 0
	for i, u := range unit {
		if _, ok := number[u]; !ok {
			number[u] = len(number)
		}
		unit[i] = number[u]
		shared[unit[i]]++
	}
	for _, k := range shared {
		if k == 1 {
			alone++
		}
	}
	if n < 2 || float64(alone) > mostAlone*float64(n) {
		return nil
	}
	return unit
}

// Clusters are the units of samples x and of rows y where the rows came in many units and the samples are not from the
// places of these: such as other swarms by the same process. Then a unit says as much as a row that came alone. Else
// both are nil: few units, or units that samples share, are modes of a law, whose rows are independent.
func Clusters(x, y []float64, d int) (of, with []int) {
	if with = Units(y, d, Apart, mostOf); with == nil {
		return nil, nil
	}
	within, between, groups := gaps(y, with, d)
	if groups < fewestOf {
		return nil, nil
	}
	// A draw of another unit lies as near to one of these as they lie to each other. Samples about minima that rows
	// repeat to many digits lie much nearer, if not as near as the rows.
	near, same := max(2*quantile(within, 0.9), quantile(between, 0.5)/Apart), 0
	for _, r := range NearestDistances(x, y, d) {
		if r <= near {
			same++
		}
	}
	if 2*same*d > len(x) {
		return nil, nil
	}
	if of = Units(x, d, Apart, mostOf); of == nil {
		of = make([]int, len(x)/d)
		for i := range of {
			of[i] = i
		}
	}
	return of, with
}

// gaps returns distances in the tree of rows in their order, those within units and those from unit to unit, and the
// number of units of more than a row.
func gaps(y []float64, unit []int, d int) (within, between []float64, groups int) {
	size, next := make([]int, len(unit)), slices.Repeat([]float64{math.Inf(1)}, len(unit))
	for _, u := range unit {
		if size[u]++; size[u] == 2 {
			groups++
		}
	}
	for _, e := range spanning(y, d) {
		next[e.i], next[e.j] = min(next[e.i], e.length), min(next[e.j], e.length)
		if a, b := unit[e.i], unit[e.j]; a != b && max(size[a], size[b]) > 1 {
			between = append(between, e.length)
		}
	}
	for i, r := range next {
		if size[unit[i]] > 1 {
			within = append(within, r)
		}
	}
	slices.Sort(within)
	slices.Sort(between)
	return within, between, groups
}

// Place returns the distance up to which points are in one place, where most rows repeat the place of another, such as
// a minimum that conformers were relaxed to. It is 0 where they do not.
func Place(y []float64, d int) float64 {
	unit := Units(y, d, Repeats, 0.5)
	if unit == nil {
		return 0
	}
	if _, between, _ := gaps(y, unit, d); between != nil {
		return quantile(between, 0.5) / Apart
	}
	return 0
}

// UnitRows is how many rows of d numbers Units is to be asked for at most.
func UnitRows(d int) int { return min(4000, int(math.Sqrt(unitsWork/float64(d)))) }

// Effective returns how many independent rows say as much of a mean as the rows of units do: n²/Σ s² for units of s
// rows (Kish). Without units it is n.
func Effective(unit []int, n int) float64 {
	if unit == nil {
		return float64(n)
	}
	size, sum := make([]float64, n), 0.0
	for _, u := range unit {
		size[u]++
	}
	for _, s := range size {
		sum += s * s
	}
	return float64(n) * float64(n) / sum
}

// Step is the rounding of rows: the length of the least differences between numbers of a column, but of equal ones.
func Step(x []float64, d int) float64 {
	sum := 0.0
	for k := range d {
		v, least := Column(x, k, d), math.Inf(1)
		slices.Sort(v)
		for i := 1; i < len(v); i++ {
			if gap := v[i] - v[i-1]; gap > 0 {
				least = min(least, gap)
			}
		}
		if least < math.Inf(1) {
			sum += least * least
		}
	}
	return math.Sqrt(sum)
}

// Snap returns points x rounded as rows are, by columns; nil where no column of the rows is rounded. Draws of the law
// of the rows are exchangeable with them only then. Rounded columns have multiples of a step, or few values for many
// rows, such as cosines of whole degrees.
func Snap(x, rows []float64, d int) []float64 {
	var out []float64
	n := len(rows) / d
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	row := func(i int) []float64 { return rows[i*d : (i+1)*d] }
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(row(a), row(b)) })
	distinct := len(slices.CompactFunc(order, func(a, b int) bool { return slices.Equal(row(a), row(b)) }))
	for k := range d {
		v := Column(rows, k, d)
		slices.Sort(v)
		v = slices.Compact(v)
		if len(v) < 2 {
			continue
		}
		step := steps(v)
		if step == 0 && 4*len(v) > distinct {
			continue
		}
		if out == nil {
			out = slices.Clone(x)
		}
		for i := k; i < len(x); i += d {
			out[i] = snapped(x[i], v, step)
		}
	}
	return out
}

// steps returns the step whose multiples apart sorted numbers are; 0: there is none.
func steps(v []float64) float64 {
	const tolerance = 0.01
	least, count := math.Inf(1), 0.0
	for i := 1; i < len(v); i++ {
		least = min(least, v[i]-v[i-1])
	}
	for i := 1; i < len(v); i++ {
		times := (v[i] - v[i-1]) / least
		if count += math.Round(times); math.Abs(times-math.Round(times)) > tolerance {
			return 0
		}
	}
	return (v[len(v)-1] - v[0]) / max(count, 1)
}

// snapped returns the number of v that is nearest to x, or a multiple of the step away from one. Without a step, x
// stays as it is further out than half the last gap.
func snapped(x float64, v []float64, step float64) float64 {
	at, _ := slices.BinarySearch(v, x)
	at = min(max(at, 1), len(v)-1)
	nearest, gap := v[at], v[at]-v[at-1]
	if x-v[at-1] < v[at]-x {
		nearest = v[at-1]
	}
	switch {
	case step > 0 && x-x == 0:
		return nearest + step*math.Round((x-nearest)/step)
	case !(math.Abs(x-nearest) <= gap/2):
		return x
	}
	return nearest
}

type edge struct {
	i, j   int
	length float64
}

// spanning returns the minimum spanning tree of rows (Prim).
func spanning(x []float64, d int) (edges []edge) {
	n := len(x) / d
	best, from, in := slices.Repeat([]float64{math.Inf(1)}, n), make([]int, n), make([]bool, n)
	at := 0
	for range n - 1 {
		in[at] = true
		next := -1
		for k := range n {
			if in[k] {
				continue
			}
			if s := dense.SquaredDistance(x[at*d:(at+1)*d], x[k*d:(k+1)*d]); s < best[k] {
				best[k], from[k] = s, at
			}
			if next < 0 || best[k] < best[next] {
				next = k
			}
		}
		edges = append(edges, edge{from[next], next, math.Sqrt(best[next])})
		at = next
	}
	return edges
}

// A Relabelling gives rows of two samples to the one or the other at random, those of a unit together.
type Relabelling struct {
	stream keyed.Stream
	rows   [][]int // of units; nil: each row by itself
	order  []int   // of units
}

// NewRelabelling relabels n and, after them, m rows of these units; nil: each by itself.
func NewRelabelling(a, b []int, n, m int, stream keyed.Stream) *Relabelling {
	r := &Relabelling{stream: stream}
	n += m
	if b != nil {
		at := make([][]int, n)
		for i, u := range a {
			at[u] = append(at[u], i)
		}
		for i, u := range b {
			at[len(a)+u] = append(at[len(a)+u], len(a)+i)
		}
		r.rows = slices.DeleteFunc(at, func(rows []int) bool { return rows == nil })
		n = len(r.rows)
	}
	r.order = make([]int, n)
	return r
}

// Fill sets order to the rows in the order of relabelling k.
func (r *Relabelling) Fill(order []int, k int) {
	if r.rows == nil {
		r.stream.Permutation(order, uint64(k), 0)
		return
	}
	r.stream.Permutation(r.order, uint64(k), 0)
	order = order[:0]
	for _, u := range r.order {
		order = append(order, r.rows[u]...)
	}
}

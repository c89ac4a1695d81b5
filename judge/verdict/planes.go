package verdict

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
)

const (
	mostAxes    = 16   // observables whose planes are looked at
	runRows     = 20   // rows in their order that may depend on each other, such as frames of a trajectory
	rareShare   = 0.05 // of the others that are far, beside farShare
	beyondUnit  = 3    // others that are farther than a plane's unit
	detail      = 0.1  // a distance that does not matter: of angles 6°, else a tenth of a standard deviation
	leastSpread = 1e-9 // of an observable's largest value, below which it does not vary
)

// An axis is an observable of samples and of rows, in lengths that can be compared: an angle on a circle of radius 1,
// another number in standard deviations of the rows.
type axis struct {
	name    string
	least   float64        // a distance that does not matter
	values  [2][]float64   // as they are observed
	columns [2][][]float64 // one or two
}

// axes returns those of the first observables that vary and are finite everywhere, with at most that number of samples
// and rows.
func (j *judge) axes(most int) (out []axis) {
	for _, k := range j.Numbers {
		h := finite(k.Rows)
		if len(h) < FewestHeld || len(k.Samples) != len(j.outX) || len(k.Rows) != len(j.outR) ||
			len(h) < len(k.Rows) || len(finite(k.Samples)) < len(k.Samples) {
			continue
		}
		mean, sd := stat.PopMeanStdDev(h, nil)
		if !(sd > leastSpread*max(floats.Max(h), -floats.Min(h))) {
			continue
		}
		a := axis{name: k.Name, least: k.Close / sd}
		a.values = [2][]float64{few(k.Samples, 1, most), few(k.Rows, 1, most)}
		for side, v := range a.values {
			one, two := make([]float64, len(v)), make([]float64, len(v))
			for i, u := range v {
				if one[i] = (u - mean) / sd; k.Period > 0 {
					one[i], two[i] = math.Sincos(2 * math.Pi * u / k.Period)
				}
			}
			if a.columns[side] = [][]float64{one}; k.Period > 0 {
				a.least = 0
				a.columns[side] = [][]float64{one, two}
			}
		}
		if out = append(out, a); len(out) == mostAxes {
			break
		}
	}
	return out
}

// planes reports samples that lie between the groups of rows, or beyond them, in the plane of two observables; or rows
// that lie so among samples. A smear between two modes moves no distribution function much, and distances in all
// coordinates together do not show it.
func (j *judge) planes() {
	units, most := [][]int{j.unitX, j.unitR}, metric.UnitRows(j.Dim)
	if j.unitR == nil { // rows that repeat a place, such as a minimum, say nothing of how far points lie apart
		units[1] = metric.Units(few(j.Rows, j.Dim, most), j.Dim, metric.Repeats, 0.5)
	}
	if units[1] == nil {
		most = shownMost
	}
	all := j.axes(most)
	var pairs [][2]int
	for a := range all {
		for b := a + 1; b < len(all); b++ {
			pairs = append(pairs, [2]int{a, b})
		}
	}
	if len(all) == 1 {
		pairs = [][2]int{{0, 0}}
	}
	if pairs == nil {
		j.skip(Planes, "no observable varies")
		return
	}
	best, least, says := 0.0, 1.0, ""
	worth := []float64{j.effX / float64(len(j.outX)), j.effR / float64(len(j.outR))}
	for side, names := range [][2]string{{"samples", "rows"}, {"rows", "samples"}} {
		x, y := side, 1-side
		runs, out := []int{1, max(runRows, j.span)}, few([][]bool{j.outX, j.outR}[x], 1, most)
		near, at, own, looked := farthest(all, pairs, x, groups(units[y], len(all[0].values[y]), runs[y]))
		if len(own) == 0 {
			continue
		}
		for i, found := range out { // by another finding
			if found {
				near[i] = 0
			}
		}
		sorted := slices.Sorted(slices.Values(own))
		for _, share := range []float64{farShare, rareShare} {
			r := remote{near: near, limit: sorted[len(own)-1-int(share*float64(len(own)))]}
			r.n = independent(near, r.limit, groups(units[x], len(near), runs[x]), units[x] != nil)
			r.m = independent(own, r.limit, looked, units[y] != nil)
			r.n, r.m = min(r.n, worth[x]*float64(len(near))), min(r.m, worth[y]*float64(len(own)))
			r.test(own)
			excess, lo, hi := r.excess()
			if !(r.p <= levels[Planes]/4 && excess > best) {
				continue
			}
			in := make([]float64, len(pairs)) // points of each plane
			for i, v := range near {
				if v > r.limit {
					in[at[i]]++
				}
			}
			i := floats.MaxIdx(near)
			of := func(plane [2]int, name func(a axis) string) string {
				if plane[0] == plane[1] { // there is one observable
					return name(all[plane[0]])
				}
				return name(all[plane[0]]) + " and " + name(all[plane[1]])
			}
			best, least = excess, 4*r.p
			says = fmt.Sprintf("%s of the %s (%s to %s) are far from all %s, most of them by %s: farther than %s of "+
				"the %[5]s are from the others of these. The farthest has %[8]s", text.Percent(excess), names[0],
				text.Percent(lo), text.Percent(hi), names[1],
				of(pairs[floats.MaxIdx(in)], func(a axis) string { return fmt.Sprintf("%q", a.name) }),
				text.Percent(1-r.own),
				of(pairs[at[i]], func(a axis) string { return fmt.Sprintf("%q %.3g", a.name, a.values[x][i]) }))
		}
	}
	if says != "" {
		j.law += best
		j.add(Planes, best, least, "%s", says)
	}
}

// farthest returns of each point of side x the distance to the nearest point of the other side, in the plane where it
// is largest, and which plane that is; and the same of a part of the points of the other side to the others of these,
// with their groups. A plane's unit is a distance that few of these exceed, so that
// no plane has a larger say for its outliers.
func farthest(all []axis, pairs [][2]int, x int, group []int) (near []float64, at []int, own []float64, of []int) {
	y := 1 - x
	for k, pair := range pairs {
		a, b := all[pair[0]].columns, all[pair[1]].columns
		d := len(a[x]) + len(b[x])
		points, others := rowsOf(slices.Concat(a[x], b[x])), rowsOf(slices.Concat(a[y], b[y]))
		own2, looked := among(others, d, func(i int) int { return group[i] })
		if len(own2) == 0 {
			return
		}
		near2 := metric.NearestDistances(points, others, d)
		least := max(metric.Step(others, d), detail, all[pair[0]].least, all[pair[1]].least)
		sorted := slices.Sorted(slices.Values(own2))
		unit := max(sorted[max(0, len(sorted)-1-beyondUnit)], least)
		if k == 0 {
			near, at, own, of = make([]float64, len(near2)), make([]int, len(near2)), make([]float64, len(own2)), looked
			for i, l := range looked {
				of[i] = group[l]
			}
		}
		for i, r := range near2 {
			if r > least && r/unit > near[i] {
				near[i], at[i] = r/unit, k
			}
		}
		for i, r := range own2 {
			if r > least && r/unit > own[i] {
				own[i] = r / unit
			}
		}
	}
	return near, at, own, of
}

// rowsOf returns the rows of a table of columns.
func rowsOf(columns [][]float64) []float64 {
	d := len(columns)
	out := make([]float64, d*len(columns[0]))
	for k, v := range columns {
		for i, u := range v {
			out[i*d+k] = u
		}
	}
	return out
}

// groups returns the numbers of the groups of n points that may depend on each other: their units, or else runs of so
// many points in their order.
func groups(unit []int, n, run int) []int {
	if unit != nil {
		return unit
	}
	out := make([]int, n)
	for i := range out {
		out[i] = i / run
	}
	return out
}

// independent is how many independent points say as much of the share of them that lies beyond a limit: fewer than
// there are, if the shares of groups differ more than by chance. Of units each says at most as much as one point.
func independent(r []float64, limit float64, group []int, units bool) float64 {
	n, far := float64(len(r)), func(v float64) bool { return v > limit }
	share := float64(count(r, far)) / n
	size, beyond := make([]float64, slices.Max(group)+1), make([]float64, slices.Max(group)+1)
	for i, v := range r {
		size[group[i]]++
		if beyond[group[i]] -= share; far(v) {
			beyond[group[i]]++
		}
	}
	each := 1.0
	if units {
		each = floats.Dot(size, size) / n
	}
	if share > 0 && share < 1 {
		each = max(each, floats.Dot(beyond, beyond)/(n*share*(1-share)))
	}
	return n / each
}

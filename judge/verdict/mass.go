package verdict

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
)

const (
	folds       = 10   // into which points are parted, to see how far those of one lie from the others
	asideMost   = 1000 // of them that are looked at, about
	farShare    = 0.01 // of them that are far
	shownMost   = 4000 // rows whose distance to samples is looked at, a quarter of them
	manyNumbers = 16   // of more numbers than these
	worthSeeing = 0.05 // a share of misplaced mass that should be seen
	orderSDs    = 5    // beyond which rows depend on those before them
	axesMost    = 64   // principal directions of the rows
	axisLeast   = 0.01 // standard deviation along one, as a part of the first's, below which a miss does not matter
)

// remote says how many points lie far from others: farther than 99 % of these lie from each other.
type remote struct {
	limit float64   // the distance that is far
	near  []float64 // of each point to the nearest of the others
	n, m  float64   // points, and others whose distances set the limit; of clusters the effective numbers
	share float64   // of the points that are far
	own   float64   // of the others among themselves
	p     float64   // of Fisher's test
}

// cluster finds out whether rows came in clusters and samples in others (metric.Clusters). If so, the tests look at as
// many rows as Clusters can handle, and a cluster counts as one row.
func (j *judge) cluster() {
	most, d := metric.UnitRows(j.Dim), j.Dim
	x, r := few(j.Samples, d, most), few(j.Rows, d, most)
	j.unitX, j.unitR = metric.Clusters(x, r, d)
	effective := func(unit []int, rows, looked int) float64 { // of all rows: clusters are thinned in those looked at
		each := float64(looked)/metric.Effective(unit, looked) - 1
		return float64(rows) / (1 + each*float64(rows)/float64(max(looked, 1)))
	}
	j.effX = effective(j.unitX, len(j.outX), len(x)/d)
	j.effR = effective(j.unitR, len(j.outR), len(r)/d)
	if j.unitR == nil {
		j.inOrder()
	}
}

// inOrder finds out whether rows depend on those before them in the file, as frames of a trajectory do. Rows count then
// as many as the fewest that say as much of a coordinate, and those within two autocorrelation times as one. For m
// independent normal rows, in the order of modes too, half the mean squared difference has one mean V at lags 1 and 2,
// and Var(V_1 − V_2) = 2V²/m. Rows that are sorted say nothing.
func (j *judge) inOrder() {
	n, m, fewest, found := float64(len(j.outX)), float64(len(j.outR)), float64(len(j.outR)), false
	for k := range min(j.Dim, axesMost) {
		v := metric.Column(j.Rows, k, j.Dim)
		apart := func(lag int) float64 { return floats.Distance(v[lag:], v[:len(v)-lag], 2) }
		found = found || apart(1) < math.Sqrt(max(0, 1-orderSDs*math.Sqrt(2/m)))*apart(2)
		if e := metric.ESS([][]float64{v}); e < fewest {
			fewest = e
		}
		sorted := slices.IsSorted(v)
		if slices.Reverse(v); v[0] != v[len(v)-1] && (sorted || slices.IsSorted(v)) {
			return
		}
	}
	if found && fewest < m {
		j.effR, j.span, j.inflation = fewest, int(2*m/fewest), (1/n+1/fewest)/(1/n+1/m)-1
	}
}

// together returns which of n rows, taken evenly, count as one: clusters, or runs of rows that depend on each other.
func (j *judge) together(n int) []int {
	if j.unitR != nil || j.span == 0 {
		return j.unitR
	}
	return groups(nil, n, max(1, j.span*n/len(j.outR)))
}

// effective returns how many independent ones n samples and m rows are worth.
func (j *judge) effective(n, m int) (a, b float64) {
	share := func(eff float64, out []bool) float64 {
		if len(out) == 0 || eff == 0 { // other numbers alone are held against each other
			return 1
		}
		return eff / float64(len(out))
	}
	return float64(n) * share(j.effX, j.outX), float64(m) * share(j.effR, j.outR)
}

// remote holds points x against points y, whose units are given; near are the distances between them, nil where they
// are not known. The limit comes from a part of y at a time, held against the rest, so that it knows nothing of x:
// draws of one law are then exchangeable (Fisher's test is exact). Units stay together, and so do rows that repeat
// each other within rounding or are one place, which says nothing of how far points lie apart.
func (j *judge) remote(x, y, near []float64, unitX, unitY []int) remote {
	d := j.Dim
	thin := few(y, d, metric.UnitRows(d))
	if unitY == nil {
		unitY = metric.Units(thin, d, metric.Repeats, 0.5)
	}
	if unitY != nil && len(thin) < len(y) || near == nil {
		if unitY != nil {
			y = thin
		}
		near = metric.NearestDistances(x, y, d)
	}
	n, m := len(x)/d, len(y)/d
	r, _ := among(y, d, func(i int) int {
		if unitY != nil {
			return unitY[i]
		}
		return i
	})
	if len(r) == 0 {
		return remote{near: near, p: 1}
	}
	slices.Sort(r)
	out := remote{near: near, n: metric.Effective(unitX, n)}
	out.m = float64(len(r)) / float64(m) * metric.Effective(unitY, m)
	out.limit = max(r[len(r)-1-int(farShare*float64(len(r)))], metric.Step(thin, d))
	out.test(r)
	return out
}

// among returns the distances of a part of points y to the nearest of the others, a fold at a time, and the numbers of
// the points that were looked at. Those of a group stay together.
func among(y []float64, d int, group func(i int) int) (r []float64, at []int) {
	m := len(y) / d
	step := max(folds, (m+asideMost-1)/asideMost)
	for f := range min(step, max(1, asideMost*step/m)) {
		var aside, others []float64
		var of []int
		for i := range m {
			if row := y[i*d : (i+1)*d]; group(i)%step == f {
				aside, of = append(aside, row...), append(of, i)
			} else {
				others = append(others, row...)
			}
		}
		if len(aside) > 0 && len(others) > 0 {
			r, at = append(r, metric.NearestDistances(aside, others, d)...), append(at, of...)
		}
	}
	return r, at
}

// test holds the points against the distances of the others among themselves.
func (r *remote) test(own []float64) {
	far := func(v float64) bool { return v > r.limit }
	r.share, r.own = float64(count(r.near, far))/float64(len(r.near)), float64(count(own, far))/float64(len(own))
	r.p = metric.FisherTest(int(r.share*r.n+0.5), int(r.n), int(r.own*r.m+0.5), int(r.m))
}

// excess is the share of points that are elsewhere, and a 95 % interval of it (Wilson): of the rest as many are far as
// of the others among themselves.
func (r remote) excess() (share, lo, hi float64) {
	const z = 1.96
	p, n := r.share, r.n
	middle, half := (p+z*z/(2*n))/(1+z*z/n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))/(1+z*z/n)
	rest := func(p float64) float64 { return max(0, p-r.own) / (1 - r.own) }
	return rest(p), rest(middle - half), rest(middle + half)
}

// strays reports samples where the data have none: far from all training rows, or off a relation that the rows hold.
func (j *judge) strays() {
	x, y, near, unitY := j.Samples, j.Train, j.SampleNearest, j.unitR
	if j.unitR != nil || j.span > 0 {
		most := metric.UnitRows(j.Dim)
		x, y, near = few(x, j.Dim, most), few(j.Rows, j.Dim, most), nil
		unitY = j.together(len(y) / j.Dim)
	}
	r := j.remote(x, y, near, j.unitX, unitY)
	if share, lo, hi := r.excess(); share > 0 && r.p <= levels[Stray]/2 {
		mark := func(out []bool, r []float64, c float64) {
			for i, v := range r {
				out[i] = out[i] || v > c
			}
		}
		mark(j.outX, metric.NearestDistances(j.Samples, y, j.Dim), r.limit)
		mark(j.outH, metric.NearestDistances(j.Held, y, j.Dim), r.limit)
		mark(j.outR, metric.NearestDistances(j.Rows, y, j.Dim), r.limit)
		worst := floats.MaxIdx(r.near)
		j.add(Stray, share, r.p, "%s of the samples (%s to %s) lie where the data have none: further than %s from "+
			"all training rows, as %s of these lie from each other; the furthest is at %s, %s away",
			text.Percent(share), text.Percent(lo), text.Percent(hi), j.length(r.limit), text.Percent(r.own),
			j.where(x[worst*j.Dim:(worst+1)*j.Dim]), j.length(r.near[worst]))
		return
	}
	j.offRelation()
}

// offRelation reports samples off the directions in which the training rows spread. It compares their distances, in
// standard deviations of these directions, with those of held-out rows. A direction counts as a relation if the rows
// spread along it by less than a hundredth of their spread.
func (j *judge) offRelation() {
	d := j.Dim
	train := few(j.Train, d, shownMost)
	mean, axes, _ := metric.Principal(train, d, min(d, axesMost))
	if len(axes) == 0 {
		return
	}
	parts := func(row []float64) []float64 { // squares along the axes, and of what is left
		out, left := make([]float64, len(axes)+1), 0.0
		for k, v := range row {
			left += (v - mean[k]) * (v - mean[k])
		}
		for k, u := range axes {
			s := metric.Project(row, mean, u)
			out[k], left = s*s, left-s*s
		}
		out[len(axes)] = max(left, 0)
		return out
	}
	size := make([]float64, len(axes)+1)
	for i := 0; i < len(train); i += d {
		floats.AddScaled(size, float64(d)/float64(len(train)), parts(train[i:i+d]))
	}
	for k := range size {
		size[k] = max(size[k], axisLeast*axisLeast*size[0])
	}
	off := func(rows []float64) (out []float64) {
		for i := 0; i < len(rows); i += d {
			p := parts(rows[i : i+d])
			floats.Div(p, size)
			out = append(out, floats.Sum(p))
		}
		return out
	}
	x, h := off(few(j.Samples, d, shownMost)), off(few(j.Held, d, shownMost))
	own := slices.Clone(h)
	slices.Sort(own)
	r := remote{limit: own[len(own)-1-int(farShare*float64(len(own)))], near: x}
	r.n, r.m = j.effective(len(x), len(h))
	r.test(h)
	if share, lo, hi := r.excess(); share > 0 && r.p <= levels[Stray]/2 {
		j.add(Stray, share, r.p, "%s of the samples (%s to %s) lie off the directions in which the training rows "+
			"spread: more than %s standard deviations away, as %s of held-out rows do", text.Percent(share),
			text.Percent(lo), text.Percent(hi), text.Number(math.Sqrt(r.limit)), text.Percent(r.own))
	}
}

// alone reports rows without a sample near: farther from all samples than 99 % of these lie from each other.
func (j *judge) alone() {
	d := j.Dim
	shown := shownMost
	if d > manyNumbers {
		shown = asideMost
	}
	rows, x, unitX := few(j.Rows, d, shown), few(j.Samples, d, mostRows), j.unitX
	if most := metric.UnitRows(d); j.unitR != nil {
		rows, x = few(j.Rows, d, most), few(j.Samples, d, most)
	}
	r := j.remote(rows, x, nil, j.together(len(rows)/d), unitX)
	share, lo, hi := r.excess()
	if !(share > 0 && r.p <= levels[MissedMode]/2) {
		return
	}
	worst := floats.MaxIdx(r.near)
	j.add(MissedMode, share, r.p, "%s of the rows (%s to %s) have no sample near: they lie further than %s from all "+
		"samples, as %s of these lie from each other; the furthest is at %s, %s away", text.Percent(share),
		text.Percent(lo), text.Percent(hi), j.length(r.limit), text.Percent(r.own), j.where(rows[worst*d:(worst+1)*d]),
		j.length(r.near[worst]))
}

// leastSeen is the share of n points, beyond that of m others, from which on Fisher's test at a level tells that they
// are far, where 1 % of the others are.
func leastSeen(level, n, m float64) float64 {
	b := int(farShare * m)
	lo, hi := int(n*float64(b)/m), int(n)+1 // not seen, seen
	for hi-lo > 1 {
		if a := (lo + hi) / 2; metric.FisherTest(a, int(n), b, int(m)) <= level {
			hi = a
		} else {
			lo = a
		}
	}
	return float64(hi)/n - float64(b)/m
}

// power says where misplaced mass of 5 % could be missed, from which share on it is seen, and how many rows it takes.
func (j *judge) power() {
	seen := func(n, m float64) float64 {
		return max(leastSeen(levels[Stray]/2, n, min(m, asideMost)),
			leastSeen(levels[MissedMode]/2, min(m, shownMost), min(n, asideMost)))
	}
	n, m := j.effX, j.effR
	share := seen(n, m)
	if share <= worthSeeing {
		return
	}
	times := 1.0
	for times < 1e4 && seen(max(n, times*m), times*m) > worthSeeing {
		times *= 1.1
	}
	groups := ""
	if j.unitR != nil || j.span > 0 {
		groups = fmt.Sprintf(" (rows depend on each other: they say as much as %s rows alone)", text.Count(int(m)))
	}
	takes := fmt.Sprintf("about %s rows and as many samples show %s",
		text.Count(int(math.Ceil(times*float64(len(j.outR))/10))*10), text.Percent(worthSeeing))
	if seen(1e3*n, m) <= worthSeeing {
		takes = fmt.Sprintf("more samples (-n) show %s", text.Percent(worthSeeing))
	}
	j.undecided(MissedMode, "with %s rows%s and %s samples less than %s of missed or invented mass is not seen; %s",
		text.Count(len(j.outR)), groups, text.Count(len(j.outX)), text.Percent(min(share, 1)), takes)
}

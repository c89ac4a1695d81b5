package verdict

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
)

// Ratios of median distances to training rows, of samples to held-out rows, below which samples are copies, or nearly.
const (
	NearCopies  = 0.5
	nearOverfit = 0.8
)

// copies reports samples that lie on training rows, or nearer to them than held-out rows do. It uses Mood's median test
// (Fisher's test at the median of both), a precedence test at the held-out median, and Fisher's test on the samples
// that coincide with a row. The precedence test detects copies where held-out rows are few and of two kinds, such as
// conformers that partly repeat. With n samples and m held-out rows of one law, at least a samples precede the k-th
// held-out row if and only if at most k − 1 held-out rows are among the first a + k − 1 of all. Where most rows repeat
// a place, being near to one is no fault: the samples in the places of training rows are compared with held-out rows.
func (j *judge) copies() {
	x, h := j.SampleNearest, j.HeldNearest
	n, m := len(x), len(h)
	own, held, p := medians(x, h)
	precede := metric.FisherTest(below(x, held), n, below(h, held), m)
	p = min(1, 2*p, 2*precede)                              // of two tests
	share := max(0, 2*float64(below(x, held))/float64(n)-1) // of copies among draws of the law
	if j.Dim > 0 {
		j.place = metric.Place(few(j.Train, j.Dim, metric.UnitRows(j.Dim)), j.Dim)
	}
	nearer := p <= levels[Copies]/2 && own < held && held > j.place
	bound := max(metric.CopyDistance, j.place)
	a, b := below(x, bound), below(h, bound)
	copied, repeated := float64(a)/float64(n), float64(b)/float64(m)
	exact := metric.FisherTest(a, n, b, m)
	level := levels[Copies] / 2
	on, to := roundedAlike(j, bound) // of samples between rounded rows, those that are rounded too say more
	alone, digits := float64(to)/float64(max(on, 1)), metric.FisherTest(to, on, b, m)
	if on > 0 {
		level /= 2 // of two tests
	}
	same := copied > repeated && exact <= level
	switch {
	case same:
		where := "are training rows"
		if share = max(share, copied-repeated); j.place > 0 {
			share, where = copied-repeated, "lie in the places of training rows"
		}
		j.add(Copies, share, exact, "%s of the samples %s, and %s of held-out rows", text.Percent(copied), where,
			text.Percent(repeated))
	case on > 0 && alone > repeated && digits <= level:
		j.add(Copies, max(share, (alone-repeated)*float64(on)/float64(n)), digits, "%s of the samples are rounded as "+
			"the rows are; %s of these samples are training rows, and %s of the held-out rows are",
			text.Percent(float64(on)/float64(n)), text.Percent(alone), text.Percent(repeated))
	case nearer && own < NearCopies*held:
		j.add(Copies, share, p, "samples are nearly copies: the median distance to a training row is %.2f of that of "+
			"held-out rows", own/held)
	case nearer && own < nearOverfit*held:
		j.add(Overfit, share, p, "samples keep to training rows: the median distance to one is %.2f of that of "+
			"held-out rows", own/held)
	}
}

// roundedAlike returns how many samples between rounded rows are rounded as these, or nearly, and how many of them lie
// at training rows. The distance from a draw to its rounded row tells nothing about the law.
func roundedAlike(j *judge, bound float64) (on, to int) {
	const part = 0.01 // of a step
	if j.Rounded == nil {
		return 0, 0
	}
	close := max(bound, part*metric.Step(few(j.Train, j.Dim, metric.UnitRows(j.Dim)), j.Dim))
	for i := range len(j.Rounded) / j.Dim {
		at := i * j.Dim
		if floats.Distance(j.Samples[at:at+j.Dim], j.Rounded[at:at+j.Dim], 2) < close {
			if on++; j.SampleNearest[i] < bound {
				to++
			}
		}
	}
	return on, to
}

// blur reports samples that lie further from training rows than held-out rows do, by the other side of the same median
// test: they lost structure that is finer than the spread. Only points that no finding covers count. Rows that depend
// on each other, such as aftershocks, lie near to each other whatever the samples do: so regions must differ beyond
// chance too.
func (j *judge) blur() {
	x, h := rest(j.SampleNearest, 1, j.outX), rest(j.HeldNearest, 1, j.outH)
	if len(x) == 0 || len(h) < FewestHeld {
		return
	}
	own, held, p := medians(x, h)
	if p > levels[Copies]/2 || own <= held {
		return
	}
	if held == 0 { // no density has such points: nearness to rows says nothing of it
		j.skip(Blur, "most held-out rows repeat training rows to the last digit, which samples of a density do not")
		return
	}
	if own <= j.place {
		j.skip(Blur, "most rows repeat a place, such as a minimum, and samples lie in these places: typically %s "+
			"from the nearest training row, held-out rows %s", j.length(own), j.length(held))
		return
	}
	if j.unitR != nil || j.span > 0 {
		j.skip(Blur, "rows depend on each other, so a held-out row lies next to those of its own cluster or run")
		return
	}
	says := fmt.Sprintf("samples lie typically %s from the nearest training row, held-out rows %s", j.length(own),
		j.length(held))
	if p = max(p, j.byRegion(metric.Median(slices.Concat(x, h)))); !(p <= levels[Copies]/2) {
		j.skip(Blur, "%s: between regions of the data that differs as much by chance, as where rows depend on each "+
			"other or are few", says)
		return
	}
	j.add(Blur, own/held, p, "%s", says)
}

// byRegion is the p-value of how many samples and held-out rows lie within a distance of a training row, where not
// rows but the regions of modes are independent: Student's, by the jackknife over regions.
func (j *judge) byRegion(within float64) float64 {
	K := len(j.centres) / j.Dim
	share := func(x, r []float64, out []bool) (share, variance float64) {
		all, near, n := make([]float64, K), make([]float64, K), 0.0
		for i, k := range nearestOf(x, j.centres, j.Dim) {
			if !out[i] {
				all[k]++
				n++
				if r[i] < within {
					near[k]++
					share++
				}
			}
		}
		share /= n
		for k := range K {
			variance += (near[k] - share*all[k]) * (near[k] - share*all[k]) * float64(K) / float64(K-1) / (n * n)
		}
		return share, variance
	}
	a, u := share(j.Samples, j.SampleNearest, j.outX)
	b, v := share(j.Held, j.HeldNearest, j.outH)
	return 2 * distuv.StudentsT{Sigma: 1, Nu: max(float64(K-1), 1)}.Survival(math.Abs(a-b)/math.Sqrt(u+v))
}

// length writes a distance of points in the data's unit.
func (e *Evidence) length(r float64) string {
	if e.Unit == "" {
		return text.Number(r) + " units of the data"
	}
	return fmt.Sprintf("%.3g %s", r*e.PerUnit, e.Unit)
}

// medians returns those of x and h, and the p-value of Mood's test: Fisher's of how many lie below the median of both.
func medians(x, h []float64) (own, held, p float64) {
	middle := metric.Median(slices.Concat(x, h))
	p = metric.FisherTest(below(x, middle), len(x), below(h, middle), len(h))
	return metric.Median(slices.Clone(x)), metric.Median(slices.Clone(h)), p
}

func below(r []float64, c float64) int { return count(r, func(v float64) bool { return v < c }) }

func count(r []float64, is func(v float64) bool) (k int) {
	for _, v := range r {
		if is(v) {
			k++
		}
	}
	return k
}

const (
	rowsOfRegion = 30   // in the mean
	mostRegions  = 24   //
	regionRows   = 4000 // that regions are made of, and as many samples
	regionRounds = 12   // of Lloyd's iteration
	missedPart   = 0.5  // of the share of the data, up to which a region is missed
	missedToo    = 0.01 // p-value of a region that is missed, where another one is for certain
)

// modes reports regions that hold a share of the rows and at most half that share of the samples. Each point belongs to
// the region of its nearest centre. The K centres come from k-means on samples and rows together, in random order, so
// that counts of samples and rows are exchangeable. Each region has a K-th of the level in Fisher's exact test.
func (j *judge) modes() {
	d, n, m := j.Dim, len(j.Samples)/j.Dim, len(j.Rows)/j.Dim
	pool := slices.Concat(few(j.Samples, d, regionRows), few(j.Rows, d, regionRows))
	centres := regions(shuffled(pool, d, j.Seed), d, min(max(m/rowsOfRegion, 2), mostRegions), j.Seed)
	j.centres = centres
	K := len(centres) / d
	level := levels[MissedMode] / 2 / float64(max(K, 1))
	if K < 2 {
		j.alone()
		return
	}
	atX, atR := nearestOf(j.Samples, centres, d), nearestOf(j.Rows, centres, d)
	in := func(at []int) []int {
		n := make([]int, K)
		for _, k := range at {
			n[k]++
		}
		return n
	}
	inX, inR := in(atX), in(atR)
	missed, p := make([]bool, K), make([]float64, K)
	least := 1.0
	for k := range p {
		p[k] = 1
		if float64(inX[k])/float64(n) <= missedPart*float64(inR[k])/float64(m) {
			p[k] = metric.FisherTest(int(float64(inX[k])*j.effX/float64(n)+0.5), int(j.effX),
				int(float64(inR[k])*j.effR/float64(m)+0.5), int(j.effR))
		}
		least = min(least, p[k])
	}
	if !(least <= level) {
		j.alone()
		return
	}
	worst, most, sum, count := -1, 0.0, 0.0, 0
	for k := range K {
		share, data := float64(inX[k])/float64(n), float64(inR[k])/float64(m)
		if p[k] > missedToo { // a mode may be cut into regions, small ones among them
			continue
		}
		missed[k] = true
		count++
		sum += data - share
		if data-share > most {
			worst, most = k, data-share
		}
	}
	mark := func(out []bool, at []int) {
		for i, k := range at {
			out[i] = out[i] || missed[k]
		}
	}
	mark(j.outX, atX)
	mark(j.outR, atR)
	mark(j.outH, nearestOf(j.Held, centres, d))
	told := ""
	if count > 1 {
		told = "; " + text.Count(count-1) + " more regions are like that"
	}
	row := medoid(j.Rows, atR, worst, centres[worst*d:(worst+1)*d], d)
	j.add(MissedMode, sum, min(1, float64(K)*least), "around %s lie %s of the rows and %s of the samples%s",
		j.where(row), text.Percent(float64(inR[worst])/float64(m)), text.Percent(float64(inX[worst])/float64(n)), told)
}

// shuffled returns rows in a random order.
func shuffled(rows []float64, d int, seed uint64) []float64 {
	order := make([]int, len(rows)/d)
	keyed.RegionOrder.Stream(seed, 0).Permutation(order, 0, 0)
	out := make([]float64, 0, len(rows))
	for _, i := range order {
		out = append(out, rows[i*d:(i+1)*d]...)
	}
	return out
}

// regions returns at most k centres of rows: k-means++ (Arthur and Vassilvitskii, SODA 2007), then
// Lloyd's iteration. Fewer, where rows repeat each other.
func regions(rows []float64, d, k int, seed uint64) []float64 {
	n := len(rows) / d
	if n == 0 {
		return nil
	}
	st := keyed.RegionStarts.Stream(seed, 0)
	near := slices.Repeat([]float64{math.Inf(1)}, n) // squared distances to the nearest centre
	var centres []float64
	u := make([]float64, 1)
	at := st.Index(n, 0, 0)
	for len(centres) < k*d {
		c := rows[at*d : (at+1)*d]
		centres = append(centres, c...)
		sum := 0.0
		for i := range near {
			near[i] = min(near[i], dense.SquaredDistance(rows[i*d:(i+1)*d], c))
			sum += near[i]
		}
		if !(sum > 0) || math.IsInf(sum, 1) {
			break
		}
		st.Uniforms(u, uint64(len(centres)/d), 1)
		left := u[0] * sum
		for at = 0; at < n-1 && left >= near[at]; at++ {
			left -= near[at]
		}
	}
	counts := make([]float64, len(centres)/d)
	for range regionRounds {
		at := nearestOf(rows, centres, d)
		next := make([]float64, len(centres))
		clear(counts)
		for i, k := range at {
			counts[k]++
			for c := range d {
				next[k*d+c] += rows[i*d+c]
			}
		}
		for k, count := range counts {
			for c := range d {
				if count > 0 {
					centres[k*d+c] = next[k*d+c] / count
				}
			}
		}
	}
	return centres
}

// nearestOf returns the number of the nearest centre of each row.
func nearestOf(rows, centres []float64, d int) []int {
	out := make([]int, len(rows)/d)
	for i := range out {
		best := math.Inf(1)
		for k := range len(centres) / d {
			if s := dense.SquaredDistance(rows[i*d:(i+1)*d], centres[k*d:(k+1)*d]); s < best {
				best, out[i] = s, k
			}
		}
	}
	return out
}

// medoid returns the row of a region that is nearest to its centre.
func medoid(rows []float64, at []int, region int, centre []float64, d int) []float64 {
	best, out := math.Inf(1), centre
	for i, k := range at {
		if k != region {
			continue
		}
		if s := dense.SquaredDistance(rows[i*d:(i+1)*d], centre); s < best {
			best, out = s, rows[i*d:(i+1)*d]
		}
	}
	return out
}

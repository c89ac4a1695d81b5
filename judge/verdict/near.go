package verdict

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
)

const (
	asideShare = 10   // of how many training rows one says how far rows lie from the others
	asideMost  = 1000 // of these rows, at most
	farTimes   = 2    // of their 99 % quantile is far
)

// far returns a distance from training rows that is far: twice what 99 % of some of them keep to the others. It knows
// nothing of samples and held-out rows, so that counts beyond it are exchangeable.
func (j *judge) far() float64 {
	d, n := j.Dim, len(j.Train)/j.Dim
	step := max(asideShare, (n+asideMost-1)/asideMost)
	var aside, others []float64
	for i := range n {
		if row := j.Train[i*d : (i+1)*d]; i%step == step/2 {
			aside = append(aside, row...)
		} else {
			others = append(others, row...)
		}
	}
	if len(aside) == 0 || len(others) == 0 {
		return 0
	}
	r := metric.NearestDistances(nil, aside, others, d)
	slices.Sort(r)
	return farTimes * r[(len(r)-1)*99/100]
}

// strays tells of samples far from all training rows, where more of them are than of held-out
// rows by Fisher's exact test.
func (j *judge) strays() {
	c := j.far()
	if !(c > 0) {
		j.skip(Stray, "training rows repeat each other, or are too few")
		return
	}
	x, h := j.SampleNearest, j.HeldNearest
	n, m := len(x), len(h)
	farther := func(v float64) bool { return v > c }
	a, b := count(x, farther), count(h, farther)
	share, data := float64(a)/float64(n), float64(b)/float64(m)
	if share <= data || !(metric.FisherTest(a, n, b, m) <= levels[Stray]) {
		return
	}
	mark := func(out []bool, r []float64) {
		for i, v := range r {
			out[i] = out[i] || v > c
		}
	}
	mark(j.outX, x)
	mark(j.outH, h)
	mark(j.outR, metric.NearestDistances(nil, j.Rows, j.Train, j.Dim)) // 0 for those of training
	worst := floats.MaxIdx(x)
	j.tell(Stray, share-data, "%s of the samples, and %s of held-out rows, lie further than %s from all training "+
		"rows; the furthest is at %s, %s away", text.Percent(share), text.Percent(data), text.Number(c),
		place(j.Samples[worst*j.Dim:(worst+1)*j.Dim]), text.Number(x[worst]))
}

// Ratios of median distances to training rows, of samples to held-out rows, below which samples are copies, or nearly.
const (
	NearCopies  = 0.5
	nearOverfit = 0.8
)

// copies tells of samples that lie on training rows, or nearer to them than held-out rows do: by Mood's median test,
// which is Fisher's at the median of both, and by Fisher's of those that coincide with a row.
func (j *judge) copies() {
	x, h := j.SampleNearest, j.HeldNearest
	n, m := len(x), len(h)
	own, held, differ := medians(x, h)
	share := max(0, 2*float64(below(x, held))/float64(n)-1)
	nearer := differ && own < held
	a, b := below(x, metric.CopyDistance), below(h, metric.CopyDistance)
	copied, repeated := float64(a)/float64(n), float64(b)/float64(m)
	same := copied > repeated && metric.FisherTest(a, n, b, m) <= levels[Copies]/2
	switch {
	case same:
		j.tell(Copies, max(share, copied-repeated), "%s of the samples are training rows, and %s of held-out rows",
			text.Percent(copied), text.Percent(repeated))
	case nearer && own < NearCopies*held:
		j.tell(Copies, share, "samples are nearly copies: the median distance to a training row is %.2f of that of "+
			"held-out rows", own/held)
	case nearer && own < nearOverfit*held:
		j.tell(Overfit, share, "samples keep to training rows: the median distance to one is %.2f of that of held-out "+
			"rows", own/held)
	}
}

// blur tells of samples that lie further from training rows than held-out rows do, by the other side of the same
// median test: structure that is finer than the spread is lost. It is of the points that no finding has told of.
func (j *judge) blur() {
	x, h := rest(j.SampleNearest, 1, j.outX), rest(j.HeldNearest, 1, j.outH)
	if len(x) == 0 || len(h) < FewestHeld {
		return
	}
	own, held, differ := medians(x, h)
	if !differ || own <= held {
		return
	}
	if held == 0 { // no density has such points: nearness to rows says nothing of it
		j.skip(Blur, "most held-out rows repeat training rows to the last digit, which samples of a density do not")
		return
	}
	D, _ := metric.KolmogorovTest(slices.Clone(x), slices.Clone(h))
	j.tell(Blur, excess(D, len(x), len(h))-j.law, "samples are blurred: the median distance to a training row is "+
		"%s, of held-out rows %s", text.Number(own), text.Number(held))
}

// medians returns those of x and h, and whether they differ by Mood's test: Fisher's of how many
// lie below the median of both.
func medians(x, h []float64) (own, held float64, differ bool) {
	middle := metric.Median(slices.Concat(x, h))
	p := metric.FisherTest(below(x, middle), len(x), below(h, middle), len(h))
	return metric.Median(slices.Clone(x)), metric.Median(slices.Clone(h)), p <= levels[Copies]/2
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

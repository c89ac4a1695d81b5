package judge

import (
	"fmt"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem/settle"
)

// Conditional says how near samples are to the law of held-out rows given their condition.
type Conditional struct {
	// Pairs is a test of samples against the held-out rows whose conditions they were drawn under, conditions included,
	// by the energy distance (metric.PairedTest): its floor is what two draws of one law given c score.
	Pairs   metric.TwoSample `json:"pairs"`
	Nearby  *Nearby          `json:"nearby,omitempty"`  // rows with near conditions; null without pairs
	Bins    []Bin            `json:"bins,omitempty"`    // of the run's distance
	Warning string           `json:"warning,omitempty"` // where the test rejects, with the remedy

	samples, held []float64 // of Pairs, as they are laid
}

// Nearby is what needs no network: for each held-out condition a random one of the training rows whose conditions are
// nearest to it, in standard deviations of each number.
type Nearby struct {
	Rows     int          `json:"rows"`     // nearest ones
	Distance metric.Float `json:"distance"` // as Pairs.Statistic
	Farther  metric.Float `json:"farther"`  // by how much that of the samples is larger
	PValue   metric.Float `json:"p_value"`  // of that (metric.FartherTest)
}

const (
	nearRows = 150    // or a tenth of the training rows
	nearFrom = 20_000 // training rows that are looked at
	farSigns = 9999   // random signs behind its p-value
)

// nearby holds rows retrieved for the conditions of held-out rows against these, beside samples.
func (r *Reference) nearby(held, samples, laid []float64) *Nearby {
	d := r.Dim
	train := langevin.Starts(r.Train, d, min(nearFrom, len(r.Train)/d))
	at, rows, seed := d-len(r.Given), len(train)/d, r.Problem.Seed
	out := &Nearby{Rows: min(nearRows, max(1, rows/10))}
	scale := make([]float64, len(r.Given))
	for k := range scale {
		if _, sd := metric.Spread(metric.Column(train, at+k, d), 1); sd > 0 {
			scale[k] = 1 / sd
		}
	}
	var taken []float64
	far := make([]float64, rows)
	for i := range len(held) / d {
		own := held[i*d+at : (i+1)*d]
		for j := range rows {
			far[j] = 0
			for k, c := range train[j*d+at : (j+1)*d] {
				far[j] += (c - own[k]) * (c - own[k]) * scale[k] * scale[k]
			}
		}
		sorted := slices.Sorted(slices.Values(far))
		var near []int // more where conditions are the same
		for j, v := range far {
			if v <= sorted[out.Rows-1] {
				near = append(near, j)
			}
		}
		j := near[keyed.NearRows.Stream(seed, 0).Index(len(near), uint64(i), 0)]
		taken = append(append(taken, train[j*d:j*d+at]...), own...)
	}
	taken = r.Laid(taken)
	out.Distance = metric.PairedTest(taken, laid, d, settle.TestPoints, 1, seed).Statistic
	farther, p := metric.FartherTest(samples, taken, laid, d, settle.TestPoints, farSigns, seed)
	out.Farther, out.PValue = metric.Float(farther), metric.Float(p)
	return out
}

// A Bin is the distance of samples to data, both where one number of the condition is in [Lo, Hi].
type Bin struct {
	Name    string  `json:"name"`
	Lo      float64 `json:"lo"`
	Hi      float64 `json:"hi"`
	Samples int     `json:"samples"`
	Rows    int     `json:"rows"` // of data
	metric.Score
}

const (
	binsOf     = 4 // quantiles of a number of the condition
	fewValues  = 12
	leastInBin = 20
	maxBinned  = 4 // numbers of the condition
)

var pairedAlarm = metric.Float(verdict.Level(verdict.Condition))

// Conditional compares samples, numbered in draw order with those lost, with the data given the
// condition; nil without one.
func (r *Reference) Conditional(s *Samples) *Conditional {
	if len(r.Given) == 0 {
		return nil
	}
	out := &Conditional{Pairs: metric.NoTest()}
	x, y := r.pairs(s)
	if len(x) > 0 {
		d := r.Dim
		used := min(len(x), settle.TestPoints*d) // rows are in random order
		out.samples, out.held = r.Laid(x[:used]), r.Laid(y[:used])
		out.Pairs = metric.PairedTest(out.samples, out.held, d, settle.TestPoints, settle.Permutations, r.Problem.Seed)
		if len(r.Train) > 0 {
			out.Nearby = r.nearby(y[:used], out.samples, out.held)
		}
		if out.Pairs.PValue <= pairedAlarm {
			out.Warning =
				"samples do not have the law of held-out points with the same condition; longer training, a " +
					"wider network or more data with such conditions help"
		}
	}
	if r.Distance != nil {
		for k := range min(len(r.Given), maxBinned) { // a condition once, as a floor has it
			out.Bins = append(out.Bins, r.bins(k, x)...)
		}
	}
	return out
}

// pairs returns samples, and the held-out rows with their conditions: each row once.
func (r *Reference) pairs(s *Samples) (x, y []float64) {
	d := r.Dim
	at, n := d-len(r.Given), min(len(r.HeldOut)/d, s.N())
	for i := range n {
		row, own := s.X[i*d:(i+1)*d], r.HeldOut[i*d:(i+1)*d]
		if !s.Lost[i] && slices.Equal(row[at:], own[at:]) {
			x, y = append(x, row...), append(y, own...)
		}
	}
	return x, y
}

// bins returns the distances of samples x where number k of the condition is in each of some
// ranges: the values that training saw if they are few, else between quantiles.
func (r *Reference) bins(k int, x []float64) (out []Bin) {
	d := r.Dim
	at := d - len(r.Given) + k
	values := metric.Column(r.Train, at, d)
	slices.Sort(values)
	var edges [][2]float64
	if own := slices.Compact(slices.Clone(values)); len(own) <= fewValues {
		for _, v := range own {
			edges = append(edges, [2]float64{v, v})
		}
	} else {
		for b := range binsOf {
			edges = append(edges, [2]float64{values[b*len(values)/binsOf],
				values[min((b+1)*len(values)/binsOf, len(values)-1)]})
		}
	}
	for i, e := range edges {
		last := i == len(edges)-1 || e[0] == e[1]
		in := func(rows []float64) (kept []float64) {
			for ; len(rows) > 0; rows = rows[d:] {
				if v := rows[at]; v >= e[0] && (v < e[1] || last && v <= e[1]) {
					kept = append(kept, rows[:d]...)
				}
			}
			return kept
		}
		samples, train := in(x), in(r.Train)
		b := Bin{Name: r.Given[k], Lo: e[0], Hi: e[1], Samples: len(samples) / d}
		all := in(r.All)
		if b.Rows = len(all) / d; b.Samples < leastInBin || len(train)/d < leastInBin {
			continue
		}
		ref := r.Distance.Reference.Distance.Against(all, train, in(r.HeldOut))
		b.Score, _ = ref.Score(ref.Marks(samples), r.Problem.Seed)
		out = append(out, b)
	}
	return out
}

// String names the range.
func (b Bin) String() string {
	if b.Lo == b.Hi {
		return fmt.Sprintf("%s = %.4g", b.Name, b.Lo)
	}
	return fmt.Sprintf("%s from %.4g to %.4g", b.Name, b.Lo, b.Hi)
}

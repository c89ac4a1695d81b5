package judge

import (
	"fmt"
	"slices"

	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/problem/settle"
)

// Conditional says how near samples are to the law of held-out rows given their condition.
type Conditional struct {
	// Pairs is a test of samples against the held-out rows whose conditions they were drawn under, conditions included,
	// by the energy distance (metric.PairedTest): its floor is what two draws of one law given c score.
	Pairs   metric.TwoSample `json:"pairs"`
	Bins    []Bin            `json:"bins,omitempty"`    // of the run's distance
	Warning string           `json:"warning,omitempty"` // where the test rejects, with the remedy

	samples, held []float64 // of Pairs, as they are laid
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
		out.samples, out.held = r.Laid(x), r.Laid(y)
		out.Pairs = metric.PairedTest(out.samples, out.held, d, settle.TestPoints, settle.Permutations, r.Problem.Seed)
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

package domain

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
)

// An Observable is a named number of a point.
type Observable struct {
	Name string
	Unit string // "°", "Å"; may be empty
	File string // of its picture, without extension

	// Bins are those of its histogram, and its range; with Circular the range is one period.
	metric.Bins

	// Feasible are the values that points of the set have, which pictures shade; empty (both ends 0): any.
	Feasible [2]float64

	// Close is a difference that does not matter: a verdict counts nearer values as equal.
	Close float64
}

// Observables are named numbers of points, compared one by one.
type Observables struct {
	List []Observable
	Note string // where they come from, as a sentence; may be empty

	// Values writes the numbers of n points: n×len(List) from n×d. Calls may run at the same time.
	Values func(dst, x []float64, n int)
}

// DefaultBins is how many bins an observable's histogram has where nothing else is said.
const DefaultBins = 60

// room is how much wider than the data's range a histogram is on both sides, as a part of that range.
const room = 0.1

// Over returns the observables with a range each: those that have none take that of the data (rows of d numbers), and a
// tenth of it on both sides. A number that is finite at no row is an error.
func (o *Observables) Over(data []float64, d int, pool *parallel.Pool) (*Observables, error) {
	out := *o
	out.List = slices.Clone(o.List)
	marks := o.marks(data, d, pool)
	for k := range out.List {
		b := &out.List[k].Bins
		values := metric.Column(marks, k, len(out.List))
		if !slices.ContainsFunc(values, finite) {
			return nil, fmt.Errorf("the observable %q is finite at no row of the data", out.List[k].Name)
		}
		if b.Lo < b.Hi {
			continue
		}
		*b = b.Over(values)
		margin := room * (b.Hi - b.Lo)
		if margin == 0 { // a number that the data holds
			margin = max(0.5, room*math.Abs(b.Lo))
		}
		b.Lo, b.Hi = b.Lo-margin, b.Hi+margin
	}
	return &out, nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// marks returns the numbers of points, row by row.
func (o *Observables) marks(x []float64, d int, pool *parallel.Pool) []float64 {
	dim := len(o.List)
	m := make([]float64, len(x)/d*dim)
	EachBlock(pool, len(x)/d, func(lo, hi int) { o.Values(m[dim*lo:dim*hi], x[d*lo:d*hi], hi-lo) })
	return m
}

// Empty density of bins of observables, in the unit of the range: 1e-6 of the mean density, which is 1/(Hi − Lo).
const emptyDensity = 1e-6

// Distance is the mean over the observables of distances between their histograms: the square root of the
// Jensen–Shannon divergence, natural logarithm, between densities, each raised by its bins' Empty, or where that is 0
// by 1e-6 of the mean density, whatever the unit. d is the dimension of points.
func (o *Observables) Distance(d int, pool *parallel.Pool) *Distance {
	dim := len(o.List)
	out := &Distance{
		Name: "Jensen–Shannon distance of observables", Dim: dim,
		Note:  o.Note,
		Marks: func(x []float64) []float64 { return o.marks(x, d, pool) },
		Compare: func(a, b []float64) []float64 {
			out := make([]float64, 1, 1+dim)
			for k, v := range o.List {
				jsd := v.raised().JSD(metric.Column(a, k, dim), metric.Column(b, k, dim))
				out[0] += jsd / float64(dim)
				out = append(out, jsd)
			}
			return out
		},
	}
	if out.Note != "" {
		out.Note += " "
	}
	out.Note += fmt.Sprintf("Mean over %s of distances between histograms; square roots of the divergence, natural "+
		"logarithm.", text.Plural(dim, "observable"))
	for _, v := range o.List {
		out.Parts = append(out.Parts, v.Name)
	}
	return out
}

func (v Observable) raised() metric.Bins {
	b := v.Bins
	if b.Empty == 0 && b.Lo < b.Hi {
		b.Empty = emptyDensity / (b.Hi - b.Lo)
	}
	return b
}

// Axis names the observable, with its unit.
func (v Observable) Axis() string {
	s := v.Name
	if v.Unit != "" {
		s += ", " + v.Unit
	}
	if v.Circular {
		s += " (circular: the ends are one place)"
	}
	return s
}

// A Histogram is the law of one observable: shares per bin, which add up to 1 but for values that are not finite.
type Histogram struct {
	Unit     string    `json:"unit,omitempty"`
	Lo       float64   `json:"lo"`
	Hi       float64   `json:"hi"`
	Circular bool      `json:"circular,omitempty"`
	Data     []float64 `json:"data"`
	Samples  []float64 `json:"samples"`
	Floor    []float64 `json:"floor"` // of as many draws from the training rows
}

// Histograms returns those of data and samples, given by their values (marks), and of
// as many draws from the training rows, a function of the seed.
func (o *Observables) Histograms(r *Reference, samples []float64, seed uint64) []Histogram {
	dim := len(o.List)
	floor := r.draw(len(samples)/dim, seed)
	var out []Histogram
	for k, v := range o.List {
		data, points, drawn := metric.Column(r.Full, k, dim), metric.Column(samples, k, dim),
			metric.Column(floor, k, dim)
		b := v.Bins.Over(data, points, drawn)
		out = append(out, Histogram{Unit: v.Unit, Lo: b.Lo, Hi: b.Hi, Circular: b.Circular,
			Data: b.Shares(data), Samples: b.Shares(points), Floor: b.Shares(drawn)})
	}
	return out
}

// Draw shows each observable's histograms of data and samples, given by its values (marks), with as many draws from the
// training rows: what samples of the data's own law would look like. scores are those of the parts, or nil.
func (o *Observables) Draw(c Canvas, r *Reference, samples []float64, scores []metric.Score, seed uint64) {
	dim := len(o.List)
	floor := r.draw(len(samples)/dim, seed)
	for k, v := range o.List {
		data, points := metric.Column(r.Full, k, dim), metric.Column(samples, k, dim)
		columns := []figure.Column{{Name: "data", Values: data}, {Name: "samples", Values: points}}
		if floor != nil {
			columns = append(columns, figure.Column{Name: "draws from the training rows", Values: metric.Column(floor,
				k, dim), Thin: true})
		}
		var caption []string
		if scores != nil {
			s := scores[k]
			caption = append(caption, fmt.Sprintf("Distance to all data %s, floor %s ± %s.", text.Fixed(s.Full),
				text.Fixed(s.Mean), text.Fixed(s.SD)))
		}
		if v.Circular {
			caption = append(caption, fmt.Sprintf("Circular: %.4g and %.4g are one place.", v.Lo, v.Hi))
		}
		if n := outside(v.Bins, points); n > 0 {
			caption = append(caption, fmt.Sprintf("%s of the samples are outside the range and count in the bins at "+
				"its ends.", text.Count(n)))
		}
		c.Add(v.File, figure.FigureRef{Title: v.Name, Caption: strings.Join(caption, " ")},
			figure.Histogram(figure.HistogramOptions{
				XLabel: v.Axis(), Bins: v.N, Lo: v.Lo, Hi: v.Hi, Circular: v.Circular, Density: true,
				Feasible: v.Feasible}, columns...))
	}
}

// outside counts the finite values that bins of a range that is no period do not hold.
func outside(b metric.Bins, values []float64) (n int) {
	if b.Circular || b.Lo == b.Hi {
		return 0
	}
	for _, v := range values {
		if finite(v) && (v < b.Lo || v > b.Hi) {
			n++
		}
	}
	return n
}

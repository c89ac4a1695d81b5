package domain

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/figure"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/keyed"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/parallel"
)

// An Observable is a named number of a point.
type Observable struct {
	Name string
	Unit string // "°", "Å"; may be empty
	File string // of its picture, without extension

	// Bins are those of its histogram, and its range; with Circular the range is one
	// period.
	metric.Bins
}

// Observables are named numbers of points, compared one by one.
type Observables struct {
	List []Observable
	Note string // where they come from, as a sentence; may be empty

	// Values writes the numbers of n points: n×len(List) from n×d. Calls may run at
	// the same time.
	Values func(dst, x []float64, n int)
}

// Empty density of bins of observables, in the unit of the range: 1e-6 of the mean
// density, which is 1/(Hi − Lo).
const emptyDensity = 1e-6

// Distance is the mean over the observables of distances between their histograms:
// the square root of the Jensen–Shannon divergence, natural logarithm, between
// densities, each raised by its bins' Empty, or where that is 0 by 1e-6 of the mean
// density, whatever the unit. d is the dimension of points.
func (o *Observables) Distance(d int, pool *parallel.Pool) *Distance {
	dim := len(o.List)
	out := &Distance{
		Name: "Jensen–Shannon distance", Dim: dim,
		Note: o.Note,
		Marks: func(x []float64) []float64 {
			m := make([]float64, len(x)/d*dim)
			EachBlock(pool, len(x)/d, func(lo, hi int) { o.Values(m[dim*lo:dim*hi], x[d*lo:d*hi], hi-lo) })
			return m
		},
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
	out.Note += fmt.Sprintf("Mean over %s of distances between histograms; square roots of the divergence, natural logarithm.", countOf(dim, "observable"))
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

func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
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

// Draw shows each observable's histograms of data and samples, given by its values
// (marks), with as many draws from the training rows: what samples of the data's own
// law would look like. scores are those of the parts, or nil.
func (o *Observables) Draw(c Canvas, r *Reference, samples []float64, scores []metric.Score, seed uint64) {
	dim := len(o.List)
	var floor []float64
	if n := len(samples) / dim; n > 0 && len(r.Train) > 0 {
		floor = drawn(r.Train, dim, n, seed)
	}
	for k, v := range o.List {
		caption := ""
		if scores != nil {
			s := scores[k]
			caption = fmt.Sprintf("Distance to all data %s, floor %s ± %s.", text.Fixed(s.Full), text.Fixed(s.Mean), text.Fixed(s.SD))
		}
		b := v.Bins
		if v.Circular {
			caption = join(caption, fmt.Sprintf("Circular: %.4g and %.4g are one place.", b.Lo, b.Hi))
		}
		data, points := metric.Column(r.Full, k, dim), metric.Column(samples, k, dim)
		columns := []figure.Column{{Name: "data", Values: data}, {Name: "samples", Values: points}}
		if floor != nil {
			columns = append(columns, figure.Column{Name: "draws from the training rows", Values: metric.Column(floor, k, dim), Thin: true})
		}
		if n := outside(b, points); n > 0 {
			caption = join(caption, fmt.Sprintf("%s of the samples are outside the range and count in the bins at its ends.", text.Count(n)))
		}
		c.Add(v.File, figure.FigureRef{Title: v.Name, Caption: caption},
			figure.Histogram(figure.HistogramOptions{XLabel: v.Axis(), Bins: b.N, Lo: b.Lo, Hi: b.Hi, Circular: b.Circular, Density: true}, columns...))
	}
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + " " + b
}

// outside counts the finite values that bins of a range that is no period do not hold.
func outside(b metric.Bins, values []float64) (n int) {
	if b.Circular || b.Lo == b.Hi {
		return 0
	}
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) && (v < b.Lo || v > b.Hi) {
			n++
		}
	}
	return n
}

// drawn returns n of the training rows' marks, with replacement: those of the first
// set of draws of a noise floor.
func drawn(train []float64, dim, n int, seed uint64) []float64 {
	rows, out := len(train)/dim, make([]float64, 0, n*dim)
	stream := keyed.FloorDraws.Stream(seed, 0)
	for i := range n {
		r := stream.Index(rows, uint64(i), 0)
		out = append(out, train[r*dim:(r+1)*dim]...)
	}
	return out
}

package domain

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/keyed"
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

// A Distance is one between sets of points by what is counted of them. It compares marks: numbers, Dim of them a point,
// that say in which cells it is, so that a point is looked up once.
type Distance struct {
	Name, Note string // what it is; how it is taken
	Dim        int
	Marks      func(x []float64) []float64

	// Compare returns the distance between points given by their marks. If the distance has parts, it is their mean,
	// and they follow.
	Compare func(a, b []float64) []float64
	Parts   []string // their names
}

// floorDraws is how many sets of draws from the training rows a floor is taken over.
const floorDraws = 20

// A Reference is the data that points are compared with.
type Reference struct {
	*Distance
	Full, Train, HeldOut []float64 // marks
}

// Against returns the reference of data: all rows, those of training and those held out of it.
func (d *Distance) Against(full, train, heldOut []float64) *Reference {
	return &Reference{d, d.Marks(full), d.Marks(train), d.Marks(heldOut)}
}

// Between returns the distance between points given by their marks.
func (d *Distance) Between(a, b []float64) float64 { return d.Compare(a, b)[0] }

// To returns the distance of the points x to all data.
func (r *Reference) To(x []float64) metric.Float { return metric.Float(r.Between(r.Marks(x), r.Full)) }

// Score returns the distance of points, given by their marks, to the data, and that of each part. Floors are those of
// as many draws from the training rows, and Law is that of as many new draws of their law: functions of the seed.
func (r *Reference) Score(marks []float64, seed uint64) (whole metric.Score, parts []metric.Score) {
	n := len(marks) / r.Dim
	scores := make([]metric.Score, 1+len(r.Parts))
	floors, law := r.floors(r.Full, n, seed), metric.NewDraws(r.Full, r.Dim, n, seed, r.Compare)
	for k, v := range r.Compare(marks, r.Full) {
		scores[k] = metric.Score{Full: metric.Float(v), Floor: floors[k], HeldOut: metric.NaN, HeldOutFloor: metric.NaN,
			Law: law[k]}
	}
	if len(r.HeldOut) > 0 {
		floors := r.floors(r.HeldOut, n, seed)
		for k, v := range r.Compare(marks, r.HeldOut) {
			scores[k].HeldOut, scores[k].HeldOutFloor = metric.Float(v), floors[k].Mean
		}
	}
	return scores[0], scores[1:]
}

// floors returns the noise floors of the distance to data and of its parts, of n points.
func (r *Reference) floors(data []float64, n int, seed uint64) []metric.Floor {
	each := make([][]float64, 1+len(r.Parts))
	metric.NoiseFloor(r.Train, r.Dim, n, floorDraws, seed, func(y []float64) float64 {
		all := r.Compare(y, data)
		for k, v := range all {
			each[k] = append(each[k], v)
		}
		return all[0]
	})
	out := make([]metric.Floor, len(each))
	for k, v := range each {
		out[k] = metric.NewFloor(v)
	}
	return out
}

// draw returns the marks of n training rows, drawn with replacement: those of the first
// set of draws of a floor. They are nil if there is nothing to draw.
func (r *Reference) draw(n int, seed uint64) []float64 {
	rows := len(r.Train) / r.Dim
	if n == 0 || rows == 0 {
		return nil
	}
	out := make([]float64, 0, n*r.Dim)
	stream := keyed.FloorDraws.Stream(seed, 0)
	for i := range n {
		at := stream.Index(rows, uint64(i), 0)
		out = append(out, r.Train[at*r.Dim:(at+1)*r.Dim]...)
	}
	return out
}

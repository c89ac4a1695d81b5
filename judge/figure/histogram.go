package figure

import (
	"cmp"
	"fmt"
	"math"
)

// TorsionOptions describe a plot of two torsion angles.
type TorsionOptions struct {
	X, Y string // names of the angles

	// FeasibleX and FeasibleY are the ranges to shade, in degrees, from the first end
	// counterclockwise to the second; a line if they are equal. nil: any angle.
	FeasibleX, FeasibleY []float64
}

// torsionSide makes two planes as wide as other charts.
const torsionSide = 206

// Torsions draws pairs of torsion angles in degrees (rows x, y), a plane of [−180°, 180°]² for each layer, side by
// side: a Ramachandran plot. Angles are taken modulo 360°.
func Torsions(opts TorsionOptions, layers ...PointLayer) *Chart {
	circle := axis{lo: -180, hi: 180, step: 90}
	var keys []key
	at := make([][][2]float64, len(layers))
	for i, l := range layers {
		if len(l.Points)%2 != 0 {
			panic(fmt.Sprintf("figure: layer %q has %d values, not pairs", l.Name, len(l.Points)))
		}
		n := len(l.Points) / 2
		for row := range n {
			x, y := l.Points[2*row], l.Points[2*row+1]
			if circle.shows(x) && circle.shows(y) {
				at[i] = append(at[i], [2]float64{turn(x), turn(y)})
			}
		}
		keys = append(keys, layerKey(i, l.Name, l.Color, l.Radius, n, n-len(at[i])))
	}
	shaded := opts.FeasibleX != nil || opts.FeasibleY != nil
	legend := keys
	if shaded {
		legend = append(legend[:len(legend):len(legend)], feasibleKey)
	}
	gap := margin + gutter(circle, 4, "y")
	s := newScene(float64(len(layers))*(gap+torsionSide)+margin, alt(keys))
	top := s.legend(margin, headroom, s.w-2*margin, legend)
	for i := range layers {
		f := frame{x: circle, y: circle}
		f.x0 = float64(i)*(gap+torsionSide) + gap
		f.x1 = f.x0 + torsionSide
		f.y0, f.y1 = top+6, top+6+torsionSide
		if shaded {
			for _, x := range arcs(opts.FeasibleX) {
				for _, y := range arcs(opts.FeasibleY) {
					f.shade(s, x, y)
				}
			}
		}
		f.draw(s, opts.X+", °", opts.Y+", °", 4, 4)
		var points []xy
		for _, p := range at[i] {
			points = append(points, f.place(p[0], p[1]))
		}
		s.add(dots{at: points, r: keys[i].dot, ink: keys[i].ink, alpha: 0.35})
	}
	s.grow(top + 6 + torsionSide + axisNameRoom + 12)
	return &Chart{scene: s}
}

// turn returns the angle in [−180, 180) that is v modulo 360.
func turn(v float64) float64 { return v - 360*math.Floor((v+180)/360) }

// arcs are the ranges in [−180, 180] of an arc: one, or two where it crosses 180. A
// single angle is made wide enough to be seen.
func arcs(v []float64) [][2]float64 {
	const seen = 1.5
	if v == nil || v[1]-v[0] >= 360 {
		return [][2]float64{{-180, 180}}
	}
	room := max(0, seen-(v[1]-v[0]))
	lo, length := turn(v[0]-room/2), v[1]-v[0]+room
	if lo+length <= 180 {
		return [][2]float64{{lo, lo + length}}
	}
	return [][2]float64{{lo, 180}, {-180, lo + length - 360}}
}

// HistogramOptions describe a histogram.
type HistogramOptions struct {
	XLabel string
	Log    bool // bins of equal ratio, for values over many decades such as violations
	Bins   int  // 0: 40

	// The range, if Lo < Hi; else it is that of the values. Values outside count in the bins at its ends, or with
	// Circular are moved into it by whole periods Hi − Lo. Not with Log.
	Lo, Hi   float64
	Circular bool

	Density bool // per unit of x, instead of percent per bin

	// Feasible is a part of the range to shade, where values are meant to be; empty: none.
	Feasible [2]float64
}

// A Column is a named set of values.
type Column struct {
	Name   string
	Values []float64
	Thin   bool // a thin outline alone, for what others are held against
}

// Histogram draws the share of each column's values per bin, overlaid in common bins. Shares are of all values of a
// column, so what cannot be drawn (not finite, or not positive with Log) is missing from its area; the chart says how
// many values that is, and how many of them are exactly 0.
func Histogram(opts HistogramOptions, columns ...Column) *Chart {
	bins := opts.Bins
	if bins <= 0 {
		bins = 40
	}
	xs := newSpan(opts.Log)
	fixed := opts.Lo < opts.Hi
	if fixed {
		xs.add(opts.Lo)
		xs.add(opts.Hi)
	}
	var missing []string
	for _, c := range columns {
		var zero, other int
		for _, v := range c.Values {
			switch {
			case xs.shows(v) && fixed: // the range stays
			case xs.shows(v):
				xs.add(v)
			case v == 0:
				zero++
			default:
				other++
			}
		}
		if zero > 0 {
			missing = append(missing, fmt.Sprintf("%s: %s exactly 0 (not drawn)", c.Name, count(zero)))
		}
		if other > 0 {
			missing = append(missing, fmt.Sprintf("%s: %s not drawn (%s)", c.Name, plural(other, "value"),
				undrawable(opts.Log)))
		}
	}
	x := xs.axis(0)
	weight, yName := 100.0, "share of values, %"
	if opts.Density {
		weight, yName = float64(bins)/(x.hi-x.lo), "density"
	}
	shares := make([][]float64, len(columns))
	var highest float64
	for i, c := range columns {
		shares[i] = make([]float64, bins)
		for _, v := range c.Values {
			if x.shows(v) {
				at := x.at(v)
				if fixed && opts.Circular {
					at -= math.Floor(at)
				}
				bin := int(math.Max(0, math.Min(at*float64(bins), float64(bins-1))))
				shares[i][bin] += weight / float64(len(c.Values))
			}
		}
		for _, v := range shares[i] {
			highest = max(highest, v)
		}
	}
	highest = cmp.Or(highest, 1)

	var keys []key
	for i, c := range columns {
		k := key{name: c.Name + ", " + count(len(c.Values)), ink: seriesInk(i, nil)}
		if c.Thin {
			k.ink = muted
		}
		keys = append(keys, k)
	}
	s := newScene(chartWidth, alt(keys))
	shaded := opts.Feasible[0] < opts.Feasible[1]
	if shaded {
		keys = append(keys, feasibleKey)
	}
	f := s.frame(x, newAxis(0, highest*1.06, 0, false), yName, s.legend(margin, headroom, chartWidth-2*margin, keys))
	if shaded {
		f.shade(s, opts.Feasible, [2]float64{f.y.lo, f.y.hi})
	}
	f.draw(s, opts.XLabel, yName, 7, 5)
	for i, c := range columns {
		staircase(s, f, shares[i], keys[i].ink, c.Thin)
	}
	s.notes(missing)
	return &Chart{scene: s}
}

var feasibleKey = key{name: "feasible", ink: feasible, area: true}

// shade fills the part of the frame where x and y are in ranges.
func (f frame) shade(s *scene, x, y [2]float64) {
	clip := func(v [2]float64, a axis) (lo, hi float64) { return max(v[0], a.lo), min(v[1], a.hi) }
	xlo, xhi := clip(x, f.x)
	ylo, yhi := clip(y, f.y)
	if !(xlo < xhi && ylo < yhi) {
		return
	}
	a, b := f.place(xlo, yhi), f.place(xhi, ylo)
	s.rect(a.x, a.y, b.x-a.x, b.y-a.y, feasible)
}

// staircase draws a histogram's outline over a pale fill, in one piece for each run
// of bins that are not empty; thin ones have no fill.
func staircase(s *scene, f frame, shares []float64, k ink, thin bool) {
	width := (f.x1 - f.x0) / float64(len(shares))
	var pieces [][]xy
	for i, share := range shares {
		if share == 0 {
			continue
		}
		left, y := f.x0+float64(i)*width, f.y1-f.y.at(share)*(f.y1-f.y0)
		if i == 0 || shares[i-1] == 0 {
			pieces = append(pieces, []xy{{left, f.y1}})
		}
		piece := &pieces[len(pieces)-1]
		*piece = append(*piece, xy{left, y}, xy{left + width, y})
		if i == len(shares)-1 || shares[i+1] == 0 {
			*piece = append(*piece, xy{left + width, f.y1})
		}
	}
	if thin {
		s.stroke(k, 0.8, pieces...)
		return
	}
	s.add(shape{lines: pieces, closed: true, fill: &k, alpha: 0.18})
	s.stroke(k, 1.6, pieces...)
}

package figure

import (
	"fmt"
	"math"
	"slices"
)

const (
	chartWidth = 560
	plotHeight = 250
)

// LineOptions describe a line chart.
type LineOptions struct {
	Title          string
	XLabel, YLabel string
	LogX, LogY     bool
}

// A Series is a curve through (X[i], Y[i]), in the order given. Lo and Hi, where they
// are not nil, are a band about it, such as that of a statistical error.
type Series struct {
	Name   string
	X, Y   []float64
	Lo, Hi []float64
}

// Lines draws a line chart, such as the loss against the epoch. A value that is not
// finite, or not positive on a logarithmic axis, leaves a gap, and the chart says
// how many there are. It panics if a series has X and Y of different lengths.
func Lines(opts LineOptions, curves ...Series) *Chart {
	xs, ys := newSpan(opts.LogX), newSpan(opts.LogY)
	var missing []string
	for _, c := range curves {
		if len(c.X) != len(c.Y) {
			panic(fmt.Sprintf("figure: series %q has %d x and %d y", c.Name, len(c.X), len(c.Y)))
		}
		if len(c.Lo) != len(c.Hi) || c.Lo != nil && len(c.Lo) != len(c.X) {
			panic(fmt.Sprintf("figure: series %q has %d x, and %d and %d ends of a band", c.Name, len(c.X), len(c.Lo),
				len(c.Hi)))
		}
		gaps := 0
		for i := range c.X {
			if xs.shows(c.X[i]) && ys.shows(c.Y[i]) {
				xs.add(c.X[i])
				ys.add(c.Y[i])
				if c.Lo != nil && ys.shows(c.Lo[i]) && ys.shows(c.Hi[i]) {
					ys.add(c.Lo[i])
					ys.add(c.Hi[i])
				}
			} else {
				gaps++
			}
		}
		if gaps > 0 {
			missing = append(missing, fmt.Sprintf("%s: %s not drawn (%s)", c.Name, plural(gaps, "point"),
				undrawable(opts.LogX || opts.LogY)))
		}
	}
	s := newScene(chartWidth, 0, opts.Title)
	top := s.heading(opts.Title)
	var keys []key
	for i, c := range curves {
		keys = append(keys, key{name: c.Name, ink: seriesInk(i, nil)})
	}
	if len(keys) > 1 {
		top = s.legend(margin, top, chartWidth-2*margin, keys)
	}
	f := s.frame(xs.axis(0), ys.axis(0.05), opts.YLabel, top, plotHeight)
	f.draw(s, opts.XLabel, opts.YLabel, 6, 5)
	for i, c := range curves {
		band(s, f, c, seriesInk(i, nil))
	}
	for i, c := range curves {
		curve(s, f, c, seriesInk(i, nil))
	}
	s.notes(missing)
	return &Chart{scene: s}
}

// band fills what lies between the ends of c's band, in a piece for each run of points without a gap.
func band(s *scene, f frame, c Series, k ink) {
	if c.Lo == nil {
		return
	}
	var there, back []xy
	flush := func() {
		if len(there) > 1 {
			slices.Reverse(back)
			s.add(shape{lines: [][]xy{append(there, back...)}, closed: true, fill: &k, alpha: 0.16})
		}
		there, back = nil, nil
	}
	for i, x := range c.X {
		if f.x.shows(x) && f.y.shows(c.Y[i]) && f.y.shows(c.Lo[i]) && f.y.shows(c.Hi[i]) {
			there, back = append(there, f.place(x, c.Hi[i])), append(back, f.place(x, c.Lo[i]))
		} else {
			flush()
		}
	}
	flush()
}

// curve draws the runs of c between gaps; a run of a single point becomes a dot.
func curve(s *scene, f frame, c Series, k ink) {
	var runs [][]xy
	var run, alone []xy
	flush := func() {
		switch {
		case len(run) > 1:
			runs = append(runs, run)
		case len(run) == 1:
			alone = append(alone, run[0])
		}
		run = nil
	}
	for i := range c.X {
		if f.x.shows(c.X[i]) && f.y.shows(c.Y[i]) {
			run = append(run, f.place(c.X[i], c.Y[i]))
		} else {
			flush()
		}
	}
	flush()
	if len(runs) > 0 {
		s.stroke(k, 1.8, runs...)
	}
	if len(alone) > 0 {
		s.add(dots{at: alone, r: 2.6, ink: k, alpha: 1})
	}
}

// span gathers the range of the values that an axis will show.
type span struct {
	lo, hi float64
	log    bool
}

func newSpan(log bool) *span { return &span{math.Inf(1), math.Inf(-1), log} }

func (s *span) shows(v float64) bool  { return axis{log: s.log}.shows(v) }
func (s *span) add(v float64)         { s.lo, s.hi = min(s.lo, v), max(s.hi, v) }
func (s *span) axis(pad float64) axis { return newAxis(s.lo, s.hi, pad, s.log) }

func undrawable(log bool) string {
	if log {
		return "not finite or too large, or not positive on a logarithmic axis"
	}
	return "not finite or too large"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}

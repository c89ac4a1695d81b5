package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// An axis maps values to [0, 1], linearly or by their logarithm.
type axis struct {
	lo, hi float64 // lo < hi; their logarithms to base 10 when log
	log    bool
	step   float64 // of the ticks of a linear axis; 0: a round one
}

// newAxis covers [lo, hi] with room of pad times the span on both sides. A range that
// is empty, or too narrow for labels to tell its ends apart, is widened.
func newAxis(lo, hi, pad float64, log bool) axis {
	if lo > hi {
		lo, hi = 0, 1
		if log {
			lo = 0.1
		}
	}
	if log {
		lo, hi = math.Log10(lo), math.Log10(hi)
	}
	if hi-lo <= max(1e-9*max(math.Abs(lo), math.Abs(hi)), 1/largest) {
		room := 0.5
		if size := math.Abs(lo); !log && size > 100/largest {
			room = 0.1 * size
		}
		lo, hi = lo-room, hi+room
	}
	room := pad * (hi - lo)
	return axis{lo: lo - room, hi: hi + room, log: log}
}

// largest bounds what is drawn, so that the span of an axis does not overflow; its
// inverse is the least span, so that the step of the ticks does not underflow.
const largest = 1e300

// shows reports whether v has a place on the axis.
func (a axis) shows(v float64) bool { return math.Abs(v) <= largest && (!a.log || v > 0) }

// at is the place of v, for which shows holds.
func (a axis) at(v float64) float64 {
	if a.log {
		v = math.Log10(v)
	}
	return (v - a.lo) / (a.hi - a.lo)
}

// A tick is a labelled place on an axis. The label is text^sup.
type tick struct {
	at        float64 // in [0, 1]
	text, sup string
}

func (a axis) ticks(n int) []tick {
	if !a.log {
		return linearTicks(a.lo, a.hi, cmp.Or(a.step, roundStep((a.hi-a.lo)/float64(n))), a.at)
	}
	first, last := math.Ceil(a.lo-1e-9), math.Floor(a.hi+1e-9)
	if last-first < 1 {
		// Less than two powers of ten in sight: round values between them.
		lo, hi := math.Pow(10, a.lo), math.Pow(10, a.hi)
		return linearTicks(lo, hi, roundStep((hi-lo)/float64(n)), a.at)
	}
	step := max(1, math.Ceil((last-first)/float64(n)))
	plain := first >= -2 && last <= 3
	var ticks []tick
	for e := math.Ceil(first/step) * step; e <= last; e += step {
		t := tick{at: (e - a.lo) / (a.hi - a.lo)}
		if plain {
			t.text = decimal(math.Pow(10, e), int(max(0, -e)))
		} else {
			t.text, t.sup = "10", decimal(e, 0)
		}
		ticks = append(ticks, t)
	}
	return ticks
}

func linearTicks(lo, hi, step float64, at func(float64) float64) []tick {
	first, last := math.Ceil(lo/step-1e-9), math.Floor(hi/step+1e-9)
	size := math.Floor(math.Log10(max(math.Abs(lo), math.Abs(hi))))
	scientific := size >= 6 || size < -3
	var ticks []tick
	for k := first; k <= last; k++ {
		v := k * step
		t := tick{at: at(v)}
		switch {
		case v == 0:
			t.text = "0"
		case scientific:
			digits := int(max(0, size-math.Floor(math.Log10(step)+1e-9)))
			t.text = decimal(v/math.Pow(10, size), digits) + "×10"
			t.sup = decimal(size, 0)
		default:
			t.text = decimal(v, int(max(0, -math.Floor(math.Log10(step)+1e-9))))
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// roundStep is the least of 1, 2 and 5 times a power of ten that is not below v.
func roundStep(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*p >= v*(1-1e-9) {
			return m * p
		}
	}
	return 10 * p
}

const (
	minus = "−"
	space = "\u00a0" // between groups of three digits
)

// decimal writes v with the given number of decimals, a true minus sign, and
// groups of three digits from five digits on.
func decimal(v float64, decimals int) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	whole, frac, _ := strings.Cut(s, ".")
	if len(whole) > 4 {
		whole = grouped(whole)
	}
	if frac != "" {
		whole += "." + frac
	}
	if v < 0 && strings.Trim(s, "0.") != "" {
		return minus + whole
	}
	return whole
}

func count(n int) string { return grouped(strconv.Itoa(n)) }

func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + space + digits[i:]
	}
	return digits
}

// A frame is a plot area with its two axes.
type frame struct {
	x0, y0, x1, y1 float64 // top left and bottom right, in points
	x, y           axis
}

// frame makes a plot area below top, as wide as the sheet, which grows by it.
func (s *scene) frame(x, y axis, yName string, top float64) frame {
	f := frame{margin + gutter(y, 5, yName), top + 6, s.w - margin - 8, top + 6 + plotHeight, x, y}
	s.grow(f.y1 + axisNameRoom + 12)
	return f
}

// place is where (x, y) stands on the sheet.
func (f frame) place(x, y float64) xy {
	return xy{f.x0 + f.x.at(x)*(f.x1-f.x0), f.y1 - f.y.at(y)*(f.y1-f.y0)}
}

// gutter is the room that the labels of a vertical axis need on its left.
func gutter(y axis, n int, name string) float64 {
	var widest float64
	for _, t := range y.ticks(n) {
		widest = max(widest, textWidth(t.text, textSize)+supScale*textWidth(t.sup, textSize))
	}
	if name != "" {
		widest = 1.2*widest + textSize + 8 // other fonts, of browsers without ours, are so much wider
	}
	return widest + 8
}

const axisNameRoom = 38 // below a frame: tick labels and the axis's name

// draw draws the grid, the tick labels and the names of the axes, with about nx and ny ticks.
func (f frame) draw(s *scene, xName, yName string, nx, ny int) {
	var lines [][]xy
	for _, t := range f.y.ticks(ny) {
		y := f.y1 - t.at*(f.y1-f.y0)
		lines = append(lines, []xy{{f.x0, y}, {f.x1, y}})
		s.add(label{at: xy{f.x0 - 7, y + 4}, text: t.text, sup: t.sup, size: textSize, anchor: end, ink: muted})
	}
	for _, t := range f.x.ticks(nx) {
		x := f.x0 + t.at*(f.x1-f.x0)
		lines = append(lines, []xy{{x, f.y0}, {x, f.y1}})
		s.add(label{at: xy{x, f.y1 + 17}, text: t.text, sup: t.sup, size: textSize, anchor: middle, ink: muted})
	}
	s.stroke(grid, 1, lines...)
	s.stroke(rule, 1, []xy{{f.x0, f.y1}, {f.x1, f.y1}})
	s.add(label{at: xy{(f.x0 + f.x1) / 2, f.y1 + 35}, text: xName, size: textSize, anchor: middle, ink: text})
	if yName != "" {
		left := f.x0 - gutter(f.y, ny, yName) + textSize
		s.add(label{at: xy{left, (f.y0 + f.y1) / 2}, text: yName, size: textSize, anchor: middle, ink: text, up: true})
	}
}

const (
	chartWidth = 560
	plotHeight = 250
)

// LineOptions describe a line chart.
type LineOptions struct {
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
	s := newScene(chartWidth, "")
	var keys []key
	for i, c := range curves {
		keys = append(keys, key{name: c.Name, ink: seriesInk(i, nil)})
	}
	below := float64(headroom)
	if len(keys) > 1 {
		below = s.legend(margin, headroom, chartWidth-2*margin, keys)
	}
	f := s.frame(xs.axis(0), ys.axis(0.05), opts.YLabel, below)
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

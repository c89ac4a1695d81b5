package figure

import (
	"cmp"
	"fmt"
	"slices"
)

// TracksOptions describe a picture of ways in space, seen along an axis.
type TracksOptions struct {
	Axes   [2]string // names of the picture's axes
	Across [3]float64
	Up     [3]float64 // orthogonal unit vectors of the picture's axes
	Solids []Solid    // drawn by their outlines
	Ends   []Place    // marked with their names
	Free   bool       // the axes have scales of their own
	Beside bool       // grey ways have a panel of their own, left of the others
}

// A Place is a point with a name.
type Place struct {
	Name string
	At   [3]float64
}

// A TrackLayer is ways with a name.
type TrackLayer struct {
	Name   string
	Points []float64 // n×Strand×3
	Strand int       // points of a way
	Mode   int       // whose ink the ways have; below 0: they are grey, as what others are held against
}

// panelGap is between panels, with room for the numbers of an axis.
const panelGap = 44

// mostTracks bounds the ways that are drawn of a layer.
const mostTracks = 200

// Tracks draws ways as seen along an axis, those of later layers over those of earlier ones; both axes have the same
// scale. A way with a point that cannot be drawn is counted and left out, and of more than 200 in a layer those drawn
// are taken evenly. It panics if a layer is not made of whole ways.
func Tracks(opts TracksOptions, layers ...TrackLayer) *Chart {
	axes := [2][3]float64{opts.Across, opts.Up}
	spans := []*span{newSpan(false), newSpan(false)}
	see := func(p xy) { spans[0].add(p.x); spans[1].add(p.y) }
	outlines := make([][]xy, len(opts.Solids))
	for i, s := range opts.Solids {
		outlines[i] = s.outline(axes)
		for _, p := range outlines[i] {
			see(p)
		}
	}
	at := func(p [3]float64) xy { return xy{along(p, axes[0]), along(p, axes[1])} }
	for _, e := range opts.Ends {
		see(at(e.At))
	}
	ways := make([][][]xy, len(layers))
	var keys []key
	for i, l := range layers {
		if l.Strand < 1 || len(l.Points)%(3*l.Strand) != 0 {
			panic(fmt.Sprintf("figure: layer %q has %d values, not ways of %d points", l.Name, len(l.Points), l.Strand))
		}
		n := len(l.Points) / (3 * l.Strand)
		rows := drawable(l.Points, 3*l.Strand)
		shown := evenly(rows, mostTracks)
		for _, row := range shown {
			way := make([]xy, l.Strand)
			for j := range way {
				way[j] = at([3]float64(row[3*j:]))
				see(way[j])
			}
			ways[i] = append(ways[i], way)
		}
		k := key{name: l.Name + ", " + count(n), ink: rule}
		if l.Mode >= 0 {
			k.ink = modeInk(l.Mode)
		}
		if missing := n - len(rows); missing > 0 {
			k.name += " (" + count(missing) + " not drawable)"
		}
		if len(shown) < len(rows) {
			k.name += ", " + count(len(shown)) + " drawn"
		}
		keys = append(keys, k)
	}
	solids := key{name: "obstacle", ink: obstacle, area: true}
	if len(opts.Solids) > 0 {
		keys = append(keys, solids)
	}

	panels := [][2]int{{0, len(layers)}} // of layers, from and to
	if cut := slices.IndexFunc(layers, func(l TrackLayer) bool { return l.Mode >= 0 }); opts.Beside && cut > 0 {
		panels = [][2]int{{0, cut}, {cut, len(layers)}}
	}
	const least, most = 200.0, 620.0
	width := 560 + 200*float64(len(panels)-1)
	s := newScene(width, alt(keys))
	top := s.legend(margin, headroom, width-2*margin, keys)
	f := frame{x: spans[0].axis(0.04), y: spans[1].axis(0.04)}
	left := margin + gutter(f.y, 5, opts.Axes[1])
	each := (width - left - margin - 8 - panelGap*float64(len(panels)-1)) / float64(len(panels))
	f.x0, f.x1 = left, left+each
	// The height is that of the same scale, and where it would be too low or high an axis shows more.
	scale := (f.x1 - f.x0) / (f.x.hi - f.x.lo)
	height := min(most, max(least, scale*(f.y.hi-f.y.lo)))
	if opts.Free {
		height = plotHeight
	} else if shown := height / scale; shown < f.y.hi-f.y.lo {
		f.x = widened(f.x, (f.x1-f.x0)/height*(f.y.hi-f.y.lo))
	} else {
		f.y = widened(f.y, shown)
	}
	f.y0, f.y1 = top+6, top+6+height
	s.grow(f.y1 + axisNameRoom + 12)
	for n, panel := range panels {
		y := opts.Axes[1]
		if n > 0 {
			y, f.x0, f.x1 = "", f.x1+panelGap, f.x1+panelGap+each
		}
		f.draw(s, opts.Axes[0], y, 8-2*len(panels), 5)
		for _, o := range outlines {
			var line []xy
			for _, p := range o {
				line = append(line, f.place(p.x, p.y))
			}
			s.add(shape{lines: [][]xy{line}, closed: true, fill: &solids.ink, stroke: &coast, width: 1, alpha: 1})
		}
		for i := panel[0]; i < panel[1]; i++ {
			var lines [][]xy
			for _, way := range ways[i] {
				for j, p := range way {
					way[j] = f.place(p.x, p.y)
				}
				lines = append(lines, way)
			}
			if len(lines) > 0 {
				thick := 0.7
				if layers[i].Mode < 0 && len(panels) == 1 {
					thick = 0.4
				}
				s.stroke(keys[i].ink, thick, lines...)
			}
		}
		for _, o := range outlines { // that ways over them do not hide them
			line := make([]xy, len(o)+1)
			for i := range line {
				line[i] = f.place(o[i%len(o)].x, o[i%len(o)].y)
			}
			s.stroke(text, 1, line)
		}
		for _, e := range opts.Ends {
			p := at(e.At)
			p = f.place(p.x, p.y)
			s.add(dots{at: []xy{p}, r: 4, ink: text, alpha: 1})
			anchored, dx := start, 8.0
			if p.x > (f.x0+f.x1)/2 {
				anchored, dx = end, -8
			}
			s.add(label{at: xy{p.x + dx, p.y - 7}, text: e.Name, size: noteSize, bold: true, anchor: anchored,
				ink: text})
		}
	}
	return &Chart{scene: s}
}

// widened shows a length about the middle of an axis.
func widened(a axis, length float64) axis {
	middle := (a.lo + a.hi) / 2
	a.lo, a.hi = middle-length/2, middle+length/2
	return a
}

// hull returns the corners of the convex hull of points, counterclockwise: Andrew's monotone chain.
func hull(points []xy) []xy {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b xy) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
	points = slices.Compact(points)
	if len(points) < 3 {
		return points
	}
	half := func() (out []xy) {
		for _, p := range points {
			for n := len(out); n > 1 && cross(out[n-2], out[n-1], p) <= 0; n = len(out) {
				out = out[:n-1]
			}
			out = append(out, p)
		}
		return out[:len(out)-1]
	}
	lower := half()
	slices.Reverse(points)
	return append(lower, half()...)
}

// cross is twice the area of a triangle, above 0 if it runs counterclockwise.
func cross(a, b, c xy) float64 { return (b.x-a.x)*(c.y-a.y) - (b.y-a.y)*(c.x-a.x) }

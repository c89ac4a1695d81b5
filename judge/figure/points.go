package figure

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
)

// A PointLayer is a set of points in R^d.
type PointLayer struct {
	Name   string
	Points []float64   // n×d, row by row
	Color  color.Color // nil: the layer's place in the palette
	Radius float64     // in points; 0: 1.8
}

// ScatterOptions describe a scatter plot.
type ScatterOptions struct {
	Axes []string // names of the first coordinates; x[0] and so on where there is none
}

func (o ScatterOptions) axis(i int) string {
	if i < len(o.Axes) {
		return o.Axes[i]
	}
	return fmt.Sprintf("x[%d]", i)
}

// Scatter draws points of R^d: for d = 2 the plane itself, for d ≥ 3 the three planes of the first three coordinates.
// Both axes of a plane have the same scale, unless one would look like a line. It panics if d < 2 or a layer is not
// made of rows of d values.
func Scatter(opts ScatterOptions, d int, layers ...PointLayer) *Chart {
	if d < 2 {
		panic(fmt.Sprintf("figure: points of dimension %d, want 2 or more", d))
	}
	spans := make([]*span, min(d, 3))
	for i := range spans {
		spans[i] = newSpan(false)
	}
	var keys []key
	drawable := make([][]int, len(layers)) // rows
	for i, l := range layers {
		if len(l.Points)%d != 0 {
			panic(fmt.Sprintf("figure: layer %q has %d values, not rows of %d", l.Name, len(l.Points), d))
		}
		n := len(l.Points) / d
		for row := range n {
			p := l.Points[row*d : row*d+len(spans)]
			if !drawableAll(p) {
				continue
			}
			drawable[i] = append(drawable[i], row)
			for k, v := range p {
				spans[k].add(v)
			}
		}
		keys = append(keys, layerKey(i, l.Name, l.Color, l.Radius, n, n-len(drawable[i])))
	}

	planes, side, width := [][2]int{{0, 1}}, 440.0, 560.0
	if d >= 3 {
		planes, side, width = [][2]int{{0, 1}, {0, 2}, {1, 2}}, 244, 960
	}
	s := newScene(width, alt(keys))
	top := s.legend(margin, headroom, width-2*margin, keys)
	axes := sameScale(spans)
	left := float64(margin)
	for _, plane := range planes {
		f := frame{x: axes[plane[0]], y: axes[plane[1]]}
		f.x0 = left + gutter(f.y, 5, "y")
		f.x1 = f.x0 + side
		f.y0, f.y1 = top+6, top+6+side
		left = f.x1 + 14
		f.draw(s, opts.axis(plane[0]), opts.axis(plane[1]), 5, 5)
		at := make([][]xy, len(layers))
		for i, l := range layers {
			for _, row := range drawable[i] {
				p := l.Points[row*d:]
				at[i] = append(at[i], f.place(p[plane[0]], p[plane[1]]))
			}
		}
		s.scatter(keys, at)
	}
	s.grow(top + 6 + side + axisNameRoom + 12)
	if d > 3 {
		s.notes([]string{fmt.Sprintf("The first 3 of %d coordinates.", d)})
	}
	return &Chart{scene: s}
}

// sameScale gives all axes the length of the longest, about their own centres. Axes that would fill less than a sixth
// of it, such as speeds beside degrees, keep their own.
func sameScale(spans []*span) []axis {
	axes := make([]axis, len(spans))
	var half float64
	for i, s := range spans {
		axes[i] = s.axis(0.04)
		half = max(half, (axes[i].hi-axes[i].lo)/2)
	}
	for i, a := range axes {
		if fills := (a.hi - a.lo) / 2 / half; fills < 1.0/6 && fills > 1e-6 {
			continue
		}
		centre := (a.lo + a.hi) / 2
		axes[i] = axis{lo: centre - half, hi: centre + half}
	}
	return axes
}

// layerKey is the legend's entry for a layer of n points; `missing` of them cannot be drawn.
func layerKey(i int, name string, c color.Color, radius float64, n, missing int) key {
	k := key{name: name + ", " + count(n), ink: seriesInk(i, c), dot: 1.8}
	if radius > 0 {
		k.dot = radius
	}
	if k.alpha = 0.6; c != nil { // a caller's colour brings its own opacity
		k.alpha = float64(k.ink.light.A) / 0xff
	}
	if n-missing > dotLimit {
		k.name += byDensity
	}
	if missing > 0 {
		k.name += " (" + count(missing) + " not drawable)"
	}
	return k
}

// scatter draws layers of points in turns, a slice of each at a time, so that where layers crowd the picture shows a
// mixture and not the last layer alone. Layers of more than dotLimit points are drawn by density, below the others.
func (s *scene) scatter(keys []key, at [][]xy) {
	const turns = 64
	for i, k := range keys {
		if len(at[i]) > dotLimit {
			s.density(k, at[i])
		}
	}
	for turn := range turns {
		for i, k := range keys {
			n := len(at[i])
			if n > dotLimit {
				continue
			}
			if slice := at[i][turn*n/turns : (turn+1)*n/turns]; len(slice) > 0 {
				s.add(dots{at: slice, r: k.dot, ink: k.ink, alpha: k.alpha})
			}
		}
	}
}

// alt is the text for readers who cannot see the figure.
func alt(keys []key) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return strings.Join(names, "; ")
}

// dotLimit bounds the points of a layer that are drawn one by one. Of more, pages grow
// large and slow, and dots that cover each other say nothing of how many there are.
const dotLimit = 15_000

const (
	cellSide   = 3.0 // of a square, in points
	cellLevels = 10  // of opacity
)

// byDensity is what the legend says of a layer that is drawn by density.
const byDensity = " (squares, darker where there are more)"

// cells are squares of one ink and opacity: places where there are points.
type cells struct {
	at    []xy // top left corners
	ink   ink
	alpha float64
}

// density draws points by how many there are in each square, the opacity in
// proportion to the logarithm. Every point counts: a single one is a pale square.
func (s *scene) density(k key, at []xy) {
	count := map[[2]int]int{}
	most := 1
	for _, p := range at {
		c := [2]int{int(math.Floor(p.x / cellSide)), int(math.Floor(p.y / cellSide))}
		count[c]++
		most = max(most, count[c])
	}
	levels := make([][]xy, cellLevels)
	for c, n := range count {
		level := cellLevels - 1
		if most > 1 {
			level = int(math.Log(float64(n)) / math.Log(float64(most)) * (cellLevels - 1))
		}
		levels[level] = append(levels[level], xy{float64(c[0]) * cellSide, float64(c[1]) * cellSide})
	}
	for i, at := range levels {
		if len(at) == 0 {
			continue
		}
		slices.SortFunc(at, func(a, b xy) int { return cmp.Or(cmp.Compare(a.y, b.y), cmp.Compare(a.x, b.x)) })
		s.add(cells{at: at, ink: k.ink, alpha: min(1, k.alpha*(0.25+1.25*float64(i)/(cellLevels-1)))})
	}
}

func (c cells) svg(w *svgWriter) {
	fmt.Fprintf(w, `<path fill="%s" fill-opacity="%s"`, hex(c.ink.light), num(c.alpha))
	w.class(c.ink.classes("fill-"))
	w.WriteString(` d="`)
	for _, at := range c.at {
		fmt.Fprintf(w, "M%s %sh%gv%gh-%gz", num(at.x), num(at.y), cellSide, cellSide, cellSide)
	}
	w.WriteString("\"/>\n")
}

func (c cells) png(canvas *pngCanvas) {
	squares := shape{closed: true, fill: &c.ink, alpha: c.alpha}
	for _, at := range c.at {
		right, low := at.x+cellSide, at.y+cellSide
		squares.lines = append(squares.lines, []xy{at, {right, at.y}, {right, low}, {at.x, low}})
	}
	squares.png(canvas)
}

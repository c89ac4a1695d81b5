package figure

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// SpaceOptions describe a view of R³.
type SpaceOptions struct {
	From [3]float64 // direction to the viewer; 0: (2, −3, 2). The third coordinate points up
	Ball float64    // radius of a solid ball about the origin, which hides what is behind it; 0: none
}

// A SpaceLayer is a set of points in R³, or of strands of points.
type SpaceLayer struct {
	Name   string
	Points []float64 // n×3, row by row
	Strand int       // above 1: every Strand points in a row are joined by lines
}

// Space draws points of R³ as seen from far away, each layer in a panel of its own, two in a row, all on the same
// scale. Far points are paler, and near ones cover them. It panics if a layer is not made of rows of three values, or
// of whole strands.
func Space(opts SpaceOptions, layers ...SpaceLayer) *Chart {
	c := newCamera(opts.From)
	if len(layers) == 0 {
		layers = []SpaceLayer{{Name: "no points"}}
	}
	keys := make([]key, len(layers))
	marks := make([][]mark, len(layers))
	for i, l := range layers {
		n, joined := len(l.Points)/3, max(l.Strand, 1)
		if len(l.Points)%3 != 0 || n%joined != 0 {
			panic(fmt.Sprintf("figure: layer %q has %d values, not rows of 3 in strands of %d", l.Name,
				len(l.Points), joined))
		}
		var missing, drawn int
		marks[i], missing, drawn = c.marks(l)
		keys[i] = layerKey(i, l.Name, nil, 1.4, n/joined, missing)
		keys[i].name = strings.TrimSuffix(keys[i].name, byDensity)
		if drawn < n/joined-missing {
			keys[i].name += ", " + count(drawn) + " drawn"
		}
	}
	for _, m := range marks {
		for _, m := range m {
			c.see(m.at, 0)
		}
	}
	if opts.Ball > 0 {
		c.see(vec3{}, opts.Ball)
	}

	arm := c.arm()
	const gap = 20
	columns := min(2, len(layers))
	const width = (mapWidth - 2*margin - gap) / 2
	s := newScene(2*margin+float64(columns)*width+float64(columns-1)*gap, alt(keys))
	top, bottom := float64(headroom), float64(headroom)
	for i, k := range keys {
		if i%columns == 0 {
			top = bottom
		}
		left := margin + float64(i%columns)*(width+gap)
		below := s.legend(left, top, width, []key{k})
		p := c.panel(left, below, width)
		p.draw(s, k, marks[i], opts.Ball)
		p.axes(s, left, arm)
		bottom = p.y1 + margin/2
	}
	s.grow(bottom)
	s.notes([]string{fmt.Sprintf("The arms of the axes have length %g.", arm)})
	return &Chart{scene: s}
}

// A camera turns R³ so that the viewer is far along the third axis.
type camera struct {
	view
	lo, hi vec3 // bounds of what it has seen, turned
	any    bool
}

func newCamera(from vec3) *camera {
	if from == (vec3{}) {
		from = vec3{2, -3, 2}
	}
	f := unit(from)
	r := vec3{-f[1], f[0], 0}
	if math.Hypot(r[0], r[1]) < 1e-9 { // from above: the first coordinate to the right
		r = vec3{1, 0, 0}
	}
	r = unit(r)
	up := vec3{f[1]*r[2] - f[2]*r[1], f[2]*r[0] - f[0]*r[2], f[0]*r[1] - f[1]*r[0]}
	return &camera{view: view{r, up, f}}
}

func unit(v vec3) vec3 {
	n := math.Sqrt(along(v, v))
	return vec3{v[0] / n, v[1] / n, v[2] / n}
}

func (c *camera) see(p [3]float64, radius float64) {
	for k := range p {
		if !c.any {
			c.lo[k], c.hi[k] = p[k]-radius, p[k]+radius
		}
		c.lo[k], c.hi[k] = min(c.lo[k], p[k]-radius), max(c.hi[k], p[k]+radius)
	}
	c.any = true
}

// arm is a round length, about a tenth of what has been seen.
func (c *camera) arm() float64 {
	size := max(c.hi[0]-c.lo[0], c.hi[1]-c.lo[1])
	if !(size > 1/largest) {
		return 1
	}
	decade := math.Pow(10, math.Floor(math.Log10(size/6)))
	for _, m := range []float64{5, 2} {
		if m*decade <= size/6 {
			return m * decade
		}
	}
	return decade
}

// A mark is a point, or a segment to the point to.
type mark struct {
	at, to [3]float64
	line   bool
}

// marks returns a layer's points or segments, at most about dotLimit of them, how many
// points or strands cannot be drawn, and how many are drawn of those that can.
func (c *camera) marks(l SpaceLayer) (out []mark, missing, drawn int) {
	joined := max(l.Strand, 1)
	strands := drawable(l.Points, 3*joined)
	shown := evenly(strands, max(dotLimit/joined, 1))
	for _, strand := range shown {
		last := c.turn(vec3(strand))
		if joined == 1 {
			out = append(out, mark{at: last})
		}
		for i := 3; i < len(strand); i += 3 {
			next := c.turn(vec3(strand[i:]))
			out = append(out, mark{at: last, to: next, line: true})
			if i == len(strand)-3 {
				out = append(out, mark{at: next})
			}
			last = next
		}
	}
	return out, len(l.Points)/(3*joined) - len(strands), len(shown)
}

// drawable returns the rows of points that can be drawn; a row has `width` numbers.
func drawable(points []float64, width int) (rows [][]float64) {
	for i := 0; i < len(points); i += width {
		if row := points[i : i+width]; drawableAll(row) {
			rows = append(rows, row)
		}
	}
	return rows
}

func drawableAll(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return !(math.Abs(v) <= largest) })
}

// A panel is the place of one view on the sheet.
type panel struct {
	*camera
	x0, y0, y1 float64
	scale      float64
}

// panel fits what the camera has seen into a width, at most as high as wide.
func (c *camera) panel(left, top, width float64) panel {
	const room = 8.0
	w, h := c.hi[0]-c.lo[0], c.hi[1]-c.lo[1]
	scale := 1.0
	if max(w, h) > 1/largest {
		scale = (width - 2*room) / max(w, h)
	}
	return panel{camera: c, scale: scale,
		x0: left + (width-scale*w)/2, y0: top + room, y1: top + 2*room + max(scale*h, 1)}
}

func (p panel) place(q [3]float64) xy {
	return xy{p.x0 + p.scale*(q[0]-p.lo[0]), p.y0 + p.scale*(p.hi[1]-q[1])}
}

// draw paints the marks from far to near, in slices of equal depth, and a ball about the origin.
func (p panel) draw(s *scene, k key, marks []mark, ball float64) {
	const levels = 48
	sorted := make([][]mark, levels)
	level := func(depth float64) int {
		at := 0.5
		if p.hi[2] > p.lo[2] {
			at = (depth - p.lo[2]) / (p.hi[2] - p.lo[2])
		}
		return min(levels-1, max(0, int(at*levels)))
	}
	for _, m := range marks {
		i := level(m.at[2])
		if m.line { // its middle
			i = level((m.at[2] + m.to[2]) / 2)
		}
		sorted[i] = append(sorted[i], m)
	}
	for i, slice := range sorted {
		near := float64(i) / (levels - 1)
		points := dots{r: k.dot, ink: k.ink, alpha: k.alpha * (0.25 + near)}
		points.alpha = min(1, points.alpha)
		lines := shape{closed: true, fill: &k.ink, alpha: points.alpha}
		for _, m := range slice {
			if !m.line {
				points.at = append(points.at, p.place(m.at))
			} else if q := p.bar(m, k.dot); q != nil {
				lines.lines = append(lines.lines, q)
			}
		}
		if ball > 0 && i == level(0) {
			p.ball(s, ball)
		}
		if len(lines.lines) > 0 {
			s.add(lines)
		}
		if len(points.at) > 0 {
			s.add(points)
		}
	}
}

// bar is a segment as a thin quadrangle, which unlike a stroke can be pale.
func (p panel) bar(m mark, width float64) []xy {
	a, b := p.place(m.at), p.place(m.to)
	dx, dy := b.x-a.x, b.y-a.y
	n := math.Hypot(dx, dy)
	if n == 0 {
		return nil
	}
	nx, ny := -dy/n*width/2, dx/n*width/2
	return []xy{{a.x + nx, a.y + ny}, {b.x + nx, b.y + ny}, {b.x - nx, b.y - ny}, {a.x - nx, a.y - ny}}
}

// ball draws a disc and the near half of its equator, the circle of the first two coordinates.
func (p panel) ball(s *scene, radius float64) {
	const steps = 72
	var disc, equator []xy
	first := math.Atan2(p.view[2][1], p.view[2][0]) - math.Pi/2
	for i := range steps + 1 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / steps)
		disc = append(disc, p.place(vec3{radius * cos, radius * sin}))
		sin, cos = math.Sincos(first + math.Pi*float64(i)/steps)
		equator = append(equator, p.place(p.turn(vec3{radius * cos, radius * sin})))
	}
	s.add(shape{lines: [][]xy{disc}, closed: true, fill: &ocean, stroke: &coast, width: 1, alpha: 1})
	s.stroke(graticule, 1, equator)
}

// axes draws arms of the given length along the coordinates, in the lower left corner.
func (p panel) axes(s *scene, left, arm float64) {
	var lines [][]xy
	var lo xy // of the arms' ends
	ends := make([]xy, 3)
	for k := range ends {
		var tip vec3
		tip[k] = arm
		e := p.turn(tip)
		ends[k] = xy{p.scale * e[0], -p.scale * e[1]}
		lo = xy{min(lo.x, ends[k].x), max(lo.y, ends[k].y)}
	}
	at := xy{left + 10 - lo.x, p.y1 - 10 - lo.y}
	for k, name := range []string{"x", "y", "z"} {
		end := xy{at.x + ends[k].x, at.y + ends[k].y}
		lines = append(lines, []xy{at, end})
		n := max(math.Hypot(ends[k].x, ends[k].y), 1)
		s.add(label{at: xy{end.x + 8*ends[k].x/n, end.y + 8*ends[k].y/n + 3.5}, text: name, size: noteSize,
			anchor: middle, ink: muted})
	}
	s.stroke(muted, 1.2, lines...)
}

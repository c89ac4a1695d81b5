package figure

import "strings"

// A scene is a list of things to draw, in order, on a sheet w×h points large; the
// origin is the top left corner and y runs down. It is written as SVG or as PNG.
type scene struct {
	w, h  float64
	alt   string // what a reader who cannot see the figure is told
	items []item
}

// An item is one of shape, dots or label.
type item interface {
	svg(*svgWriter)
	png(*pngCanvas)
}

type xy struct{ x, y float64 }

// A shape is a set of polylines, filled (by the non-zero winding rule) or stroked
// or both. Fill and stroke are absent when their ink is nil.
type shape struct {
	lines  [][]xy
	closed bool
	fill   *ink
	stroke *ink
	width  float64
	alpha  float64 // of the fill; strokes are opaque
}

// dots are equal discs. Each is painted by itself, so that alpha accumulates where they crowd.
type dots struct {
	at    []xy
	r     float64
	ink   ink
	alpha float64
}

// A label is one line of text, with an optional exponent after it.
type label struct {
	at     xy
	text   string
	sup    string
	size   float64
	bold   bool
	anchor anchor
	ink    ink
	up     bool // reads from bottom to top
}

type anchor int

const (
	start anchor = iota
	middle
	end
)

func newScene(w, h float64, alt string) *scene {
	s := &scene{w: w, h: h, alt: alt}
	s.rect(0, 0, w, h, paper)
	return s
}

func (s *scene) add(i item) { s.items = append(s.items, i) }

func (s *scene) rect(x, y, w, h float64, fill ink) {
	s.add(shape{lines: [][]xy{{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}}, closed: true, fill: &fill, alpha: 1})
}

func (s *scene) stroke(k ink, width float64, lines ...[]xy) {
	s.add(shape{lines: lines, stroke: &k, width: width})
}

// grow makes the sheet higher, for text below the drawing whose length is not known before.
func (s *scene) grow(dy float64) {
	s.h += dy
	s.items[0] = shape{lines: [][]xy{{{0, 0}, {s.w, 0}, {s.w, s.h}, {0, s.h}}}, closed: true, fill: &paper, alpha: 1}
}

const (
	titleSize = 15
	textSize  = 12
	noteSize  = 10.5
	margin    = 16
)

// heading writes the title at the top left and returns the y below it.
func (s *scene) heading(title string) float64 {
	if title == "" {
		return margin / 2
	}
	s.add(label{at: xy{margin, margin + titleSize}, text: title, size: titleSize, bold: true, ink: text})
	return margin + titleSize + 9
}

// notes writes remarks below the drawing, wrapped to the sheet, which grows by the space that they take.
func (s *scene) notes(remarks []string) {
	const leading = 15
	if len(remarks) > 0 {
		s.grow(6)
	}
	for _, line := range wrap(strings.Join(remarks, "; "), noteSize, s.w-2*margin) {
		s.add(label{at: xy{margin, s.h}, text: line, size: noteSize, ink: muted})
		s.grow(leading)
	}
}

// A key is an entry of a legend, and for layers of points how they are drawn.
type key struct {
	name  string
	ink   ink
	alpha float64
	dot   float64 // the radius of the layer's points; 0 for a line
	area  bool    // a shaded part of the plot
}

// legend writes the keys in rows from (x, y) and returns the y below them.
func (s *scene) legend(x, y, width float64, keys []key) float64 {
	const rowHeight, gap, dot, dash = 19, 18, 4, 16
	at := x
	for _, k := range keys {
		mark := float64(dash)
		if k.dot > 0 {
			mark = 2 * dot
		}
		need := mark + 6 + textWidth(k.name, textSize, false)
		if at > x && at+need > x+width {
			at, y = x, y+rowHeight
		}
		mid := y + rowHeight/2
		switch {
		case k.area:
			s.rect(at, mid-5, mark, 10, k.ink)
			s.stroke(rule, 0.6, []xy{{at, mid - 5}, {at + mark, mid - 5}, {at + mark, mid + 5}, {at, mid + 5},
				{at, mid - 5}})
		case k.dot > 0:
			s.add(dots{at: []xy{{at + dot, mid}}, r: dot, ink: k.ink, alpha: 0.9})
		default:
			s.stroke(k.ink, 2.2, []xy{{at, mid}, {at + mark, mid}})
		}
		s.add(label{at: xy{at + mark + 6, mid + 4}, text: k.name, size: textSize, ink: text})
		at += need + gap
	}
	if len(keys) == 0 {
		return y
	}
	return y + rowHeight + 6
}

// wrap breaks text at spaces into lines no wider than width, where it can.
func wrap(text string, size, width float64) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		longer := strings.TrimSpace(line + " " + word)
		if line != "" && textWidth(longer, size, false) > width {
			lines = append(lines, line)
			longer = word
		}
		line = longer
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

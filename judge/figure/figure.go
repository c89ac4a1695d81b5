// Package figure draws what a run has found: world maps, line charts, scatter
// plots and histograms, as SVG and PNG, and the HTML report that holds them.
//
// A figure is a pure function of its input: the same values give the same bytes, with no dates and no random choices in
// them. Values that cannot be drawn (not finite, or not positive on a logarithmic axis) are counted in the figure,
// never dropped in silence.
//
// The package is not a general plotting library. It has the few charts that a
// report needs, in one style, and no way to change that style.
package figure

import (
	"fmt"
	"image/color"
	"io"
	"strings"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
)

// A Picture can be drawn as SVG and PNG, as a [Chart] can.
type Picture interface {
	WriteSVG(w io.Writer) error
	WritePNG(w io.Writer, widthPx int) error
}

// A Chart is a finished figure.
type Chart struct {
	scene *scene
	noSVG error // why it is not to be written as SVG
}

// WriteSVG writes the chart as a standalone SVG document. It refuses surfaces of more than SurfaceFaces faces.
func (c *Chart) WriteSVG(w io.Writer) error {
	if c.noSVG != nil {
		return c.noSVG
	}
	return c.scene.writeSVG(w)
}

// WritePNG writes the chart as a PNG image widthPx pixels wide; the height follows from the chart's shape.
func (c *Chart) WritePNG(w io.Writer, widthPx int) error { return c.scene.writePNG(w, widthPx) }

// A scene is a list of things to draw, in order, on a sheet w×h points large; the
// origin is the top left corner and y runs down. It is written as SVG or as PNG.
type scene struct {
	w, h  float64
	alt   string // the figure in words, for a reader who cannot see it
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

// newScene begins a sheet of a width without a height, which grows.
func newScene(w float64, alt string) *scene {
	s := &scene{w: w, alt: alt}
	s.rect(0, 0, w, 0, paper)
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
	textSize = 12
	noteSize = 10.5
	margin   = 16
	headroom = margin / 2 // where a drawing begins; pages have titles of their own
)

// evenly takes at most `most` of x, at even steps.
func evenly[T any](x []T, most int) []T {
	if len(x) <= most {
		return x
	}
	out := make([]T, most)
	for i := range out {
		out[i] = x[i*len(x)/most]
	}
	return out
}

// notes writes remarks below the drawing, wrapped to the sheet, which grows by the space that they take.
func (s *scene) notes(remarks []string) {
	const leading = 15
	if len(remarks) > 0 {
		s.grow(6)
	}
	for _, line := range wrap(strings.Join(remarks, "; "), s.w-2*margin) {
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
		need := mark + 6 + textWidth(k.name, textSize)
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

// wrap breaks a note at spaces into lines no wider than width, where it can.
func wrap(text string, width float64) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		longer := strings.TrimSpace(line + " " + word)
		if line != "" && textWidth(longer, noteSize) > width {
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

// Liberation Sans has the widths of Arial and Helvetica, so text measured with it
// fits in an SVG whichever of the three the reader has.
var (
	regularFont = sync.OnceValue(func() *opentype.Font { return mustParse(liberationsansregular.TTF) })
	boldFont    = sync.OnceValue(func() *opentype.Font { return mustParse(liberationsansbold.TTF) })
)

func mustParse(ttf []byte) *opentype.Font {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic("figure: embedded font: " + err.Error())
	}
	return f
}

// face is the font at the given size in points.
func face(size float64, bold bool) font.Face {
	parsed := regularFont()
	if bold {
		parsed = boldFont()
	}
	return font.Face{Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: font.Length(size)}, Face: parsed}
}

func textWidth(s string, size float64) float64 {
	f := face(size, false)
	return f.Width(s).Points()
}

// supScale is the size of an exponent relative to its base, and supRise how far it
// is raised relative to the base's size.
const (
	supScale = 0.72
	supRise  = 0.42
)

// An ink is a colour with a part to play. Figures carry the light colours; the
// report's style sheet overrides them through the class when the reader's screen
// is dark. An ink without a class is a caller's own colour and stays as it is.
type ink struct {
	class       string
	light, dark color.NRGBA
}

var (
	paper     = role("paper", 0xffffff, 0x171b21)
	text      = role("text", 0x1c2733, 0xe4e9ee)
	muted     = role("muted", 0x5a6672, 0x9aa6b2)
	rule      = role("rule", 0x9aa4ae, 0x5b6670)
	grid      = role("grid", 0xe8ecef, 0x2a313a)
	ocean     = role("ocean", 0xf2f6f9, 0x1b222b)
	land      = role("land", 0xdfe2e4, 0x333b44)
	coast     = role("coast", 0xadb4ba, 0x56606a)
	graticule = role("graticule", 0xe1e8ed, 0x262e38)
	feasible  = role("feasible", 0xe6f1e4, 0x1e2f26)
	obstacle  = role("obstacle", 0xf3e6cf, 0x4a3c26)
)

// series colours data and samples first: teal and orange keep apart in print and for colour-blind readers.
var series = []ink{
	role("series0", 0x17607a, 0x58b4d1),
	role("series1", 0xd9531e, 0xff8a52),
	role("series2", 0x6b4fa0, 0xb39ae0),
	role("series3", 0x3c8548, 0x7cc487),
	role("series4", 0xa97a12, 0xdcb451),
	role("series5", 0xb5477f, 0xea8dbb),
	role("series6", 0x57616b, 0xa9b4bf),
	role("series7", 0x7d4b2f, 0xc99a7d),
}

func role(class string, light, dark uint32) ink { return ink{class, rgb(light), rgb(dark)} }

func rgb(v uint32) color.NRGBA {
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff}
}

// seriesInk is the ink of the i-th series: c if the caller chose one.
func seriesInk(i int, c color.Color) ink {
	if c == nil {
		return series[i%len(series)]
	}
	own := color.NRGBAModel.Convert(c).(color.NRGBA)
	return ink{light: own, dark: own}
}

func hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// darkInks is the style sheet that turns inlined figures dark.
func darkInks() string {
	var b strings.Builder
	for _, k := range append([]ink{paper, text, muted, rule, grid, ocean, land, coast, graticule, feasible, obstacle},
		series...) {
		fmt.Fprintf(&b, ".fill-%s{fill:%s}.line-%s{stroke:%s}\n", k.class, hex(k.dark), k.class, hex(k.dark))
	}
	return b.String()
}

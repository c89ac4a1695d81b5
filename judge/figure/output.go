package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// svgWriter collects an SVG document. It writes no ids and no references, so that
// any number of figures can be inlined in one page.
type svgWriter struct{ bytes.Buffer }

// writeSVG writes the scene. Colours stand in attributes, for viewers without style
// sheets, beside a class by which a page can restyle them.
func (s *scene) writeSVG(w io.Writer) error {
	var out svgWriter
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%[1]s" height="%[2]s"`,
		num(s.w), num(s.h))
	fmt.Fprintf(&out, ` role="img" aria-label="%s" font-family="'Liberation Sans',Arial,Helvetica,sans-serif">`+"\n",
		escape(s.alt))
	for _, i := range s.items {
		i.svg(&out)
	}
	out.WriteString("</svg>\n")
	_, err := w.Write(out.Bytes())
	return err
}

func (p shape) svg(w *svgWriter) {
	w.WriteString(`<path d="`)
	for _, line := range p.lines {
		for i, at := range line {
			command := "L"
			if i == 0 {
				command = "M"
			}
			w.WriteString(command + num(at.x) + " " + num(at.y))
		}
		if p.closed {
			w.WriteByte('Z')
		}
	}
	w.WriteByte('"')
	fill, stroke := "none", "none"
	var classes []string
	if p.fill != nil {
		fill = hex(p.fill.light)
		classes = append(classes, p.fill.classes("fill-")...)
	}
	if p.stroke != nil {
		stroke = hex(p.stroke.light)
		classes = append(classes, p.stroke.classes("line-")...)
	}
	fmt.Fprintf(w, ` fill="%s" stroke="%s"`, fill, stroke)
	if p.fill != nil && p.alpha < 1 {
		fmt.Fprintf(w, ` fill-opacity="%s"`, num(p.alpha))
	}
	if p.stroke != nil {
		fmt.Fprintf(w, ` stroke-width="%s" stroke-linejoin="round"`, num(p.width))
	}
	w.class(classes)
	w.WriteString("/>\n")
}

func (d dots) svg(w *svgWriter) {
	fmt.Fprintf(w, `<g fill="%s" fill-opacity="%s"`, hex(d.ink.light), num(d.alpha))
	w.class(d.ink.classes("fill-"))
	w.WriteString(">\n")
	for _, at := range d.at {
		fmt.Fprintf(w, `<circle cx="%s" cy="%s" r="%s"/>`+"\n", num(at.x), num(at.y), num(d.r))
	}
	w.WriteString("</g>\n")
}

func (l label) svg(w *svgWriter) {
	fmt.Fprintf(w, `<text x="%s" y="%s" font-size="%s" fill="%s"`, num(l.at.x), num(l.at.y), num(l.size),
		hex(l.ink.light))
	if l.bold {
		w.WriteString(` font-weight="bold"`)
	}
	if l.anchor != start {
		fmt.Fprintf(w, ` text-anchor="%s"`, [...]string{middle: "middle", end: "end"}[l.anchor])
	}
	if l.up {
		fmt.Fprintf(w, ` transform="rotate(-90 %s %s)"`, num(l.at.x), num(l.at.y))
	}
	w.class(l.ink.classes("fill-"))
	fmt.Fprintf(w, ">%s", escape(l.text))
	if l.sup != "" {
		fmt.Fprintf(w, `<tspan dy="%s" font-size="%s">%s</tspan>`,
			num(-supRise*l.size), num(supScale*l.size), escape(l.sup))
	}
	w.WriteString("</text>\n")
}

// classes is the ink's class, if it has one, for a use such as "fill-".
func (k ink) classes(prefix string) []string {
	if k.class == "" {
		return nil
	}
	return []string{prefix + k.class}
}

func (w *svgWriter) class(names []string) {
	if len(names) > 0 {
		fmt.Fprintf(w, ` class="%s"`, strings.Join(names, " "))
	}
}

// num writes v with two decimals at most, a hundredth of a point, and −0 as 0.
func num(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100+0, 'f', -1, 64) }

func escape(s string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(s)) // a bytes.Buffer never fails
	return b.String()
}

// svgElements are the elements that this package's figures consist of. None of them runs a script or loads anything.
var svgElements = []string{"svg", "g", "path", "circle", "text", "tspan"}

// Inline reports why doc is not a figure of this package that is safe to inline in a page. It must be well-formed XML
// with one svg root and nothing beside it, the elements above only, no attributes that run or fetch something, and none
// of the constructs that HTML reads otherwise than XML does.
func Inline(doc []byte) error {
	d := xml.NewDecoder(bytes.NewReader(doc))
	if bytes.Contains(doc, []byte("<!")) {
		return errors.New("declarations, comments and CDATA have no place in a figure")
	}
	depth, roots := 0, 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && roots == 1 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("not an SVG document: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth == 0 {
				roots++
			}
			if isRoot := depth == 0 && roots == 1; isRoot != (t.Name.Local == "svg") {
				return fmt.Errorf("element <%s> is out of place", t.Name.Local)
			}
			if err := checkElement(t); err != nil {
				return err
			}
			depth++
		case xml.EndElement:
			depth--
		case xml.CharData:
			if depth == 0 && len(bytes.TrimSpace(t)) > 0 {
				return errors.New("text beside the svg element")
			}
		case xml.ProcInst:
			return errors.New("processing instructions have no place in a figure")
		}
	}
}

func checkElement(e xml.StartElement) error {
	if !slices.Contains(svgElements, e.Name.Local) {
		return fmt.Errorf("element <%s> has no place in a figure", e.Name.Local)
	}
	for _, a := range e.Attr {
		key := strings.ToLower(a.Name.Local)
		if strings.HasPrefix(key, "on") || key == "href" || key == "style" {
			return fmt.Errorf("attribute %s of <%s> has no place in a figure", key, e.Name.Local)
		}
	}
	return nil
}

// maxWidth bounds the memory that an image can take.
const maxWidth = 16384

// pngCanvas paints on a vgimg canvas of 72 dots per inch, where a point is a pixel.
// It scales the scene itself, since vgimg's resolution is a whole number.
type pngCanvas struct {
	*vgimg.Canvas
	scale, h float64
}

func (s *scene) writePNG(w io.Writer, widthPx int) error {
	if widthPx < 1 || widthPx > maxWidth {
		return fmt.Errorf("figure: PNG width %d pixels is outside [1, %d]", widthPx, maxWidth)
	}
	scale := float64(widthPx) / s.w
	h := max(1, math.Round(scale*s.h))
	c := &pngCanvas{
		Canvas: vgimg.NewWith(vgimg.UseDPI(72), vgimg.UseWH(vg.Length(widthPx), vg.Length(h))),
		scale:  scale, h: h,
	}
	for _, i := range s.items {
		i.png(c)
	}
	return png.Encode(w, c.Image())
}

// point turns a scene point into the canvas's, whose y runs up.
func (c *pngCanvas) point(p xy) vg.Point {
	return vg.Point{X: vg.Length(c.scale * p.x), Y: vg.Length(c.h - c.scale*p.y)}
}

func faded(c color.NRGBA, alpha float64) color.NRGBA {
	c.A = uint8(math.Round(0xff * alpha))
	return c
}

func (p shape) png(c *pngCanvas) {
	var path vg.Path
	for _, line := range p.lines {
		for i, at := range line {
			if i == 0 {
				path.Move(c.point(at))
			} else {
				path.Line(c.point(at))
			}
		}
		if p.closed {
			path.Close()
		}
	}
	if p.fill != nil {
		c.SetColor(faded(p.fill.light, p.alpha))
		c.Fill(path)
	}
	if p.stroke != nil {
		c.SetColor(faded(p.stroke.light, 1))
		c.SetLineWidth(vg.Length(c.scale * p.width))
		c.Stroke(path)
	}
}

func (d dots) png(c *pngCanvas) {
	c.SetColor(faded(d.ink.light, d.alpha))
	for _, at := range d.at {
		centre, r := c.point(at), vg.Length(c.scale*d.r)
		var path vg.Path
		path.Move(vg.Point{X: centre.X + r, Y: centre.Y})
		path.Arc(centre, r, 0, 2*math.Pi)
		path.Close()
		c.Fill(path)
	}
}

func (l label) png(c *pngCanvas) {
	base, sup := face(c.scale*l.size, l.bold), face(c.scale*supScale*l.size, l.bold)
	width := base.Width(l.text)
	shift := vg.Length(0)
	if l.anchor != start {
		shift = width + sup.Width(l.sup)
	}
	if l.anchor == middle {
		shift /= 2
	}
	c.SetColor(faded(l.ink.light, 1))
	c.Push()
	c.Translate(c.point(l.at))
	if l.up {
		c.Rotate(math.Pi / 2)
	}
	c.FillString(base, vg.Point{X: -shift}, l.text)
	if l.sup != "" {
		c.FillString(sup, vg.Point{X: width - shift, Y: vg.Length(c.scale * supRise * l.size)}, l.sup)
	}
	c.Pop()
}

package figure

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

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
	var img image.Image = c.Image()
	if rgba, ok := img.(*image.RGBA); ok && s.flat() {
		img = paletted(rgba)
	}
	return png.Encode(w, img)
}

// flat reports whether the scene is drawn in few inks.
func (s *scene) flat() bool {
	for _, i := range s.items {
		switch i.(type) {
		case shape, dots, cells, label:
		default:
			return false
		}
	}
	return true
}

// paletted returns the image in at most 256 colours, which makes files of flat figures a third as large. Colours are
// put in cells of 8×8×8 levels. The 256 fullest cells stay, each as its most frequent colour, so that inks are exact;
// the others become the nearest that stays.
func paletted(src *image.RGBA) *image.Paletted {
	pixels := src.Bounds().Dx() * src.Bounds().Dy()
	type run struct { // of pixels of one colour: most neighbours are alike
		colour uint32
		n      int
	}
	var runs []run
	count := map[uint32]int{}
	for i := 0; i < pixels; {
		r := run{colour: binary.BigEndian.Uint32(src.Pix[4*i:])}
		for ; i < pixels && binary.BigEndian.Uint32(src.Pix[4*i:]) == r.colour; i++ {
			r.n++
		}
		runs = append(runs, r)
		count[r.colour] += r.n
	}
	frequent := func(a, b uint32) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) }
	type cell struct {
		total int
		best  uint32
	}
	cells := map[uint32]*cell{}
	for _, c := range slices.SortedFunc(maps.Keys(count), frequent) {
		k := c & 0xf8f8f8f8
		if cells[k] == nil {
			cells[k] = &cell{best: c}
		}
		cells[k].total += count[c]
	}
	fullest := slices.SortedFunc(maps.Values(cells), func(a, b *cell) int {
		return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.best, b.best))
	})
	var palette color.Palette
	for _, c := range fullest[:min(len(fullest), 256)] {
		palette = append(palette, unpack(c.best))
	}
	index := map[uint32]uint8{}
	for c := range count {
		index[c] = uint8(palette.Index(unpack(c)))
	}
	dst := image.NewPaletted(src.Bounds(), palette)
	i := 0
	for _, r := range runs {
		ink := index[r.colour]
		for range r.n {
			dst.Pix[i] = ink
			i++
		}
	}
	return dst
}

func unpack(c uint32) color.RGBA {
	return color.RGBA{uint8(c >> 24), uint8(c >> 16), uint8(c >> 8), uint8(c)}
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

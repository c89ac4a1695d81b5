package figure

import (
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
)

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

func textWidth(s string, size float64, bold bool) float64 {
	f := face(size, bold)
	return f.Width(s).Points()
}

// supScale is the size of an exponent relative to its base, and supRise how far it
// is raised relative to the base's size.
const (
	supScale = 0.72
	supRise  = 0.42
)

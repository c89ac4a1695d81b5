package figure

import (
	"fmt"
	"image/color"
	"strings"
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

// alpha is the opacity of marks in this ink: a caller's colour brings its own.
func (k ink) alpha() float64 {
	if k.class == "" {
		return float64(k.light.A) / 0xff
	}
	return 0.6
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

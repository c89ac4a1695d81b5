package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

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
	canvas.SetColor(faded(c.ink.light, c.alpha))
	var path vg.Path
	for _, at := range c.at {
		path.Move(canvas.point(at))
		path.Line(canvas.point(xy{at.x + cellSide, at.y}))
		path.Line(canvas.point(xy{at.x + cellSide, at.y + cellSide}))
		path.Line(canvas.point(xy{at.x, at.y + cellSide}))
		path.Close()
	}
	canvas.Fill(path)
}

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

import "io"

// A Picture can be drawn as SVG and PNG: a [Chart] or a [Map].
type Picture interface {
	WriteSVG(w io.Writer) error
	WritePNG(w io.Writer, widthPx int) error
}

// A Chart is a finished figure in plane coordinates.
type Chart struct{ scene *scene }

// WriteSVG writes the chart as a standalone SVG document.
func (c *Chart) WriteSVG(w io.Writer) error { return c.scene.writeSVG(w) }

// WritePNG writes the chart as a PNG image widthPx pixels wide; the height follows from the chart's shape.
func (c *Chart) WritePNG(w io.Writer, widthPx int) error { return c.scene.writePNG(w, widthPx) }

package discover

import (
	"math"

	"github.com/landing-diffusion/landing/metric"
)

// A Seam is a column that takes all angles of a circle as plain numbers: what is next to each other across ±180° is
// far apart in R^d.
type Seam struct {
	Column int
	Unit   string // radians, degrees
}

// angleRanges are the ranges of angles.
var angleRanges = []struct {
	low, high float64
	unit      string
}{{-math.Pi, math.Pi, "radians"}, {0, 2 * math.Pi, "radians"}, {-180, 180, "degrees"}, {0, 360, "degrees"}}

const (
	seamValues = 50   // more of them
	seamShare  = 0.98 // of a circle
)

// Circle returns the unit of the column's numbers if they look like all angles of a circle, else "".
func (c Column) Circle() string {
	for _, r := range angleRanges {
		if c.Distinct > seamValues && c.Min >= r.low && c.Max <= r.high && c.Max-c.Min > seamShare*(r.high-r.low) {
			return r.unit
		}
	}
	return ""
}

// Seams returns the columns of n rows of d finite numbers that look like all angles of a circle.
func Seams(x []float64, n, d int) (out []Seam) {
	for k := range d {
		c := Column{Min: math.Inf(1), Max: math.Inf(-1), Distinct: seamValues + 1}
		for i := range n {
			c.Min, c.Max = min(c.Min, x[i*d+k]), max(c.Max, x[i*d+k])
		}
		if c.Circle() == "" { // few columns are to be sorted
			continue
		}
		if unit := Columns(metric.Column(x, k, d), n, 1)[0].Circle(); unit != "" {
			out = append(out, Seam{k, unit})
		}
	}
	return out
}

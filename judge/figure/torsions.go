package figure

import (
	"fmt"
	"math"
)

// TorsionOptions describe a plot of two torsion angles.
type TorsionOptions struct {
	Title string
	X, Y  string // names of the angles

	// FeasibleX and FeasibleY are the ranges to shade, in degrees, from the first end
	// counterclockwise to the second; of one value, a line. nil: any angle.
	FeasibleX, FeasibleY []float64
}

// torsionSide makes two planes as wide as other charts.
const torsionSide = 206

// Torsions draws pairs of torsion angles in degrees (rows x, y), a plane of [−180°, 180°]² for each layer, side by
// side: a Ramachandran plot. Angles are taken modulo 360°.
func Torsions(opts TorsionOptions, layers ...PointLayer) *Chart {
	circle := axis{lo: -180, hi: 180, step: 90}
	var keys []key
	at := make([][][2]float64, len(layers))
	for i, l := range layers {
		if len(l.Points)%2 != 0 {
			panic(fmt.Sprintf("figure: layer %q has %d values, not pairs", l.Name, len(l.Points)))
		}
		n := len(l.Points) / 2
		for row := range n {
			x, y := l.Points[2*row], l.Points[2*row+1]
			if circle.shows(x) && circle.shows(y) {
				at[i] = append(at[i], [2]float64{turn(x), turn(y)})
			}
		}
		keys = append(keys, layerKey(i, l.Name, l.Color, l.Radius, n, n-len(at[i])))
	}
	shaded := opts.FeasibleX != nil || opts.FeasibleY != nil
	legend := keys
	if shaded {
		legend = append(legend[:len(legend):len(legend)], feasibleKey)
	}
	gap := margin + gutter(circle, 4, "y")
	s := newScene(float64(len(layers))*(gap+torsionSide)+margin, 0, alt(opts.Title, keys))
	top := s.legend(margin, s.heading(opts.Title), s.w-2*margin, legend)
	for i := range layers {
		f := frame{x: circle, y: circle}
		f.x0 = float64(i)*(gap+torsionSide) + gap
		f.x1 = f.x0 + torsionSide
		f.y0, f.y1 = top+6, top+6+torsionSide
		if shaded {
			for _, x := range arcs(opts.FeasibleX) {
				for _, y := range arcs(opts.FeasibleY) {
					f.shade(s, x, y)
				}
			}
		}
		f.draw(s, opts.X+", °", opts.Y+", °", 4, 4)
		var points []xy
		for _, p := range at[i] {
			points = append(points, f.place(p[0], p[1]))
		}
		s.add(dots{at: points, r: keys[i].dot, ink: keys[i].ink, alpha: 0.35})
	}
	s.grow(top + 6 + torsionSide + axisNameRoom + 12)
	return &Chart{scene: s}
}

// turn returns the angle in [−180, 180) that is v modulo 360.
func turn(v float64) float64 { return v - 360*math.Floor((v+180)/360) }

// arcs are the ranges in [−180, 180] of an arc: one, or two where it crosses 180. A
// single angle is made wide enough to be seen.
func arcs(v []float64) [][2]float64 {
	const seen = 1.5
	if v == nil {
		return [][2]float64{{-180, 180}}
	}
	length := v[1] - v[0]
	if length >= 360 {
		return [][2]float64{{-180, 180}}
	}
	lo := turn(v[0])
	if length < seen {
		lo, length = lo-(seen-length)/2, seen
	}
	if lo+length <= 180 {
		return [][2]float64{{lo, lo + length}}
	}
	return [][2]float64{{lo, 180}, {-180, lo + length - 360}}
}

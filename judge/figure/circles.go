package figure

import "math"

// A Circle is an angle, in degrees, of several sets of points, which are the same for all circles.
type Circle struct {
	Name    string
	Columns []Column
}

// Circles draws the law of each angle as a histogram on a circle: 0° above, angles clockwise, the area of a bin in
// proportion to its share of the values.
func Circles(circles ...Circle) *Chart {
	const (
		across, bins = 3, 36
		side         = (chartWidth - 2*margin) / across
		room, radius = 44, side/2 - 34 // for the name below; of a circle
	)
	var keys []key
	for i, c := range circles[0].Columns {
		keys = append(keys, key{name: c.Name + ", " + count(len(c.Values)), ink: seriesInk(i, nil)})
	}
	s := newScene(chartWidth, alt(keys))
	top := s.legend(margin, headroom, chartWidth-2*margin, keys)
	for k, c := range circles {
		x0, y0 := float64(margin+k%across*side+side/2), top+float64(k/across*(side+room)+side/2)
		at := func(turn, r float64) xy { return xy{x0 + r*math.Sin(2*math.Pi*turn), y0 - r*math.Cos(2*math.Pi*turn)} }
		ring := func(r func(bin int) float64) (line []xy) {
			for i := range 3 * bins { // an arc of three points a bin
				line = append(line, at((float64(i/3)+float64(i%3)/2)/bins, r(i/3)))
			}
			return append(line, line[0])
		}
		s.stroke(grid, 1, ring(func(int) float64 { return radius }), []xy{at(0, radius), at(0.5, radius)},
			[]xy{at(0.25, radius), at(0.75, radius)})
		for i, tick := range []string{"0°", "90°", "180°", minus + "90°"} {
			p := at(float64(i)/4, radius+15)
			s.add(label{at: xy{p.x, p.y + 4}, text: tick, size: noteSize, anchor: middle, ink: muted})
		}
		shares, most := make([][bins]float64, len(c.Columns)), 0.0
		for i, column := range c.Columns {
			for _, v := range column.Values {
				if turn := v/360 - math.Floor(v/360); turn >= 0 { // no NaN
					bin := int(turn*bins) % bins
					shares[i][bin] += 1 / float64(len(column.Values))
					most = max(most, shares[i][bin])
				}
			}
		}
		for i, share := range shares {
			line := ring(func(bin int) float64 { return radius * math.Sqrt(share[bin]/max(most, 1/largest)) })
			s.add(shape{lines: [][]xy{line}, closed: true, fill: &keys[i].ink, alpha: 0.18})
			s.stroke(keys[i].ink, 1.4, line)
		}
		for i, line := range wrap(c.Name, side-8) {
			s.add(label{at: xy{x0, y0 + radius + 34 + float64(14*i)}, text: line, size: noteSize, anchor: middle,
				ink: text})
		}
	}
	s.grow(top + float64((len(circles)+across-1)/across*(side+room)))
	return &Chart{scene: s}
}

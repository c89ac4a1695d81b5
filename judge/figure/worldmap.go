package figure

import (
	_ "embed" // for coastline.csv
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
)

// A Layer is a set of places on the earth.
type Layer struct {
	Name   string
	LatLon []float64 // n×2, latitude and longitude in degrees
}

// places returns the layer's drawable places, with longitudes in [-180, 180], and
// the number of the others: not finite, or with a latitude beyond a pole.
func (l Layer) places() (at []geo, missing int) {
	if len(l.LatLon)%2 != 0 {
		panic(fmt.Sprintf("figure: layer %q has %d values, not pairs of latitude and longitude", l.Name, len(l.LatLon)))
	}
	for i := 0; i < len(l.LatLon); i += 2 {
		lat, lon := l.LatLon[i], l.LatLon[i+1]
		if math.IsInf(lon, 0) || math.IsNaN(lon) || !(math.Abs(lat) <= 90) {
			missing++
			continue
		}
		if math.Abs(lon) > 180 {
			lon = math.Remainder(lon, 360)
		}
		at = append(at, geo{lat, lon})
	}
	return at, missing
}

const mapWidth = 960

// WorldMap draws layers of places over the coastlines of the world, in the Equal Earth projection: one over the other,
// or with panels each on a map of its own, two in a row. It panics if a layer's LatLon has an odd length.
func WorldMap(panels bool, layers []Layer) *Chart {
	keys := make([]key, len(layers))
	at := make([][]geo, len(layers))
	for i, l := range layers {
		places, missing := l.places()
		at[i] = places
		keys[i] = layerKey(i, l.Name, nil, 0, len(places)+missing, missing)
	}
	s := newScene(mapWidth, alt(keys))
	// draw draws layers from (left, top) and returns the y below them.
	draw := func(left, top, width float64, keys []key, at [][]geo) float64 {
		p := plate{cx: left + width/2, scale: width / (2 * eeWidth)}
		p.cy = s.legend(left, top, width, keys) + p.scale*eeHeight
		p.base(s)
		points := make([][]xy, len(at))
		for i, places := range at {
			for _, g := range places {
				points[i] = append(points[i], p.place(g))
			}
		}
		s.scatter(keys, points)
		return p.cy + p.scale*eeHeight + margin
	}
	if !panels {
		s.grow(draw(margin, headroom, mapWidth-2*margin, keys, at))
		return &Chart{scene: s}
	}
	const gap, width = 20, (mapWidth - 2*margin - 20) / 2
	top, bottom := float64(headroom), float64(headroom)
	for i, k := range keys {
		if i%2 == 0 {
			top = bottom
		}
		k.dot = 1.4 // fits the smaller maps
		bottom = draw(margin+float64(i%2)*(width+gap), top, width, []key{k}, at[i:i+1])
	}
	s.grow(bottom)
	return &Chart{scene: s}
}

// A plate is the place of one map on the sheet.
type plate struct {
	cx, cy float64 // the centre
	scale  float64 // points per unit of the projection
}

func (p plate) place(g geo) xy {
	x, y := equalEarth(g.lat*math.Pi/180, g.lon*math.Pi/180)
	return xy{p.cx + p.scale*x, p.cy - p.scale*y}
}

// line projects a line of places, with steps short enough to follow the curve of a meridian.
func (p plate) line(places []geo) []xy {
	const step = 3.0 // degrees
	out := []xy{p.place(places[0])}
	for i := 1; i < len(places); i++ {
		a, b := places[i-1], places[i]
		n := math.Ceil(max(1, math.Abs(b.lat-a.lat)/step))
		for k := 1.0; k <= n; k++ {
			t := k / n
			out = append(out, p.place(geo{a.lat + t*(b.lat-a.lat), a.lon + t*(b.lon-a.lon)}))
		}
	}
	return out
}

// base draws the sea, the graticule every 30 degrees, and the land.
func (p plate) base(s *scene) {
	outline := p.line([]geo{{-90, -180}, {90, -180}, {90, 180}, {-90, 180}, {-90, -180}})
	s.add(shape{lines: [][]xy{outline}, closed: true, fill: &ocean, alpha: 1})
	var lines [][]xy
	for lon := -150.0; lon <= 150; lon += 30 {
		lines = append(lines, p.line([]geo{{-90, lon}, {90, lon}}))
	}
	for lat := -60.0; lat <= 60; lat += 30 {
		lines = append(lines, p.line([]geo{{lat, -180}, {lat, 180}}))
	}
	s.stroke(graticule, 0.7, lines...)
	var areas, coasts [][]xy
	for _, ring := range coastline() {
		areas = append(areas, p.line(ring))
		for _, piece := range shores(ring) {
			coasts = append(coasts, p.line(piece))
		}
	}
	s.add(shape{lines: areas, closed: true, fill: &land, alpha: 1})
	s.stroke(coast, 0.6, coasts...)
	s.stroke(rule, 0.8, outline)
}

// The Equal Earth projection: B. Šavrič, T. Patterson and B. Jenny, "The Equal Earth map projection", International
// Journal of Geographical Information Science 33 (2019). Parallels are straight, areas are true, and poles are lines.
const (
	ee1 = 1.340264
	ee2 = -0.081106
	ee3 = 0.000893
	ee4 = 0.003796
)

// eeWidth and eeHeight are half the extent of the map of the unit sphere.
var (
	eeWidth, _  = equalEarth(0, math.Pi)
	_, eeHeight = equalEarth(math.Pi/2, 0)
)

// equalEarth projects latitude φ and longitude λ in radians on the plane of the unit sphere: with sin θ = (√3/2) sin φ,
//
//	y = A₁θ + A₂θ³ + A₃θ⁷ + A₄θ⁹,   x = λ cos θ / ((√3/2) dy/dθ).
func equalEarth(phi, lambda float64) (x, y float64) {
	const m = 0.86602540378443864676 // √3/2
	t := math.Asin(m * math.Sin(phi))
	t2 := t * t
	t6 := t2 * t2 * t2
	y = t * (ee1 + ee2*t2 + t6*(ee3+ee4*t2))
	dy := ee1 + 3*ee2*t2 + t6*(7*ee3+9*ee4*t2)
	return lambda * math.Cos(t) / (m * dy), y
}

// coastline.csv is the land of data/world-110m.json of vega-datasets 3.2.1, with two decimals, cut at the antimeridian.
//
//go:embed coastline.csv
var coastlineCSV string

// coastline returns the outlines of the world's land as closed rings of degrees, the last point of each equal to its
// first. Outer rings run anticlockwise, the hole of the Caspian Sea clockwise. Rings that meet the antimeridian run
// along it, and Antarctica's runs along it to the pole.
//
// The outlines are Natural Earth's at 1:110 million, in the public domain.
var coastline = sync.OnceValue(func() [][]geo {
	var rings [][]geo
	for line := range strings.Lines(coastlineCSV) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, ",")
		ring := make([]geo, len(fields)/2)
		for i := range ring {
			ring[i] = geo{lon: mustFloat(fields[2*i]), lat: mustFloat(fields[2*i+1])}
		}
		rings = append(rings, ring)
	}
	return rings
})

func mustFloat(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("figure: embedded coastline: " + err.Error())
	}
	return v
}

// geo is a place in degrees.
type geo struct{ lat, lon float64 }

// onFrame reports whether the edge from p to q lies on the map's edge, the antimeridian or a pole, and so is no coast.
func onFrame(p, q geo) bool {
	return math.Abs(p.lon) == 180 && math.Abs(q.lon) == 180 || math.Abs(p.lat) == 90 && math.Abs(q.lat) == 90
}

// shores cuts a ring into its pieces of real coast.
func shores(ring []geo) [][]geo {
	var pieces [][]geo
	from := 0
	for i := 1; i < len(ring); i++ {
		if !onFrame(ring[i-1], ring[i]) {
			continue
		}
		if i-1 > from {
			pieces = append(pieces, ring[from:i])
		}
		from = i
	}
	if len(ring)-1 > from {
		pieces = append(pieces, ring[from:])
	}
	return pieces
}

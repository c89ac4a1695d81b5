package figure

import (
	_ "embed" // for coastline.csv
	"math"
	"strconv"
	"strings"
	"sync"
)

// world-110m.json is data/world-110m.json of vega-datasets 3.2.1.
//
//go:generate go run ./internal/gencoast -in world-110m.json -out coastline.csv

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

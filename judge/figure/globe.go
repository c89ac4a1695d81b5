package figure

import (
	"fmt"
	"math"
	"strings"
)

// globeLimit bounds the points of a layer on the globe, and so the page's size.
const globeLimit = 4000

// A Globe is an interactive view of layers of places: it turns by itself until
// touched, and by dragging or the arrow keys.
type Globe struct {
	Title   string
	Caption string
	Layers  []Layer
}

// globeData is what the script in globe.js reads.
type globeData struct {
	Land   [][]float64  `json:"land"` // rings of longitude, latitude
	Layers []globeLayer `json:"layers"`
}

type globeLayer struct {
	twoInks
	Alpha  float64   `json:"alpha"`
	Radius float64   `json:"radius"` // CSS pixels
	Points []float64 `json:"points"` // longitude, latitude
}

// view prepares the globe. A layer of more than globeLimit places is thinned evenly, and the caption says so.
func (g *Globe) view() (*sceneView, error) {
	v, data := &sceneView{kind: "globe", Title: g.Title}, globeData{Land: globeLand()}
	var remarks []string
	if g.Caption != "" {
		remarks = append(remarks, g.Caption)
	}
	for i, l := range g.Layers {
		at, missing := l.places()
		k := layerKey(i, l.Name, nil, 0, len(at)+missing, missing)
		shown := evenly(at, globeLimit)
		if len(shown) < len(at) {
			remarks = append(remarks, fmt.Sprintf("Of %s only %s of %s points are here, taken evenly.", l.Name,
				count(len(shown)), count(len(at))))
		}
		layer := globeLayer{twoInks: inks(k.ink), Alpha: k.alpha, Radius: k.dot}
		for _, p := range shown {
			layer.Points = append(layer.Points, decimals(p.lon, 2), decimals(p.lat, 2))
		}
		data.Layers, v.last = append(data.Layers, layer), layer
		v.Keys = append(v.Keys, sceneKey{k.name, hex(k.ink.light), strings.Join(k.ink.classes("fill-"), " ")})
	}
	v.Caption, v.Data = strings.Join(remarks, " "), data
	return v, nil
}

// globeLand is the coastline at one decimal, which a globe of a few hundred pixels does not outdo.
func globeLand() [][]float64 {
	var rings [][]float64
	for _, ring := range coastline() {
		var out []float64
		for _, p := range ring {
			lon, lat := decimals(p.lon, 1), decimals(p.lat, 1)
			if n := len(out); n > 0 && out[n-2] == lon && out[n-1] == lat {
				continue
			}
			out = append(out, lon, lat)
		}
		rings = append(rings, out)
	}
	return rings
}

func decimals(v float64, n int) float64 {
	p := math.Pow10(n)
	return math.Round(v*p)/p + 0
}

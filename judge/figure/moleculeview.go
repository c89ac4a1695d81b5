package figure

import (
	"fmt"
	"math"
	"strings"
)

// A MoleculeView is an interactive view of conformations of a molecule, balls and sticks: it is turned by dragging or
// the arrow keys, and stepped through frame by frame.
type MoleculeView struct {
	Title, Caption string
	Elements       []string // symbols, of each atom; "" or X: not known
	Names          []string // of each atom
	Bonds          [][2]int
	Layers         []MoleculeLayer
}

// A MoleculeLayer is conformations with a name: data, samples.
type MoleculeLayer struct {
	Name   string
	Frames []float64 // n×3A, laid on one another
	Labels []string  // a sentence about each frame
}

// Bounds of what a page holds of a layer.
const (
	MoleculeAtoms  = 2000
	moleculeFrames = 100
	moleculeRoom   = 60_000 // numbers
)

// Shown returns how many conformations of A atoms a page shows of n.
func (m *MoleculeView) Shown(n int) int {
	return min(n, moleculeFrames, max(1, moleculeRoom/(3*max(1, len(m.Elements)))))
}

// moleculeData is what the script in molecule.js reads.
type moleculeData struct {
	Elements []string        `json:"elements"`
	Names    []string        `json:"names"`
	Bonds    [][2]int        `json:"bonds"`
	Layers   []moleculeLayer `json:"layers"`
}

type moleculeLayer struct {
	twoInks
	Frames [][]float64 `json:"frames"` // Å, to 0.001
	Labels []string    `json:"labels"`
}

func (m *MoleculeView) view() (*sceneView, error) {
	atoms := len(m.Elements)
	if atoms == 0 || atoms > MoleculeAtoms || len(m.Names) != atoms {
		return nil, fmt.Errorf("figure: a page with a molecule of %d atoms and %d names; expected at most %d of each",
			atoms, len(m.Names), MoleculeAtoms)
	}
	v := &sceneView{kind: "molecule", Title: m.Title, Caption: m.Caption}
	data := moleculeData{Elements: m.Elements, Names: m.Names, Bonds: m.Bonds}
	if m.Bonds == nil {
		data.Bonds = [][2]int{}
	}
	for i, l := range m.Layers {
		n := len(l.Frames) / (3 * atoms)
		if len(l.Frames)%(3*atoms) != 0 || len(l.Labels) != n {
			return nil, fmt.Errorf("figure: layer %q has %d numbers and %d labels of a molecule of %d atoms", l.Name,
				len(l.Frames), len(l.Labels), atoms)
		}
		layer := moleculeLayer{twoInks: inks(seriesInk(i, nil)), Frames: [][]float64{}, Labels: []string{}}
		for f := range m.Shown(n) {
			x := make([]float64, 3*atoms)
			for j, c := range l.Frames[f*3*atoms : (f+1)*3*atoms] {
				x[j] = decimals(c, 3)
			}
			layer.Frames, layer.Labels = append(layer.Frames, x), append(layer.Labels, l.Labels[f])
		}
		if len(layer.Frames) == 0 {
			continue
		}
		v.Names, data.Layers, v.last = append(v.Names, l.Name), append(data.Layers, layer), layer
	}
	if data.Layers == nil {
		return nil, fmt.Errorf("figure: a page with no conformation of a molecule")
	}
	v.Data = data
	return v, nil
}

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
			remarks = append(remarks, fmt.Sprintf("%s: only %s of %s points are here, taken evenly.", l.Name,
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

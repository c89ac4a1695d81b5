package figure

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/constraint/mesh"
)

// A SurfaceLayer is a function on a mesh, by its values at the vertices.
type SurfaceLayer struct {
	Name   string
	Values []float64
}

// SurfaceFaces bounds the faces of what is drawn one by one: SVG and pages.
const SurfaceFaces = 20_000

// Surface draws functions on a mesh by colour, side by side and from two sides. All have one scale, from zero to the
// 99th percentile of the first one's positive values. Up is the second coordinate.
func Surface(m *mesh.Mesh, layers []SurfaceLayer) *Chart {
	n, faces := m.N()
	keys, side := make([]key, len(layers)), min(440, 960/float64(max(len(layers), 1)))
	for i, l := range layers {
		if len(l.Values) != n {
			panic(fmt.Sprintf("figure: layer %q has %d values for %d vertices", l.Name, len(l.Values), n))
		}
		keys[i].name = l.Name
	}
	s, look := newScene(side*float64(len(layers)), alt(keys)), newShading(m)
	for i, l := range layers {
		x := side * float64(i)
		s.add(label{at: xy{x + side/2, headroom + textSize}, text: l.Name, size: textSize, anchor: middle, ink: text})
		shade := scaled(l.Values, layers[0].Values)
		for row, azimuth := range [2]float64{30, 210} {
			s.add(relief{x: x + 6, y: headroom + 20 + side*0.92*float64(row), side: side - 12, mesh: m, shade: shade,
				look: look, view: lookFrom(azimuth)})
		}
	}
	s.grow(headroom + 20 + 2*0.92*side + 8)
	c := &Chart{scene: s}
	if faces > SurfaceFaces {
		c.noSVG = fmt.Errorf("figure: a mesh of %d faces as SVG; expected at most %d", faces, SurfaceFaces)
	}
	return c
}

// scaled maps values to [0, 1] by the scale of reference.
func scaled(values, reference []float64) []float64 {
	var positive []float64
	for _, v := range reference {
		if v > 0 && !math.IsInf(v, 1) {
			positive = append(positive, v)
		}
	}
	slices.Sort(positive)
	limit := 1.0
	if n := len(positive); n > 0 {
		limit = positive[n*99/100]
	}
	out := make([]float64, len(values))
	for i, v := range values {
		if v > 0 {
			out[i] = min(v/limit, 1)
		}
	}
	return out
}

// ramp is the colours of 0, ⅓, ⅔ and 1.
var ramp = [4]color.NRGBA{rgb(0xdfe5e9), rgb(0xf2c46d), rgb(0xd9531e), rgb(0x7f1d3a)}

// tint returns the colour of a value in [0, 1] in a light of strength light.
func tint(value, light float64) color.NRGBA {
	at := min(max(value, 0), 1) * 3
	i := min(int(at), 2)
	mix := func(a, b uint8) uint8 {
		v := float64(a) + (at-float64(i))*(float64(b)-float64(a))
		return uint8(math.Round(v * light))
	}
	a, b := ramp[i], ramp[i+1]
	return color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}

type vec3 = [3]float64

// A view holds the axes of the picture: right, up, and towards the eye.
type view [3]vec3

// lookFrom returns the view from an azimuth about the second axis, in degrees, and a little above.
func lookFrom(azimuth float64) view {
	const elevation = 15
	sa, ca := math.Sincos(azimuth * math.Pi / 180)
	se, ce := math.Sincos(elevation * math.Pi / 180)
	return view{{ca, 0, -sa}, {-sa * se, ce, -ca * se}, {sa * ce, se, ca * ce}}
}

// turn returns a point's place to the right, up, and towards the viewer.
func (v view) turn(p vec3) vec3 { return vec3{along(p, v[0]), along(p, v[1]), along(p, v[2])} }

// A shading is what all views of a mesh share.
type shading struct {
	centre vec3
	radius float64
	normal []vec3 // of vertices: the mean of their faces', by area
}

func newShading(m *mesh.Mesh) *shading {
	n, faces := m.N()
	lo, hi := m.Bounds()
	s := &shading{normal: make([]vec3, n)}
	for j := range 3 {
		s.centre[j] = (lo[j] + hi[j]) / 2
	}
	for _, i := range m.Faces {
		d := 0.0
		for j, v := range m.Vertex(i) {
			d += (v - s.centre[j]) * (v - s.centre[j])
		}
		s.radius = max(s.radius, math.Sqrt(d))
	}
	for f := range faces {
		normal, area := m.Normal(f), m.FaceArea(f)
		for _, i := range m.Faces[3*f : 3*f+3] {
			for j, v := range normal {
				s.normal[i][j] += area * v
			}
		}
	}
	return s
}

// light is the strength of light on a surface with normal n (of any length), from above and left of the eye.
func light(n vec3) float64 {
	length := math.Sqrt(along(n, n))
	if length == 0 {
		return 1
	}
	return 0.5 + 0.5*max(0, (-0.4*n[0]+0.5*n[1]+0.77*n[2])/length)
}

// A relief is one view of one layer, in a square of the scene.
type relief struct {
	x, y, side float64
	mesh       *mesh.Mesh
	shade      []float64
	look       *shading
	view       view
}

// A corner is a vertex in the picture: its place, in units of the square's side,
// y down; its height towards the eye; its normal; its shade.
type corner struct {
	x, y, z float64
	n       vec3
	shade   float64
}

func (r relief) corners() []corner {
	n, _ := r.mesh.N()
	out := make([]corner, n)
	for i := range out {
		p := r.mesh.Vertex(int32(i))
		for j := range p {
			p[j] = (p[j] - r.look.centre[j]) / r.look.radius
		}
		q := r.view.turn(p)
		out[i] = corner{0.5 + q[0]/2, 0.5 - q[1]/2, q[2], r.view.turn(r.look.normal[i]), r.shade[i]}
	}
	return out
}

// svg paints the faces that are turned to the eye.
func (r relief) svg(w *svgWriter) {
	for _, f := range r.faces(false) {
		f.svg(w)
	}
}

// png paints back faces too, as a mesh with holes shows them, unless they are very many.
func (r relief) png(c *pngCanvas) {
	for _, f := range r.faces(len(r.mesh.Faces) <= 3*SurfaceFaces) {
		f.png(c)
	}
}

// faces returns the faces in the picture, the farthest first; with back those that are turned away from the eye too.
func (r relief) faces(back bool) (out []shape) {
	at := r.corners()
	type face struct {
		k [3]corner
		z float64
	}
	var faces []face
	for f := 0; f < len(r.mesh.Faces); f += 3 {
		k := [3]corner{at[r.mesh.Faces[f]], at[r.mesh.Faces[f+1]], at[r.mesh.Faces[f+2]]}
		// Counter-clockwise, with y down.
		if back || (k[1].x-k[0].x)*(k[2].y-k[0].y) < (k[2].x-k[0].x)*(k[1].y-k[0].y) {
			faces = append(faces, face{k, k[0].z + k[1].z + k[2].z})
		}
	}
	slices.SortStableFunc(faces, func(a, b face) int { return cmp.Compare(a.z, b.z) })
	for _, f := range faces {
		var n vec3
		line, shade := make([]xy, 3), 0.0
		for i, k := range f.k {
			line[i] = xy{r.x + r.side*k.x, r.y + r.side*k.y}
			shade += k.shade / 3
			for j := range n {
				n[j] += k.n[j]
			}
		}
		own := ink{light: tint(shade, light(n))}
		// The stroke covers the seam that two edges would leave.
		out = append(out, shape{lines: [][]xy{line}, closed: true, fill: &own, stroke: &own, width: 0.4, alpha: 1})
	}
	return out
}

// A SurfaceView is an interactive view of functions on a mesh: it is turned by
// dragging or the arrow keys. Scales are those of Surface.
type SurfaceView struct {
	Title, Caption string
	Mesh           *mesh.Mesh
	Layers         []SurfaceLayer
}

// surfaceData is what the script in surface.js reads.
type surfaceData struct {
	Vertices []float64   `json:"vertices"` // in the unit ball
	Faces    []int32     `json:"faces"`
	Ramp     [][3]uint8  `json:"ramp"`
	Layers   [][]float64 `json:"layers"` // of each vertex, in [0, 1]
}

func (s *SurfaceView) view() (*sceneView, error) {
	n, faces := s.Mesh.N()
	if faces > SurfaceFaces {
		return nil, fmt.Errorf("figure: a page with a surface of %d faces; expected at most %d", faces, SurfaceFaces)
	}
	look := newShading(s.Mesh)
	v, data := &sceneView{kind: "surface", Title: s.Title, Caption: s.Caption}, surfaceData{Faces: s.Mesh.Faces}
	for i := range n {
		for j, x := range s.Mesh.Vertex(int32(i)) {
			data.Vertices = append(data.Vertices, decimals((x-look.centre[j])/look.radius, 4))
		}
	}
	for _, c := range ramp {
		data.Ramp = append(data.Ramp, [3]uint8{c.R, c.G, c.B})
	}
	for _, l := range s.Layers {
		shade := scaled(l.Values, s.Layers[0].Values)
		for i, x := range shade {
			shade[i] = math.Round(x*1000) / 1000
		}
		v.Names = append(v.Names, l.Name)
		data.Layers = append(data.Layers, shade)
	}
	v.Data = data
	return v, nil
}

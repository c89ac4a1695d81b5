package figure

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint/mesh"
)

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

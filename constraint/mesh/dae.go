package mesh

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A collada is what is read of a DAE file: the triangles and polygons of its scene, in metres by its unit. Its vertical
// axis is passed over, as viewers of robots do.
type collada struct {
	Unit struct {
		Meter string `xml:"meter,attr"`
	} `xml:"asset>unit"`
	Geometries []daeGeometry `xml:"library_geometries>geometry"`
	Parts      []daeNode     `xml:"library_nodes>node"`
	Scene      []daeNode     `xml:"library_visual_scenes>visual_scene>node"`
}

type daeGeometry struct {
	ID      string `xml:"id,attr"`
	Sources []struct {
		ID       string `xml:"id,attr"`
		Floats   string `xml:"float_array"`
		Accessor struct {
			Stride int `xml:"stride,attr"`
		} `xml:"technique_common>accessor"`
	} `xml:"mesh>source"`
	Vertices []daeInput `xml:"mesh>vertices>input"`
	Mesh     struct {
		Lists []struct {
			XMLName xml.Name
			Inputs  []daeInput `xml:"input"`
			Counts  string     `xml:"vcount"`
			Corners []string   `xml:"p"`
		} `xml:",any"`
	} `xml:"mesh"`
}

type daeInput struct {
	Semantic string `xml:"semantic,attr"`
	Source   string `xml:"source,attr"`
	Offset   int    `xml:"offset,attr"`
}

type daeNode struct {
	ID         string    `xml:"id,attr"`
	Nodes      []daeNode `xml:"node"`
	Geometries []daeURL  `xml:"instance_geometry"`
	Parts      []daeURL  `xml:"instance_node"`
	Moves      []struct {
		XMLName xml.Name
		Text    string `xml:",chardata"`
	} `xml:",any"`
}

type daeURL struct {
	URL string `xml:"url,attr"`
}

// Bounds of a DAE file: what its text takes in memory is some times its size.
const (
	maxDAE      = 256 << 20
	maxDAENodes = 10_000
	maxDAEDepth = 32
)

// affine is x ↦ A x + b: rows (A | b).
type affine [12]float64

func (a *affine) times(b *affine) (out affine) {
	for i := range 3 {
		for j := range 4 {
			for k := range 3 {
				out[4*i+j] += a[4*i+k] * b[4*k+j]
			}
		}
		out[4*i+3] += a[4*i+3]
	}
	return out
}

// A daeReader puts a scene together.
type daeReader struct {
	file  string
	src   *source
	doc   collada
	mesh  *Mesh
	nodes int
}

func decodeDAE(file string, src *source) (*Mesh, error) {
	r := &daeReader{file: file, src: src, mesh: &Mesh{}}
	if src.size > maxDAE {
		return nil, r.fault("it has %d bytes; expected at most %d", src.size, maxDAE)
	}
	if err := xml.NewDecoder(src).Decode(&r.doc); err != nil {
		return nil, r.fault("no COLLADA file: %v", err)
	}
	unit := 1.0
	if r.doc.Unit.Meter != "" {
		v, err := strconv.ParseFloat(r.doc.Unit.Meter, 64)
		if err != nil || !(v > 0) || v > maxCoordinate {
			return nil, r.fault("its unit is %.20q metres; expected a number above 0", r.doc.Unit.Meter)
		}
		unit = v
	}
	at := affine{0: unit, 5: unit, 10: unit}
	if len(r.doc.Scene) == 0 {
		for i := range r.doc.Geometries {
			if err := r.geometry(&r.doc.Geometries[i], &at); err != nil {
				return nil, err
			}
		}
	}
	return r.mesh, r.scene(r.doc.Scene, &at, 0)
}

func (r *daeReader) fault(format string, v ...any) error {
	return &Error{File: r.file, Problem: fmt.Sprintf(format, v...)}
}

func (r *daeReader) scene(nodes []daeNode, at *affine, depth int) error {
	for i := range nodes {
		n, here := &nodes[i], *at
		if r.nodes++; r.nodes > maxDAENodes || depth > maxDAEDepth {
			return r.fault("its scene has more than %d nodes, or %d one in another", maxDAENodes, maxDAEDepth)
		}
		for _, m := range n.Moves {
			move, err := r.move(m.XMLName.Local, m.Text)
			if err != nil {
				return err
			}
			here = here.times(&move)
		}
		for _, g := range n.Geometries {
			for k := range r.doc.Geometries {
				if "#"+r.doc.Geometries[k].ID == g.URL {
					if err := r.geometry(&r.doc.Geometries[k], &here); err != nil {
						return err
					}
				}
			}
		}
		inner := n.Nodes
		for _, p := range n.Parts {
			for _, part := range r.doc.Parts {
				if "#"+part.ID == p.URL {
					inner = append(inner[:len(inner):len(inner)], part)
				}
			}
		}
		if err := r.scene(inner, &here, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// move reads a transformation of a node; other elements move nothing.
func (r *daeReader) move(kind, text string) (out affine, err error) {
	out = affine{0: 1, 5: 1, 10: 1}
	want := map[string]int{"translate": 3, "scale": 3, "rotate": 4, "matrix": 16}[kind]
	if want == 0 {
		return out, nil
	}
	v, err := r.numbers(text)
	if err == nil && len(v) != want {
		err = r.fault("<%s> has %d numbers; expected %d", kind, len(v), want)
	}
	if err != nil {
		return out, err
	}
	switch kind {
	case "translate":
		out[3], out[7], out[11] = v[0], v[1], v[2]
	case "scale":
		out[0], out[5], out[10] = v[0], v[1], v[2]
	case "matrix":
		copy(out[:], v)
	default: // Rodrigues' form of degrees about an axis
		s, c := math.Sincos(v[3] * math.Pi / 180)
		l := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
		x, y, z := v[0]/l, v[1]/l, v[2]/l
		out = affine{c + (1-c)*x*x, (1-c)*x*y - s*z, (1-c)*x*z + s*y, 0, (1-c)*x*y + s*z, c + (1-c)*y*y,
			(1-c)*y*z - s*x, 0, (1-c)*x*z - s*y, (1-c)*y*z + s*x, c + (1-c)*z*z, 0}
	}
	return out, nil
}

func (r *daeReader) numbers(text string) (out []float64, err error) {
	for w := range strings.FieldsSeq(text) {
		v, err := strconv.ParseFloat(w, 64)
		if err != nil {
			return nil, r.fault("%.20q is not a number", w)
		}
		out = append(out, v)
	}
	return out, nil
}

// geometry adds the faces of a geometry: an index of a corner has a place for each input, of which the one of VERTEX
// names a vertex.
func (r *daeReader) geometry(g *daeGeometry, at *affine) error {
	base, _ := r.mesh.N()
	for _, in := range g.Vertices {
		for i := range g.Sources {
			s := &g.Sources[i]
			if in.Semantic != "POSITION" || "#"+s.ID != in.Source {
				continue
			}
			x, err := r.numbers(s.Floats)
			if err != nil {
				return err
			}
			for step := max(s.Accessor.Stride, 3); len(x) >= step; x = x[step:] {
				for i := range 3 {
					a := at[4*i : 4*i+4]
					r.mesh.Vertices = append(r.mesh.Vertices, a[0]*x[0]+a[1]*x[1]+a[2]*x[2]+a[3])
				}
			}
		}
	}
	n, faces := r.mesh.N()
	if err := fits(r.file, n, faces); err != nil {
		return err
	}
	for _, list := range g.Mesh.Lists {
		kind, width, vertex := list.XMLName.Local, 1, 0
		if kind != "triangles" && kind != "polylist" && kind != "polygons" {
			continue
		}
		for _, in := range list.Inputs {
			if width = max(width, in.Offset+1); in.Semantic == "VERTEX" {
				vertex = in.Offset
			}
		}
		counts, err := r.numbers(list.Counts)
		if err != nil {
			return err
		}
		for _, text := range list.Corners {
			corners, err := r.numbers(text)
			if err != nil {
				return err
			}
			for face := 0; len(corners) >= 3*width; face++ {
				k := 3
				if kind == "polygons" {
					k = len(corners) / width
				} else if kind == "polylist" && face < len(counts) {
					k = int(min(max(counts[face], 0), maxPolygon+1))
				}
				if k < 3 || k > maxPolygon || k*width > len(corners) {
					return r.fault("geometry %.40q: face %d has %d corners; want 3 to %d", g.ID, face, k, maxPolygon)
				}
				for c := range k {
					i := corners[c*width+vertex]
					if !(i >= 0 && int(i) < n-base) {
						return r.fault("geometry %.40q: face %d refers to vertex %v of %d", g.ID, face, i, n-base)
					}
					r.src.corner(r.mesh, c, int32(base+int(i)))
				}
				corners = corners[k*width:]
			}
		}
	}
	return nil
}

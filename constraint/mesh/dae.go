package mesh

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A daeNode is an element of a COLLADA file. The triangles and polygons of its scene are read, in metres by its unit.
// The vertical axis is passed over, as viewers of robots do.
type daeNode struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Text    string     `xml:",chardata"`
	Nodes   []daeNode  `xml:",any"`
}

// Bounds of a DAE file: what its text takes in memory is some times its size.
const (
	maxDAE      = 256 << 20
	maxDAENodes = 10_000
	maxDAEDepth = 32
)

func (n *daeNode) attr(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// first returns the first element below by a path of names; an empty one if there is none.
func (n *daeNode) first(path ...string) *daeNode {
	for i := range n.Nodes {
		if len(path) > 0 && n.Nodes[i].XMLName.Local == path[0] {
			return n.Nodes[i].first(path[1:]...)
		}
	}
	if len(path) > 0 {
		return &daeNode{}
	}
	return n
}

// affine is x ↦ A x + b: rows (A | b).
type affine [12]float64

func (a *affine) times(b *affine) (out affine) {
	for i := range 12 {
		for k := range 3 {
			out[i] += a[i/4*4+k] * b[4*k+i%4]
		}
		if i%4 == 3 {
			out[i] += a[i]
		}
	}
	return out
}

// A daeReader puts a scene together. It keeps the first fault.
type daeReader struct {
	src   *source
	byID  map[string]*daeNode
	mesh  Mesh
	nodes int
	fault string
}

func decodeDAE(file string, src *source) (*Mesh, error) {
	r, root := &daeReader{src: src, byID: map[string]*daeNode{}}, &daeNode{}
	if src.size > maxDAE {
		r.fail("it has %d bytes; expected at most %d", src.size, maxDAE)
	} else if err := xml.NewDecoder(src).Decode(root); err != nil {
		r.fail("no COLLADA file: %v", err)
	}
	r.name(root)
	unit := 1.0
	if text := root.first("asset", "unit").attr("meter"); text != "" {
		if v := r.numbers(text, 1); len(v) == 1 {
			unit = v[0]
		}
	}
	r.place(root.first("library_visual_scenes", "visual_scene"), affine{0: unit, 5: unit, 10: unit}, 0)
	if r.fault != "" {
		return nil, refused(file, "", "%s", r.fault)
	}
	return &r.mesh, nil
}

func (r *daeReader) fail(format string, v ...any) {
	if r.fault == "" {
		r.fault = fmt.Sprintf(format, v...)
	}
}

func (r *daeReader) name(n *daeNode) {
	if id := n.attr("id"); id != "" {
		r.byID["#"+id] = n
	}
	for i := range n.Nodes {
		r.name(&n.Nodes[i])
	}
}

// numbers reads `want` numbers, or any number of them if want is 0.
func (r *daeReader) numbers(text string, want int) (out []float64) {
	for w := range strings.FieldsSeq(text) {
		v, err := strconv.ParseFloat(w, 64)
		if err != nil {
			r.fail("%.20q is not a number", w)
		}
		out = append(out, v)
	}
	if want > 0 && len(out) != want {
		r.fail("%.20q has %d numbers; expected %d", text, len(out), want)
		return make([]float64, want)
	}
	return out
}

// place puts what is in a node where its transformations, in their order, carry it.
func (r *daeReader) place(n *daeNode, at affine, depth int) {
	if r.nodes++; r.nodes > maxDAENodes || depth > maxDAEDepth {
		r.fail("its scene has more than %d nodes, or %d one in another", maxDAENodes, maxDAEDepth)
	}
	for i := 0; i < len(n.Nodes) && r.fault == ""; i++ {
		c := &n.Nodes[i]
		move := affine{0: 1, 5: 1, 10: 1}
		switch c.XMLName.Local {
		case "node":
			r.place(c, at, depth+1)
		case "instance_node":
			if c = r.byID[c.attr("url")]; c != nil {
				r.place(c, at, depth+1)
			}
		case "instance_geometry":
			if c = r.byID[c.attr("url")]; c != nil {
				r.geometry(c.first("mesh"), &at)
			}
		case "translate":
			v := r.numbers(c.Text, 3)
			move[3], move[7], move[11] = v[0], v[1], v[2]
		case "scale":
			v := r.numbers(c.Text, 3)
			move[0], move[5], move[10] = v[0], v[1], v[2]
		case "matrix":
			copy(move[:], r.numbers(c.Text, 16))
		case "rotate": // Rodrigues' form of degrees about an axis
			v := r.numbers(c.Text, 4)
			s, c := math.Sincos(v[3] * math.Pi / 180)
			l := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
			x, y, z, o := v[0]/l, v[1]/l, v[2]/l, 1-c
			move = affine{c + o*x*x, o*x*y - s*z, o*x*z + s*y, 0, o*x*y + s*z, c + o*y*y, o*y*z - s*x, 0,
				o*x*z - s*y, o*y*z + s*x, c + o*z*z, 0}
		}
		at = at.times(&move)
	}
}

// geometry adds the faces of a mesh. A corner has an index for each input; the index of VERTEX names the vertex.
func (r *daeReader) geometry(m *daeNode, at *affine) {
	base, _ := r.mesh.N()
	for _, in := range m.first("vertices").Nodes {
		s := r.byID[in.attr("source")]
		if in.attr("semantic") != "POSITION" || s == nil {
			continue
		}
		stride, _ := strconv.Atoi(s.first("technique_common", "accessor").attr("stride"))
		for x := r.numbers(s.first("float_array").Text, 0); len(x) >= max(stride, 3); x = x[max(stride, 3):] {
			for i := 0; i < 12; i += 4 {
				r.mesh.Vertices = append(r.mesh.Vertices, at[i]*x[0]+at[i+1]*x[1]+at[i+2]*x[2]+at[i+3])
			}
		}
	}
	n, _ := r.mesh.N()
	for i := range m.Nodes {
		list, width, vertex := &m.Nodes[i], 1, 0
		kind, counts := list.XMLName.Local, r.numbers(list.first("vcount").Text, 0)
		for _, in := range list.Nodes {
			offset, _ := strconv.Atoi(in.attr("offset"))
			if width = max(width, offset+1); in.attr("semantic") == "VERTEX" {
				vertex = offset
			}
		}
		for _, p := range list.Nodes {
			if p.XMLName.Local != "p" || kind != "triangles" && kind != "polylist" && kind != "polygons" {
				continue
			}
			corners := r.numbers(p.Text, 0)
			for face := 0; len(corners) >= 3*width && r.fault == ""; face++ {
				k := 3
				if kind == "polygons" {
					k = len(corners) / width
				} else if kind == "polylist" && face < len(counts) {
					k = int(min(max(counts[face], 0), maxPolygon+1))
				}
				if k < 3 || k > maxPolygon || k*width > len(corners) || n > maxVertices || vertex >= width {
					r.fail("face %d has %d corners; expected 3 to %d", face, k, maxPolygon)
					return
				}
				for c := range k {
					v := corners[c*width+vertex]
					if !(v >= 0 && int(v) < n-base) {
						r.fail("face %d refers to vertex %v of %d", face, v, n-base)
						return
					}
					r.src.corner(&r.mesh, c, int32(base+int(v)))
				}
				corners = corners[k*width:]
			}
		}
	}
}

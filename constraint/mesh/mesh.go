// Package mesh reads triangle meshes, measures them, finds their faults and the
// nearest point on them, and draws points on them.
//
// It changes no surface: no repair, no remeshing but cutting faces in four. Polygons of a file are cut into triangles,
// and vertices of open edges that are at one place become one.
package mesh

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"sort"
	"strings"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
)

// A Mesh is a set of triangles in R³. Meshes from Read are finite, with indices in range and at least one face; Check
// examines the rest.
type Mesh struct {
	Vertices []float64 // n×3
	Faces    []int32   // m×3, counter-clockwise as seen from beyond the surface
	Merged   int       // vertices that Read left out because another one is at their place
}

// N returns the number of vertices and of faces.
func (m *Mesh) N() (vertices, faces int) { return len(m.Vertices) / 3, len(m.Faces) / 3 }

// Vertex returns the coordinates of vertex i, from 0; i is at most 2³¹/3.
func (m *Mesh) Vertex(i int32) [3]float64 { return [3]float64(m.Vertices[3*i : 3*i+3]) }

// Corners returns the corners of face f, from 0, in the order of Faces.
func (m *Mesh) Corners(f int) (a, b, c [3]float64) {
	return m.Vertex(m.Faces[3*f]), m.Vertex(m.Faces[3*f+1]), m.Vertex(m.Faces[3*f+2])
}

// refused is an error about a file; where is "line 17", "byte 2031", "vertex 3", or empty.
func refused(file, where, format string, v ...any) error {
	if where != "" {
		where += ": "
	}
	return fault.Errorf(fault.Data, file, "%s%s", where, fmt.Sprintf(format, v...))
}

// maxFile bounds the bytes of a file.
const maxFile = 2 << 30

var decoders = map[string]func(string, *source) (*Mesh, error){".ply": decodePLY, ".obj": decodeOBJ, ".stl": decodeSTL,
	".dae": decodeDAE}

// Read reads the named PLY, OBJ, STL or DAE file. Errors are those of files.
func Read(path string) (*Mesh, error) {
	ext := strings.ToLower(filepath.Ext(path))
	decode, ok := decoders[ext]
	if !ok {
		return nil, refused(path, "", "the extension is %q; expected .ply, .obj, .stl or .dae", ext)
	}
	f, err := input.Open(path, maxFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return finished(path, newSource(f, info.Size()), decode)
}

// finished decodes a mesh, checks it, cuts its polygons and merges its vertices.
func finished(file string, src *source, decode func(string, *source) (*Mesh, error)) (*Mesh, error) {
	m, err := decode(file, src)
	if err != nil {
		return nil, err
	}
	if err := m.valid(file); err != nil {
		return nil, err
	}
	for _, p := range src.polygons {
		if !m.cut(p) {
			return nil, refused(file, src.place(p.at), "the face of %d corners crosses itself; expected a polygon "+
				"near a plane whose sides do not cross", p.corners)
		}
	}
	m.merge()
	return m, nil
}

// fits checks that a mesh of n vertices and `faces` faces can be numbered.
func fits(file string, n, faces int) error {
	if n > maxVertices || faces > maxVertices {
		return refused(file, "", "it has %d vertices and %d triangles; expected at most %d of each", n, faces,
			maxVertices)
	}
	return nil
}

// valid checks what every user of a mesh relies on.
func (m *Mesh) valid(file string) error {
	n, faces := m.N()
	if err := fits(file, n, faces); err != nil {
		return err
	}
	for i, v := range m.Vertices {
		if v-v != 0 {
			return refused(file, fmt.Sprintf("vertex %d (from 0)", i/3),
				"coordinate %c is %v; expected a finite number", "xyz"[i%3], v)
		}
		if math.Abs(v) > maxCoordinate {
			return refused(file, fmt.Sprintf("vertex %d (from 0)", i/3),
				"coordinate %c is %v; expected at most %g in size, or areas overflow", "xyz"[i%3], v, maxCoordinate)
		}
	}
	if faces == 0 {
		return refused(file, "", "it has %d vertices and no faces; expected a surface of triangles", n)
	}
	for i, v := range m.Faces {
		if v < 0 || int(v) >= n {
			return refused(file, fmt.Sprintf("face %d (from 0)", i/3), "refers to vertex %d of %d", v, n)
		}
	}
	if m.Area() == 0 {
		return refused(file, "", "all its faces have area zero; expected a surface")
	}
	return nil
}

const (
	maxCoordinate = 1e60
	maxVertices   = math.MaxInt32 / 3 // and of faces: places of coordinates and corners are int32
)

type vec = [3]float64

// Products are rounded before they are added, never fused with the sum, so that
// ties between faces fall alike on every machine.

func sub(a, b vec) vec     { return vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func dot(a, b vec) float64 { return float64(a[0]*b[0]) + float64(a[1]*b[1]) + float64(a[2]*b[2]) }
func along(a vec, s float64, b vec) vec {
	return vec{a[0] + float64(s*b[0]), a[1] + float64(s*b[1]), a[2] + float64(s*b[2])}
}
func cross(a, b vec) vec {
	return vec{det(a[1], a[2], b[1], b[2]), det(a[2], a[0], b[2], b[0]), det(a[0], a[1], b[0], b[1])}
}

func det(a, b, c, d float64) float64 { return float64(a*d) - float64(b*c) }

// FaceArea returns the area of face f.
func (m *Mesh) FaceArea(f int) float64 {
	a, b, c := m.Corners(f)
	n := cross(sub(b, a), sub(c, a))
	return math.Sqrt(dot(n, n)) / 2
}

// Normal returns the unit normal of face f, zero where its area is.
func (m *Mesh) Normal(f int) [3]float64 {
	a, b, c := m.Corners(f)
	n := cross(sub(b, a), sub(c, a))
	if s := math.Sqrt(dot(n, n)); s > 0 {
		return vec{n[0] / s, n[1] / s, n[2] / s}
	}
	return vec{}
}

// Area returns the area of the surface.
func (m *Mesh) Area() float64 {
	sum := 0.0
	for f := range len(m.Faces) / 3 {
		sum += m.FaceArea(f)
	}
	return sum
}

// Volume returns the volume inside, by the divergence theorem. It means something where the mesh is closed and oriented
// alike, and is negative where that is inwards.
func (m *Mesh) Volume() float64 {
	lo, _ := m.Bounds()
	sum := 0.0
	for f := range len(m.Faces) / 3 {
		a, b, c := m.Corners(f)
		sum += dot(sub(a, lo), cross(sub(b, lo), sub(c, lo))) / 6
	}
	return sum
}

// Bounds returns the corners of the box around the vertices of faces.
func (m *Mesh) Bounds() (lo, hi [3]float64) {
	lo = m.Vertex(m.Faces[0])
	hi = lo
	for _, i := range m.Faces {
		for j, v := range m.Vertex(i) {
			lo[j], hi[j] = min(lo[j], v), max(hi[j], v)
		}
	}
	return lo, hi
}

// Size returns the diagonal of Bounds: what lengths on the mesh are compared with.
func (m *Mesh) Size() float64 {
	lo, hi := m.Bounds()
	d := sub(hi, lo)
	return math.Sqrt(dot(d, d))
}

// Scaled returns the mesh moved by −centre and then scaled.
func (m *Mesh) Scaled(centre [3]float64, scale float64) *Mesh {
	s := &Mesh{Vertices: make([]float64, len(m.Vertices)), Faces: append([]int32(nil), m.Faces...)}
	for i, v := range m.Vertices {
		s.Vertices[i] = (v - centre[i%3]) * scale
	}
	return s
}

// Density returns counts, one a face, as a density by area, one number a vertex: a third of each count goes to each
// corner, so that neighbours are smoothed. It is 0 at vertices without a face of some area.
func (m *Mesh) Density(count []float64) []float64 {
	n, faces := m.N()
	sum, area := make([]float64, n), make([]float64, n)
	for f := range faces {
		a := m.FaceArea(f)
		for _, v := range m.Faces[3*f : 3*f+3] {
			sum[v] += count[f] / 3
			area[v] += a / 3
		}
	}
	for v := range sum {
		if area[v] > 0 {
			sum[v] /= area[v]
		}
	}
	return sum
}

// Subdivided returns the same surface with each face cut in four at the middles of
// its sides. Vertices keep their numbers, and face f becomes faces 4f … 4f+3.
func (m *Mesh) Subdivided() *Mesh {
	n, faces := m.N()
	s := &Mesh{
		Vertices: append(make([]float64, 0, len(m.Vertices)+9*faces/2), m.Vertices...),
		Faces:    make([]int32, 0, 4*len(m.Faces)),
	}
	middle := make(map[[2]int32]int32, 3*faces/2)
	cut := func(a, b int32) int32 {
		k := [2]int32{min(a, b), max(a, b)}
		i, ok := middle[k]
		if !ok {
			i = int32(n + len(middle))
			middle[k] = i
			p, q := m.Vertex(k[0]), m.Vertex(k[1])
			s.Vertices = append(s.Vertices, (p[0]+q[0])/2, (p[1]+q[1])/2, (p[2]+q[2])/2)
		}
		return i
	}
	for f := range faces {
		a, b, c := m.Faces[3*f], m.Faces[3*f+1], m.Faces[3*f+2]
		ab, bc, ca := cut(a, b), cut(b, c), cut(c, a)
		s.Faces = append(s.Faces, a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca)
	}
	return s
}

// A source reads a file by lines or bytes and knows where it is.
type source struct {
	*bufio.Reader
	size   int64 // of the file
	line   int   // lines read
	at     int64 // bytes read
	binary bool  // errors give places in bytes

	polygons []polygon // faces of more than three corners
	fan      [3]int32  // the triangle that corner writes next
}

func newSource(r io.Reader, size int64) *source {
	return &source{Reader: bufio.NewReaderSize(r, maxLine), size: size}
}

// now returns the place that place writes.
func (s *source) now() int64 {
	if s.binary {
		return s.at
	}
	return int64(s.line)
}

func (s *source) place(at int64) string {
	if s.binary {
		return fmt.Sprintf("byte %d", at)
	}
	return fmt.Sprintf("line %d", at)
}

// corner adds corner k, from 0, of a face to the mesh. Polygons become fans from their first corner, which Mesh.cut
// corrects.
func (s *source) corner(m *Mesh, k int, v int32) {
	s.fan[min(k, 2)] = v
	if k < 2 {
		return
	}
	m.Faces = append(m.Faces, s.fan[:]...)
	s.fan[1] = v
	if k == 3 {
		s.polygons = append(s.polygons, polygon{len(m.Faces)/3 - 2, 4, s.now()})
	} else if k > 3 {
		s.polygons[len(s.polygons)-1].corners++
	}
}

const maxLine = 1 << 16

var errLong = errors.New("a line of more than 65536 bytes")

// next returns the next line without its end; io.EOF after the last.
func (s *source) next() (string, error) {
	text, err := s.ReadSlice('\n')
	s.at += int64(len(text))
	switch {
	case err == bufio.ErrBufferFull:
		return "", errLong
	case err == io.EOF && len(text) > 0, err == nil:
		s.line++
	default:
		return "", err
	}
	for len(text) > 0 && (text[len(text)-1] == '\n' || text[len(text)-1] == '\r') {
		text = text[:len(text)-1]
	}
	return string(text), nil
}

func (s *source) take(b []byte) error {
	n, err := io.ReadFull(s, b)
	s.at += int64(n)
	return err
}

// A Sampler draws points on a mesh.
type Sampler struct {
	mesh *Mesh
	upto []float64 // weight of the faces up to and with each
}

// NewSampler draws with density uniform by area, or, if weight is not nil, uniform on each face and with the weight of
// each face in all: one number a face, at least 0 and not all 0.
func NewSampler(m *Mesh, weight []float64) *Sampler {
	_, n := m.N()
	s := &Sampler{mesh: m, upto: make([]float64, n)}
	sum := 0.0
	for f := range n {
		if weight != nil {
			sum += weight[f]
		} else {
			sum += m.FaceArea(f)
		}
		s.upto[f] = sum
	}
	return s
}

// Sample writes the point of (st, sample, step) to dst, 3 numbers, and returns its
// face and its barycentric coordinates: weights of the face's corners, of sum 1.
func (s *Sampler) Sample(dst []float64, st keyed.Stream, sample uint64, step int) (face int, bary [3]float64) {
	var u [3]float64
	st.Uniforms(u[:], sample, step)
	total := s.upto[len(s.upto)-1]
	face = min(sort.Search(len(s.upto), func(f int) bool { return s.upto[f] > u[0]*total }), len(s.upto)-1)
	r := math.Sqrt(u[1]) // uniform on a triangle
	bary = [3]float64{1 - r, r * (1 - u[2]), r * u[2]}
	a, b, c := s.mesh.Corners(face)
	for j := range 3 {
		dst[j] = bary[0]*a[j] + bary[1]*b[j] + bary[2]*c[j]
	}
	return face, bary
}

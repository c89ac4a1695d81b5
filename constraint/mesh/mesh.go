// Package mesh reads triangle meshes, measures them, finds their faults and the
// nearest point on them, and draws points on them.
//
// It changes no surface: no repair, no remeshing but cutting faces in four. Polygons
// of a file become fans of triangles.
package mesh

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
)

// A Mesh is a set of triangles in R³. Meshes from Read are finite, with indices
// in range and at least one face; Check tells of the rest.
type Mesh struct {
	Vertices []float64 // n×3
	Faces    []int32   // m×3, counter-clockwise seen from outside
}

// N returns the number of vertices and of faces.
func (m *Mesh) N() (vertices, faces int) { return len(m.Vertices) / 3, len(m.Faces) / 3 }

// Vertex returns the coordinates of vertex i, from 0; i is at most 2³¹/3.
func (m *Mesh) Vertex(i int32) [3]float64 { return [3]float64(m.Vertices[3*i : 3*i+3]) }

// Corners returns the corners of face f, from 0, in the order of Faces.
func (m *Mesh) Corners(f int) (a, b, c [3]float64) {
	return m.Vertex(m.Faces[3*f]), m.Vertex(m.Faces[3*f+1]), m.Vertex(m.Faces[3*f+2])
}

// An Error says what is wrong with a file, and where.
type Error struct {
	File    string
	Where   string // "line 17", "byte 2031", "vertex 3", or empty
	Problem string
}

func (e *Error) Error() string {
	if e.Where == "" {
		return e.File + ": " + e.Problem
	}
	return e.File + ": " + e.Where + ": " + e.Problem
}

func (e *Error) Place() fault.Place { return fault.Place{Kind: fault.Data, File: e.File} }

// maxFile bounds the bytes of a file.
const maxFile = 2 << 30

// Read reads the named PLY or OBJ file. Errors are *Error and those of the file system.
func Read(path string) (*Mesh, error) {
	var decode func(string, *source) (*Mesh, error)
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".ply":
		decode = decodePLY
	case ".obj":
		decode = decodeOBJ
	default:
		return nil, &Error{File: path, Problem: fmt.Sprintf("the extension is %q; expected .ply or .obj", ext)}
	}
	f, err := input.Open(path, maxFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := decode(path, newSource(f))
	if err != nil {
		return nil, err
	}
	return m, m.valid(path)
}

// fits checks that a mesh of n vertices and so many faces can be numbered.
func fits(file string, n, faces int) error {
	if n > maxVertices || faces > maxVertices {
		return &Error{File: file, Problem: fmt.Sprintf("it has %d vertices and %d triangles; expected at most %d of "+
			"each", n, faces, maxVertices)}
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
			return &Error{file, fmt.Sprintf("vertex %d (from 0)", i/3),
				fmt.Sprintf("coordinate %c is %v; expected a finite number", "xyz"[i%3], v)}
		}
		if math.Abs(v) > maxCoordinate {
			return &Error{file, fmt.Sprintf("vertex %d (from 0)", i/3),
				fmt.Sprintf("coordinate %c is %v; expected at most %g in size, or areas overflow", "xyz"[i%3],
					v, maxCoordinate)}
		}
	}
	if faces == 0 {
		return &Error{File: file, Problem: fmt.Sprintf("it has %d vertices and no faces; expected a surface of "+
			"triangles", n)}
	}
	for i, v := range m.Faces {
		if v < 0 || int(v) >= n {
			return &Error{file, fmt.Sprintf("face %d (from 0)", i/3), fmt.Sprintf("refers to vertex %d of %d", v, n)}
		}
	}
	if m.Area() == 0 {
		return &Error{File: file, Problem: "all its faces have area zero; expected a surface"}
	}
	return nil
}

const (
	maxCoordinate = 1e60
	maxVertices   = math.MaxInt32 / 3 // and of faces: places of coordinates and corners are int32
)

// Package spectrum computes eigenfunctions of the Laplace–Beltrami operator on a triangle mesh: cotangent stiffness,
// lumped masses, and the Lanczos method on the inverse.
package spectrum

import (
	"fmt"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/mesh"
)

// A Laplacian is the pencil (S, M) of a mesh: the symmetric, positive semidefinite stiffness matrix S of cotangent
// weights, in compressed rows, and the diagonal M of areas, a third of each face to each corner. S f = λ M f are the
// eigenfunctions of −Δ; a boundary is free (Neumann).
type Laplacian struct {
	Start []int32 // n+1: row i is at Start[i] … Start[i+1]
	Col   []int32
	Value []float64
	Mass  []float64 // 0 for vertices without a face
}

// New returns the Laplacian of a mesh. Faces without area are passed over.
func New(m *mesh.Mesh) *Laplacian {
	n, faces := m.N()
	l := &Laplacian{Mass: make([]float64, n), Start: make([]int32, n+1)}
	type entry struct {
		row, col int32
		value    float64
	}
	entries := make([]entry, 0, 12*faces+n)
	for f := range faces {
		area := m.FaceArea(f)
		if area == 0 {
			continue
		}
		for k := range 3 {
			a, b, c := m.Faces[3*f+k], m.Faces[3*f+(k+1)%3], m.Faces[3*f+(k+2)%3]
			// The angle at a lies against the edge bc: cot = (u·v)/‖u×v‖.
			p, q, r := m.Vertex(a), m.Vertex(b), m.Vertex(c)
			uv := 0.0
			for j := range 3 {
				uv += (q[j] - p[j]) * (r[j] - p[j])
			}
			w := uv / (2 * area) / 2
			entries = append(entries, entry{b, c, -w}, entry{c, b, -w}, entry{b, b, w}, entry{c, c, w})
			l.Mass[a] += area / 3
		}
	}
	slices.SortStableFunc(entries, func(x, y entry) int {
		if x.row != y.row {
			return int(x.row - y.row)
		}
		return int(x.col - y.col)
	})
	for i, e := range entries {
		if i > 0 && entries[i-1].row == e.row && entries[i-1].col == e.col {
			l.Value[len(l.Value)-1] += e.value
			continue
		}
		l.Col, l.Value = append(l.Col, e.col), append(l.Value, e.value)
		l.Start[e.row+1]++
	}
	for i := range n {
		l.Start[i+1] += l.Start[i]
	}
	return l
}

// Apply writes S x. Both have a number for each vertex, len(l.Mass); dst must not be x.
func (l *Laplacian) Apply(dst, x []float64) {
	for i := range dst {
		s := 0.0
		for p := l.Start[i]; p < l.Start[i+1]; p++ {
			s += l.Value[p] * x[l.Col[p]]
		}
		dst[i] = s
	}
}

// A Function is an eigenfunction: its values at the vertices, ⟨f, M f⟩ = 1.
type Function struct {
	Lambda float64
	F      []float64
}

const (
	refineLevels   = 2
	refineVertices = 50_000
	maxFaces       = 4_000_000
)

// Levels returns how often a mesh is cut (mesh.Mesh.Subdivided) before its eigenfunctions are near those of the
// surface: twice, or less where more than 50 000 vertices would come of it. On a mesh as it is, functions that change
// sign every few edges mix with neighbours of nearly the same eigenvalue: of the published bunny and cow of 2500 and
// 2930 vertices, the 50th are right and the 100th are not; cut twice, all are.
func Levels(m *mesh.Mesh) int {
	n, faces := m.N()
	for l := range refineLevels {
		if n += 3 * faces / 2; n > refineVertices { // edges of a closed mesh
			return l
		}
		faces *= 4
	}
	return refineLevels
}

// Cut returns the mesh with each face cut in four so many times, at least 0. The
// error is an *Error if it would have more than four million faces.
func Cut(m *mesh.Mesh, levels int) (*mesh.Mesh, error) {
	_, faces := m.N()
	for l := range levels {
		if faces *= 4; faces > maxFaces {
			return nil, &Error{fmt.Sprintf("the number of faces, cut %d times,", l+1), faces,
				fmt.Sprintf("at most %d", maxFaces)}
		}
	}
	for range levels {
		m = m.Subdivided()
	}
	return m, nil
}

// A Density draws points on a mesh with density proportional to max(f, 0) by
// area, f linear on each face between values at the vertices.
type Density struct {
	mesh    *mesh.Mesh
	f       []float64
	sampler *mesh.Sampler
	most    []float64 // largest value of max(f, 0) on each face
}

// NewDensity takes the values of f at the vertices, one each, and keeps them. It
// panics unless some are positive at a face with an area.
func NewDensity(m *mesh.Mesh, f []float64) *Density {
	_, n := m.N()
	d := &Density{mesh: m, f: f, most: make([]float64, n)}
	weight, sum := make([]float64, n), 0.0
	for i := range n {
		for _, v := range m.Faces[3*i : 3*i+3] {
			d.most[i] = max(d.most[i], f[v])
		}
		weight[i] = d.most[i] * m.FaceArea(i)
		sum += weight[i]
	}
	if !(sum > 0) {
		panic("spectrum: a density of a function that is nowhere positive")
	}
	d.sampler = mesh.NewSampler(m, weight)
	return d
}

// Sample writes the point of (s, sample) to dst, 3 numbers, by rejection: faces in
// proportion to their area times the largest value there.
func (d *Density) Sample(dst []float64, s keyed.Stream, sample uint64) {
	var u [4]float64 // the first three are those of the mesh's sampler
	for step := 0; ; step++ {
		face, bary := d.sampler.Sample(dst, s, sample, step)
		s.Uniforms(u[:], sample, step)
		value := 0.0
		for k, v := range d.mesh.Faces[3*face : 3*face+3] {
			value += bary[k] * d.f[v]
		}
		if u[3]*d.most[face] < value {
			return
		}
	}
}

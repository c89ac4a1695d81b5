// Package spectrum computes eigenfunctions of the Laplace–Beltrami operator on a triangle mesh: cotangent stiffness,
// lumped masses, and the Lanczos method on the inverse.
package spectrum

import (
	"slices"

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

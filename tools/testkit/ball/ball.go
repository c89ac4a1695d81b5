// Package ball makes meshes of the unit sphere, for tests.
package ball

import (
	"math"

	"github.com/landing-diffusion/landing/constraint/mesh"
)

// Mesh returns an octahedron, each face cut in four n times, blown up to the unit
// sphere: 8·4ⁿ faces.
func Mesh(n int) *mesh.Mesh {
	m := &mesh.Mesh{
		Vertices: []float64{1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1},
		Faces:    []int32{0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5},
	}
	for range n {
		old := len(m.Vertices)
		m = m.Subdivided()
		for v := old; v < len(m.Vertices); v += 3 {
			x := m.Vertices[v : v+3]
			r := math.Sqrt(x[0]*x[0] + x[1]*x[1] + x[2]*x[2])
			for j := range x {
				x[j] /= r
			}
		}
	}
	return m
}

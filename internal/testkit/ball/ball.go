// Package ball makes meshes of the unit sphere, for tests.
package ball

import (
	"math"

	"github.com/landing-diffusion/landing/mesh"
)

// Mesh returns an octahedron, each face cut in four n times, blown up to the unit
// sphere: 8·4ⁿ faces.
func Mesh(n int) *mesh.Mesh {
	m := &mesh.Mesh{
		Vertices: []float64{1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1},
		Faces:    []int32{0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5},
	}
	for range n {
		cut := &mesh.Mesh{Vertices: m.Vertices}
		middle := map[[2]int32]int32{}
		half := func(a, b int32) int32 {
			k := [2]int32{min(a, b), max(a, b)}
			if _, ok := middle[k]; !ok {
				middle[k] = int32(len(cut.Vertices) / 3)
				var v [3]float64
				for j := range v {
					v[j] = m.Vertices[3*a+int32(j)] + m.Vertices[3*b+int32(j)]
				}
				for j := range v {
					cut.Vertices = append(cut.Vertices, v[j]/math.Sqrt(v[0]*v[0]+v[1]*v[1]+v[2]*v[2]))
				}
			}
			return middle[k]
		}
		for f := 0; f < len(m.Faces); f += 3 {
			a, b, c := m.Faces[f], m.Faces[f+1], m.Faces[f+2]
			ab, bc, ca := half(a, b), half(b, c), half(c, a)
			cut.Faces = append(cut.Faces, a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca)
		}
		m = cut
	}
	return m
}

package spectrum

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint/mesh"
)

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

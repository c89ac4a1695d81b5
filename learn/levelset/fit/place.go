package fit

import (
	"math"

	"github.com/landing-diffusion/landing/constraint/mesh"
)

// Place returns the mesh in coordinates that networks learn well: the mesh itself if it lies in [−1.5, 1.5]³ and is not
// small there, else one moved by −centre and scaled to [−1, 1]³. Data on it must be moved alike.
func Place(m *mesh.Mesh) (placed *mesh.Mesh, centre [3]float64, scale float64) {
	lo, hi := m.Bounds()
	far, half := 0.0, 0.0
	for j := range 3 {
		far = max(far, math.Abs(lo[j]), math.Abs(hi[j]))
		half = max(half, (hi[j]-lo[j])/2)
	}
	if far <= 1.5 && half >= 0.5 {
		return m, centre, 1
	}
	for j := range centre {
		centre[j] = (lo[j] + hi[j]) / 2
	}
	return m.Scaled(centre, 1/half), centre, 1 / half
}

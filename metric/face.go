package metric

import (
	"fmt"

	"github.com/landing-diffusion/landing/mesh"
)

// faceEmpty is added to each share of a face histogram before two of them are
// compared, as in the published evaluation.
const faceEmpty = 1e-12

// NearestFaces writes the number of the face nearest to each of the points x
// (n×3). Whole numbers as float64 are points in R¹, which NoiseFloor can draw.
func NearestFaces(dst []float64, x []float64, t *mesh.Tree) {
	if n := rowsOf("NearestFaces", x, 3); len(dst) != n {
		panic(fmt.Sprintf("metric: %d faces for %d points", len(dst), n))
	}
	for i := range dst {
		f, _, _ := t.Nearest([3]float64(x[3*i : 3*i+3]))
		dst[i] = float64(f)
	}
}

// FaceJSD returns the JSDivergence (not its root) of two sets of points given by
// their nearest faces out of a number: shares of points, each raised by 1e-12. It is
// NaN if a set is empty. Empty faces make it depend on the number of points: compare it
// with the NoiseFloor of the same number.
func FaceJSD(a, b []float64, faces int) float64 {
	p, q := make([]float64, faces), make([]float64, faces)
	for _, f := range a {
		p[int(f)]++
	}
	for _, f := range b {
		q[int(f)]++
	}
	if len(a) == 0 || len(b) == 0 {
		clear(p)
		return JSDivergence(p, q)
	}
	for f := range p {
		p[f] = p[f]/float64(len(a)) + faceEmpty
		q[f] = q[f]/float64(len(b)) + faceEmpty
	}
	return JSDivergence(p, q)
}

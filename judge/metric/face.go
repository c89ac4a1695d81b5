package metric

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint/mesh"
)

// faceEmpty is added to each share of a face histogram before two of them are compared, as in the published evaluation.
const faceEmpty = 1e-12

// NearestFaces writes the number of the face nearest to each of the points x (n×3), and NaN for points without one
// (mesh.Tree.Nearest). Whole numbers as float64 are points in R¹, which NoiseFloor can draw.
func NearestFaces(dst []float64, x []float64, t *mesh.Tree) {
	if n := rowsOf("NearestFaces", x, 3); len(dst) != n {
		panic(fmt.Sprintf("metric: %d faces for %d points", len(dst), n))
	}
	for i := range dst {
		dst[i] = math.NaN()
		if f, _, _ := t.Nearest([3]float64(x[3*i : 3*i+3])); f >= 0 {
			dst[i] = float64(f)
		}
	}
}

// FaceJSD returns the JSDivergence (not its root) of two sets of points given by their nearest faces out of a number:
// shares of points, each raised by 1e-12. Points without a face (NaN) are left out; it is NaN if a set has no others.
// Empty faces make it depend on the number of points: compare it with the NoiseFloor of the same number.
func FaceJSD(a, b []float64, faces int) float64 {
	p, sumA := faceCounts(a, faces)
	q, sumB := faceCounts(b, faces)
	if sumA == 0 || sumB == 0 {
		return math.NaN()
	}
	for f := range p {
		p[f] = p[f]/sumA + faceEmpty
		q[f] = q[f]/sumB + faceEmpty
	}
	return JSDivergence(p, q)
}

// faceCounts counts the points on each face, and those with a face in all.
func faceCounts(face []float64, faces int) (count []float64, sum float64) {
	count = make([]float64, faces)
	for _, f := range face {
		if math.IsNaN(f) {
			continue
		}
		count[int(f)]++
		sum++
	}
	return count, sum
}

package molecule

import (
	"math"

	"github.com/landing-diffusion/landing/internal/vec3"
)

// between returns x_to − x_from.
func between(x []float64, from, to int) [3]float64 {
	return vec3.Minus([3]float64(x[3*to:3*to+3]), [3]float64(x[3*from:3*from+3]))
}

// Distance returns that of atoms i and j of the conformation x.
func Distance(x []float64, i, j int) float64 { return vec3.Norm(between(x, i, j)) }

// Angle returns the angle at atom j between the directions to i and k, in [0, π]. It is NaN if an arm has no length.
func Angle(x []float64, i, j, k int) float64 {
	a, b := between(x, j, i), between(x, j, k)
	if vec3.Norm(a) == 0 || vec3.Norm(b) == 0 {
		return math.NaN()
	}
	// An arctangent, unlike an arccosine, is exact to round-off near 0 and π.
	return math.Atan2(vec3.Norm(vec3.Cross(a, b)), vec3.Dot(a, b))
}

// Torsion returns the dihedral angle of atoms i, j, k, l, in (−π, π]: seen along j → k, how far l is turned clockwise
// from i (IUPAC's sign). It is NaN if three neighbours are in a line.
func Torsion(x []float64, i, j, k, l int) float64 {
	b1, b2, b3 := between(x, i, j), between(x, j, k), between(x, k, l)
	n1, n2 := vec3.Cross(b1, b2), vec3.Cross(b2, b3)
	if vec3.Norm(n1) == 0 || vec3.Norm(n2) == 0 {
		return math.NaN()
	}
	return math.Atan2(vec3.Norm(b2)*vec3.Dot(b1, n2), vec3.Dot(n1, n2))
}

// Volume returns the signed volume (a−o)·((b−o)×(c−o)) that the directions from atom o to
// a, b and c span: its sign is the handedness of the centre o.
func Volume(x []float64, o, a, b, c int) float64 {
	return vec3.Dot(between(x, o, a), vec3.Cross(between(x, o, b), between(x, o, c)))
}

// bent is the sine of a bond angle below which a torsion about the bond turns freely.
const bent = 0.2

// Turned returns the torsion that differs most between two conformations, and by how much.
func (m *Molecule) Turned(x, y []float64) (most [4]int, by float64) {
	for _, t := range m.Torsions() {
		i, j, k, l := t[0], t[1], t[2], t[3]
		δ := math.Abs(math.Remainder(Torsion(x, i, j, k, l)-Torsion(y, i, j, k, l), 2*math.Pi))
		free := min(math.Sin(Angle(x, i, j, k)), math.Sin(Angle(x, j, k, l)), math.Sin(Angle(y, i, j, k)),
			math.Sin(Angle(y, j, k, l))) < bent
		if δ >= by && !free {
			most, by = t, δ
		}
	}
	return most, by
}

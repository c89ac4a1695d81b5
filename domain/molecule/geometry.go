package molecule

import "math"

type vector [3]float64

func between(x []float64, from, to int) vector {
	a, b := x[3*from:3*from+3], x[3*to:3*to+3]
	return vector{b[0] - a[0], b[1] - a[1], b[2] - a[2]}
}

func (a vector) dot(b vector) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

func (a vector) cross(b vector) vector {
	return vector{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

func (a vector) norm() float64 { return math.Sqrt(a.dot(a)) }

// Distance returns that of atoms i and j of the conformation x.
func Distance(x []float64, i, j int) float64 { return between(x, i, j).norm() }

// Angle returns the angle at atom j between the directions to i and k, in [0, π]. It is NaN if an arm has no length.
func Angle(x []float64, i, j, k int) float64 {
	a, b := between(x, j, i), between(x, j, k)
	if a.norm() == 0 || b.norm() == 0 {
		return math.NaN()
	}
	// An arctangent, unlike an arccosine, is exact to round-off near 0 and π.
	return math.Atan2(a.cross(b).norm(), a.dot(b))
}

// Torsion returns the dihedral angle of atoms i, j, k, l, in (−π, π]: seen along j → k, how far l is turned clockwise
// from i (IUPAC's sign). It is NaN if three neighbours are in a line.
func Torsion(x []float64, i, j, k, l int) float64 {
	b1, b2, b3 := between(x, i, j), between(x, j, k), between(x, k, l)
	n1, n2 := b1.cross(b2), b2.cross(b3)
	if n1.norm() == 0 || n2.norm() == 0 {
		return math.NaN()
	}
	return math.Atan2(b2.norm()*b1.dot(n2), n1.dot(n2))
}

// Volume returns the signed volume (a−o)·((b−o)×(c−o)) that the directions from atom o to
// a, b and c span: its sign is the handedness of the centre o.
func Volume(x []float64, o, a, b, c int) float64 {
	return between(x, o, a).dot(between(x, o, b).cross(between(x, o, c)))
}

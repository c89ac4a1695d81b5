package discover

import (
	"math"

	"github.com/landing-diffusion/landing/domain/molecule"
)

// An Internal is an internal coordinate of a molecule over the rows: the length of a bond, in the
// unit of the coordinates, or an angle or a dihedral along bonds, in degrees.
type Internal struct {
	Mean, SD    float64
	Least, Most float64 // of a dihedral about its mean, and so perhaps beyond ±180
}

// Measure measures the distance, angle or dihedral of two, three or four atoms on n rows of d numbers.
func Measure(x []float64, n, d int, atoms []int) Internal {
	q := Internal{Least: math.Inf(1), Most: math.Inf(-1)}
	v, period := make([]float64, n), 0.0
	if len(atoms) == 4 {
		period = 360
	}
	sin, cos := 0.0, 0.0
	for i := range v {
		switch row := x[i*d : (i+1)*d]; len(atoms) {
		case 2:
			v[i] = molecule.Distance(row, atoms[0], atoms[1])
		case 3:
			v[i] = molecule.Angle(row, atoms[0], atoms[1], atoms[2]) * 180 / math.Pi
		default:
			v[i] = molecule.Torsion(row, atoms[0], atoms[1], atoms[2], atoms[3]) * 180 / math.Pi
		}
		sn, cs := math.Sincos(v[i] * math.Pi / 180)
		sin, cos = sin+sn, cos+cs
	}
	middle := 0.0
	if period > 0 {
		middle = math.Atan2(sin, cos) * 180 / math.Pi
		for i := range v {
			v[i] = math.Remainder(v[i]-middle, period)
		}
	}
	for _, u := range v {
		q.Mean += u / float64(n)
	}
	for _, u := range v {
		q.SD += (u - q.Mean) * (u - q.Mean) / float64(n)
		q.Least, q.Most = min(q.Least, u), max(q.Most, u)
	}
	q.SD = math.Sqrt(q.SD)
	q.Mean, q.Least, q.Most = q.Mean+middle, q.Least+middle, q.Most+middle
	return q
}

package discover

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/domain/molecule"
)

// An Internal is an internal coordinate of a molecule over the rows: the length of a bond, in the
// unit of the coordinates, or an angle or a dihedral along bonds, in degrees.
type Internal struct {
	Atoms       []int
	Mean, SD    float64
	Least, Most float64 // of a dihedral about its mean, and so perhaps beyond ±180
	Wall        bool    // both ends look like walls: the law stops suddenly
}

// conformations looks at molecules: at bonds, angles and dihedrals along them, and at distances
// between all atoms. Where a conformation is and how it is turned says nothing.
func (s *search) conformations(m *molecule.Molecule) {
	place := func(k int) string { return fmt.Sprintf("x[@%d:@%[1]d+3]", k) }
	var out []*Relation
	add := func(kind string, q Internal, text, name string) {
		s.internals = append(s.internals, q)
		at := make([]int, len(q.Atoms))
		for k, a := range q.Atoms {
			at[k] = 3 * a
		}
		v := values{median: q.Mean}
		v.round = s.plain(q.Mean, max(1e-6, (q.Most-q.Least)/(1e-300+16*math.Abs(q.Mean))))
		if kind == Distance {
			out = append(out, v.relation(kind, text, name, at...))
			return
		}
		// An angle in degrees is a round number sooner than one in radians.
		angle := func(degrees float64) *Relation {
			radians := degrees * (math.Pi / 180)
			r := relation(kind, degrees, fmt.Sprintf("%s = %s", text, number(radians)), name, at...)
			if kind == Dihedral { // whose values come round
				r = relation(kind, degrees, fmt.Sprintf("sin((%s - %s)/2) = 0", text, number(radians)), name, at...)
			}
			return r
		}
		r := angle(v.round)
		r.alt = angle(v.median)
		out = append(out, r)
	}
	for _, b := range m.Bonds {
		add(Distance, s.internal(b[:]), fmt.Sprintf("distance(%s, %s)", place(0), place(1)), "bond")
	}
	for _, a := range m.Angles() {
		add(Angle, s.internal(a[:]), fmt.Sprintf("angle(%s, %s, %s)", place(0), place(1), place(2)), "angle")
	}
	for _, a := range m.Torsions() {
		add(Dihedral, s.internal(a[:]), fmt.Sprintf("dihedral(%s, %s, %s, %s)", place(0), place(1), place(2),
			place(3)), "dihedral")
	}
	s.offerAll(out)
	s.distances()
}

func (s *survey) internal(atoms []int) Internal { return Measure(s.X, s.N, s.D, atoms) }

// Measure measures the distance, angle or dihedral of two, three or four atoms on n rows of d numbers.
func Measure(x []float64, n, d int, atoms []int) Internal {
	q := Internal{Atoms: append([]int(nil), atoms...), Least: math.Inf(1), Most: math.Inf(-1)}
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
	low, high := 0, 0
	for _, u := range v {
		if reach := wallWidth * (q.Most - q.Least); u <= q.Least+reach {
			low++
		} else if u >= q.Most-reach {
			high++
		}
	}
	enough := func(many int) bool { return many >= wallRows && float64(many) >= wallShare*float64(n) }
	q.Wall = n >= 100 && enough(low) && enough(high) && (period == 0 || q.Most-q.Least < period/2)
	q.Mean, q.Least, q.Most = q.Mean+middle, q.Least+middle, q.Most+middle
	return q
}

// Atoms are those of a molecule that a distance, an angle or a dihedral is about, in its order; nil of other relations.
func (r *Relation) Atoms() (out []int) {
	switch r.Kind {
	case Distance, Angle, Dihedral:
		for _, at := range r.form.at {
			out = append(out, at/3)
		}
	}
	return out
}

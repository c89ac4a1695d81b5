package conformation

import (
	"fmt"
	"math"
)

// A Kind is a kind of internal coordinate.
type Kind int

const (
	Distance Kind = iota // of two atoms, Å
	Angle                // of three atoms, at the second, in [0, π]
	Dihedral             // of four atoms, about the second and third, in (−π, π]
	Volume               // (a−o)·((b−o)×(c−o)) of four atoms o, a, b, c, Å³: its sign is the handedness of o
	Nearest              // distance of the first atom to the nearest of the others, Å
)

var kinds = [...]struct {
	name  string
	atoms int
}{{"distance", 2}, {"angle", 3}, {"dihedral", 4}, {"volume", 4}, {"nearest", 0}}

func (k Kind) String() string { return kinds[k].name }

// one writes one of the kind: a distance, an angle.
func (k Kind) one() string {
	if k == Angle {
		return "an angle"
	}
	return "a " + k.String()
}

// Atoms returns of how many atoms it is.
func (k Kind) Atoms() int { return kinds[k].atoms }

// A Coordinate is an internal coordinate: a number that no translation and no rotation changes.
type Coordinate struct {
	Kind  Kind
	Atoms []int // numbers from 0
}

// Value returns the coordinate at the positions x, atom by atom, in Å or radians. It
// is NaN for a dihedral with three atoms on a line.
func (c Coordinate) Value(x []float64) float64 {
	if c.Kind == Nearest {
		r := math.Inf(1)
		for _, a := range c.Atoms[1:] {
			r = min(r, Coordinate{Distance, []int{c.Atoms[0], a}}.Value(x))
		}
		return r
	}
	m := newMeasure(c)
	if v := m.value(x); c.Kind != Dihedral || m.fault(x) == "" {
		return v
	}
	return math.NaN()
}

// A measure is a coordinate as the loops use it.
type measure struct {
	kind Kind
	at   [4]int // where each atom's coordinates begin

	mid, half float64 // of a gap of a dihedral (builder.gaps); half 0: none
	given     int     // where the numbers that it is compared with begin; 0: none
}

// shaped returns what a component compares of the value q at x, and its first and second derivatives by q.
func (m *measure) shaped(q float64, x []float64) (v, slope, bend float64) {
	switch {
	case m.half > 0:
		sin, cos := math.Sincos(q - m.mid)
		width := math.Sin(m.half)
		return (cos - math.Cos(m.half)) / width, -sin / width, -cos / width
	case m.given > 0 && m.kind == Dihedral:
		return wrap(q - math.Atan2(x[m.given+1], x[m.given])), 1, 0
	case m.given > 0:
		return q - x[m.given], 1, 0
	}
	return q, 1, 0
}

func newMeasure(c Coordinate) measure {
	if len(c.Atoms) != c.Kind.Atoms() {
		panic(fmt.Sprintf("conformation: a %v of %d atoms", c.Kind, len(c.Atoms)))
	}
	m := measure{kind: c.Kind}
	for i, a := range c.Atoms {
		m.at[i] = 3 * a
	}
	return m
}

// vec is a vector in R³.
type vec struct{ x, y, z float64 }

func at(x []float64, i int) vec {
	x = x[i : i+3 : i+3]
	return vec{x[0], x[1], x[2]}
}

func (a vec) minus(b vec) vec          { return vec{a.x - b.x, a.y - b.y, a.z - b.z} }
func (a vec) plus(b vec) vec           { return vec{a.x + b.x, a.y + b.y, a.z + b.z} }
func (a vec) times(s float64) vec      { return vec{s * a.x, s * a.y, s * a.z} }
func (a vec) dot(b vec) float64        { return a.x*b.x + a.y*b.y + a.z*b.z }
func (a vec) norm() float64            { return math.Sqrt(a.dot(a)) }
func (a vec) put(to []float64)         { to = to[:3:3]; to[0], to[1], to[2] = a.x, a.y, a.z }
func (a vec) add(s float64, b vec) vec { return vec{a.x + s*b.x, a.y + s*b.y, a.z + s*b.z} }
func (a vec) cross(b vec) vec          { return vec{a.y*b.z - a.z*b.y, a.z*b.x - a.x*b.z, a.x*b.y - a.y*b.x} }

// value returns q(x).
func (m *measure) value(x []float64) float64 {
	switch m.kind {
	case Distance:
		return at(x, m.at[1]).minus(at(x, m.at[0])).norm()
	case Angle:
		o := at(x, m.at[1])
		u, w := at(x, m.at[0]).minus(o), at(x, m.at[2]).minus(o)
		return math.Atan2(u.cross(w).norm(), u.dot(w))
	case Dihedral:
		p, q, r, s := m.arms(x)
		return torsion(p.cross(q), s.cross(q), q, r)
	}
	a, b, c := m.edges(x)
	return a.dot(b.cross(c))
}

// arms returns F = r₀−r₁, G = r₁−r₂, |G| and H = r₃−r₂ of a dihedral.
func (m *measure) arms(x []float64) (f, g vec, length float64, h vec) {
	a, b, c, d := at(x, m.at[0]), at(x, m.at[1]), at(x, m.at[2]), at(x, m.at[3])
	g = b.minus(c)
	return a.minus(b), g, g.norm(), d.minus(c)
}

// torsion is the dihedral angle of A = F×G, B = H×G and G with its length.
func torsion(a, b, g vec, length float64) float64 {
	return math.Atan2(b.cross(a).dot(g)/length, a.dot(b))
}

// edges returns those from the first atom of a volume to the others.
func (m *measure) edges(x []float64) (a, b, c vec) {
	o := at(x, m.at[0])
	return at(x, m.at[1]).minus(o), at(x, m.at[2]).minus(o), at(x, m.at[3]).minus(o)
}

// gradient writes ∇q by atoms, three numbers each, and returns q(x).
//
// distance: ±(b−a)/r, zero where the atoms meet.
//
// angle, with u = a−b, w = c−b and n = u×w: ∇_a = u×n/(‖u‖²‖n‖), ∇_c = n×w/(‖w‖²‖n‖),
// zero where the three atoms lie on a line and θ has a kink.
//
// dihedral, with F, G, H as in arms, A = F×G and B = H×G (Blondel and Karplus, "New
// formulation for derivatives of torsion angles", 1996), without a singularity at 0 or π:
//
//	∇_0 = −‖G‖A/‖A‖²,  ∇_1 = −∇_0 + K,  K = (F·G)A/(‖A‖²‖G‖) − (H·G)B/(‖B‖²‖G‖),
//	∇_3 =  ‖G‖B/‖B‖²,  ∇_2 = −∇_3 − K;
//
// NaN where three atoms in a row lie on a line and there is no dihedral.
//
// volume: ∇_a = b×c and so on, of the edges from the first atom.
func (m *measure) gradient(to *[12]float64, x []float64) float64 {
	switch m.kind {
	case Distance:
		u := at(x, m.at[1]).minus(at(x, m.at[0]))
		r := u.norm()
		if r > 0 {
			u = u.times(1 / r)
		}
		vec{-u.x, -u.y, -u.z}.put(to[0:])
		u.put(to[3:])
		return r
	case Angle:
		o := at(x, m.at[1])
		u, w := at(x, m.at[0]).minus(o), at(x, m.at[2]).minus(o)
		n := u.cross(w)
		s := n.norm()
		var a, c vec
		if s > 0 {
			a, c = u.cross(n).times(1/(u.dot(u)*s)), n.cross(w).times(1/(w.dot(w)*s))
		}
		a.put(to[0:])
		vec{-a.x - c.x, -a.y - c.y, -a.z - c.z}.put(to[3:])
		c.put(to[6:])
		return math.Atan2(s, u.dot(w))
	case Dihedral:
		f, g, length, h := m.arms(x)
		a, b := f.cross(g), h.cross(g)
		aa, bb := a.times(1/a.dot(a)), b.times(1/b.dot(b))
		k := aa.times(f.dot(g)/length).add(-h.dot(g)/length, bb)
		aa, bb = aa.times(length), bb.times(length)
		vec{-aa.x, -aa.y, -aa.z}.put(to[0:])
		aa.plus(k).put(to[3:])
		vec{-bb.x - k.x, -bb.y - k.y, -bb.z - k.z}.put(to[6:])
		bb.put(to[9:])
		return torsion(a, b, g, length)
	}
	a, b, c := m.edges(x)
	da, db, dc := b.cross(c), c.cross(a), a.cross(b)
	da.plus(db).plus(dc).times(-1).put(to[0:])
	da.put(to[3:])
	db.put(to[6:])
	dc.put(to[9:])
	return a.dot(da)
}

// curvature writes ∇²q v by atoms: the derivative of gradient along v, term by term.
func (m *measure) curvature(to *[12]float64, x, v []float64) {
	switch m.kind {
	case Distance:
		u, w := at(x, m.at[1]).minus(at(x, m.at[0])), at(v, m.at[1]).minus(at(v, m.at[0]))
		r := u.norm()
		if r > 0 { // (w − u u·w/r²)/r
			w = w.add(-u.dot(w)/(r*r), u).times(1 / r)
		}
		vec{-w.x, -w.y, -w.z}.put(to[0:])
		w.put(to[3:])
	case Angle:
		o, vo := at(x, m.at[1]), at(v, m.at[1])
		u, w := at(x, m.at[0]).minus(o), at(x, m.at[2]).minus(o)
		du, dw := at(v, m.at[0]).minus(vo), at(v, m.at[2]).minus(vo)
		n, dn := u.cross(w), du.cross(w).plus(u.cross(dw))
		s := n.norm()
		var a, c vec
		if s > 0 {
			ds, uu, ww := n.dot(dn)/(s*s), u.dot(u), w.dot(w) // of ln s
			a = du.cross(n).plus(u.cross(dn)).add(-2*u.dot(du)/uu-ds, u.cross(n)).times(1 / (uu * s))
			c = dn.cross(w).plus(n.cross(dw)).add(-2*w.dot(dw)/ww-ds, n.cross(w)).times(1 / (ww * s))
		}
		a.put(to[0:])
		vec{-a.x - c.x, -a.y - c.y, -a.z - c.z}.put(to[3:])
		c.put(to[6:])
	case Dihedral:
		f, g, length, h := m.arms(x)
		df, dg, _, dh := m.arms(v)
		a, b := f.cross(g), h.cross(g)
		da, db := df.cross(g).plus(f.cross(dg)), dh.cross(g).plus(h.cross(dg))
		dl := g.dot(dg) / length
		// A/‖A‖² and its derivative, and so of B.
		aa, bb := 1/a.dot(a), 1/b.dot(b)
		da, db = da.add(-2*a.dot(da)*aa, a).times(aa), db.add(-2*b.dot(db)*bb, b).times(bb)
		a, b = a.times(aa), b.times(bb)
		// F·G/‖G‖ and its derivative, and so of H.
		fg, hg := f.dot(g)/length, h.dot(g)/length
		dfg, dhg := (df.dot(g)+f.dot(dg)-fg*dl)/length, (dh.dot(g)+h.dot(dg)-hg*dl)/length
		k := da.times(fg).add(dfg, a).add(-hg, db).add(-dhg, b)
		da, db = da.times(length).add(dl, a), db.times(length).add(dl, b)
		vec{-da.x, -da.y, -da.z}.put(to[0:])
		da.plus(k).put(to[3:])
		vec{-db.x - k.x, -db.y - k.y, -db.z - k.z}.put(to[6:])
		db.put(to[9:])
	case Volume:
		a, b, c := m.edges(x)
		da, db, dc := m.edges(v)
		ga := db.cross(c).plus(b.cross(dc))
		gb := dc.cross(a).plus(c.cross(da))
		gc := da.cross(b).plus(a.cross(db))
		ga.plus(gb).plus(gc).times(-1).put(to[0:])
		ga.put(to[3:])
		gb.put(to[6:])
		gc.put(to[9:])
	}
}

// line is the sine below which three atoms count as on a line, for messages: the
// derivatives of a dihedral are a million times those of one at right angles.
const line = 1e-6

// fault says why q has no value or no derivatives at x, or is empty.
func (m *measure) fault(x []float64) string {
	for _, i := range m.at[:m.kind.Atoms()] {
		for k, v := range x[i : i+3] {
			if v-v != 0 {
				return fmt.Sprintf("coordinate %s of {%d} is %v", "xyz"[k:k+1], i/3, v)
			}
		}
	}
	bent := func(i, j, k int) string {
		u, w := at(x, m.at[i]).minus(at(x, m.at[j])), at(x, m.at[k]).minus(at(x, m.at[j]))
		if s := u.cross(w).norm(); !(s > line*u.norm()*w.norm()) {
			return fmt.Sprintf("{%d}, {%d} and {%d} lie on a line", m.at[i]/3, m.at[j]/3, m.at[k]/3)
		}
		return ""
	}
	switch m.kind {
	case Distance:
		if m.value(x) == 0 {
			return fmt.Sprintf("{%d} and {%d} are at the same place", m.at[0]/3, m.at[1]/3)
		}
	case Angle:
		return bent(0, 1, 2)
	case Dihedral:
		if f := bent(0, 1, 2); f != "" {
			return f
		}
		return bent(1, 2, 3)
	}
	return ""
}

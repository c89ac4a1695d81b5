package conformation

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/internal/dense"
)

// An Internal is the conformations of a Set by internal coordinates. The bonds make a tree, in which each atom i is
// placed by the length of its bond to p, the angle i–p–q and the torsion i–p–q–r: r is the atom before q, or, for all
// neighbours of p but the first, that first one, so that one torsion turns them all. With Tilt, if a rigid group has p
// and two of these neighbours, but not q, the first is q for the second, so that one angle tilts the group. A point is
//
//	(cos φ, sin φ)   of each torsion about a bond, on a circle
//	u                of each angle, and of torsions that have a range or are of a centre with a hand:
//	                 the coordinate is m + (2h/π) atan(πκu/2h)
//
// So bonds of the tree keep their lengths, and stiff coordinates stay within h of m, where no hand changes and no angle
// is straight. What is in a rigid group or has a value is left out. Conditions that this does not keep are components
// h(X(s)) of the positions X at the point s; a bond that closes a ring has a range, its own or ± closing.
// With ω_a the axis of a coordinate a, which goes through the atom p,
//
//	∂X_j/∂a = ω_a × (X_j − X_p)   for the atoms j that a turns.
type Internal struct {
	constraint.Set                // circles × R^k, and what is left
	equalities     constraint.Set // the circles, if there are no other equalities beside inequalities
	open           constraint.Set // without the conditions that close rings, if these are the last inequalities
	positions      *Set
	links          []link
	turns          [][]int // by atom: the coordinates that turn it; link k has 2k, its angle, and 2k + 1, its torsion
	circles, dim   int
	κ              float64   // of angles
	start          []float64 // the template's point
}

// A link places an atom. An atom that is not there is −1.
type link struct {
	atom, p, q, r int
	length        float64
	straight      bool    // i–p–q is, and as in the template: who comes after i has the r of i
	by            [2]slot // angle, torsion
}

// A slot is where a coordinate stands in a point.
type slot struct {
	at               int // −1: it is m at all points
	circle           bool
	mid, half, scale float64 // m, h, κ
}

const (
	// MaxInternal bounds the atoms of an Internal.
	MaxInternal = 300
	heat        = 0.05 // κ of angles unless given: what heat changes them by, in radians
	rangeShare  = 0.25 // κ of a torsion's range over h
	linear      = 0.1  // radians: angles that are nearer to a line stay as they are
	closing     = 0.1  // Å: a bond that closes a ring and has no range may differ by so much, as bonds of frames do
	handedness  = 0.25 // least h of a centre's torsion in radians: a flatter one has no hand
	trials      = 64   // points at which a condition that construction keeps holds
)

// NewInternal makes the Internal of a Set that was made of spec.
func NewInternal(s *Set, spec Spec) (*Internal, error) {
	in := &Internal{positions: s, κ: cmp.Or(spec.AngleUnit, heat)}
	switch n := s.molecule.N(); {
	case s.template == nil || len(s.molecule.Bonds) == 0:
		return nil, errors.New("internal coordinates need a template with bonds")
	case n < 4 || n > MaxInternal:
		return nil, fmt.Errorf("%d atoms; internal coordinates are for 4 to %d", n, MaxInternal)
	case s.Dim() > s.molecule.Dim():
		return nil, errors.New("a coordinate is a condition, which only sets of positions know")
	}
	if err := in.tree(&spec); err != nil {
		return nil, err
	}
	var factors []constraint.Set
	for _, circle := range []bool{true, false} {
		for a := range 2 * len(in.links) {
			l := &in.links[a/2]
			b := &l.by[a%2]
			if b.circle != circle || b.scale == 0 {
				continue
			}
			if b.at, in.dim = in.dim, in.dim+1; circle {
				in.circles, in.dim = in.circles+1, in.dim+1
				factors = append(factors, constraint.Factor{Set: zoo.Sphere{D: 2},
					Name: fmt.Sprintf("torsion %d–%d–%d–%d", l.atom, l.p, l.q, l.r)})
			}
		}
	}
	if k := in.dim - 2*in.circles; k > 0 {
		factors = append(factors, constraint.Factor{Name: "stiff", Set: zoo.Euclidean{D: k}})
	}
	if factors == nil {
		return nil, errors.New("all angles and torsions are fixed")
	}
	in.Set, in.start = constraint.Product(factors...), make([]float64, in.dim)
	if err := in.Point(in.start, s.template); err != nil {
		return nil, err
	}
	given := spec.Conditions
	spec.Conditions = slices.DeleteFunc(slices.Clone(given), func(c Condition) bool {
		return in.keeps(c) ||
			c.Kind == Distance && c.Low == c.High && in.bonded(c.Atoms...) && slices.ContainsFunc(given, c.ranged)
	})
	closes, rest := spec, spec
	closes.Conditions, rest.Conditions, closes.Apart = nil, nil, nil
	for _, c := range spec.Conditions {
		if c.Kind == Distance && c.Low == c.High && in.bonded(c.Atoms...) {
			c.Low, c.High = c.Low-closing, c.High+closing
		}
		if c.Kind != Volume && c.Low < c.High && in.bonded(c.Atoms...) && !in.linked(c.Atoms) {
			closes.Conditions = append(closes.Conditions, c)
		} else {
			rest.Conditions = append(rest.Conditions, c)
		}
	}
	circles := in.Set
	for _, part := range []Spec{rest, closes} {
		if len(part.Conditions)+len(part.Apart) == 0 {
			continue
		}
		set, err := New(part)
		if err != nil {
			return nil, err
		}
		if closes.Conditions != nil {
			in.open = in.Set // in the end without the last part
		}
		in.Set = constraint.All(in.Set, in.Pull(set))
	}
	if in.Set != circles && len(in.Set.Equalities()) == len(circles.Equalities()) {
		in.equalities = circles
	}
	return in, nil
}

// ranged reports whether another condition gives the distance of the same atoms a range of two ends.
func (c *Condition) ranged(d Condition) bool {
	return d.Kind == Distance && d.Low < d.High && !math.IsInf(d.High-d.Low, 1) &&
		slices.Contains(d.Atoms, c.Atoms[0]) && slices.Contains(d.Atoms, c.Atoms[1])
}

// bonded reports whether each of some atoms has a bond to the next.
func (s *Internal) bonded(atoms ...int) bool {
	near := s.positions.molecule.Neighbours()
	for k := range len(atoms) - 1 {
		if !slices.Contains(near[atoms[k]], atoms[k+1]) {
			return false
		}
	}
	return true
}

// linked reports whether the tree has the bonds from each of some atoms to the next.
func (s *Internal) linked(atoms []int) bool {
	for k := range len(atoms) - 1 {
		a, b := atoms[k], atoms[k+1]
		if !slices.ContainsFunc(s.links, func(l link) bool {
			return l.atom == a && l.p == b || l.atom == b && l.p == a
		}) {
			return false
		}
	}
	return true
}

// span returns the atoms in the order of the tree, from the one with the most neighbours outwards, their parents, and
// the neighbours of each atom: with tilt, first those that a rigid group has with it and with another of them.
func span(m *molecule.Molecule, rigid [][]int, tilt bool) (order, parent []int, near [][]int) {
	near = m.Neighbours()
	root := 0
	for i := range near {
		if len(near[i]) > len(near[root]) {
			root = i
		}
	}
	order, parent = []int{root}, slices.Repeat([]int{-1}, m.N())
	for k := 0; k < len(order); k++ {
		i := order[k]
		var grouped, others []int
		for _, j := range near[i] {
			if tilt && slices.ContainsFunc(near[i], func(l int) bool { return l != j && together(rigid, i, j, l) }) {
				grouped = append(grouped, j)
			} else {
				others = append(others, j)
			}
		}
		near[i] = append(grouped, others...)
		for _, j := range near[i] {
			if j != root && parent[j] < 0 {
				parent[j], order = i, append(order, j)
			}
		}
	}
	return order, parent, near
}

// together reports whether a rigid group has all of some atoms.
func together(rigid [][]int, atoms ...int) bool {
	return slices.ContainsFunc(rigid, func(group []int) bool {
		return !slices.ContainsFunc(atoms, func(i int) bool { return !slices.Contains(group, i) })
	})
}

// Closing returns the bonds that close rings of an Internal with Tilt: neither the tree nor a rigid group has them.
func Closing(m *molecule.Molecule, rigid [][]int) []molecule.Bond {
	_, parent, _ := span(m, rigid, true)
	return slices.DeleteFunc(slices.Clone(m.Bonds), func(b molecule.Bond) bool {
		return parent[b[0]] == b[1] || parent[b[1]] == b[0] || together(rigid, b[:]...)
	})
}

// tree makes the links with the template's values.
func (s *Internal) tree(spec *Spec) error {
	m, x := s.positions.molecule, s.positions.template
	order, parent, near := span(m, spec.Rigid, spec.Tilt)
	root := order[0]
	first := slices.Repeat([]int{-1}, m.N()) // by p: its first neighbour
	s.turns = make([][]int, m.N())
	for k, i := range order {
		l := link{atom: i, p: parent[i], q: -1, r: -1, by: [2]slot{{at: -1}, {at: -1}}}
		if k > 0 {
			l.length, l.q = molecule.Distance(x, i, l.p), parent[l.p]
			s.turns[i] = slices.Clone(s.turns[l.p])
		}
		if k < 2 {
			s.links = append(s.links, l)
			continue
		}
		if l.q < 0 {
			l.q = order[1]
		}
		lead := first[l.p]
		switch {
		case spec.Tilt && lead >= 0 && together(spec.Rigid, i, l.p, lead) && !together(spec.Rigid, i, l.p, l.q):
			l.q, l.r = lead, l.q
			s.turns[i] = slices.Clone(s.turns[lead])
		case lead >= 0:
			l.r = lead
			s.turns[i] = append(s.turns[i], 2*slices.Index(order, lead)+1)
		case l.p == order[1]:
			l.r, first[l.p] = order[2], i
		case l.p != root && l.q == root:
			l.r, first[l.p] = order[1], i
		default:
			first[l.p] = i
			if before := &s.links[slices.Index(order, l.p)]; before.straight {
				l.r = before.r
			} else if l.p != root {
				l.r = parent[l.q]
			}
		}
		if spec.Tilt && lead < 0 && !together(spec.Rigid, i, l.p, l.q, l.r) {
			for _, j := range near[l.q] { // that is placed, and of the group
				if j != l.p && together(spec.Rigid, i, l.p, l.q, j) && slices.Contains(order[:k], j) {
					l.r = j
				}
			}
		}
		s.turns[i] = append(s.turns[i], 2*k, 2*k+1)
		θ := molecule.Angle(x, i, l.p, l.q)
		l.by[0] = slot{at: -1, mid: θ, half: min(θ, math.Pi-θ), scale: s.κ}
		if l.straight = l.by[0].half < linear; l.straight && l.r < 0 {
			return fmt.Errorf("atoms %s, %s and %s are on a line, and the molecule has no torsion to begin with",
				m.Label(i), m.Label(l.p), m.Label(l.q))
		}
		s.condition(spec, &l, lead >= 0)
		s.links = append(s.links, l)
	}
	if len(order) < m.N() {
		return fmt.Errorf("its bonds join %d of the %d atoms of the template; internal coordinates are of one "+
			"molecule: leave out counter-ions and solvent", len(order), m.N())
	}
	return nil
}

// condition makes the slot of a link's torsion, and notes in both what conditions ask of them.
func (s *Internal) condition(spec *Spec, l *link, sibling bool) {
	atoms := []int{l.atom, l.p, l.q, l.r}
	if l.r >= 0 {
		φ := molecule.Torsion(s.positions.template, l.atom, l.p, l.q, l.r)
		l.by[1] = slot{at: -1, circle: true, mid: φ, half: min(math.Abs(φ), math.Pi-math.Abs(φ)), scale: 1}
	}
	for e := range l.by {
		own, b := atoms[:3+e], &l.by[e]
		for _, c := range spec.Conditions {
			h, back := (c.High-c.Low)/2, slices.Clone(c.Atoms)
			slices.Reverse(back)
			switch same := slices.Equal(own, c.Atoms) || slices.Equal(own, back); {
			case c.Kind == Volume && e == 1 && sibling && c.Atoms[0] == l.p && b.circle && b.half > handedness:
				b.circle, b.scale = false, s.κ
			case e == 1 && sibling && l.flattens(c):
				*b = slot{at: -1, mid: math.Pi}
			case c.Kind != Kind(int(Angle)+e) || c.Windows != nil || !same:
			case h == 0:
				*b = slot{at: -1, mid: c.Low}
			case e == 1 && b.scale > 0:
				*b = slot{at: -1, mid: c.Low + h, half: h, scale: max(s.κ, h*rangeShare)}
			}
		}
		if l.straight || together(spec.Rigid, own...) {
			b.circle, b.scale = false, 0
		}
	}
}

// flattens reports whether a condition keeps the bonds of p to i, q and r in a plane, in whatever order it names them.
func (l *link) flattens(c Condition) bool {
	if c.Kind != Dihedral || c.Low != c.High || math.Abs(math.Remainder(c.Low-math.Pi, 2*math.Pi)) > same {
		return false
	}
	own, atoms := []int{l.p, l.atom, l.q, l.r}, []int{c.Atoms[1], c.Atoms[0], c.Atoms[2], c.Atoms[3]}
	slices.Sort(own[1:])
	slices.Sort(atoms[1:])
	return slices.Equal(own, atoms)
}

// keeps reports whether construction keeps a condition. Distances and angles with a range are looked after always:
// trials could miss what seldom happens.
func (s *Internal) keeps(c Condition) bool {
	if c.Low < c.High && c.Kind != Volume && c.Kind != Dihedral {
		return false
	}
	if slices.ContainsFunc(s.links, func(l link) bool {
		return l.by[1].at < 0 && math.Abs(math.Remainder(l.by[1].mid-math.Pi, 2*math.Pi)) <= same && l.flattens(c)
	}) {
		return true
	}
	f, point := s.newFrame(), make([]float64, s.dim)
	for trial := range trials {
		for j := range point { // all angles, and up to the ends of ranges
			point[j] = math.Tan(float64(1 + trial + (1+j)*(1+j)*(7+trial)))
		}
		if f.place(point); !(c.Excess(f.x) < same) {
			return false
		}
	}
	return true
}

// Positions returns the Set of the same conformations by positions.
func (s *Internal) Positions() *Set { return s.positions }

// Torsions returns how many circles a point begins with.
func (s *Internal) Torsions() int { return s.circles }

// Capabilities implements constraint.Set.
func (s *Internal) Capabilities() constraint.Capabilities {
	c := s.Set.Capabilities()
	c.Name = fmt.Sprintf("%v by %d torsions and %d stiff coordinates", s.positions, s.circles, s.dim-2*s.circles)
	if s.equalities != nil {
		c.Equalities = func() constraint.Set { return s.equalities }
	}
	if s.open != nil {
		c.Open = func() constraint.Set { return s.open }
	}
	c.Start = func(dst []float64, stream keyed.Stream, sample uint64, try int) {
		stream.Normals(dst, sample, try)
		dense.AddScaled(dst, s.start, loose, dst)
	}
	return c
}

// Placed returns the positions of points, each in a frame of its own.
func (s *Internal) Placed(points []float64) (x []float64) {
	f := s.newFrame()
	for point := range slices.Chunk(points, s.dim) {
		f.place(point)
		x = append(x, f.x...)
	}
	return x
}

// Point writes the point of positions x: their torsions and angles, whatever lengths their bonds have.
func (s *Internal) Point(dst, x []float64) error {
	for _, l := range s.links {
		for e, b := range l.by {
			if b.at < 0 {
				continue
			}
			q := molecule.Angle(x, l.atom, l.p, l.q)
			if e == 1 {
				q = molecule.Torsion(x, l.atom, l.p, l.q, l.r)
			}
			δ := math.Remainder(q-b.mid, 2*math.Pi)
			if m := s.positions.molecule; !(b.circle && q-q == 0 || math.Abs(δ) < b.half) {
				return fmt.Errorf("atom %s is not where the set has it, seen from %s and %s: its centre has another "+
					"hand, it is on another side of a double bond, or on a line with them", m.Label(l.atom),
					m.Label(l.p), m.Label(l.q))
			}
			if b.circle {
				dst[b.at+1], dst[b.at] = math.Sincos(q)
			} else {
				dst[b.at] = math.Tan(δ*math.Pi/2/b.half) / (b.scale * math.Pi / 2 / b.half)
			}
		}
	}
	return nil
}

// value returns the coordinate of a slot.
func (b *slot) value(point []float64) float64 {
	switch {
	case b.at < 0:
		return b.mid
	case b.circle:
		return math.Atan2(point[b.at+1], point[b.at])
	}
	return b.mid + 2*b.half/math.Pi*math.Atan(math.Pi*b.scale*point[b.at]/(2*b.half))
}

// A frame is positions at a point, and axes and derivatives by coordinate.
type frame struct {
	*Internal
	x    []float64
	axis []vec
	g    []float64
}

func (s *Internal) newFrame() *frame {
	n := len(s.links)
	return &frame{s, make([]float64, 3*n), make([]vec, 2*n), make([]float64, 2*n)}
}

func (f *frame) place(point []float64) {
	for k := range f.links {
		l := &f.links[k]
		if l.q < 0 {
			vec{x: l.length}.put(f.x[3*l.atom:]) // the first atom is at 0, and has no length
			continue
		}
		p, q := at(f.x, 3*l.p), at(f.x, 3*l.q)
		along := p.minus(q).times(1 / p.minus(q).norm())
		n := vec{z: 1}
		if l.r >= 0 {
			n = q.minus(at(f.x, 3*l.r)).cross(along)
			n = n.times(1 / n.norm())
		}
		sinθ, cosθ := math.Sincos(l.by[0].value(point))
		sinφ, cosφ := math.Sincos(l.by[1].value(point)) // 0 without r
		e := n.cross(along).times(cosφ).add(sinφ, n)
		p.add(-l.length*cosθ, along).add(l.length*sinθ, e).put(f.x[3*l.atom:])
		f.axis[2*k], f.axis[2*k+1] = e.cross(along), along
	}
}

// pull writes the derivatives by a point of what has the derivatives row by positions.
func (f *frame) pull(dst, point, row []float64) {
	clear(f.g)
	for j, turns := range f.turns {
		if force := at(row, 3*j); force != (vec{}) {
			for _, a := range turns {
				f.g[a] += force.dot(f.axis[a].cross(at(f.x, 3*j).minus(at(f.x, 3*f.links[a/2].p))))
			}
		}
	}
	for a, g := range f.g {
		switch b := &f.links[a/2].by[a%2]; {
		case b.at < 0:
		case b.circle:
			cos, sin := point[b.at], point[b.at+1]
			g /= cos*cos + sin*sin
			dst[b.at], dst[b.at+1] = -g*sin, g*cos
		default:
			w := math.Pi * b.scale * point[b.at] / (2 * b.half)
			dst[b.at] = g * b.scale / (1 + w*w)
		}
	}
}

// Pull returns the components of a set of positions at the positions of points.
func (s *Internal) Pull(rest constraint.Set) constraint.Set { return &pulled{s, rest} }

type pulled struct {
	*Internal
	rest constraint.Set
}

func (s *pulled) Dim() int               { return s.dim }
func (s *pulled) Equalities() []string   { return s.rest.Equalities() }
func (s *pulled) Inequalities() []string { return s.rest.Inequalities() }

func (s *pulled) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: constraint.Name(s.rest), Formulas: s.formulas}
}

// halfStep is that of differences of first derivatives, which are right to 10⁻⁹ of them.
const halfStep = 3e-5

func (s *pulled) NewEvaluator(int) constraint.Evaluator {
	f, inner, d, wide := s.newFrame(), s.rest.NewEvaluator(1), s.dim, s.rest.Dim()
	c := len(constraint.Components(s.rest))
	all, own, beside, shifted := make([]float64, c*wide), make([]float64, c), make([]float64, c*d), make([]float64, d)
	jacobians := func(values, jac, x []float64, n int) {
		for i := range n {
			point := x[i*d : (i+1)*d]
			f.place(point)
			inner.Jacobians(values[i*c:(i+1)*c], all, f.x, 1)
			for k := range c {
				f.pull(jac[(i*c+k)*d:(i*c+k+1)*d], point, all[k*wide:(k+1)*wide])
			}
		}
	}
	return constraint.Evaluator{Jacobians: jacobians, Values: func(values, x []float64, n int) {
		for i := range n {
			f.place(x[i*d : (i+1)*d])
			inner.Values(values[i*c:(i+1)*c], f.x, 1)
		}
	}, HessianVectors: func(dst, x, v []float64, n int) { // (∇c(x + εv) − ∇c(x − εv))/2ε
		clear(dst[:n*c*d])
		for i := range n {
			size := dense.Norm(v[i*d : (i+1)*d])
			for _, ε := range []float64{halfStep / size, -halfStep / size} {
				if size > 0 {
					dense.AddScaled(shifted, x[i*d:(i+1)*d], ε, v[i*d:(i+1)*d])
					jacobians(own, beside, shifted, 1)
					dense.Axpy(dst[i*c*d:(i+1)*c*d], 1/(2*ε), beside)
				}
			}
		}
	}}
}

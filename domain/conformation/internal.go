package conformation

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/domain/molecule"
)

// An Internal is the conformations of a Set by internal coordinates. The bonds make a tree, in which each atom i is
// placed by the length of its bond to p, the angle i–p–q and the torsion i–p–q–r: r is the atom before q, or, for all
// neighbours of p but the first, that first one, so that one torsion turns them all. A point is
//
//	(cos φ, sin φ)   of each torsion about a bond, on a circle
//	u                of each angle, and of torsions that have a range or are of a centre with a hand:
//	                 the coordinate is m + (2h/π) atan(πκu/2h)
//
// So bonds of the tree keep their lengths, and stiff coordinates stay within h of m, where no hand changes and no angle
// is straight. What is in a rigid group or has a value is left out. Conditions that this does not keep are components
// h(X(s)) of the positions X at the point s. With ω_a the axis of a coordinate a, which goes through the atom p,
//
//	∂X_j/∂a = ω_a × (X_j − X_p)   for the atoms j that a turns.
type Internal struct {
	constraint.Set // circles × R^k, and what is left
	positions      *Set
	links          []link
	turns          [][]int // by atom: the coordinates that turn it; link k has 2k, its angle, and 2k + 1, its torsion
	circles, dim   int
	start          []float64 // the template's point
}

// A link places an atom. An atom that is not there is −1.
type link struct {
	atom, p, q, r int
	length        float64
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
	stiffness   = 0.05 // κ of angles: what heat changes them by, in radians
	rangeShare  = 0.25 // κ of a torsion's range over h
	handedness  = 0.25 // least h of a centre's torsion in radians: a flatter one has no hand
	trials      = 64   // points at which a condition that construction keeps holds
)

// NewInternal makes the Internal of a Set that was made of spec.
func NewInternal(s *Set, spec Spec) (*Internal, error) {
	in := &Internal{positions: s}
	switch n := s.molecule.N(); {
	case s.template == nil || len(s.molecule.Bonds) == 0:
		return nil, errors.New("internal coordinates need a template with bonds")
	case n < 4 || n > MaxInternal:
		return nil, fmt.Errorf("%d atoms; internal coordinates are for 4 to %d", n, MaxInternal)
	}
	if err := in.tree(); err != nil {
		return nil, err
	}
	var factors []constraint.Set
	for _, circle := range []bool{true, false} {
		for k := range in.links {
			l := &in.links[k]
			for e := range l.by {
				b := &l.by[e]
				if b.circle != circle || !circle && b.scale == 0 || in.fixed(spec, l, e) {
					continue
				}
				if b.at, in.dim = in.dim, in.dim+1; circle {
					in.circles, in.dim = in.circles+1, in.dim+1
					factors = append(factors, constraint.Factor{Set: zoo.Sphere{D: 2},
						Name: fmt.Sprintf("torsion %d–%d–%d–%d", l.atom, l.p, l.q, l.r)})
				}
			}
		}
	}
	if k := in.dim - 2*in.circles; k > 0 {
		factors = append(factors, constraint.Factor{Name: "stiff", Set: zoo.Euclidean{D: k}})
	}
	if factors == nil {
		return nil, errors.New("nothing can move: all angles and torsions are fixed")
	}
	in.Set, in.start = constraint.Product(factors...), make([]float64, in.dim)
	if err := in.Point(in.start, s.template); err != nil {
		return nil, err
	}
	spec.Conditions = slices.DeleteFunc(slices.Clone(spec.Conditions), in.keeps)
	if len(spec.Conditions)+len(spec.Apart) > 0 {
		rest, err := New(spec)
		if err != nil {
			return nil, err
		}
		in.Set = constraint.All(in.Set, &pulled{in, rest})
	}
	return in, nil
}

// tree makes the links, from the middle of the molecule outwards, with the template's values.
func (s *Internal) tree() error {
	m, x := s.positions.molecule, s.positions.template
	near := m.Neighbours()
	var order, parent []int
	walk := func(root int) (far int) {
		order, parent = []int{root}, slices.Repeat([]int{-1}, m.N())
		depth := make([]int, m.N())
		for k := 0; k < len(order); k++ {
			for _, j := range near[order[k]] {
				if j != root && parent[j] < 0 {
					parent[j], depth[j], order = order[k], depth[order[k]]+1, append(order, j)
				}
			}
		}
		return depth[order[len(order)-1]]
	}
	root, least := 0, m.N()
	for i := range near {
		if far := walk(i); len(near[i]) > 1 && far < least {
			root, least = i, far
		}
	}
	if walk(root); len(order) < m.N() || least == m.N() {
		return errors.New("the template's bonds do not join all atoms; internal coordinates are of one molecule")
	}
	s.turns = make([][]int, m.N())
	first := map[int]int{} // by p: the link of its first neighbour
	for k, i := range order {
		l := link{atom: i, p: parent[i], q: -1, r: -1, by: [2]slot{{at: -1}, {at: -1}}}
		if k > 0 {
			l.length, s.turns[i] = molecule.Distance(x, i, l.p), slices.Clone(s.turns[l.p])
			l.q = parent[l.p]
		}
		if k < 2 {
			s.links = append(s.links, l)
			continue
		}
		if l.q < 0 {
			l.q = order[1]
		}
		lead, sibling := first[l.p]
		switch {
		case sibling:
			l.r = s.links[lead].atom
			s.turns[i] = append(s.turns[i], 2*lead+1)
		case parent[l.q] >= 0 && l.p != root:
			l.r = parent[l.q]
		case l.p == order[1]:
			l.r = order[2]
		case k > 2:
			l.r = order[1]
		}
		if !sibling {
			first[l.p] = k
		}
		s.turns[i] = append(s.turns[i], 2*k, 2*k+1)
		θ := molecule.Angle(x, i, l.p, l.q)
		l.by[0] = slot{at: -1, mid: θ, half: min(θ, math.Pi-θ), scale: stiffness}
		if !(l.by[0].half > straight) {
			return fmt.Errorf("atoms %s, %s and %s are on a line in the template, where torsions have no value; expected "+
				"coordinates: positions", m.Label(i), m.Label(l.p), m.Label(l.q))
		}
		if l.r >= 0 {
			l.by[1] = s.torsion(&l, sibling)
		}
		s.links = append(s.links, l)
	}
	return nil
}

// torsion returns the slot of a link's torsion.
func (s *Internal) torsion(l *link, sibling bool) slot {
	φ := molecule.Torsion(s.positions.template, l.atom, l.p, l.q, l.r)
	out, half := slot{at: -1, circle: true, mid: φ}, min(math.Abs(φ), math.Pi-math.Abs(φ))
	for _, c := range s.positions.conditions {
		if h := (c.High - c.Low) / 2; h > 0 && l.is(c.Coordinate, 1) {
			return slot{at: -1, mid: c.Low + h, half: h, scale: max(stiffness, h*rangeShare)}
		}
		if c.Kind == Volume && sibling && c.Atoms[0] == l.p && half > handedness {
			out = slot{at: -1, mid: φ, half: half, scale: stiffness}
		}
	}
	return out
}

// is reports whether a coordinate is the link's angle (0) or torsion (1).
func (l *link) is(c Coordinate, which int) bool {
	a := []int{l.atom, l.p, l.q, l.r}[:3+which]
	if c.Atoms[0] != l.atom {
		slices.Reverse(a)
	}
	return c.Kind == Kind(int(Angle)+which) && slices.Equal(a, c.Atoms)
}

// fixed reports whether a link's coordinate is that of a rigid group, or has a value, which it then notes.
func (s *Internal) fixed(spec Spec, l *link, which int) bool {
	for _, c := range spec.Conditions {
		if c.Low == c.High && l.is(c.Coordinate, which) {
			l.by[which].mid = c.Low
			return true
		}
	}
	return slices.ContainsFunc(spec.Rigid, func(group []int) bool {
		return !slices.ContainsFunc([]int{l.atom, l.p, l.q, l.r}[:3+which], func(i int) bool {
			return !slices.Contains(group, i)
		})
	})
}

// keeps reports whether construction keeps a condition. Distances and angles with a range are looked after always:
// trials could miss what seldom happens.
func (s *Internal) keeps(c Condition) bool {
	if c.Low < c.High && c.Kind != Volume && c.Kind != Dihedral {
		return false
	}
	f, point := s.newFrame(), make([]float64, s.dim)
	for trial := range trials {
		for j := range point { // all angles, and up to the ends of ranges
			point[j] = math.Tan(float64(1 + trial + (1+j)*(1+j)*(7+trial)))
		}
		if s.place(f, point); !(c.Excess(f.x) < same) {
			return false
		}
	}
	return true
}

// Positions returns the Set of the same conformations by positions.
func (s *Internal) Positions() *Set { return s.positions }

// Capabilities implements constraint.Set.
func (s *Internal) Capabilities() constraint.Capabilities {
	c := s.Set.Capabilities()
	c.Name = fmt.Sprintf("%v by %d torsions and %d stiff coordinates", s.positions, s.circles, s.dim-2*s.circles)
	c.Start = func(dst []float64, stream keyed.Stream, sample uint64, try int) {
		stream.Normals(dst, sample, try)
		for j, v := range s.start {
			dst[j] = v + loose*dst[j]
		}
	}
	return c
}

// Place writes the positions of a point, in a frame of its own.
func (s *Internal) Place(dst, point []float64) {
	f := s.newFrame()
	s.place(f, point)
	copy(dst, f.x)
}

// Point writes the point of positions x: their torsions and angles, whatever lengths their bonds have.
func (s *Internal) Point(dst, x []float64) error {
	for k := range s.links {
		l := &s.links[k]
		for e, b := range l.by {
			if b.at < 0 {
				continue
			}
			q := molecule.Angle(x, l.atom, l.p, l.q)
			if e == 1 {
				q = molecule.Torsion(x, l.atom, l.p, l.q, l.r)
			}
			if δ := math.Remainder(q-b.mid, 2*math.Pi); b.circle {
				dst[b.at+1], dst[b.at] = math.Sincos(q)
			} else if dst[b.at] = math.Tan(math.Pi*δ/(2*b.half)) * 2 * b.half / (math.Pi * b.scale); math.Abs(δ) >= b.half {
				q = math.NaN()
			}
			if m := s.positions.molecule; q-q != 0 {
				return fmt.Errorf("atom %s is not where the set has it, seen from %s and %s: its centre has another hand, "+
					"it is on another side of a double bond, or on a line with them", m.Label(l.atom), m.Label(l.p),
					m.Label(l.q))
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

// A frame is positions at a point, and axes by coordinate.
type frame struct {
	x    []float64
	axis []vec
}

func (s *Internal) newFrame() *frame {
	return &frame{make([]float64, 3*len(s.links)), make([]vec, 2*len(s.links))}
}

func (s *Internal) place(f *frame, point []float64) {
	for k := range s.links {
		l := &s.links[k]
		if l.q < 0 {
			vec{x: l.length}.put(f.x[3*l.atom:]) // the first atom is at 0, and has no length
			continue
		}
		p := at(f.x, 3*l.p)
		along := p.minus(at(f.x, 3*l.q))
		along = along.times(1 / along.norm())
		φ, m, n := 0.0, vec{y: 1}, vec{z: 1}
		if l.r >= 0 {
			n = at(f.x, 3*l.q).minus(at(f.x, 3*l.r)).cross(along)
			n = n.times(1 / n.norm())
			φ, m = l.by[1].value(point), n.cross(along)
		}
		sinθ, cosθ := math.Sincos(l.by[0].value(point))
		sinφ, cosφ := math.Sincos(φ)
		e := m.times(cosφ).add(sinφ, n)
		p.add(-l.length*cosθ, along).add(l.length*sinθ, e).put(f.x[3*l.atom:])
		f.axis[2*k], f.axis[2*k+1] = e.cross(along), along
	}
}

// pulled is the components of a Set at the positions of points.
type pulled struct {
	*Internal
	rest *Set
}

func (s *pulled) Dim() int               { return s.dim }
func (s *pulled) Equalities() []string   { return s.rest.Equalities() }
func (s *pulled) Inequalities() []string { return s.rest.Inequalities() }

func (s *pulled) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: s.rest.String(), Fault: func(x []float64) error {
		f := s.newFrame()
		s.place(f, x)
		return s.rest.fault(f.x)
	}}
}

func (s *pulled) NewEvaluator(int) constraint.Evaluator {
	f, inner, g, shifted := s.newFrame(), s.rest.NewEvaluator(1), make([]float64, 2*len(s.links)), make([]float64, s.dim)
	c, wide := len(s.rest.components), s.rest.Dim()
	all, own, beside := make([]float64, c*wide), make([]float64, c), make([]float64, c*s.dim)
	values := func(values, x []float64, n int) {
		for i := range n {
			s.place(f, x[i*s.dim:(i+1)*s.dim])
			inner.Values(values[i*c:(i+1)*c], f.x, 1)
		}
	}
	jacobians := func(values, jac, x []float64, n int) {
		for i := range n {
			point := x[i*s.dim : (i+1)*s.dim]
			s.place(f, point)
			inner.Jacobians(values[i*c:(i+1)*c], all, f.x, 1)
			for k := range c {
				s.pull(jac[(i*c+k)*s.dim:(i*c+k+1)*s.dim], g, f, point, all[k*wide:(k+1)*wide])
			}
		}
	}
	// Second derivatives are differences of the first: (∇c(x + εv) − ∇c(x − εv))/2ε, right to 10⁻⁹ of them.
	hessians := func(dst, x, v []float64, n int) {
		for i := range n {
			to, size := dst[i*c*s.dim:(i+1)*c*s.dim], 0.0
			for _, e := range v[i*s.dim : (i+1)*s.dim] {
				size += e * e
			}
			clear(to)
			for _, ε := range []float64{3e-5, -3e-5} {
				if ε /= math.Sqrt(size); size == 0 {
					continue
				}
				for j := range shifted {
					shifted[j] = x[i*s.dim+j] + ε*v[i*s.dim+j]
				}
				jacobians(own, beside, shifted, 1)
				for j, g := range beside {
					to[j] += g / (2 * ε)
				}
			}
		}
	}
	return constraint.Evaluator{Values: values, Jacobians: jacobians, HessianVectors: hessians}
}

// pull writes the derivatives by a point of what has the derivatives row by positions; g has room for coordinates.
func (s *Internal) pull(dst, g []float64, f *frame, point, row []float64) {
	clear(g)
	for j, turns := range s.turns {
		if force := at(row, 3*j); force != (vec{}) {
			for _, a := range turns {
				g[a] += force.dot(f.axis[a].cross(at(f.x, 3*j).minus(at(f.x, 3*s.links[a/2].p))))
			}
		}
	}
	for k := range s.links {
		for e, b := range s.links[k].by {
			switch {
			case b.at < 0:
			case b.circle:
				c, sin := point[b.at], point[b.at+1]
				dst[b.at], dst[b.at+1] = -g[2*k+e]*sin/(c*c+sin*sin), g[2*k+e]*c/(c*c+sin*sin)
			default:
				w := math.Pi * b.scale * point[b.at] / (2 * b.half)
				dst[b.at] = g[2*k+e] * b.scale / (1 + w*w)
			}
		}
	}
}

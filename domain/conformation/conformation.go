// Package conformation describes feasible sets of molecules: positions x ∈ R^{3A} of A
// atoms, atom by atom, on whose internal coordinates there are conditions,
//
//	q(x) = q*          an equality; an angle about a bond is compared on the circle,
//	lo ≤ q(x) ≤ hi     two inequalities, or their maximum as one,
//	‖x_a − x_b‖ ≥ r    for pairs of atoms that shall not overlap,
//	q(x) ∈ ∪ᵢ [loᵢ, hiᵢ]  of a dihedral: a smooth inequality for each gap between the arcs,
//	min_b ‖x_a − x_b‖ ≤ r  for the nearest of a group of atoms b,
//	q(x) = c           of points (x, c), where c is given with each,
//
// with q a distance, an angle, a dihedral or a signed volume, and exact first and second
// derivatives. Rigid, Bonds and BondAngles make conditions of a template's positions.
//
// Translations and rotations change no internal coordinate, so Σ is not compact and has no uniform law:
// docs/molecules.md says what noise and prior make of them. The package reads no files.
package conformation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/internal/vec3"
)

// A Condition bounds one internal coordinate q: Low ≤ q ≤ High, an equality where they are equal. An infinite bound is
// none. Those of a dihedral are an arc of the circle, from Low counterclockwise to High, High − Low < 2π; it may cross
// π.
type Condition struct {
	Name string // for messages; made of the atoms' names unless given
	Coordinate
	Low, High float64 // Å, radians, Å³

	// Windows are two or more arcs of a dihedral, instead of Low and High.
	Windows [][2]float64
	// Given says that a dihedral or distance, of a Name, is what the point says in numbers behind its positions: of a
	// dihedral its cosine and sine.
	Given bool
}

// Apart asks some pairs of atoms for a distance of at least Min. Of several entries that
// name a pair the largest counts.
type Apart struct {
	Name  string // for messages; made of the atoms' names unless given
	Pairs [][2]int
	Min   float64 // Å
}

// A Spec says what a Set is made of.
type Spec struct {
	Molecule   *molecule.Molecule
	Template   []float64 // positions near Σ, for chains to start from; nil: they have none
	Conditions []Condition
	Apart      []Apart
	// Max makes one inequality of each window, the larger of its two sides, and one of each Apart, that of the nearest
	// pair. It has a kink where they change places; the default are smooth. A dihedral's window within (−π, π] is then
	// max(θ − High, Low − θ) as the paper has it, not on the circle: from beyond the cut at π the way back is the long
	// one.
	Max bool
	// Kept are the atoms of the set among Of atoms, as files of frames have them; nil: all.
	Kept []int
	Of   int
	// Rigid are the groups whose conditions, of Rigid, are among Conditions.
	Rigid [][]int
	// AngleUnit is the κ of an Internal, in radians; 0: 0.05.
	AngleUnit float64
	// Tilt makes an Internal place rigid groups as a whole; without it groups may be equalities.
	Tilt bool
}

// An Error says what in a Spec cannot be.
type Error struct {
	Condition int // its number, or −1
	Apart     int // likewise
	Fault     string
}

func (e *Error) Error() string { return "conformation: " + e.Fault }

const (
	// MaxComponents bounds the components of a set.
	MaxComponents = 16_384
	// straight is how near to 0 or π a bond angle may be fixed or have a wall: its second derivatives grow as 1/sin θ.
	straight = math.Pi / 180
	// same: two values that one coordinate is fixed at are the same.
	same = 1e-9
)

// A Set is the set of a Spec.
type Set struct {
	molecule   *molecule.Molecule
	template   []float64
	conditions []Condition
	measures   []measure
	components []component // equalities first
	equalities []string
	rest       []string
	support    [][]int
	row        int // derivatives along the support, at one point
	given      []string
	kept       []int
	of         int
}

// A component is the largest of its terms, or the least: of one, that term.
type component struct {
	terms []term
	least bool
	from  int // where its derivatives begin in a packed row
	atoms int
}

// A term is ±(q − ref) + offset, the difference of a dihedral taken on the circle.
type term struct {
	measure int
	sign    float64
	ref     float64
	offset  float64
	circle  bool
	place   [4]int // of its atoms' derivatives in the component's packed ones
}

func (t *term) value(q float64) float64 {
	δ := q - t.ref
	if t.circle {
		δ = wrap(δ)
	}
	return t.sign*δ + t.offset
}

// wrap returns the angle in (−π, π] that differs from θ, in (−2π, 2π), by whole turns.
func wrap(θ float64) float64 {
	switch {
	case θ > math.Pi:
		return θ - 2*math.Pi
	case θ <= -math.Pi:
		return θ + 2*math.Pi
	}
	return θ
}

// New makes a Set. Equalities that are there twice count once. The error is an *Error.
func New(spec Spec) (*Set, error) {
	b := builder{set: &Set{molecule: spec.Molecule, template: slices.Clone(spec.Template),
		conditions: slices.Clone(spec.Conditions), kept: spec.Kept, of: spec.Of}, max: spec.Max,
		measure: map[string]int{}, fixed: map[int]float64{}, seen: map[string]bool{}}
	for i, c := range spec.Conditions {
		if b.condition(i, c); b.fault != "" {
			return nil, &Error{i, -1, b.fault}
		}
	}
	b.farthest(spec.Apart)
	for i, a := range spec.Apart {
		if b.apart(a); b.fault != "" {
			return nil, &Error{-1, i, b.fault}
		}
	}
	return b.finish()
}

// A builder adds components one by one, up to the first fault.
type builder struct {
	fault      string
	set        *Set
	max        bool
	measure    map[string]int  // coordinates seen
	fixed      map[int]float64 // values of fixed ones
	windows    []window
	seen       map[string]bool // names
	least      map[[2]int]float64
	equalities []named
	rest       []named
}

type window struct {
	measure, condition int
	Condition
}

type named struct {
	name  string
	terms []term
	least bool
}

func (b *builder) refuse(format string, v ...any) {
	if b.fault == "" {
		b.fault = fmt.Sprintf(format, v...)
	}
}

// coordinate returns the number of the measure of a coordinate, of a dihedral with a gap or a coordinate with a given
// value that of its own.
func (b *builder) coordinate(c Coordinate, with ...measure) int {
	if n := c.Kind.Atoms(); len(c.Atoms) != n {
		b.refuse("%d atoms; expected the %d of %s", len(c.Atoms), n, c.Kind.one())
	}
	for i, a := range c.Atoms {
		if a < 0 || a >= b.set.molecule.N() {
			b.refuse("there is no atom %d: there are %d, from 0", a, b.set.molecule.N())
		} else if slices.Contains(c.Atoms[:i], a) {
			b.refuse("atom %s is there twice", b.set.molecule.Label(a))
		}
	}
	if b.fault != "" {
		return 0
	}
	// Read from either end it is the same: of a volume too, whose four atoms swap in pairs.
	atoms := slices.Clone(c.Atoms)
	if n := len(atoms); atoms[0] > atoms[n-1] {
		slices.Reverse(atoms)
	}
	key := fmt.Sprint(c.Kind, atoms, with)
	i, ok := b.measure[key]
	if !ok {
		i = len(b.set.measures)
		b.measure[key] = i
		m := newMeasure(Coordinate{c.Kind, atoms})
		for _, w := range with {
			m.mid, m.half, m.given = w.mid, w.half, w.given
		}
		b.set.measures = append(b.set.measures, m)
	}
	return i
}

func (b *builder) condition(number int, c Condition) {
	if c.Kind == Nearest {
		b.nearest(c)
		return
	}
	i := b.coordinate(c.Coordinate)
	if fault := c.fault(); fault != "" && !c.Given {
		b.refuse("%s", fault)
	}
	if b.fault != "" {
		return
	}
	name := cmp.Or(c.Name, c.Kind.String()+" "+b.names(c.Atoms))
	if c.Given {
		b.given(name, c)
		return
	}
	if c.Windows != nil {
		b.windows = append(b.windows, window{i, number, c})
		b.gaps(name, c)
		return
	}
	if c.Low == c.High {
		b.equality(i, name, c)
		return
	}
	b.windows = append(b.windows, window{i, number, c})
	var terms []term
	var names []string
	plain := b.max && c.Low > -math.Pi && c.High <= math.Pi
	if c.Kind == Dihedral && !plain {
		half := (c.High - c.Low) / 2
		mid := math.Remainder(c.Low+half, 2*math.Pi)
		terms = []term{{measure: i, sign: -1, ref: mid, offset: -half, circle: true},
			{measure: i, sign: 1, ref: mid, offset: -half, circle: true}}
		names = []string{" ≥ " + c.show(c.Low), " ≤ " + c.show(c.High)}
	} else {
		if !math.IsInf(c.Low, -1) && !(c.Low == 0 && (c.Kind == Distance || c.Kind == Angle)) {
			terms, names = append(terms, term{measure: i, sign: -1, ref: c.Low}), append(names, " ≥ "+c.show(c.Low))
		}
		if !math.IsInf(c.High, 1) && !(c.Kind == Angle && c.High >= math.Pi) {
			terms, names = append(terms, term{measure: i, sign: 1, ref: c.High}), append(names, " ≤ "+c.show(c.High))
		}
	}
	if len(terms) == 0 {
		b.refuse("it asks for nothing")
		return
	}
	if b.max {
		b.add(&b.rest, name, terms)
		return
	}
	for k := range terms {
		b.add(&b.rest, name+names[k], terms[k:k+1])
	}
}

// given makes the equality of a coordinate and the numbers behind the positions, which have names for formulas.
func (b *builder) given(name string, c Condition) {
	if c.Kind != Distance && c.Kind != Dihedral {
		b.refuse("%s cannot be a condition; expected a distance or a dihedral", c.Kind.one())
	}
	i := b.coordinate(c.Coordinate, measure{given: b.set.Dim()})
	if c.Kind == Dihedral {
		b.set.given = append(b.set.given, "cos_"+name, "sin_"+name)
	} else {
		b.set.given = append(b.set.given, name)
	}
	b.add(&b.equalities, name, []term{{measure: i, sign: 1}})
}

// gaps makes an inequality of each gap between the windows of a dihedral θ, about its middle γ and of half its width δ,
//
//	(cos(θ − γ) − cos δ)/sin δ ≤ 0,
//
// which is smooth on the whole circle, and near an edge the angle from it.
func (b *builder) gaps(name string, c Condition) {
	slices.SortFunc(c.Windows, func(v, w [2]float64) int { return cmp.Compare(v[0], w[0]) })
	for k, w := range c.Windows {
		next := c.Windows[(k+1)%len(c.Windows)][0]
		if k == len(c.Windows)-1 {
			next += 2 * math.Pi
		}
		half := (next - w[1]) / 2
		if !(w[0] < w[1] && half > 0) || len(c.Windows) < 2 {
			b.refuse("the range [%s, %s] and the next, from %s on; expected two or more that go up and do not meet on "+
				"the circle", c.show(w[0]), c.show(w[1]), c.show(next))
			return
		}
		i := b.coordinate(c.Coordinate, measure{mid: w[1] + half, half: half})
		out := fmt.Sprintf("%s outside of %s to %s", name, c.show(w[1]), c.show(next))
		b.add(&b.rest, out, []term{{measure: i, sign: 1}})
	}
}

// nearest makes the inequality of the distance from an atom to the nearest of others: the least is at most High.
func (b *builder) nearest(c Condition) {
	var terms []term
	for _, a := range c.Atoms[1:] {
		i := b.coordinate(Coordinate{Distance, []int{c.Atoms[0], a}})
		terms = append(terms, term{measure: i, sign: 1, ref: c.High})
	}
	if terms == nil || !(c.High > 0) || c.Low > 0 || math.IsInf(c.High, 1) {
		b.refuse("the distance to the nearest of a group; expected at least one atom in it, and a max above 0")
	}
	if b.fault == "" {
		b.add(&b.rest, cmp.Or(c.Name, "nearest "+b.names(c.Atoms))+" ≤ "+c.show(c.High), terms)
		b.rest[len(b.rest)-1].least = true
	}
}

// show writes a bound in the units of problem files.
func (c *Condition) show(v float64) string {
	switch c.Kind {
	case Distance, Nearest:
		return fmt.Sprintf("%.6g Å", v)
	case Volume:
		return fmt.Sprintf("%.6g Å³", v)
	}
	return fmt.Sprintf("%.6g°", v*180/math.Pi)
}

// fault says what is wrong with the bounds of a condition, or is empty.
func (c *Condition) fault() string {
	low, high := c.Low, c.High
	switch {
	case low != low || high != high:
		return "the value is not a number"
	case low > high:
		return fmt.Sprintf("the range [%s, %s] is empty", c.show(low), c.show(high))
	case low == high && math.IsInf(low, 0) || math.IsInf(low, 1) || math.IsInf(high, -1):
		return "the value is infinite"
	case c.Kind == Dihedral && (math.IsInf(low, 0) || math.IsInf(high, 0)):
		return "a dihedral has a range of two ends: on the circle one end leaves nothing out"
	case c.Kind == Dihedral && low < high && !(high-low < 2*math.Pi):
		return fmt.Sprintf("the range [%s, %s] is the whole circle", c.show(low), c.show(high))
	case c.Kind == Distance && high <= 0:
		return fmt.Sprintf("a distance of %s; expected one above 0", c.show(high))
	case c.Kind == Angle && !((low >= 0 || math.IsInf(low, -1)) && (high <= math.Pi+same || math.IsInf(high, 1))):
		return fmt.Sprintf("an angle in [%s, %s]; expected 0° to 180°", c.show(low), c.show(high))
	}
	if c.Kind == Angle { // a range may end where angles do
		fixed := low == high
		for _, side := range []struct {
			v    float64
			open bool
		}{{low, !fixed && low <= 0}, {high, !fixed && high >= math.Pi}} {
			if !side.open && (side.v < straight || side.v > math.Pi-straight) {
				return fmt.Sprintf("an angle of %s is within 1° of a straight line, where it has no derivatives; "+
					"write a range that ends at 0° or 180°", c.show(side.v))
			}
		}
	}
	return ""
}

func (b *builder) names(atoms []int) string {
	var out []string
	for _, a := range atoms {
		out = append(out, b.set.molecule.Label(a))
	}
	return strings.Join(out, "–")
}

func (b *builder) equality(i int, name string, c Condition) {
	if before, ok := b.fixed[i]; ok {
		δ := c.Low - before
		if c.Kind == Dihedral {
			δ = math.Remainder(δ, 2*math.Pi)
		}
		if math.Abs(δ) > same*max(1, math.Abs(before)) {
			b.refuse("%s is fixed at %s, and at %s elsewhere", name, c.show(c.Low), c.show(before))
		}
		return
	}
	b.fixed[i] = c.Low
	t := term{measure: i, sign: 1, ref: c.Low}
	if c.Kind == Dihedral {
		t.ref, t.circle = math.Remainder(c.Low, 2*math.Pi), true
	}
	b.add(&b.equalities, name, []term{t})
}

// add adds a component to the equalities or the rest.
func (b *builder) add(list *[]named, name string, terms []term) {
	if b.seen[name] {
		b.refuse("the name %q is there twice", name)
	}
	b.seen[name] = true
	if *list = append(*list, named{name: name, terms: terms}); len(b.seen) > MaxComponents {
		b.refuse("more than %d components", MaxComponents)
	}
}

// farthest records the largest required distance of each pair.
func (b *builder) farthest(list []Apart) {
	b.least = map[[2]int]float64{}
	for _, a := range list {
		for _, p := range a.Pairs {
			k := [2]int{min(p[0], p[1]), max(p[0], p[1])}
			b.least[k] = max(b.least[k], a.Min)
		}
	}
}

func (b *builder) apart(a Apart) {
	if !(a.Min > 0) || math.IsInf(a.Min, 1) {
		b.refuse("a least distance of %v; expected a number of Å above 0", a.Min)
	}
	if len(a.Pairs) == 0 {
		b.refuse("there is no pair of atoms")
	}
	var terms []term
	there := map[int]bool{}
	for _, p := range a.Pairs {
		i := b.coordinate(Coordinate{Distance, p[:]})
		if b.fault != "" {
			return
		}
		if k := [2]int{min(p[0], p[1]), max(p[0], p[1])}; there[i] || b.least[k] > a.Min {
			continue // another entry asks for more
		}
		there[i] = true
		terms = append(terms, term{measure: i, sign: -1, ref: a.Min})
		if b.max {
			continue
		}
		name := fmt.Sprintf("%s %s ≥ %.6g Å", cmp.Or(a.Name, "distance"), b.names(p[:]), a.Min)
		b.add(&b.rest, name, terms[len(terms)-1:])
	}
	if b.max && len(terms) > 0 {
		b.add(&b.rest, cmp.Or(a.Name, fmt.Sprintf("nearest of %d pairs ≥ %.6g Å", len(a.Pairs), a.Min)), terms)
	}
}

func (b *builder) finish() (*Set, error) {
	s := b.set
	for _, w := range b.windows {
		v, fixed := b.fixed[w.measure]
		if !fixed {
			continue
		}
		if w.beyond(v) > 0 {
			return nil, &Error{w.condition, -1, fmt.Sprintf("%v %s is fixed at %s, outside of its range [%s, %s]",
				w.Kind, b.names(w.Atoms), w.show(v), w.show(w.Low), w.show(w.High))}
		}
	}
	for _, list := range [][]named{b.equalities, b.rest} {
		for _, n := range list {
			c := component{terms: n.terms, least: n.least, from: s.row}
			var atoms []int
			for _, t := range n.terms {
				m := &s.measures[t.measure]
				atoms = append(atoms, m.at[:m.kind.Atoms()]...)
			}
			slices.Sort(atoms)
			atoms = slices.Compact(atoms)
			var support []int
			for _, at := range atoms {
				support = append(support, at, at+1, at+2)
			}
			for k := range c.terms {
				t := &c.terms[k]
				m := &s.measures[t.measure]
				for e, at := range m.at[:m.kind.Atoms()] {
					place, _ := slices.BinarySearch(atoms, at)
					t.place[e] = 3 * place
				}
			}
			c.atoms = len(atoms)
			s.row += len(support)
			s.support = append(s.support, support)
			s.components = append(s.components, c)
		}
	}
	s.equalities, s.rest = names(b.equalities), names(b.rest)
	return s, nil
}

func names(list []named) (out []string) {
	for _, n := range list {
		out = append(out, n.name)
	}
	return out
}

func (s *Set) String() string {
	return fmt.Sprintf("molecule of %s with %s and %s", text.Plural(s.molecule.N(), "atom"),
		text.Counted(len(s.equalities), "equality", "equalities"),
		text.Counted(len(s.rest), "inequality", "inequalities"))
}

// Dim implements constraint.Set: three coordinates an atom, and what is given.
func (s *Set) Dim() int { return s.molecule.Dim() + len(s.given) }

// Given appends to the positions x the values there of the coordinates that are given.
func (s *Set) Given(x []float64) []float64 {
	for _, c := range s.conditions {
		if q := c.Value(x); c.Given && c.Kind == Dihedral {
			x = append(x, math.Cos(q), math.Sin(q))
		} else if c.Given {
			x = append(x, q)
		}
	}
	return x
}

func (s *Set) Equalities() []string   { return s.equalities }
func (s *Set) Inequalities() []string { return s.rest }

// Molecule returns whose conformations the points are.
func (s *Set) Molecule() *molecule.Molecule { return s.molecule }

// Kept returns the atoms that the set has, and how many the files' frames have; nil: all of them.
func (s *Set) Kept() (atoms []int, of int) { return s.kept, s.of }

// Conditions returns those that it was made of, to be read.
func (s *Set) Conditions() []Condition { return s.conditions }

func (s *Set) Capabilities() constraint.Capabilities {
	c := constraint.Capabilities{Name: s.String(), Support: s.support, Fault: s.fault, HeldNames: s.given,
		Formulas: s.formulas}
	if s.template != nil {
		c.Start = s.start
	}
	return c
}

// loose is the standard deviation of starts about the template, Å: those of thermal bonds.
const loose = 0.05

func (s *Set) start(dst []float64, stream keyed.Stream, sample uint64, try int) {
	stream.Normals(dst, sample, try)
	for j, v := range s.template {
		dst[j] = v + loose*dst[j]
	}
}

// fault says why a component has no value or derivative at a point.
func (s *Set) fault(x []float64) error {
	for a, c := range s.components {
		for _, t := range c.terms {
			fault := s.measures[t.measure].fault(x)
			// Where atoms lie on a line an angle beyond its wall has a value and no
			// direction to push in; where they meet, so has a distance.
			if fault == "" || a >= len(s.equalities) && s.measures[t.measure].kind != Dihedral && vec3.Finite(x...) {
				continue
			}
			return fmt.Errorf("constraint %q: %s", constraint.Components(s)[a], s.spell(fault))
		}
	}
	return nil
}

// spell puts names for numbers of atoms in braces.
func (s *Set) spell(words string) string {
	for i := range s.molecule.Atoms {
		words = strings.ReplaceAll(words, fmt.Sprintf("{%d}", i), s.molecule.Label(i))
	}
	return words
}

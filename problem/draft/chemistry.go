package draft

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/problem/discover"
)

// Chemistry is what was understood of a molecule: what its set keeps, and what it leaves free. Atoms are named by their
// names in the file, or by element and index.
type Chemistry struct {
	Formula   string   `json:"formula"` // of the file's atoms
	LeftOut   int      `json:"hydrogens_left_out"`
	Rings     []string `json:"flat_rings"` // that are rigid, with what hangs on them
	Loose     []string `json:"flexible_rings"`
	Centres   []string `json:"stereocentres"`
	Windows   []string `json:"windows"` // double bonds, amides and the like, with their side
	Rotors    []string `json:"rotors"`
	Ambiguous []string `json:"ambiguous"` // what rows disagree about, and is left free
}

// A chemist looks at bonds and conformations, and gathers the lines of the set, by key.
type chemist struct {
	Chemistry
	m      *molecule.Molecule
	x      []float64
	n      int
	near   [][]int
	class  []int
	rigid  [][]int
	ringed map[molecule.Bond]int  // atoms of the smallest ring that a bond is in
	loose  map[molecule.Bond]bool // that a ring has which is not flat
	lines  map[string][]string
	walls  []Proposal
}

// Limits of what conformations show, in degrees unless said.
const (
	flatRing   = 15.  // torsions of a flat ring
	flatCentre = 20.  // an atom's bonds out of their plane
	oneSide    = 50.  // a double bond's torsion from 0 or 180
	straight   = 168. // angles beyond it are those of atoms in a line
	loosest    = 5.   // standard deviation of angles between bonds that are fixed
	flatVolume = 0.3  // Å³, of three bonds that lie nearly in a plane
	constant   = 0.1  // what varies by less is fixed
	stiffBonds = 0.02 // Å, standard deviation: the first conformation's lengths serve
	largeRing  = 8    // atoms: its double bonds have two sides
	mostPairs  = 3000 // of atoms that are held apart
)

// double has the longest bonds, in Å, that do not turn: double ones, and those of amides, esters and guanidines.
var double = map[string]float64{"C C": 1.40, "C N": 1.40, "C O": 1.37, "N N": 1.30, "C S": 1.70, "N O": 1.30}

func newChemist(m *molecule.Molecule, x []float64) *chemist {
	return &chemist{m: m, x: x, n: len(x) / m.Dim(), near: m.Neighbours(), class: m.Classes(),
		ringed: map[molecule.Bond]int{}, loose: map[molecule.Bond]bool{}, lines: map[string][]string{}}
}

// heavy reports whether the atoms but for hydrogens have something to learn: a bond that turns, or a ring.
func turns(m *molecule.Molecule) bool {
	near := m.Neighbours()
	return len(m.Rings()) > 0 && m.N() > 3 || slices.ContainsFunc(m.Bonds, func(b molecule.Bond) bool {
		return len(near[b[0]]) > 1 && len(near[b[1]]) > 1
	})
}

// called is an atom's name as a problem file has it: that of its residue, or its index.
func (c *chemist) called(i int) string {
	if a := c.m.Atoms[i]; a.Name == a.Element || !plainName.MatchString(c.m.Label(i)) {
		return strconv.Itoa(i)
	}
	return c.m.Label(i)
}

var plainName = regexp.MustCompile(`^[A-Z][A-Za-z0-9:*']*$`)

// name is an atom's in words.
func (c *chemist) name(i int) string {
	if label := c.called(i); label != strconv.Itoa(i) {
		return label
	}
	return cmp.Or(c.m.Atoms[i].Element, "atom ") + strconv.Itoa(i)
}

func (c *chemist) names(atoms []int, by string) string { return each(atoms, by, c.name) }

func each(atoms []int, by string, name func(int) string) string {
	out := make([]string, len(atoms))
	for k, i := range atoms {
		out[k] = name(i)
	}
	return strings.Join(out, by)
}

func (c *chemist) list(atoms ...int) string { return "[" + each(atoms, ", ", c.called) + "]" }

func (c *chemist) measure(atoms ...int) discover.Internal {
	return discover.Measure(c.x, c.n, c.m.Dim(), atoms)
}

// off is how far a dihedral is from an angle at most.
func off(q discover.Internal, from float64) float64 {
	δ := math.Remainder(q.Mean-from, 360)
	return max(math.Abs(δ+q.Least-q.Mean), math.Abs(δ+q.Most-q.Mean))
}

func (c *chemist) add(key, format string, v ...any) {
	c.lines[key] = append(c.lines[key], fmt.Sprintf(format, v...))
}

// together reports whether a rigid group has all of some atoms.
func (c *chemist) together(atoms ...int) bool {
	return slices.ContainsFunc(c.rigid, func(group []int) bool {
		return !slices.ContainsFunc(atoms, func(i int) bool { return !slices.Contains(group, i) })
	})
}

// look gathers all; lines of the set follow.
func (c *chemist) look() {
	c.relabel()
	c.rings()
	for j, near := range c.near {
		if len(near) > 1 && !c.together(append([]int{j}, near...)...) {
			c.centre(j, near)
		}
	}
	for k, b := range c.m.Bonds {
		if size := c.ringed[b]; (size == 0 || size >= largeRing) && !c.together(b[:]...) {
			c.bond(k, b)
		}
	}
	c.apart()
}

// rings makes flat rings rigid, those that share a bond together, and with them what hangs on them in their plane.
func (c *chemist) rings() {
	for _, ring := range c.m.Rings() {
		flat := true
		for _, t := range molecule.RingTorsions(ring) {
			flat = flat && off(c.measure(t[:]...), 0) <= flatRing
		}
		for k, a := range ring {
			b := ring[(k+1)%len(ring)]
			key := molecule.Bond{min(a, b), max(a, b)}
			c.ringed[key] = cmp.Or(c.ringed[key], len(ring))
			c.loose[key] = c.loose[key] || !flat
		}
		if !flat {
			c.Loose = append(c.Loose, c.names(ring, "–"))
			continue
		}
		c.Rings = append(c.Rings, c.names(ring, "–"))
		c.rigid = slices.DeleteFunc(c.rigid, func(group []int) bool {
			shared := 0
			for _, i := range group {
				if slices.Contains(ring, i) {
					shared++
				}
			}
			if shared > 1 {
				ring = append(slices.Clone(ring), group...)
			}
			return shared > 1
		})
		ring = slices.Clone(ring)
		slices.Sort(ring)
		c.rigid = append(c.rigid, slices.Compact(ring))
	}
	for g, group := range c.rigid {
		for _, a := range slices.Clone(group) {
			inside := slices.DeleteFunc(slices.Clone(c.near[a]), func(i int) bool { return !slices.Contains(group, i) })
			for _, s := range c.near[a] {
				free := !slices.ContainsFunc(c.rigid, func(group []int) bool { return slices.Contains(group, s) })
				if free && len(inside) > 1 && off(c.measure(s, a, inside[0], inside[1]), 180) <= flatRing {
					c.rigid[g] = append(c.rigid[g], s)
				}
			}
		}
		slices.Sort(c.rigid[g])
		c.add("rigid", "%s", c.list(c.rigid[g]...))
	}
}

// centre keeps the directions of an atom's bonds to each other at their means, 2n−3 numbers: the angle of two, and of
// each further one the angle to the first and its dihedral to both. Angles within a flexible ring have ranges.
func (c *chemist) centre(j int, near []int) {
	near = slices.Clone(near)
	slices.SortStableFunc(near, func(a, b int) int { return cmp.Compare(c.rank(j, a), c.rank(j, b)) })
	c.angle(near[0], j, near[1])
	flat, inverts, name := false, false, c.name(j)
	for k := 2; k < len(near); k++ {
		s := near[k]
		improper := []int{s, j, near[0], near[1]}
		q := c.measure(improper...)
		flat = len(near) == 3 && off(q, 180) <= flatCentre
		both := math.Abs(math.Remainder(q.Mean, 360))+q.Most-q.Mean > 180 || q.Least < 0 && q.Most > 0
		c.angle(near[0], j, s)
		switch {
		case c.together(improper...):
		case flat:
			c.add("dihedrals", "{name: \"flat %s\", atoms: %s, value: 180}", name, c.list(improper...))
		case both:
			inverts = true
			c.angle(near[1], j, s)
		case c.rank(j, s) == 0 || q.SD > loosest:
			c.angle(near[1], j, s)
			v := molecule.Volume(c.x, j, near[0], near[1], s)
			c.add("chirality", "{atoms: %s, sign: %s}", c.list(j, near[0], near[1], s),
				map[bool]string{true: "positive", false: "negative"}[v > 0])
		default:
			c.add("dihedrals", "{name: \"hand %s %d\", atoms: %s, value: %s}", name, k-1, c.list(improper...),
				number(rounded(q.Mean)))
		}
	}
	switch centre := len(near) > 2 && !flat && c.distinct(near); {
	case inverts && c.m.Atoms[j].Element == "N" && len(near) == 3:
		c.Ambiguous = append(c.Ambiguous, "the nitrogen "+name+" inverts")
	case inverts && centre:
		c.Ambiguous = append(c.Ambiguous, "rows have both hands of "+name+": are they different molecules?")
	case inverts:
		c.Ambiguous = append(c.Ambiguous, "rows have both hands of "+name+", whose neighbours are alike")
	case centre && c.m.Atoms[j].Element != "N":
		c.Centres = append(c.Centres, name)
	}
}

// rank puts the neighbours first that are in a flexible ring with an atom, then those in its rigid group.
func (c *chemist) rank(j, i int) int {
	switch {
	case c.loose[molecule.Bond{min(i, j), max(i, j)}]:
		return 0
	case c.together(i, j):
		return 1
	}
	return 2
}

// distinct reports whether no two atoms are alike in the graph of bonds.
func (c *chemist) distinct(atoms []int) bool {
	seen := map[int]bool{}
	for _, i := range atoms {
		seen[c.class[i]] = true
	}
	return len(seen) == len(atoms)
}

// angle fixes the angle of two bonds at its mean, or gives it a range: in flexible rings, and where it varies much.
func (c *chemist) angle(a, j, b int) {
	if c.together(a, j, b) {
		return
	}
	q := c.measure(a, j, b)
	ring := c.rank(j, a)+c.rank(j, b) == 0
	if (!ring && q.SD <= loosest || q.Most-q.Least < constant) && q.Most < straight {
		c.add("angles", "{atoms: %s, value: %s}", c.list(a, j, b), number(rounded(q.Mean)))
		return
	}
	pad := 5 + (q.Most-q.Least)/2 // a wall that noise seldom meets costs few steps
	low, high := math.Floor(q.Least-pad), math.Ceil(q.Most+pad)
	if low < 2 {
		low = 0
	}
	if high > straight {
		high = 180
	}
	c.add("angles", "{atoms: %s, range: [%g, %g]}", c.list(a, j, b), low, high)
}

func rounded(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// relabel exchanges atoms that are alike, as programs that make conformations do, so that each has one place.
func (c *chemist) relabel() {
	var hands []conformation.Condition
	for j, near := range c.near {
		if len(near) < 3 || c.distinct(near) {
			continue
		}
		at := conformation.Condition{Coordinate: conformation.Coordinate{Kind: conformation.Volume,
			Atoms: []int{j, near[0], near[1], near[2]}}, Low: math.Inf(-1)}
		if v := at.Value(c.x); v > flatVolume {
			at.Low, at.High = 0, math.Inf(1)
		} else if v > -flatVolume {
			continue
		}
		hands = append(hands, at)
	}
	set, err := conformation.New(conformation.Spec{Molecule: c.m, Template: c.x[:c.m.Dim()], Conditions: hands})
	if err != nil {
		return
	}
	if r := set.NewRelabeller(c.m); r != nil {
		for i := range c.n {
			r.Relabel(c.x[i*c.m.Dim() : (i+1)*c.m.Dim()])
		}
	}
}

// bond bounds the turn about a bond that keeps to one side, or leaves it free.
func (c *chemist) bond(k int, b molecule.Bond) {
	var ends [2]int
	for e := range ends {
		others := slices.DeleteFunc(slices.Clone(c.near[b[e]]), func(i int) bool { return i == b[1-e] })
		if len(others) == 0 {
			return
		}
		ends[e] = slices.MinFunc(others, func(i, j int) int { // the end of a chain says less
			return cmp.Or(cmp.Compare(len(c.near[j]), len(c.near[i])), cmp.Compare(i, j))
		})
		if c.measure(ends[e], b[e], b[1-e]).Most > straight {
			return
		}
	}
	t := []int{ends[0], b[0], b[1], ends[1]}
	q := c.measure(t...)
	cis, trans := 0, 0
	for i := range c.n {
		x := c.x[i*c.m.Dim() : (i+1)*c.m.Dim()]
		switch θ := math.Abs(molecule.Torsion(x, t[0], t[1], t[2], t[3]) * 180 / math.Pi); {
		case θ <= oneSide:
			cis++
		case θ >= 180-oneSide:
			trans++
		}
	}
	elements := []string{cmp.Or(c.m.Atoms[b[0]].Element, "C"), cmp.Or(c.m.Atoms[b[1]].Element, "C")}
	slices.Sort(elements)
	name := c.names(b[:], "–")
	ordered := c.m.Orders != nil && c.m.Orders[k] == 2
	stiff := cis+trans == c.n && (ordered || c.measure(b[:]...).Mean <= double[strings.Join(elements, " ")])
	switch large := c.ringed[b] > 0; {
	case q.SD < constant && q.Most-q.Least < 1 && c.n > 2:
		c.add("dihedrals", "{name: %q, atoms: %s, value: %s}", name, c.list(t...), number(rounded(q.Mean)))
		return
	case stiff && (cis == 0 || trans == 0):
		side, at := "trans", 180.
		if trans == 0 {
			side, at = "cis", 0
		}
		w := min(60, max(20, 5*math.Ceil((off(q, at)+5)/5)))
		c.add("dihedrals", "{name: \"%s %s\", atoms: %s, range: [%g, %g]}", side, name, c.list(t...), at-w, at+w)
		c.Windows = append(c.Windows, name+" "+side)
		return
	case large:
		return
	case stiff && ordered:
		c.Ambiguous = append(c.Ambiguous, "rows have "+name+" cis and trans: are they different molecules?")
	case stiff:
		c.Ambiguous = append(c.Ambiguous, "rows have "+name+" cis and trans")
	}
	c.Rotors = append(c.Rotors, name)
	if q.Wall {
		low, high := roundDown(q.Least, q.Most-q.Least), -roundDown(-q.Most, q.Most-q.Least)
		c.walls = append(c.walls, Proposal{Name: "dihedral " + name, Expr: fmt.Sprintf("%g to %g°", low, high),
			Note: fmt.Sprintf("the data ends suddenly at %.4f and %.4f; under set.dihedrals", q.Least, q.Most),
			yaml: fmt.Sprintf("{atoms: %s, range: [%g, %g]}", c.list(t...), low, high)})
	}
}

// apart keeps atoms that more than three bonds join as far apart as the nearest of them are in the rows.
func (c *chemist) apart() {
	all := make([]int, c.m.N())
	for i := range all {
		all[i] = i
	}
	least, pairs := math.Inf(1), conformation.Separated(c.m, all, 3)
	if len(pairs) > mostPairs {
		return
	}
	for i := range c.n {
		x := c.x[i*c.m.Dim() : (i+1)*c.m.Dim()]
		for _, p := range pairs {
			least = min(least, molecule.Distance(x, p[0], p[1]))
		}
	}
	if len(pairs) > 0 {
		c.add("apart", "{min: %.2f, beyond: 3}  # Å; the nearest atoms of the rows: %.2f", 0.95*least, least)
	}
}

// formula is Hill's: carbon, hydrogen, and the others by the alphabet.
func formula(m *molecule.Molecule) (s string) {
	count := map[string]int{}
	for _, a := range m.Atoms {
		count[cmp.Or(a.Element, "?")]++
	}
	order := slices.Sorted(maps.Keys(count))
	if count["C"] > 0 {
		order = slices.Concat([]string{"C", "H"}, slices.DeleteFunc(order, func(e string) bool {
			return e == "C" || e == "H"
		}))
	}
	for _, e := range order {
		if count[e] > 0 {
			s += strings.TrimSuffix(e+strconv.Itoa(count[e]), "1") // C1 is C
		}
	}
	return s
}

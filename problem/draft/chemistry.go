package draft

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/internal/dense"
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
	Windows   []string `json:"windows"` // double bonds, amides and similar ones, with their side
	Rotors    []string `json:"rotors"`
	Ambiguous []string `json:"ambiguous"` // that rows disagree about; these are left free
	Apart     float64  `json:"apart"`     // Å: least distance of atoms more than three bonds apart; 0: none are
}

// A chemist looks at bonds and conformations, and gathers the lines of the set, by key.
type chemist struct {
	Chemistry
	m         *molecule.Molecule
	x         []float64
	n         int
	near      [][]int
	class     []int
	rigid     [][]int
	ringed    map[molecule.Bond]int // atoms of the smallest ring that a bond is in
	exchanged map[int]bool          // atoms with neighbours that files exchange
	tilted    map[int]bool          // atoms of flat rings with a bond in their plane that is no part of the rigid group
	lines     map[string][]string
}

// Limits of what conformations show, in degrees unless said.
const (
	flatRing   = 15.  // torsions of a flat ring, root mean square: benzene has 6 at 300 K
	flatCentre = 30.  // an atom's bonds out of their plane, root mean square
	oneSide    = 50.  // a double bond's torsion from 0 or 180
	straight   = 168. // angles beyond it are those of atoms in a line
	tilt       = 4.5  // standard deviation of a ring's angle to such a bond: heat has 3, an aryl ether's two sides 5.5
	flatVolume = 0.3  // Å³, of three bonds that lie nearly in a plane
	fixedTurn  = 0.5  // standard deviation of a dihedral that is a value; heat gives it 5 and more
	largeRing  = 8    // atoms: its double bonds have two sides, and it does not close by itself
	minima     = 0.01 // Å: conformations that are nearer to another repeat it; heat changes each bond by 0.03
)

// double has the longest bonds, in Å, that do not turn: double ones, and those of amides, esters and guanidines.
var double = map[string]float64{"C C": 1.40, "C N": 1.40, "C O": 1.37, "N N": 1.30, "C S": 1.70, "N O": 1.30}

// called is an atom's name as a problem file has it: that of its residue, or its index.
func (c *chemist) called(i int) string {
	if a := c.m.Atoms[i]; a.Residue == "" && a.Name == a.Element || !plainName.MatchString(c.m.Label(i)) {
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
	return c.m.Atoms[i].Element + strconv.Itoa(i)
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

// about is the root mean square of a dihedral about an angle.
func about(q discover.Internal, from float64) float64 {
	return math.Hypot(q.SD, math.Remainder(q.Mean-from, 360))
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

// look sees what there is of a molecule with conformations x.
func look(m *molecule.Molecule, x []float64) *chemist {
	c := &chemist{m: m, x: x, n: len(x) / m.Dim(), near: m.Neighbours(), class: m.Classes(),
		ringed: map[molecule.Bond]int{}, exchanged: map[int]bool{}, tilted: map[int]bool{},
		lines: map[string][]string{}}
	for _, branches := range m.Exchanges() {
		for _, j := range c.near[branches[0][0]] {
			c.exchanged[j] = true
		}
	}
	c.rings()
	for j := range c.near {
		c.centre(j)
	}
	for k, b := range c.m.Bonds {
		if size := c.ringed[b]; size == 0 || size >= largeRing {
			c.bond(k, b)
		}
	}
	for _, b := range conformation.Closing(m, c.rigid) {
		c.closing("distances", 100, b[:]...)
		for e, a := range b {
			for _, i := range c.near[a] {
				if i != b[1-e] && c.ringed[b] >= largeRing {
					c.closing("angles", 10, i, a, b[1-e])
				}
			}
		}
	}
	return c
}

// rings makes flat rings rigid, those that share a bond together, and with them what hangs on them in their plane.
func (c *chemist) rings() {
	for _, ring := range c.m.Rings() {
		flat := true
		for _, t := range molecule.RingTorsions(ring) {
			flat = flat && about(c.measure(t[:]...), 0) <= flatRing
		}
		for k, a := range ring {
			b := ring[(k+1)%len(ring)]
			key := molecule.Bond{min(a, b), max(a, b)}
			c.ringed[key] = cmp.Or(c.ringed[key], len(ring))
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
				switch {
				case slices.Contains(group, s) || len(inside) < 2:
				case about(c.measure(s, a, inside[0], inside[1]), 180) > flatRing:
				case c.measure(s, a, inside[0]).SD > tilt:
					c.tilted[a] = len(c.near[a]) == 3
				default:
					c.rigid[g] = append(c.rigid[g], s)
				}
			}
		}
		slices.Sort(c.rigid[g])
		c.add("rigid", "%s", c.list(c.rigid[g]...))
	}
}

// centre keeps the hand of an atom with three bonds or more that lie in no plane. Where rows have both hands, and its
// neighbours are alike, the program that reads them exchanges these.
func (c *chemist) centre(j int) {
	near, low, high, least := c.near[j], math.Inf(1), math.Inf(-1), math.Inf(1)
	if len(near) < 3 || c.together(append([]int{j}, near...)...) {
		return
	}
	for i := range c.n {
		v := molecule.Volume(c.x[i*c.m.Dim():(i+1)*c.m.Dim()], j, near[0], near[1], near[2])
		low, high, least = min(low, v), max(high, v), min(least, math.Abs(v))
	}
	q := c.measure(near[2], j, near[0], near[1])
	flat := len(near) == 3 && about(q, 180) <= flatCentre
	centre, both, name := c.distinct(near), low < 0 && high > 0, c.name(j)
	switch {
	case flat && (c.tilted[j] || q.SD < fixedTurn && about(q, 180) < 2*fixedTurn && c.n > 2):
		c.add("dihedrals", "{name: \"flat %s\", atoms: %s, value: 180}", name, c.list(near[2], j, near[0], near[1]))
	case flat:
	case !both && least > flatVolume || both && !centre && c.exchanged[j] && least > 2*flatVolume:
		sign, comment := "", ""
		if centre {
			comment = "  # stereocentre"
			c.Centres = append(c.Centres, name)
		}
		if !both {
			sign = ", sign: " + map[bool]string{true: "positive", false: "negative"}[low > 0]
		}
		c.add("chirality", "{atoms: %s%s}%s", c.list(append([]int{j}, near[:3]...)...), sign, comment)
	case both && c.m.Atoms[j].Element == "N" && len(near) == 3:
		c.Ambiguous = append(c.Ambiguous, "the nitrogen "+name+" inverts")
	case both && centre:
		c.Ambiguous = append(c.Ambiguous, "rows differ in the chirality of "+name+": are they different molecules?")
	case both:
		c.Ambiguous = append(c.Ambiguous, "rows differ in the chirality of "+name+", whose neighbours are alike")
	}
}

// distinct reports whether no two atoms are alike in the graph of bonds.
func (c *chemist) distinct(atoms []int) bool {
	seen := map[int]bool{}
	for _, i := range atoms {
		seen[c.class[i]] = true
	}
	return len(seen) == len(atoms)
}

// bond bounds the turn about a bond that keeps to one side, or leaves it free.
func (c *chemist) bond(k int, b molecule.Bond) {
	var ends [2]int
	alike, exchanged := false, false
	for e := range ends {
		others := slices.DeleteFunc(slices.Clone(c.near[b[e]]), func(i int) bool { return i == b[1-e] })
		if len(others) == 0 {
			return
		}
		alike = alike || !c.distinct(others) || len(others) > 1 && c.together(append(others, b[e])...) // a ring turns
		exchanged = exchanged || !c.distinct(others) && c.exchanged[b[e]]
		ends[e] = slices.MinFunc(others, func(i, j int) int { // the end of a chain says less
			return cmp.Or(cmp.Compare(len(c.near[j]), len(c.near[i])), cmp.Compare(i, j))
		})
		if c.measure(ends[e], b[e], b[1-e]).Most > straight {
			return
		}
	}
	t := []int{ends[0], b[0], b[1], ends[1]}
	if c.together(t...) {
		return
	}
	q := c.measure(t...)
	cis, trans, first := 0, 0, 0
	for i := range c.n {
		x := c.x[i*c.m.Dim() : (i+1)*c.m.Dim()]
		switch θ := math.Abs(molecule.Torsion(x, t[0], t[1], t[2], t[3]) * 180 / math.Pi); {
		case θ <= oneSide:
			cis++
		case θ >= 180-oneSide:
			trans++
		}
		if i == 0 {
			first = cis
		}
	}
	elements := []string{cmp.Or(c.m.Atoms[b[0]].Element, "C"), cmp.Or(c.m.Atoms[b[1]].Element, "C")}
	slices.Sort(elements)
	name := c.names(b[:], "–")
	ordered := c.m.Orders != nil && c.m.Orders[k] == 2
	stiff := cis+trans == c.n && (ordered || c.measure(b[:]...).Mean <= double[strings.Join(elements, " ")])
	if stiff && ordered && exchanged { // the program that reads the rows exchanges atoms that are alike
		cis, trans = first, 1-first
	}
	switch large := c.ringed[b] > 0; {
	case q.SD < fixedTurn && q.Most-q.Least < 10*fixedTurn && c.n > 2:
		c.add("dihedrals", "{name: %q, atoms: %s, value: %s}", name, c.list(t...), number(math.Round(q.Mean*1e4)/1e4))
		c.Windows = append(c.Windows, name+" fixed")
		return
	case stiff && (cis == 0 || trans == 0):
		side, at := "trans", 180.
		if trans == 0 {
			side, at = "cis", 0
		}
		w := max(20, 5*math.Ceil((off(q, at)+5)/5))
		if exchanged {
			w = 30
		}
		c.add("dihedrals", "{name: \"%s %s\", atoms: %s, range: [%g, %g]}", side, name, c.list(t...), at-w, at+w)
		c.Windows = append(c.Windows, name+" "+side)
		return
	case large:
		return
	case alike:
	case stiff && ordered:
		c.Ambiguous = append(c.Ambiguous, "rows have "+name+" cis and trans: are they different molecules?")
	case stiff:
		c.Ambiguous = append(c.Ambiguous, "rows have "+name+" cis and trans")
	}
	c.Rotors = append(c.Rotors, name)
}

// closing gives a bond that closes a ring, or an angle that it makes in a large one, the range of the rows: these are
// no coordinates, and an error of each coordinate of the ring moves them. No row is at an end. A range that comes
// within 2° of a line ends there.
func (c *chemist) closing(key string, unit float64, atoms ...int) {
	q := c.measure(atoms...)
	const slack, line = 1e-3, 178 // in units; degrees
	low, high := math.Floor(q.Least*unit-slack)/unit, math.Ceil(q.Most*unit+slack)/unit
	if key == "angles" && high > line {
		low, high = min(low, line), 180
	} else if key == "angles" && low < 180-line {
		low, high = 0, max(high, 180-line)
	}
	c.add(key, "{atoms: %s, range: [%s, %s]}", c.list(atoms...), number(low), number(high))
}

// apart returns how near atoms more than three bonds apart come, in tenths of an ångström; 0 without such atoms.
func (c *chemist) apart() float64 {
	const bonds, mostDistances = 3, 1e8
	atoms := make([]int, c.m.N())
	for i := range atoms {
		atoms[i] = i
	}
	pairs, least := conformation.Separated(c.m, atoms, bonds), math.Inf(1)
	for i := 0; i < c.n && len(pairs) > 0; i += 1 + c.n*len(pairs)/mostDistances {
		for _, p := range pairs {
			least = min(least, molecule.Distance(c.x[i*c.m.Dim():(i+1)*c.m.Dim()], p[0], p[1]))
		}
	}
	if len(pairs) == 0 {
		return 0
	}
	return math.Floor(10*least) / 10
}

// gap returns how far half of the conformations lie from another at most, in Å: the root mean square difference of the
// distances between their atoms. Conformers that were relaxed to a few minima repeat each other.
func (c *chemist) gap() float64 {
	const mostRows, mostPairs = 500, 300
	atoms := c.m.N()
	rows, all := min(c.n, mostRows), atoms*(atoms-1)/2
	pairs := min(all, mostPairs)
	q, near := make([]float64, 0, rows*pairs), slices.Repeat([]float64{math.Inf(1)}, rows)
	for i := range rows {
		x, p := c.x[i*c.n/rows*c.m.Dim():], 0
		for a := range atoms {
			for b := range a {
				if p++; p*pairs/all > (p-1)*pairs/all {
					q = append(q, molecule.Distance(x, a, b))
				}
			}
		}
		for k := range i {
			r := dense.SquaredDistance(q[i*pairs:(i+1)*pairs], q[k*pairs:(k+1)*pairs])
			near[i], near[k] = min(near[i], r), min(near[k], r)
		}
	}
	slices.Sort(near)
	return math.Sqrt(near[rows/2] / float64(pairs))
}

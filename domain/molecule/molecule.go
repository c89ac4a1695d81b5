// Package molecule is a molecule as data: atoms with their names, bonds, and the
// distances, angles, torsions and rings that bonds define.
//
// A conformation of A atoms is a point of R^{3A}, atom by atom x, y, z, in ångström.
// Atoms are counted from 0. Angles are in radians.
//
// It is not for files (package domain/molecule/files), for energies (domain/molecule/amber), nor
// for constraints (domain/conformation).
package molecule

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// An Atom is one of a molecule. What a file does not say is empty.
type Atom struct {
	Name          string // in its residue: CA, C, HB1
	Element       string // symbol: C, Cl
	Residue       string // ALA
	ResidueNumber int    // as in the file
	Insertion     string // code that tells apart residues of one number
	Chain         string
	Charge        int // formal, in elementary charges
}

// A Bond joins two atoms, the first before the second.
type Bond [2]int

// A Molecule is atoms and what joins them.
type Molecule struct {
	Name  string
	Atoms []Atom
	Bonds []Bond // in ascending order, none twice

	// Orders are those of the bonds: 1, 2, 3, or 4 for an aromatic one; nil: not known.
	Orders []int

	// Guessed says that the bonds are those of GuessBonds, for want of any in the file.
	Guessed bool
}

// Anonymous returns a molecule of n unknown atoms.
func Anonymous(n int) *Molecule { return &Molecule{Atoms: make([]Atom, n)} }

// N returns the number of atoms.
func (m *Molecule) N() int { return len(m.Atoms) }

// Dim returns the number of coordinates of a conformation, three an atom.
func (m *Molecule) Dim() int { return 3 * len(m.Atoms) }

// Described describes the atoms and bonds. doubt is not empty if frame x seems to have another unit than ångström:
// hardly two atoms are as near as bonds are, or many are nearer.
func (m *Molecule) Described(x []float64) (said, doubt string) {
	said = fmt.Sprintf("%d atoms (%s), %d bonds", m.N(), m.Formula(), len(m.Bonds))
	if m.N() < 2 || len(x) < m.Dim() {
		return said, ""
	}
	nearest := math.Inf(1)
	for i := range m.N() {
		for j := range i {
			nearest = min(nearest, Distance(x, i, j))
		}
	}
	metal := slices.IndexFunc(m.Atoms, func(a Atom) bool { return !slices.Contains(nonmetals, cmp.Or(a.Element, "C")) })
	switch {
	case metal >= 0:
		doubt = fmt.Sprintf("atom %d is of the metal %s: its bonds differ in length, and are guessed if the file has "+
			"none; leave them out of what the set fixes, or look at them first", metal, m.Atoms[metal].Element)
	case nearest < 0.5:
		doubt = fmt.Sprintf("two atoms are %.3g apart: are these nanometres? Ångström are expected: multiply by 10",
			nearest)
	case len(m.GuessBonds(x)) < m.N()/2:
		doubt = fmt.Sprintf("hardly two atoms are bonded, the nearest two are %.3g apart: are these bohr? Ångström "+
			"are expected: multiply by 0.529177", nearest)
	}
	return said, doubt
}

// Formula returns the elements and how many atoms each has, in Hill's order: carbon and hydrogen before the others.
func (m *Molecule) Formula() (s string) {
	count := map[string]int{}
	for _, a := range m.Atoms {
		count[cmp.Or(a.Element, "?")]++
	}
	first := func(e string) int { return strings.Index("HC", e) } // −1 of others
	for _, e := range slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		if count["C"] == 0 {
			return strings.Compare(a, b)
		}
		return cmp.Or(first(b)-first(a), strings.Compare(a, b))
	}) {
		if s += e; count[e] > 1 {
			s += strconv.Itoa(count[e])
		}
	}
	return s
}

// nonmetals are the elements whose bonds have the lengths of covalent radii.
var nonmetals = strings.Fields("H D He B C N O F Ne Si P S Cl Ar Ge As Se Br Kr Te I Xe At Rn")

// SetBonds replaces the bonds, which may come in any order, twice, and with their atoms in either order. A bond of an
// atom that is not there, or with itself, is an error.
func (m *Molecule) SetBonds(bonds []Bond) error {
	out := make([]Bond, 0, len(bonds))
	for _, b := range bonds {
		if b[0] > b[1] {
			b[0], b[1] = b[1], b[0]
		}
		if b[0] < 0 || b[1] >= len(m.Atoms) || b[0] == b[1] {
			return fmt.Errorf("a bond of atoms %d and %d; expected two different ones from 0 to %d", b[0], b[1],
				len(m.Atoms)-1)
		}
		out = append(out, b)
	}
	slices.SortFunc(out, compareBonds)
	m.Bonds, m.Orders, m.Guessed = slices.Compact(out), nil, false
	return nil
}

func compareBonds(a, b Bond) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }

// Neighbours returns the atoms that each atom is bonded to, in ascending order.
func (m *Molecule) Neighbours() [][]int {
	out := make([][]int, len(m.Atoms))
	for _, b := range m.Bonds {
		out[b[0]] = append(out[b[0]], b[1])
		out[b[1]] = append(out[b[1]], b[0])
	}
	for _, v := range out {
		slices.Sort(v)
	}
	return out
}

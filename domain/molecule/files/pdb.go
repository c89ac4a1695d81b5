package files

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/internal/vec3"
)

// A site is a record ATOM or HETATM.
type site struct {
	atom      molecule.Atom
	x         [3]float64
	serial    string
	alternate string  // code of the location; empty if there is one alone
	occupancy float64 // of it
	line      int
	two       string // another element, of two letters, that the name may stand for
	placed    bool   // in the columns of such a name
}

// A pdb is a PDB file that is being read.
type pdb struct {
	reader
	sites    []site // of the frame
	within   bool   // a model
	begun    int    // line of its MODEL
	index    map[string]int
	conect   []conect
	elements map[molecule.Atom]string // those of two letters
	dropped  int                      // records at alternate locations that were left out
}

// A conect is a record CONECT: serial numbers, the first bonded to the others.
type conect struct {
	line    int
	serials []string
}

// DecodePDB reads the models of a PDB file as frames: ATOM and HETATM records from MODEL to ENDMDL, or up to END. Of
// alternate locations a residue has that of the highest occupancy, the first code among equals. CONECT records are
// bonds; atoms that none of them names have guessed ones.
func DecodePDB(name string, r io.Reader) (*Frames, error) {
	p := &pdb{reader: newReader(name, r)}
	for line, ok := p.next(); ok; line, ok = p.next() {
		p.record(line)
	}
	if p.within {
		p.fault("", "the file ends inside the MODEL of line %d, expected ENDMDL: it is truncated", p.begun)
	}
	p.end()
	if p.err == nil && p.n > 0 {
		p.bonds()
	}
	if p.dropped > 0 {
		p.remarks = append(p.remarks, fmt.Sprintf("Atoms at alternate locations: %d records were left out; of each "+
			"residue the location of the highest occupancy was taken, of each frame for itself.", p.dropped))
	}
	return p.frames("ATOM or HETATM records, expected a PDB file")
}

func (p *pdb) record(line string) {
	switch columns(line, 1, 6) {
	case "ATOM", "HETATM":
		p.site(line)
	case "MODEL":
		if p.within {
			p.fault("", "MODEL inside the MODEL of line %d, expected ENDMDL first", p.begun)
		}
		if len(p.sites) > 0 {
			p.fault("", "MODEL after atoms that are in no model")
		}
		p.within, p.begun = true, p.line
	case "ENDMDL":
		if len(p.sites) == 0 {
			p.fault("", "the model has no atoms")
		}
		p.within = false
		p.end()
	case "END":
		if p.within {
			p.fault("", "END inside the MODEL of line %d, expected ENDMDL: atoms may be missing", p.begun)
		}
		p.end()
	case "CONECT":
		c := conect{line: p.line}
		for lo := 7; lo <= 27; lo += 5 { // later columns hold hydrogen bonds in old files
			if s := columns(line, lo, lo+4); s != "" {
				c.serials = append(c.serials, s)
			}
		}
		if len(p.conect) >= MaxAtoms*maxConect {
			p.fault("", "more than %d CONECT records, expected a smaller file", len(p.conect))
		}
		p.conect = append(p.conect, c)
	}
}

// maxConect bounds the CONECT records an atom.
const maxConect = 8

func (p *pdb) site(line string) {
	s := site{line: p.line, serial: columns(line, 7, 11), alternate: columns(line, 17, 17)}
	a := &s.atom
	a.Name, a.Residue, a.Chain, a.Insertion = columns(line, 13, 16), columns(line, 18, 21), columns(line, 22, 22),
		columns(line, 27, 27)
	at := fmt.Sprintf("%d (%s%s:%s)", len(p.sites), a.Residue, columns(line, 23, 27), a.Name)
	switch {
	case len(line) < 54:
		p.fault(at, "the record ends in column %d, expected x, y, z in columns 31 to 54: it is truncated", len(line))
	case a.Name == "":
		p.fault(at, "the atom has no name, expected one in columns 13 to 16")
	case len(p.sites) == MaxAtoms:
		p.fault(at, "more than %d atoms, expected a smaller molecule", MaxAtoms)
	}
	if n := columns(line, 23, 26); n != "" {
		var err error
		if a.ResidueNumber, err = strconv.Atoi(n); err != nil {
			p.fault(at, "the residue's number is %s, expected a number in columns 23 to 26", quoted(n))
		}
	}
	s.x = p.place(at, fixed(line, 31, 8))
	s.occupancy, _ = strconv.ParseFloat(columns(line, 55, 60), 64) // often blank; it only ranks locations
	a.Element = molecule.Symbol(columns(line, 77, 78))
	if !molecule.Known(a.Element) {
		a.Element, s.two, s.placed = elementsOf(line)
	}
	a.Charge = charge(columns(line, 79, 80))
	p.sites = append(p.sites, s)
}

// elementsOf tells the element from the name, whose first letter it is; another whose symbol the name begins with; and
// whether the name stands where those of that one do: from column 13 on. An ion's residue has the atom's name.
func elementsOf(line string) (element, two string, placed bool) {
	whole := columns(line, 13, 16)
	name := strings.TrimLeft(whole, "0123456789")
	if name != "" && molecule.Known(name[:1]) {
		element = molecule.Symbol(name[:1])
	}
	if len(name) < 2 || !molecule.Known(name[:2]) {
		return element, "", false
	}
	two, placed = molecule.Symbol(name[:2]), line[12] != ' '
	if element == "" || placed && columns(line, 18, 21) == name {
		return two, "", false
	}
	return element, two, placed && line[0] == 'H' && len(whole) < 4
}

// settleElements gives sites the elements of two letters that fit the distance to the nearest atom, if it is near
// enough to tell: CA at 1.1 Å from a hydrogen is no calcium. Else columns decide. The first frame decides for all.
func (p *pdb) settleElements(sites []site) {
	first, changed := p.elements == nil, 0
	if first {
		p.elements = map[molecule.Atom]string{}
	}
	for i := range sites {
		s := &sites[i]
		if first && s.two != "" {
			const tells, clear = 3, 0.1 // Å
			d, partner := math.Inf(1), ""
			for j, o := range sites {
				if r := vec3.Norm(vec3.Minus(s.x, o.x)); j != i && r < d {
					d, partner = r, o.atom.Element
				}
			}
			off := func(e string) float64 { return math.Abs(d - molecule.Radius(e) - molecule.Radius(partner)) }
			rare := molecule.Radius(s.two) == molecule.Radius("") || strings.Contains("HeNeArKrXe", s.two)
			fits := s.placed
			if better := off(s.atom.Element) - off(s.two); d < tells && (math.Abs(better) > clear || rare) {
				fits = better > clear && !rare
			}
			if fits {
				p.elements[s.atom] = s.two
			}
			if fits != s.placed {
				changed++
			}
		}
		s.atom.Element = cmp.Or(p.elements[s.atom], s.atom.Element)
	}
	if changed > 0 {
		p.remarks = append(p.remarks, fmt.Sprintf("Columns 77 and 78 name no elements, and %d names stand where those "+
			"of other elements do (CA: carbon or calcium): distances between atoms decided.", changed))
	}
}

func charge(s string) int {
	if len(s) != 2 || s[0] < '0' || s[0] > '9' {
		return 0
	}
	switch s[1] {
	case '+':
		return int(s[0] - '0')
	case '-':
		return -int(s[0] - '0')
	}
	return 0
}

// end makes a frame of the sites.
func (p *pdb) end() {
	if len(p.sites) == 0 || p.err != nil {
		return
	}
	sites := p.chosen()
	p.settleElements(sites)
	atoms, lines := make([]molecule.Atom, len(sites)), make([]int, len(sites))
	x := make([]float64, 0, 3*len(sites))
	for i, s := range sites {
		atoms[i], lines[i] = s.atom, s.line
		x = append(x, s.x[:]...)
	}
	if p.index == nil {
		p.index = map[string]int{}
		for _, s := range p.sites {
			p.index[s.serial] = leftOut
		}
		for i, s := range sites {
			if p.index[s.serial] >= 0 || p.index[s.serial] == ambiguous {
				p.index[s.serial] = ambiguous
			} else {
				p.index[s.serial] = i
			}
		}
	}
	p.sites = p.sites[:0]
	p.add(atoms, x, lines, p.line)
}

// What a serial number stands for, besides an atom.
const (
	leftOut   = -1 // atoms at an alternate location that is not taken
	ambiguous = -2 // several atoms
)

type residue struct {
	chain, name, insertion string
	number                 int
}

func (s site) residue() residue {
	return residue{s.atom.Chain, "", s.atom.Insertion, s.atom.ResidueNumber} // of any name: mutants are alternates too
}

// chosen returns the sites of the frame without those at alternate locations.
func (p *pdb) chosen() []site {
	type place struct {
		residue
		code string
	}
	occupancy := map[place]float64{}
	for _, s := range p.sites {
		if s.alternate != "" {
			occupancy[place{s.residue(), s.alternate}] += s.occupancy
		}
	}
	if len(occupancy) == 0 {
		return p.sites
	}
	best := map[residue]string{}
	for _, at := range slices.SortedFunc(maps.Keys(occupancy), func(a, b place) int {
		return strings.Compare(a.code, b.code)
	}) {
		if code, ok := best[at.residue]; !ok || occupancy[at] > occupancy[place{at.residue, code}] {
			best[at.residue] = at.code
		}
	}
	// An atom that the residue's location lacks is taken from the first that has it.
	type atom struct {
		residue
		name string
	}
	code := map[atom]string{}
	for _, s := range p.sites {
		if s.alternate == "" {
			continue
		}
		a := atom{s.residue(), s.atom.Name}
		if _, ok := code[a]; !ok || s.alternate == best[a.residue] {
			code[a] = s.alternate
		}
	}
	out := make([]site, 0, len(p.sites))
	for _, s := range p.sites {
		if s.alternate == "" || code[atom{s.residue(), s.atom.Name}] == s.alternate {
			out = append(out, s)
		}
	}
	p.dropped += len(p.sites) - len(out)
	return out
}

// bonds takes those of the CONECT records, and guesses those of the other atoms.
func (p *pdb) bonds() {
	var bonds []molecule.Bond
	named := make([]bool, p.molecule.N())
	unknown, line := 0, 0
	for _, c := range p.conect {
		var atoms []int
		for _, s := range c.serials {
			i, ok := p.index[s]
			switch {
			case !ok:
				if i = leftOut; unknown == 0 {
					line = c.line
				}
				unknown++
			case i == ambiguous:
				p.refuse(Error{Line: c.line, Frame: -1}, "CONECT names the serial number %s, which several atoms have",
					quoted(s))
			}
			atoms = append(atoms, i)
		}
		for k, j := range atoms {
			if i := atoms[0]; k > 0 && i >= 0 && j >= 0 && i != j {
				bonds = append(bonds, molecule.Bond{i, j})
				named[i], named[j] = true, true
			}
		}
	}
	if unknown > 0 {
		p.remarks = append(p.remarks, fmt.Sprintf("CONECT records name atoms that are not in the file (%d times, "+
			"first in line %d); these bonds were left out.", unknown, line))
	}
	if bonds == nil {
		return
	}
	for _, b := range p.molecule.GuessBonds(p.x[:p.molecule.Dim()]) {
		if !named[b[0]] || !named[b[1]] {
			bonds = append(bonds, b)
		}
	}
	if err := p.molecule.SetBonds(bonds); err != nil {
		p.refuse(Error{Frame: -1}, "%v", err)
	}
}

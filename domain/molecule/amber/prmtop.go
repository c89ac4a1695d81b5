package amber

import (
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
)

// ReadPrmtop reads a parameter and topology file of AMBER's programs, as tleap writes it: fields of fixed width after
// %FLAG and %FORMAT lines (https://ambermd.org/prmtop.pdf). The error is of kind fault.Data or an *fs.PathError. What
// would change the energy and is not computed here is refused by name, and so is any section that is not known.
func ReadPrmtop(path string) (*System, error) {
	data, err := input.Read(path, maxFile)
	if err != nil {
		return nil, err
	}
	return DecodePrmtop(path, data)
}

// refused are sections of energies that are not computed here, by the beginning of their names, and what to do.
var refused = []struct{ prefix, what string }{
	{"CMAP", "CMAP energies (ff19SB and others); a force field without them, such as ff14SB, can be read"},
	{"CHARMM_", "energies of CHARMM's form; a force field of AMBER's form can be read"},
	{"CTITLE", charmm},
	{"FORCE_FIELD_TYPE", charmm},
	{"AMOEBA_", "a force field of AMOEBA's form; one of AMBER's can be read"},
	{"LENNARD_JONES_14_", "Lennard-Jones energies of their own three bonds apart (CHARMM); one table of them can " +
		"be read"},
	{"LENNARD_JONES_CCOEF", ions},
	{"LENNARD_JONES_DCOEF", ions},
	{"POLARIZABILITY", polarisable},
	{"DIPOLE_DAMP_FACTOR", polarisable},
	{"PERT_", perturbed},
	{"ALMPER", perturbed},
	{"IAPER", perturbed},
	{"CAP_INFO", capped},
	{"SOLVENT_POINTERS", periodic},
	{"ATOMS_PER_MOLECULE", periodic},
	{"BOX_DIMENSIONS", periodic},
}

const (
	periodic = "a periodic box; energies here are of one molecule in vacuum or implicit water: strip box and solvent " +
		"(parmed: strip :WAT,Na+,Cl-; box nobox)"
	perturbed   = "atoms that are perturbed; take one end state"
	capped      = "a cap of solvent; strip it"
	polarisable = "polarisable atoms; fixed charges can be read"
	charmm      = "a force field of CHARMM's form; one of AMBER's can be read"
	ions        = "12-6-4 energies (of metal ions); 12-6 can be read"
)

// harmless are sections that no energy depends on, or that are read if they are there.
var harmless = strings.Fields(`TITLE ATOM_NAME MASS AMBER_ATOM_TYPE TREE_CHAIN_CLASSIFICATION JOIN_ARRAY IROTAT SOLTY
	HBCUT RADIUS_SET RADII SCREEN RESIDUE_NUMBER RESIDUE_CHAINID RESIDUE_ICODE ATOM_ELEMENT ATOM_OCCUPANCY ATOM_BFACTOR
	ATOM_NUMBER ATOMIC_NUMBER SCEE_SCALE_FACTOR SCNB_SCALE_FACTOR IPOL`)

// needed are the sections that are read and must be there.
var needed = strings.Fields(`POINTERS CHARGE ATOM_TYPE_INDEX NUMBER_EXCLUDED_ATOMS NONBONDED_PARM_INDEX RESIDUE_LABEL
	RESIDUE_POINTER BOND_FORCE_CONSTANT BOND_EQUIL_VALUE ANGLE_FORCE_CONSTANT ANGLE_EQUIL_VALUE
	DIHEDRAL_FORCE_CONSTANT DIHEDRAL_PERIODICITY DIHEDRAL_PHASE LENNARD_JONES_ACOEF LENNARD_JONES_BCOEF
	BONDS_INC_HYDROGEN BONDS_WITHOUT_HYDROGEN ANGLES_INC_HYDROGEN ANGLES_WITHOUT_HYDROGEN DIHEDRALS_INC_HYDROGEN
	DIHEDRALS_WITHOUT_HYDROGEN EXCLUDED_ATOMS_LIST HBOND_ACOEF HBOND_BCOEF`)

// pointerNames are those of the numbers of POINTERS, in order; older files lack the last.
var pointerNames = strings.Fields(`NATOM NTYPES NBONH MBONA NTHETH MTHETA NPHIH MPHIA NHPARM NPARM NNB NRES NBONA NTHETA
	NPHIA NUMBND NUMANG NPTRA NATYP NPHB IFPERT NBPER NGPER NDPER MBPER MGPER MDPER IFBOX NMXRS IFCAP NUMEXTRA NCOPY`)

// pointers are the numbers of POINTERS by name.
type pointers map[string]int

// Bounds of the numbers of POINTERS, before anything is allocated for them.
const (
	maxTerms = 100 * MaxAtoms
	maxTypes = 10_000
)

// DecodePrmtop is ReadPrmtop of the bytes of a file; path is for messages.
func DecodePrmtop(path string, data []byte) (*System, error) {
	f := split(path, data)
	p := f.pointers()
	f.refuse()
	if f.fault != nil {
		return nil, f.fault
	}
	s := &System{Kinds: p["NTYPES"], Origin: path}
	f.atoms(s, p)
	f.lennardJones(s, p)
	f.bonds(s, p)
	f.angles(s, p)
	f.torsions(s, p)
	f.exclusions(s, p)
	if f.fault != nil {
		return nil, f.fault
	}
	bonds := make([]molecule.Bond, len(s.Bonds))
	for k, b := range s.Bonds {
		bonds[k] = molecule.Bond{b.I, b.J}
	}
	err := s.Molecule.SetBonds(bonds)
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		return nil, fault.Errorf(fault.Data, path, "%w", err)
	}
	return s, nil
}

func (f *sections) pointers() pointers {
	values, p := f.ints("POINTERS", -1), pointers{}
	if n := len(pointerNames); f.fault == nil && (len(values) < n-2 || len(values) > n) {
		f.fail("POINTERS", heading, "has %d numbers; expected %d to %d", len(values), n-2, n)
	}
	if f.fault != nil {
		return nil
	}
	for i, v := range values {
		p[pointerNames[i]] = v
	}
	atoms := max(p["NATOM"], 1)
	for _, b := range []struct {
		names  string
		lo, hi int
	}{
		{"NATOM", 1, MaxAtoms}, {"NTYPES NRES", 1, atoms}, {"NNB", 0, MaxAtoms * MaxAtoms},
		{"NBONH NBONA NTHETH NTHETA NPHIH NPHIA", 0, maxTerms}, {"NUMBND NUMANG NPTRA NPHB", 0, maxTypes},
	} {
		for _, name := range strings.Fields(b.names) {
			if p[name] < b.lo || p[name] > b.hi {
				f.fail("POINTERS", heading, "%s is %d; expected %d to %d", name, p[name], b.lo, b.hi)
			}
		}
	}
	for _, c := range [][2]string{{"IFPERT", perturbed}, {"IFBOX", periodic}, {"IFCAP", capped},
		{"NUMEXTRA", "virtual sites; atoms alone can be read"}} {
		if p[c[0]] != 0 {
			f.fail("POINTERS", heading, "%s is %d: the file has %s", c[0], p[c[0]], c[1])
		}
	}
	return p
}

// refuse names the first section that changes energies and is not computed, or that is not known.
func (f *sections) refuse() {
	for _, s := range f.list {
		for _, r := range refused {
			if strings.HasPrefix(s.name, r.prefix) {
				f.fail(s.name, heading, "the file has %s", r.what)
			}
		}
		if !slices.Contains(harmless, s.name) && !slices.Contains(needed, s.name) {
			f.fail(s.name, heading, "a section that is not known; without it the energy could be another")
		}
	}
	if f.has("IPOL") {
		if v := f.ints("IPOL", -1); len(v) > 0 && v[0] != 0 {
			f.fail("IPOL", 0, "is %d: the file has %s", v[0], polarisable)
		}
	}
}

func (f *sections) atoms(s *System, p pointers) {
	n := p["NATOM"]
	names, charges, masses := f.words("ATOM_NAME", n), f.reals("CHARGE", n), f.reals("MASS", n)
	kinds, residues := f.ints("ATOM_TYPE_INDEX", n), f.words("RESIDUE_LABEL", p["NRES"])
	firsts := f.ints("RESIDUE_POINTER", p["NRES"])
	optional := func(name string) []float64 {
		if !f.has(name) {
			return make([]float64, n)
		}
		return f.reals(name, n)
	}
	radii, screens := optional("RADII"), optional("SCREEN")
	if f.has("AMBER_ATOM_TYPE") {
		f.words("AMBER_ATOM_TYPE", n) // refused if damaged
	}
	numbers := make([]int, n)
	if f.has("ATOMIC_NUMBER") {
		numbers = f.ints("ATOMIC_NUMBER", n)
	}
	if f.fault != nil {
		return
	}
	s.Molecule, s.Atoms = molecule.Anonymous(n), make([]Atom, n)
	for r, first := range firsts {
		end := n + 1
		if r+1 < len(firsts) {
			end = firsts[r+1]
		}
		if first < 1 || first >= end || end > n+1 || r == 0 && first != 1 {
			f.fail("RESIDUE_POINTER", heading, "residue %d begins at atom %d and the next at %d; expected "+
				"growing numbers from 1 to %d", r+1, first, end, n)
			return
		}
		for i := first - 1; i < end-1; i++ {
			s.Molecule.Atoms[i] = molecule.Atom{Name: names[i], Element: molecule.Numbered(numbers[i]),
				Residue: residues[r], ResidueNumber: r + 1}
		}
	}
	for i := range s.Atoms {
		if kinds[i] < 1 || kinds[i] > s.Kinds {
			f.fail("ATOM_TYPE_INDEX", i, "atom %d (%s) is of type %d; expected 1 to %d", i, s.Molecule.Label(i),
				kinds[i], s.Kinds)
			return
		}
		s.Atoms[i] = Atom{Charge: charges[i] / chargeUnit, Mass: masses[i], Kind: kinds[i] - 1,
			Radius: radii[i], Screen: screens[i]}
	}
}

func (f *sections) lennardJones(s *System, p pointers) {
	t := s.Kinds
	index := f.ints("NONBONDED_PARM_INDEX", t*t)
	a, b := f.reals("LENNARD_JONES_ACOEF", t*(t+1)/2), f.reals("LENNARD_JONES_BCOEF", t*(t+1)/2)
	for _, name := range []string{"HBOND_ACOEF", "HBOND_BCOEF"} { // of 10-12 energies; zeros in today's files
		if p["NPHB"] > 0 || f.has(name) {
			for k, v := range f.reals(name, p["NPHB"]) {
				if v != 0 {
					f.fail(name, k, "the file has 10-12 energies of hydrogen bonds; 12-6 can be read")
				}
			}
		}
	}
	if f.fault != nil {
		return
	}
	s.A, s.B = make([]float64, t*t), make([]float64, t*t)
	for k, i := range index {
		if i < 0 { // a 10-12 pair: its coefficients are zero, as was seen above
			if -i > p["NPHB"] {
				f.fail("NONBONDED_PARM_INDEX", k, "value %d is %d; there are %d pairs of 10-12 energies", k+1, i,
					p["NPHB"])
				return
			}
			continue
		}
		if i < 1 || i > len(a) {
			f.fail("NONBONDED_PARM_INDEX", k, "value %d is %d; expected 1 to %d", k+1, i, len(a))
			return
		}
		s.A[k], s.B[k] = a[i-1], b[i-1]
	}
}

// A term is one of bonds, angles or dihedrals, all counted from 0.
type term struct {
	section string
	field   int // where it begins
	at      [4]int
	minus   [4]bool // of the third and fourth atom of a dihedral: the sign says what it is
	kind    int     // its row of parameters
}

// terms calls f on the terms of two sections, hydrogens' and the others', of `atoms` atoms each.
func (f *sections) terms(what string, atoms int, p pointers, hydrogen, rest string, kinds int, of func(t term)) {
	for _, part := range [][2]string{{what + "_INC_HYDROGEN", hydrogen}, {what + "_WITHOUT_HYDROGEN", rest}} {
		v := f.ints(part[0], p[part[1]]*(atoms+1))
		for k := 0; k < len(v) && f.fault == nil; k += atoms + 1 {
			t, number := term{section: part[0], field: k, kind: v[k+atoms] - 1}, k/(atoms+1)+1
			for a, i := range v[k : k+atoms] {
				if i < 0 && atoms == 4 && a >= 2 {
					i, t.minus[a] = -i, true
				}
				if i%3 != 0 || i < 0 || i/3 >= p["NATOM"] {
					f.fail(part[0], k, "term %d has the coordinate index %d; expected a multiple of 3 from 0 to %d",
						number, v[k+a], 3*(p["NATOM"]-1))
				}
				t.at[a] = i / 3
			}
			if t.kind < 0 || t.kind >= kinds {
				f.fail(part[0], k, "term %d is of type %d; expected 1 to %d", number, t.kind+1, kinds)
			}
			if f.fault == nil {
				of(t)
			}
		}
	}
}

func (f *sections) bonds(s *System, p pointers) {
	k, r := f.reals("BOND_FORCE_CONSTANT", p["NUMBND"]), f.reals("BOND_EQUIL_VALUE", p["NUMBND"])
	f.terms("BONDS", 2, p, "NBONH", "NBONA", len(k), func(t term) {
		s.Bonds = append(s.Bonds, Bond{t.at[0], t.at[1], k[t.kind], r[t.kind]})
	})
}

func (f *sections) angles(s *System, p pointers) {
	k, θ := f.reals("ANGLE_FORCE_CONSTANT", p["NUMANG"]), f.reals("ANGLE_EQUIL_VALUE", p["NUMANG"])
	f.terms("ANGLES", 3, p, "NTHETH", "NTHETA", len(k), func(t term) {
		s.Angles = append(s.Angles, Angle{t.at[0], t.at[1], t.at[2], k[t.kind], θ[t.kind]})
	})
}

// AMBER's scale factors of 1–4 pairs, where a file has none.
const (
	defaultSCEE = 1.2
	defaultSCNB = 2.0
)

func (f *sections) torsions(s *System, p pointers) {
	types := p["NPTRA"]
	k, n := f.reals("DIHEDRAL_FORCE_CONSTANT", types), f.reals("DIHEDRAL_PERIODICITY", types)
	δ := f.reals("DIHEDRAL_PHASE", types)
	scale := func(name string, usual float64) []float64 {
		if f.has(name) {
			return f.reals(name, types)
		}
		return slices.Repeat([]float64{usual}, types)
	}
	scee, scnb := scale("SCEE_SCALE_FACTOR", defaultSCEE), scale("SCNB_SCALE_FACTOR", defaultSCNB)
	if f.fault != nil {
		return
	}
	for t, v := range n {
		if v < 0 {
			v = -v
		}
		if n[t] = v; v != float64(int(v)) || v > maxPeriod {
			f.fail("DIHEDRAL_PERIODICITY", t, "value %d is %v; expected a whole number "+
				"of at most %d", t+1, v, maxPeriod)
			return
		}
	}
	f.terms("DIHEDRALS", 4, p, "NPHIH", "NPHIA", types, func(t term) {
		i, l, ee, nb := t.at[0], t.at[3], scee[t.kind], scnb[t.kind]
		s.Torsions = append(s.Torsions, Torsion{i, t.at[1], t.at[2], l, int(n[t.kind]), k[t.kind], δ[t.kind],
			t.minus[3]})
		if t.minus[2] || t.minus[3] {
			return
		}
		if !(ee > 0) || !(nb > 0) {
			f.fail(t.section, t.field, "the pair of atoms %d and %d is of dihedral type %d, with SCEE = %v and SCNB = "+
				"%v; expected numbers above 0", i, l, t.kind+1, ee, nb)
		}
		s.OneFour = append(s.OneFour, OneFour{i, l, ee, nb})
	})
}

func (f *sections) exclusions(s *System, p pointers) {
	counts, list := f.ints("NUMBER_EXCLUDED_ATOMS", p["NATOM"]), f.ints("EXCLUDED_ATOMS_LIST", p["NNB"])
	if f.fault != nil {
		return
	}
	at := 0
	for i, c := range counts {
		if c < 0 || c > len(list)-at {
			f.fail("NUMBER_EXCLUDED_ATOMS", i, "value %d is %d; %d of %d excluded "+
				"atoms are left", i+1, c, len(list)-at, len(list))
			return
		}
		for k := at; k < at+c; k++ {
			switch j := list[k] - 1; {
			case j == -1 && c == 1: // stands for none
			case j <= i || j >= p["NATOM"]:
				f.fail("EXCLUDED_ATOMS_LIST", k, "value %d, of atom %d, is %d; expected "+
					"%d to %d", k+1, i+1, j+1, i+2, p["NATOM"])
				return
			default:
				s.Excluded = append(s.Excluded, [2]int{i, j})
			}
		}
		at += c
	}
	if at != len(list) {
		f.fail("EXCLUDED_ATOMS_LIST", heading, "has %d values; NUMBER_EXCLUDED_ATOMS adds up to %d", len(list), at)
	}
}

package amber

import (
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/internal/input"
)

// ReadPrmtop reads a parameter and topology file of AMBER's programs, as tleap writes it: fields of fixed width after
// %FLAG and %FORMAT lines (https://ambermd.org/prmtop.pdf). The error is a *FileError or an *fs.PathError. What would
// change the energy and is not computed here is refused by name, and so is any section that is not known.
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
	{"CTITLE", "a force field of CHARMM's form; one of AMBER's can be read"},
	{"FORCE_FIELD_TYPE", "a force field of CHARMM's form; one of AMBER's can be read"},
	{"AMOEBA_", "a force field of AMOEBA's form; one of AMBER's can be read"},
	{"LENNARD_JONES_14_", "Lennard-Jones energies of their own three bonds apart (CHARMM); one table of them can " +
		"be read"},
	{"LENNARD_JONES_CCOEF", "12-6-4 energies (of metal ions); 12-6 can be read"},
	{"LENNARD_JONES_DCOEF", "12-6-4 energies (of metal ions); 12-6 can be read"},
	{"POLARIZABILITY", "polarisable atoms; fixed charges can be read"},
	{"DIPOLE_DAMP_FACTOR", "polarisable atoms; fixed charges can be read"},
	{"PERT_", "atoms that are perturbed; take one end state"},
	{"ALMPER", "atoms that are perturbed; take one end state"},
	{"IAPER", "atoms that are perturbed; take one end state"},
	{"CAP_INFO", "a cap of solvent; strip it"},
	{"SOLVENT_POINTERS", periodic},
	{"ATOMS_PER_MOLECULE", periodic},
	{"BOX_DIMENSIONS", periodic},
}

const periodic = "a periodic box; energies here are of one molecule in vacuum or implicit water: strip box and " +
	"solvent " + "(parmed: strip :WAT,Na+,Cl-; box nobox)"

// harmless are sections that no energy depends on.
var harmless = []string{
	"TITLE", "ATOM_NAME", "MASS", "AMBER_ATOM_TYPE", "TREE_CHAIN_CLASSIFICATION", "JOIN_ARRAY", "IROTAT", "SOLTY",
	"HBCUT",
	"RADIUS_SET", "RADII", "SCREEN", "RESIDUE_NUMBER", "RESIDUE_CHAINID", "RESIDUE_ICODE", "ATOM_ELEMENT",
	"ATOM_OCCUPANCY", "ATOM_BFACTOR", "ATOM_NUMBER",
	"ATOMIC_NUMBER", "SCEE_SCALE_FACTOR", "SCNB_SCALE_FACTOR", "IPOL",
}

// Names of the numbers of POINTERS, in order.
const (
	pNATOM = iota
	pNTYPES
	pNBONH
	pMBONA
	pNTHETH
	pMTHETA
	pNPHIH
	pMPHIA
	pNHPARM
	pNPARM
	pNNB
	pNRES
	pNBONA
	pNTHETA
	pNPHIA
	pNUMBND
	pNUMANG
	pNPTRA
	pNATYP
	pNPHB
	pIFPERT
	pNBPER
	pNGPER
	pNDPER
	pMBPER
	pMGPER
	pMDPER
	pIFBOX
	pNMXRS
	pIFCAP
	pNUMEXTRA
)

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
	s := &System{Kinds: p[pNTYPES], Origin: path}
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
		return nil, &FileError{Path: path, Problem: err.Error()}
	}
	return s, nil
}

func (f *sections) pointers() []int {
	p := f.ints("POINTERS", -1)
	at := 0
	if s := f.by["POINTERS"]; s != nil {
		at = s.line
	}
	if f.fault == nil && (len(p) < pNUMEXTRA || len(p) > pNUMEXTRA+2) {
		f.fail("POINTERS", at, "has %d numbers; expected 30 to 32", len(p))
	}
	if f.fault != nil {
		return nil
	}
	p = append(p, 0, 0)
	bound := func(name string, i, lo, hi int) {
		if p[i] < lo || p[i] > hi {
			f.fail("POINTERS", at, "%s is %d; expected %d to %d", name, p[i], lo, hi)
		}
	}
	bound("NATOM", pNATOM, 1, MaxAtoms)
	bound("NTYPES", pNTYPES, 1, max(p[pNATOM], 1))
	bound("NRES", pNRES, 1, max(p[pNATOM], 1))
	for name, i := range map[string]int{"NBONH": pNBONH, "NBONA": pNBONA, "NTHETH": pNTHETH, "NTHETA": pNTHETA,
		"NPHIH": pNPHIH, "NPHIA": pNPHIA} {
		bound(name, i, 0, maxTerms)
	}
	bound("NNB", pNNB, 0, MaxAtoms*MaxAtoms)
	for name, i := range map[string]int{"NUMBND": pNUMBND, "NUMANG": pNUMANG, "NPTRA": pNPTRA, "NPHB": pNPHB} {
		bound(name, i, 0, maxTypes)
	}
	for _, c := range []struct {
		name string
		at   int
		what string
	}{
		{"IFPERT", pIFPERT, "atoms that are perturbed; take one end state"},
		{"IFBOX", pIFBOX, periodic},
		{"IFCAP", pIFCAP, "a cap of solvent; strip it"},
		{"NUMEXTRA", pNUMEXTRA, "virtual sites; atoms alone can be read"},
	} {
		if p[c.at] != 0 {
			f.fail("POINTERS", at, "%s is %d: the file has %s", c.name, p[c.at], c.what)
		}
	}
	return p
}

// refuse names the first section that changes energies and is not computed, or that is not known.
func (f *sections) refuse() {
	for _, s := range f.list {
		for _, r := range refused {
			if strings.HasPrefix(s.name, r.prefix) {
				f.fail(s.name, s.line, "the file has %s", r.what)
			}
		}
		if !slices.Contains(harmless, s.name) && !slices.Contains(needed, s.name) {
			f.fail(s.name, s.line, "a section that is not known; without it the energy could be another")
		}
	}
	if s := f.by["IPOL"]; s != nil {
		if v := f.ints("IPOL", -1); len(v) > 0 && v[0] != 0 {
			f.fail("IPOL", s.line, "is %d: the file has polarisable atoms; fixed charges can be read", v[0])
		}
	}
}

// needed are the sections that are read and must be there.
var needed = []string{
	"POINTERS", "CHARGE", "ATOM_TYPE_INDEX", "NUMBER_EXCLUDED_ATOMS", "NONBONDED_PARM_INDEX", "RESIDUE_LABEL",
	"RESIDUE_POINTER", "BOND_FORCE_CONSTANT", "BOND_EQUIL_VALUE", "ANGLE_FORCE_CONSTANT", "ANGLE_EQUIL_VALUE",
	"DIHEDRAL_FORCE_CONSTANT", "DIHEDRAL_PERIODICITY", "DIHEDRAL_PHASE", "LENNARD_JONES_ACOEF", "LENNARD_JONES_BCOEF",
	"BONDS_INC_HYDROGEN", "BONDS_WITHOUT_HYDROGEN", "ANGLES_INC_HYDROGEN", "ANGLES_WITHOUT_HYDROGEN",
	"DIHEDRALS_INC_HYDROGEN", "DIHEDRALS_WITHOUT_HYDROGEN", "EXCLUDED_ATOMS_LIST", "HBOND_ACOEF", "HBOND_BCOEF",
}

func (f *sections) atoms(s *System, p []int) {
	n := p[pNATOM]
	names, charges, masses := f.words("ATOM_NAME", n), f.reals("CHARGE", n), f.reals("MASS", n)
	kinds, residues := f.ints("ATOM_TYPE_INDEX", n), f.words("RESIDUE_LABEL", p[pNRES])
	firsts := f.ints("RESIDUE_POINTER", p[pNRES])
	optional := func(name string) []float64 {
		if !f.has(name) {
			return make([]float64, n)
		}
		return f.reals(name, n)
	}
	radii, screens := optional("RADII"), optional("SCREEN")
	types := make([]string, n)
	if f.has("AMBER_ATOM_TYPE") {
		types = f.words("AMBER_ATOM_TYPE", n)
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
			f.fail("RESIDUE_POINTER", f.by["RESIDUE_POINTER"].line,
				"residue %d begins at atom %d and the next at %d; expected "+
					"growing numbers from 1 to %d", r+1, first, end, n)
			return
		}
		for i := first - 1; i < end-1; i++ {
			s.Molecule.Atoms[i] = molecule.Atom{Name: names[i], Element: element(numbers[i]), Residue: residues[r],
				ResidueNumber: r + 1}
		}
	}
	for i := range s.Atoms {
		if kinds[i] < 1 || kinds[i] > s.Kinds {
			f.fail("ATOM_TYPE_INDEX", f.by["ATOM_TYPE_INDEX"].fields[i].line,
				"atom %d (%s) is of type %d; expected 1 to %d", i, s.Molecule.Label(i), kinds[i], s.Kinds)
			return
		}
		s.Atoms[i] = Atom{Type: types[i], Charge: charges[i] / chargeUnit, Mass: masses[i], Kind: kinds[i] - 1,
			Radius: radii[i], Screen: screens[i]}
	}
}

func (f *sections) lennardJones(s *System, p []int) {
	t := s.Kinds
	index := f.ints("NONBONDED_PARM_INDEX", t*t)
	a, b := f.reals("LENNARD_JONES_ACOEF", t*(t+1)/2), f.reals("LENNARD_JONES_BCOEF", t*(t+1)/2)
	for _, name := range []string{"HBOND_ACOEF", "HBOND_BCOEF"} { // of 10-12 energies; zeros in today's files
		if p[pNPHB] > 0 || f.has(name) {
			for k, v := range f.reals(name, p[pNPHB]) {
				if v != 0 {
					f.fail(name, f.by[name].fields[k].line,
						"the file has 10-12 energies of hydrogen bonds; 12-6 can be read")
				}
			}
		}
	}
	if f.fault != nil {
		return
	}
	s.A, s.B = make([]float64, t*t), make([]float64, t*t)
	for k, i := range index {
		line := f.by["NONBONDED_PARM_INDEX"].fields[k].line
		if i < 0 { // a 10-12 pair: its coefficients are zero, as was seen above
			if -i > p[pNPHB] {
				f.fail("NONBONDED_PARM_INDEX", line, "value %d is %d; there are %d pairs of 10-12 energies", k+1, i,
					p[pNPHB])
				return
			}
			continue
		}
		if i < 1 || i > len(a) {
			f.fail("NONBONDED_PARM_INDEX", line, "value %d is %d; expected 1 to %d", k+1, i, len(a))
			return
		}
		s.A[k], s.B[k] = a[i-1], b[i-1]
	}
}

// each calls f on the terms of two sections, hydrogens' and the others', of so many atoms
// each and one index of parameters, all from 0. The signs of the atoms are kept apart.
func (f *sections) each(
	hydrogen, rest string, nh, nr, atoms, most, types int, of func(name string, line int, at [4]int, neg [4]bool,
		kind int),
) {
	for _, part := range []struct {
		name string
		n    int
	}{{hydrogen, nh}, {rest, nr}} {
		v := f.ints(part.name, part.n*(atoms+1))
		if f.fault != nil {
			return
		}
		for k := 0; k < len(v); k += atoms + 1 {
			line := f.by[part.name].fields[k].line
			var at [4]int
			var neg [4]bool
			for a := range atoms {
				i := v[k+a]
				if i < 0 && atoms == 4 && a >= 2 {
					i, neg[a] = -i, true
				}
				if i%3 != 0 || i < 0 || i/3 >= most {
					f.fail(part.name, line, "term %d has the coordinate index %d; expected a multiple of 3 from 0 "+
						"to %d", k/(atoms+1)+1, v[k+a], 3*(most-1))
					return
				}
				at[a] = i / 3
			}
			kind := v[k+atoms] - 1
			if kind < 0 || kind >= types {
				f.fail(part.name, line, "term %d is of type %d; expected 1 to %d", k/(atoms+1)+1, kind+1, types)
				return
			}
			of(part.name, line, at, neg, kind)
		}
	}
}

func (f *sections) bonds(s *System, p []int) {
	k, r := f.reals("BOND_FORCE_CONSTANT", p[pNUMBND]), f.reals("BOND_EQUIL_VALUE", p[pNUMBND])
	f.each("BONDS_INC_HYDROGEN", "BONDS_WITHOUT_HYDROGEN", p[pNBONH], p[pNBONA], 2, p[pNATOM], len(k),
		func(_ string, _ int, at [4]int, _ [4]bool, t int) {
			s.Bonds = append(s.Bonds, Bond{at[0], at[1], k[t], r[t]})
		})
}

func (f *sections) angles(s *System, p []int) {
	k, θ := f.reals("ANGLE_FORCE_CONSTANT", p[pNUMANG]), f.reals("ANGLE_EQUIL_VALUE", p[pNUMANG])
	f.each("ANGLES_INC_HYDROGEN", "ANGLES_WITHOUT_HYDROGEN", p[pNTHETH], p[pNTHETA], 3, p[pNATOM], len(k),
		func(_ string, _ int, at [4]int, _ [4]bool, t int) {
			s.Angles = append(s.Angles, Angle{at[0], at[1], at[2], k[t], θ[t]})
		})
}

// AMBER's scale factors of 1–4 pairs, where a file has none.
const (
	defaultSCEE = 1.2
	defaultSCNB = 2.0
)

func (f *sections) torsions(s *System, p []int) {
	types := p[pNPTRA]
	k, n := f.reals("DIHEDRAL_FORCE_CONSTANT", types), f.reals("DIHEDRAL_PERIODICITY", types)
	δ := f.reals("DIHEDRAL_PHASE", types)
	scale := func(name string, usual float64) []float64 {
		if f.has(name) {
			return f.reals(name, types)
		}
		v := make([]float64, types)
		for i := range v {
			v[i] = usual
		}
		return v
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
			f.fail("DIHEDRAL_PERIODICITY", f.by["DIHEDRAL_PERIODICITY"].fields[t].line,
				"value %d is %v; expected a whole number "+
					"of at most %d", t+1, v, maxPeriod)
			return
		}
	}
	f.each("DIHEDRALS_INC_HYDROGEN", "DIHEDRALS_WITHOUT_HYDROGEN", p[pNPHIH], p[pNPHIA], 4, p[pNATOM], types,
		func(name string, line int, at [4]int, neg [4]bool, t int) {
			s.Torsions = append(s.Torsions, Torsion{at[0], at[1], at[2], at[3], int(n[t]), k[t], δ[t], neg[3]})
			if neg[2] || neg[3] {
				return
			}
			if !(scee[t] > 0) || !(scnb[t] > 0) {
				f.fail(name, line, "the pair of atoms %d and %d is of dihedral type %d, with SCEE = %v and SCNB = "+
					"%v; expected numbers above 0", at[0], at[3], t+1, scee[t], scnb[t])
			}
			s.OneFour = append(s.OneFour, OneFour{at[0], at[3], scee[t], scnb[t]})
		})
}

func (f *sections) exclusions(s *System, p []int) {
	counts, list := f.ints("NUMBER_EXCLUDED_ATOMS", p[pNATOM]), f.ints("EXCLUDED_ATOMS_LIST", p[pNNB])
	if f.fault != nil {
		return
	}
	at := 0
	for i, c := range counts {
		if c < 0 || c > len(list)-at {
			f.fail("NUMBER_EXCLUDED_ATOMS", f.by["NUMBER_EXCLUDED_ATOMS"].fields[i].line,
				"value %d is %d; %d of %d excluded "+
					"atoms are left", i+1, c, len(list)-at, len(list))
			return
		}
		for k := at; k < at+c; k++ {
			switch j := list[k] - 1; {
			case j == -1 && c == 1: // stands for none
			case j <= i || j >= p[pNATOM]:
				f.fail("EXCLUDED_ATOMS_LIST", f.by["EXCLUDED_ATOMS_LIST"].fields[k].line,
					"value %d, of atom %d, is %d; expected "+
						"%d to %d", k+1, i+1, j+1, i+2, p[pNATOM])
				return
			default:
				s.Excluded = append(s.Excluded, [2]int{i, j})
			}
		}
		at += c
	}
	if at != len(list) {
		f.fail("EXCLUDED_ATOMS_LIST", f.by["EXCLUDED_ATOMS_LIST"].line,
			"has %d values; NUMBER_EXCLUDED_ATOMS adds up to %d", len(list), at)
	}
}

// elements by atomic number, to those of biomolecules and their ions.
var elements = strings.Fields("H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge " +
	"As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba")

func element(number int) string {
	if number < 1 || number > len(elements) {
		return ""
	}
	return elements[number-1]
}

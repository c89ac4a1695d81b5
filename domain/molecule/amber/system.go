// Package amber is the energy of a molecule and its gradient, by a force field of
// AMBER's form (Cornell et al., J. Am. Chem. Soc. 1995, 5179):
//
//	U = Σ_bonds K (r − r₀)² + Σ_angles K (θ − θ₀)²
//	  + Σ_dihedrals K (1 + cos(nφ − δ))                     proper and improper
//	  + Σ_{i<j} (A_ij/r¹² − B_ij/r⁶)/SCNB + C q_i q_j/(r SCEE) + U_solvent
//
// The last sum has all pairs but those that are excluded (one or two bonds apart); SCNB
// and SCEE are 1 but for pairs three bonds apart. There is no cutoff, and no periodic
// box. U_solvent is 0 in vacuum, or the implicit water of born.go.
//
// Units are AMBER's: kcal/mol, Å, charges in those of a proton, angles in radians. A System is the parameters, from a
// prmtop file or built in; a ForceField is what is computed from them once; an Evaluator is scratch for one goroutine;
// a Potential is U/kT, as the processes and chains of package langevin want it.
//
// It is not for CHARMM's additions (CMAP, Urey–Bradley), polarisable charges, virtual
// sites or periodic boxes: files with these are refused by name.
package amber

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/domain/molecule"
)

// Constants. C = e²N_A/(4πε₀) of CODATA 2018; AMBER's own programs take
// 18.2223² = 332.0522 for it, which makes their Coulomb energies 3.5·10⁻⁵ lower.
const (
	Coulomb   = 332.0637133  // C, in kcal Å/mol
	Boltzmann = 0.0019872043 // k, in kcal/(mol K)

	chargeUnit = 18.2223 // of CHARGE in a prmtop file: √332.0522
)

// An Atom is what the force field knows of one.
type Atom struct {
	Charge float64 // in proton charges
	Mass   float64 // in dalton; no energy depends on it
	Kind   int     // row of A and B
	Radius float64 // ρ of implicit solvent, Å; 0 if not given
	Screen float64 // its scale in the integrals of others; 0 if not given
}

// A Bond is K (r − R)² of atoms I and J.
type Bond struct {
	I, J int
	K, R float64 // kcal/(mol Å²), Å
}

// An Angle is K (θ − Theta)² at atom J.
type Angle struct {
	I, J, K  int
	Stiff    float64 // K, kcal/(mol rad²)
	Straight float64 // θ₀, rad
}

// A Torsion is K (1 + cos(nφ − δ)) of the dihedral of four atoms.
type Torsion struct {
	I, J, K, L int
	N          int     // n
	Barrier    float64 // K, kcal/mol
	Phase      float64 // δ, rad
	Improper   bool
}

// A OneFour is a pair three bonds apart, whose Coulomb and Lennard-Jones energies are divided by SCEE and SCNB.
type OneFour struct {
	I, J       int
	SCEE, SCNB float64
}

// A System is a molecule and its parameters.
type System struct {
	Molecule *molecule.Molecule
	Atoms    []Atom
	Bonds    []Bond
	Angles   []Angle
	Torsions []Torsion
	OneFour  []OneFour
	Excluded [][2]int  // pairs, i < j, left out of the sum over pairs; those of OneFour among them
	Kinds    int       // of atoms in Lennard-Jones terms
	A, B     []float64 // Kinds×Kinds, symmetric
	Origin   string    // of the parameters
}

// MaxAtoms bounds a system: every pair of atoms counts, and is kept.
const MaxAtoms = 2000

// Check returns an error if some term is not a number, or one of atoms that are not there. It names the first by what
// it is and its number, from 0.
func (s *System) Check() (fault error) {
	n := len(s.Atoms)
	if n == 0 || n > MaxAtoms || s.Molecule == nil || len(s.Molecule.Atoms) != n {
		return fmt.Errorf("%d atoms with parameters; expected 1 to %d, as many as have names", n, MaxAtoms)
	}
	if s.Kinds < 1 || s.Kinds > n || len(s.A) != s.Kinds*s.Kinds || len(s.B) != len(s.A) {
		return fmt.Errorf("%d kinds of atoms with %d and %d coefficients; expected 1 to %d, squared", s.Kinds, len(s.A),
			len(s.B), n)
	}
	refuse := func(term string, at int, format string, v ...any) {
		if fault == nil {
			fault = fmt.Errorf("%s %d: %s", term, at, fmt.Sprintf(format, v...))
		}
	}
	check := func(term string, at int, numbers []float64, atoms ...int) {
		for a, i := range atoms {
			if i < 0 || i >= n {
				refuse(term, at, "atom %d; expected 0 to %d", i, n-1)
			}
			if slices.Contains(atoms[:a], i) {
				refuse(term, at, "atom %d twice", i)
			}
		}
		for _, v := range numbers {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				refuse(term, at, "the number %v", v)
			}
		}
	}
	for k, a := range s.Atoms {
		check("atom", k, []float64{a.Charge, a.Radius, a.Screen})
		if a.Kind < 0 || a.Kind >= s.Kinds {
			refuse("atom", k, "kind %d; expected 0 to %d", a.Kind, s.Kinds-1)
		}
	}
	for k := range s.A {
		check("pair of kinds", k, []float64{s.A[k], s.B[k]})
		if t := k%s.Kinds*s.Kinds + k/s.Kinds; s.A[t] != s.A[k] || s.B[t] != s.B[k] {
			refuse("pair of kinds", k, "other coefficients than the same pair in the other order")
		}
	}
	for k, b := range s.Bonds {
		check("bond", k, []float64{b.K, b.R}, b.I, b.J)
	}
	for k, a := range s.Angles {
		check("angle", k, []float64{a.Stiff, a.Straight}, a.I, a.J, a.K)
	}
	for k, t := range s.Torsions {
		check("torsion", k, []float64{t.Barrier, t.Phase}, t.I, t.J, t.K, t.L)
		if t.N < 0 || t.N > maxPeriod {
			refuse("torsion", k, "n is %d; expected 0 to %d", t.N, maxPeriod)
		}
	}
	excluded := make(map[[2]int]bool, len(s.Excluded))
	for k, p := range s.Excluded {
		check("excluded pair", k, nil, p[0], p[1])
		excluded[ordered(p[0], p[1])] = true
	}
	seen := make(map[[2]int]bool, len(s.OneFour))
	for k, p := range s.OneFour {
		const term = "1–4 pair"
		check(term, k, []float64{p.SCEE, p.SCNB}, p.I, p.J)
		pair := ordered(p.I, p.J)
		switch {
		case p.SCEE <= 0 || p.SCNB <= 0:
			refuse(term, k, "of atoms %d and %d has SCEE = %v and SCNB = %v; expected numbers above 0", p.I, p.J,
				p.SCEE,
				p.SCNB)
		case seen[pair]:
			refuse(term, k, "atoms %d and %d twice", p.I, p.J)
		case !excluded[pair]:
			refuse(term, k, "atoms %d and %d are not among the excluded pairs, and would count twice", p.I, p.J)
		}
		seen[pair] = true
	}
	return fault
}

// maxPeriod bounds n of a dihedral; published force fields have at most 6.
const maxPeriod = 12

func ordered(i, j int) [2]int {
	if i > j {
		return [2]int{j, i}
	}
	return [2]int{i, j}
}

// Plausible returns an error if a conformation (3 numbers an atom, Å) cannot be one of this molecule: most of its bonds
// are shorter than a third of what they should be, as coordinates in nanometres are, or longer than three times that.
func (s *System) Plausible(x []float64) error {
	if len(x) != 3*len(s.Atoms) {
		return fmt.Errorf("a conformation of %d numbers; expected three for each of %d atoms", len(x), len(s.Atoms))
	}
	short, long := 0, 0
	for _, b := range s.Bonds {
		switch r := molecule.Distance(x, b.I, b.J); {
		case r < b.R/3:
			short++
		case !(r <= 3*b.R):
			long++
		}
	}
	switch n := len(s.Bonds); {
	case 2*short > n:
		return fmt.Errorf("%d of %d bonds of the conformation are shorter than a third of their length; coordinates "+
			"are in ångström, not in nanometres", short, n)
	case 2*long > n:
		return fmt.Errorf("%d of %d bonds of the conformation are longer than three times their length: the "+
			"coordinates are those of other atoms, or in another order", long, n)
	}
	return nil
}

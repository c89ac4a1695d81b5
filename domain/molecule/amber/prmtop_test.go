package amber

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func text(t testing.TB, name string) string {
	t.Helper()
	b := testkit.Must(os.ReadFile(filepath.Join("testdata", name)))
	return string(b)
}

// The file that other programs made of the same force field is the built-in table: every
// name, charge, bond, angle, dihedral, 1–4 pair and exclusion.
func TestPrmtopIsBuiltIn(t *testing.T) {
	file := testkit.Must(ReadPrmtop("testdata/dipeptide.prmtop"))
	own := AlanineDipeptide()
	if name := &file.Molecule.Atoms[18].Name; *name == "C" { // by today's names; ours are the older ones
		*name = "CH3"
	}
	testkit.Equal(t, file.Molecule.N(), own.Molecule.N(), "atoms")
	for i := range own.Molecule.Atoms {
		testkit.Equal(t, file.Molecule.Label(i), own.Molecule.Label(i), "atom %d", i)
		testkit.Equal(t, file.Molecule.Atoms[i].Element, own.Molecule.Atoms[i].Element, "element %d", i)
	}
	if len(file.Bonds) != len(own.Bonds) || len(file.Angles) != len(own.Angles) ||
		len(file.OneFour) != len(own.OneFour) || len(file.Excluded) != len(own.Excluded) {
		t.Fatalf("%d bonds, %d angles, %d 1–4 pairs, %d exclusions; want %d, %d, %d, %d", len(file.Bonds),
			len(file.Angles), len(file.OneFour), len(file.Excluded), len(own.Bonds), len(own.Angles), len(own.OneFour),
			len(own.Excluded))
	}
	for i, a := range own.Atoms {
		b := file.Atoms[i]
		if math.Abs(a.Charge-b.Charge) > 1e-8 || a.Radius != b.Radius || a.Screen != b.Screen ||
			math.Abs(a.Mass-b.Mass) > 0.01 {
			t.Errorf("atom %s: %+v, file %+v", own.Molecule.Label(i), a, b)
		}
		for j := range own.Atoms {
			k, l := a.Kind*own.Kinds+own.Atoms[j].Kind, b.Kind*file.Kinds+file.Atoms[j].Kind
			if math.Abs(own.A[k]/file.A[l]-1) > 1e-7 || math.Abs(own.B[k]/file.B[l]-1) > 1e-7 {
				t.Errorf("Lennard-Jones of atoms %d and %d: %v and %v, file %v and %v", i, j, own.A[k], own.B[k],
					file.A[l], file.B[l])
			}
		}
	}
	for i, v := range AlanineStart() {
		x, err := ReadCoordinates("testdata/dipeptide.rst7", 22)
		if err != nil || math.Abs(x[i]-v) > 1e-7 {
			t.Fatalf("coordinate %d: %v, %v", i, x, err)
		}
	}
}

// swap replaces text in a file, which must be there.
func swap(t *testing.T, s, from, to string) string {
	t.Helper()
	if !strings.Contains(s, from) {
		t.Fatalf("no %q in the file", from)
	}
	return strings.Replace(s, from, to, 1)
}

// line returns the first line after a section's %FORMAT.
func line(t *testing.T, s, section string) string {
	t.Helper()
	_, rest, ok := strings.Cut(s, "%FLAG "+section+"\n")
	_, rest, _ = strings.Cut(rest, "\n")
	if !ok {
		t.Fatalf("no section %s", section)
	}
	first, _, _ := strings.Cut(rest, "\n")
	return first
}

// Errors of fields that cannot be read, or are not computed, name file, section and line.
func TestPrmtopFaults(t *testing.T) {
	good := text(t, "dipeptide.prmtop")
	pointers := line(t, good, "POINTERS")
	insert := func(section string) string { return swap(t, good, "%FLAG RADIUS_SET", section+"\n%FLAG RADIUS_SET") }
	edit := func(section, from, to string) string {
		l := line(t, good, section)
		return swap(t, good, l, swap(t, l, from, to))
	}
	last := func(to string) string { return swap(t, good, "0       0      10       0\n       0\n", to) }
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "%VERSION"},
		{"text", "hello\n", `begins with "hello"`},
		{"old format", "ACE\n  22  7\n", "expected %VERSION"},
		{"no format", swap(t, good, "%FORMAT(10I8)\n", ""), "section POINTERS"},
		{"bad format", swap(t, good, "%FORMAT(10I8)", "%FORMAT(10Q8)"), "%FORMAT(5E16.8)"},
		{"wide format", swap(t, good, "%FORMAT(10I8)", "%FORMAT(10I99999999999)"), "%FORMAT(5E16.8)"},
		{"wrong kind", swap(t, good, "%FLAG CHARGE\n%FORMAT(5E16.8)", "%FLAG CHARGE\n%FORMAT(10I8)"), "section CHARGE"},
		{"twice", good + "%FLAG CHARGE\n%FORMAT(5E16.8)\n", "the second of that name"},
		{"many atoms", edit("POINTERS", "      22", "   99999"), "NATOM is"},
		{"huge", swap(t, good, pointers, swap(t, pointers, "      22", "2000000000")), "POINTERS"},
		{"negative", edit("POINTERS", "      12", "     -12"), "NBONH is -12"},
		{"too few charges", edit("POINTERS", "      22", "      23"), "has 22 values; expected 23, by POINTERS"},
		{"not a number", edit("CHARGE", "2.04636429E+00", "2.0463?429E+00"), "expected a finite number"},
		{"overflow", edit("CHARGE", "  2.04636429E+00", "****************"), "expected a finite number"},
		{"NaN", edit("CHARGE", "  2.04636429E+00", "             NaN"), "expected a finite number"},
		{"unknown section", insert("%FLAG SPRINGS\n%FORMAT(5E16.8)"), "section SPRINGS: a section that is not known"},
		{"CMAP", insert("%FLAG CMAP_COUNT\n%FORMAT(2I8)\n       1       1"), "CMAP energies"},
		{"CHARMM", insert("%FLAG CHARMM_UREY_BRADLEY_COUNT\n%FORMAT(2I8)"), "CHARMM"},
		{"12-6-4", insert("%FLAG LENNARD_JONES_CCOEF\n%FORMAT(5E16.8)"), "12-6-4"},
		{"polarisable", insert("%FLAG POLARIZABILITY\n%FORMAT(5E16.8)"), "polarisable"},
		{"IPOL", swap(t, good, "%FLAG IPOL\n%FORMAT(1I8)\n       0", "%FLAG IPOL\n%FORMAT(1I8)\n       1"),
			"polarisable"},
		{"box", last("0       1      10       0\n       0\n"), "periodic box"},
		{"cap", last("0       0      10       1\n       0\n"), "IFCAP is 1"},
		{"virtual sites", last("0       0      10       0\n       4\n"), "virtual sites"},
		{"no atom", edit("BONDS_INC_HYDROGEN", "      18", "      66"), "coordinate index"},
		{"between atoms", edit("BONDS_INC_HYDROGEN", "       3", "       4"), "multiple of 3"},
		{"bond to itself", edit("BONDS_WITHOUT_HYDROGEN", "      12", "       3"), "a bond of atoms 1 and 1"},
		{"exclusion backwards", edit("EXCLUDED_ATOMS_LIST", "       2", "       1"), "EXCLUDED_ATOMS_LIST"},
		{"many exclusions", edit("NUMBER_EXCLUDED_ATOMS", "       6       7", "   99999       7"),
			"excluded atoms are left"},
		{"kind of no atom", edit("ATOM_TYPE_INDEX", "       1", "       9"), "is of type 9; expected 1 to 7"},
		{"pair of no kind", edit("NONBONDED_PARM_INDEX", "       1", "      99"), "value 1 is 99; expected 1 to 28"},
		{"hydrogen bonds", edit("NONBONDED_PARM_INDEX", "       1", "      -1"), "10-12"},
		{"residue", edit("RESIDUE_POINTER", "       7", "      70"), "residue 1 begins at atom 1 and the next at 70"},
		{"period", edit("DIHEDRAL_PERIODICITY", "E+00", "E+05"), "expected a whole number of at most 12"},
		{"fraction", edit("DIHEDRAL_PERIODICITY", "1.0", "1.5"), "expected a whole number of at most 12"},
		{"not scaled", strings.ReplaceAll(good, "  1.20000000E+00", "  0.00000000E+00"), "SCEE = 0"},
	} {
		_, err := DecodePrmtop("x.prmtop", []byte(c.text))
		if fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(),
			"x.prmtop") {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
}

// A file that ends early, after any line, is an error that says so; without its last, optional sections it is whole.
func TestPrmtopTruncated(t *testing.T) {
	good := text(t, "dipeptide.prmtop")
	lines := strings.SplitAfter(good, "\n")
	whole := strings.Count(good[:strings.Index(good, "%FLAG HBOND_ACOEF")], "\n") - 1
	for n := range lines {
		_, err := DecodePrmtop("x", []byte(strings.Join(lines[:n], "")))
		if err == nil && n < whole {
			t.Errorf("%d lines of %d are read", n, len(lines))
		}
	}
}

func TestCoordinateFaults(t *testing.T) {
	good := text(t, "dipeptide.rst7")
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "line 1"},
		{"NetCDF", "CDF\x01....", "NetCDF"},
		{"prmtop", "%VERSION\n", "a prmtop file"},
		{"no number", "title\nfive\n", `line 2: "five"`},
		{"other atoms", strings.Replace(good, "   22 ", "   21 ", 1), "21 atoms; expected 22"},
		{"truncated", good[:400], "line 8: 1 fields"},
		{"cut after a line", strings.Join(strings.SplitAfter(good, "\n")[:6], ""), "it is truncated"},
		{"overflow", strings.Replace(good, "  -3.7050000", "************", 1), "coordinate 0 of atom 0"},
		{"not finite", strings.Replace(good, "  -3.7050000", "        +Inf", 1), "coordinate 0 of atom 0"},
		{"a field missing", strings.Replace(good, "  -3.7050000", "", 1), "5 fields"},
	} {
		_, err := DecodeCoordinates("x.rst7", []byte(c.text), 22)
		if fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
	if x, err := DecodeCoordinates("x", []byte(good+strings.Repeat("   1.0000000", 6)+"\n"), 22); err != nil ||
		len(x) != 66 {
		t.Errorf("with velocities: %d numbers, %v", len(x), err)
	}
}

// Errors of invalid parameters name the term.
func TestCheck(t *testing.T) {
	for name, change := range map[string]func(s *System){
		"atom 3":             func(s *System) { s.Atoms[3].Charge = math.NaN() },
		"kind 9":             func(s *System) { s.Atoms[3].Kind = 9 },
		"bond 2":             func(s *System) { s.Bonds[2].J = 22 },
		"angle 1":            func(s *System) { s.Angles[1].K = s.Angles[1].I },
		"torsion 4: n is 13": func(s *System) { s.Torsions[4].N = 13 },
		"pair of kinds":      func(s *System) { s.A[1]++ },
		"twice":              func(s *System) { s.OneFour[1] = s.OneFour[0] },
		"SCEE = 0":           func(s *System) { s.OneFour[1].SCEE = 0 },
		"count twice":        func(s *System) { s.Excluded = s.Excluded[:50] },
		"coefficients":       func(s *System) { s.B = s.B[1:] },
		"22 atoms":           func(s *System) { s.Molecule.Atoms = s.Molecule.Atoms[1:] },
	} {
		s := AlanineDipeptide()
		change(s)
		_, err := New(s, Vacuum)
		testkit.Refused(t, err, name)
	}
	s := AlanineDipeptide()
	far := AlanineStart()
	for i := range far {
		far[i] *= 10
	}
	for _, x := range [][]float64{far, far[1:], {}} {
		if s.Plausible(x) == nil {
			t.Errorf("%d numbers are plausible", len(x))
		}
	}
}

// No file makes the readers panic, and what they return can be used.
func FuzzPrmtop(f *testing.F) {
	good := text(f, "dipeptide.prmtop")
	f.Add(good)
	for _, cut := range []int{0, 100, 1000, 5000, 12000} {
		f.Add(good[:cut])
	}
	f.Add(strings.ReplaceAll(good, "8", "1"))
	f.Fuzz(func(t *testing.T, s string) {
		system, err := DecodePrmtop("x", []byte(s))
		if err != nil {
			if fault.KindOf(err) != fault.Data {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		field := testkit.Must(New(system, Vacuum))
		field.NewEvaluator().Energy(nil, make([]float64, field.Dim()))
	})
}

func FuzzCoordinates(f *testing.F) {
	good := text(f, "dipeptide.rst7")
	f.Add(good, 22)
	f.Add(good[:300], 22)
	f.Add("x\n1\n", 1)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 1 || n > 1000 {
			n = 22
		}
		if x, err := DecodeCoordinates("x", []byte(s), n); err == nil && len(x) != 3*n {
			t.Fatal(strconv.Itoa(len(x)) + " numbers")
		}
	})
}

package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// ethanol is two frames of C, C, O and six hydrogens, as programs write them.
func ethanol(frames int) (*molecule.Molecule, []float64) {
	m := &molecule.Molecule{Name: "ethanol"}
	for i, s := range strings.Fields("C1 C2 O1 H1 H2 H3 H4 H5 H6") {
		m.Atoms = append(m.Atoms, molecule.Atom{Name: s, Element: s[:1], Residue: "EOH", ResidueNumber: 1 + i/8,
			Chain: "A"})
	}
	at := []float64{
		-0.748, -0.015, 0.024, 0.558, 0.420, -0.278, 1.282, -0.650, -0.767, -1.293, -0.202, -0.901, -1.263, 0.754,
		0.600,
		-0.699, -0.934, 0.609, 0.716, 1.404, 0.137, 0.598, 0.512, -1.370, 1.185, -1.480, -0.281,
	}
	x := make([]float64, 0, frames*len(at))
	noise := make([]float64, len(at))
	for f := range frames {
		keyed.New(1, keyed.Probe, 0).Normals(noise, uint64(f), 0)
		for k, v := range at {
			x = append(x, v+0.03*noise[k])
		}
	}
	m.Bonds = m.GuessBonds(at)
	return m, x
}

func write(t testing.TB, ext string, m *molecule.Molecule, x []float64) []byte {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, Writers[ext](&b, m, arrayfile.RowsOf(x, m.Dim())))
	return b.Bytes()
}

func save(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testkit.OK(t, os.WriteFile(path, data, 0o666))
	return path
}

// What is written is read back: coordinates to the format's precision, atoms and bonds as far as the format has them.
func TestRoundTrip(t *testing.T) {
	m, x := ethanol(7)
	m.Atoms[2].Charge, m.Atoms[8].Insertion = -1, "B"
	m.Orders = slices.Repeat([]int{1}, len(m.Bonds))
	m.Orders[1] = 2
	for ext, c := range map[string]struct {
		precision    float64
		named, bonds bool
	}{".pdb": {5.0001e-4, true, true}, ".xyz": {1e-12, false, false}, ".sdf": {5.0001e-5, false, true}, ".npy": {0,
		false,
		false}} {
		got, err := Read(save(t, "a"+ext, write(t, ext, m, x)))
		if err != nil {
			t.Errorf("%s: %v", ext, err)
			continue
		}
		if got.N != 7 || got.Name != "a"+ext || len(got.SHA256) != 64 || got.Remarks != nil {
			t.Errorf("%s: %d frames of %q, SHA-256 %q, %q", ext, got.N, got.Name, got.SHA256, got.Remarks)
		}
		worst := 0.0
		for k, v := range got.X {
			worst = max(worst, math.Abs(v-x[k]))
		}
		if worst > c.precision || len(got.X) != len(x) || ext != ".npy" && worst == 0 {
			t.Errorf("%s: coordinates differ by %v", ext, worst)
		}
		if c.named && !slices.Equal(got.Molecule.Atoms, m.Atoms) {
			t.Errorf("%s: atoms %+v", ext, got.Molecule.Atoms)
		}
		if ext != ".npy" && !slices.Equal(got.Molecule.Bonds, m.Bonds) || got.Molecule.Guessed == c.bonds {
			t.Errorf("%s: bonds %v, guessed %v", ext, got.Molecule.Bonds, got.Molecule.Guessed)
		}
		if ext == ".sdf" && (!slices.Equal(got.Molecule.Orders, m.Orders) || got.Molecule.Atoms[2].Charge != -1 ||
			got.Molecule.Name != "ethanol") {
			t.Errorf("%s: orders %v, atoms %+v", ext, got.Molecule.Orders, got.Molecule.Atoms)
		}
	}
	// Atoms without names or elements, and no conformation at all.
	n := molecule.Anonymous(3)
	for ext := range Writers {
		if b := write(t, ext, n, []float64{0, 0, 0, 1.5, 0, 0, 2, 1.4, 0}); ext == ".pdb" &&
			!strings.Contains(string(b),
				"HETATM    3  X2  MOL     1       2.000   1.400   0.000  1.00  0.00           X\n") {
			t.Errorf("an unnamed atom:\n%s", b)
		}
		if b := write(t, ext, n, nil); ext == ".pdb" && string(b) != "END\n" {
			t.Errorf("no conformations:\n%s", b)
		}
	}
}

// Each atom of a PDB file has a name of its own in its residue, of at most four letters, whatever the molecule's are;
// more models than four columns count, and more atoms than five do, leave the columns as they are.
func TestNames(t *testing.T) {
	pair := []molecule.Atom{{Name: "Cl", Element: "Cl"}, {Name: "H", Element: "H"}}
	m := &molecule.Molecule{Atoms: slices.Repeat(pair, 6_000)}
	seen := map[string]bool{}
	for i, a := range Named(m) {
		if seen[a.Name] || len(a.Name) > 4 || a.Name == "" || a.Element != m.Atoms[i].Element {
			t.Fatalf("atom %d is called %q, %s", i, a.Name, a.Element)
		}
		seen[a.Name] = true
	}
	own := []molecule.Atom{{Name: "CA", Element: "C", ResidueNumber: 1}, {Name: "CA", Element: "C", ResidueNumber: 2}}
	testkit.EqualSlices(t, Named(&molecule.Molecule{Atoms: own}), own, "one name in two residues")
	two := &molecule.Molecule{Atoms: slices.Repeat([]molecule.Atom{{Name: "O", Element: "O"}}, 2),
		Bonds: []molecule.Bond{{0, 1}}}
	file := string(write(t, ".pdb", two, slices.Repeat([]float64{0, 0, 0, 1.2, 0, 0}, 12_345)))
	for _, want := range []string{"MODEL        1\nHETATM    1  O0  MOL     1       0.000", "HETATM    2  O1  MOL",
		"\nMODEL     9999\n", "\nMODEL    12345\nHETATM    1  O0 ",
		"ENDMDL\nCONECT    1    2\nCONECT    2    1\nEND\n"} {
		testkit.Contains(t, file, want)
	}
	err := WritePDB(io.Discard, molecule.Anonymous(100_000), arrayfile.RowsOf(nil, 300_000))
	testkit.Refused(t, err, "at most 99999")
}

// Arrays have frames × atoms × 3, frames × coordinates, or one frame's atoms × 3.
func TestArrays(t *testing.T) {
	_, x := ethanol(4)
	npy := func(v []float64, shape ...int) string {
		var b bytes.Buffer
		testkit.OK(t, arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: shape, Float64: v}))
		return save(t, "a.npy", b.Bytes())
	}
	for frames, path := range map[int][]string{4: {npy(x, 4, 9, 3), npy(x, 4, 27)}, 1: {npy(x[:27], 9, 3)}} {
		for _, p := range path {
			if got, err := Read(p); err != nil || got.N != frames || got.Molecule.N() != 9 || !slices.Equal(got.X,
				x[:27*frames]) {
				t.Errorf("%d frames: %+v, %v", frames, got, err)
			}
		}
	}
	bad := slices.Clone(x)
	bad[27*2+3*4+1] = math.NaN()
	for _, c := range []struct{ path, want string }{
		{npy(bad, 4, 9, 3), "frame 2 (from 0), atom 4: y is NaN"},
		{npy(x, 4, 3, 9), "has shape [4 3 9], expected [n A 3]"},
		{npy(x, 108), "has shape [108]"},
		{npy([]float64{}, 0, 9, 3), "has shape [0 9 3], expected [n A 3]"},
		{npy(x, 27, 4), "has shape [27 4]"},
		{save(t, "b.npy", []byte("\x93NUMPY\x01")), "truncated"},
		{save(t, "b.npz", []byte("PK")), "b.npz: "},
	} {
		testkit.Refused(t, testkit.Err(Read(c.path)), c.want)
	}
}

const twoModels = `REMARK   a file by hand
MODEL        1
ATOM      1  N   ALA A   2      -0.966   0.493   1.500  1.00  0.00           N
ATOM      2  CA  ALA A   2       0.257   0.418   0.692  1.00  0.00           C
ATOM      3  C   ALA A   2      -0.094   0.017  -0.716  1.00  0.00           C
HETATM    4 ZN    ZN A   3       5.000   0.017  -0.716  1.00  0.00
TER
ENDMDL
MODEL        2
ATOM      1  N   ALA A   2      -0.966   0.493   1.510  1.00  0.00           N
ATOM      2  CA  ALA A   2       0.257   0.418   0.702  1.00  0.00           C
ATOM      3  C   ALA A   2      -0.094   0.017  -0.706  1.00  0.00           C
HETATM    4 ZN    ZN A   3       5.000   0.017  -0.706  1.00  0.00
ENDMDL
END
`

func TestPDB(t *testing.T) {
	got := testkit.Must(DecodePDB("two.pdb", strings.NewReader(twoModels)))
	if got.N != 2 || got.Molecule.N() != 4 || !slices.Equal(got.Frame(1)[9:], []float64{5, 0.017, -0.706}) {
		t.Errorf("%+v", got)
	}
	if a := got.Molecule.Atoms[3]; a.Element != "Zn" || got.Molecule.Atoms[1].Element != "C" || a.Residue != "ZN" ||
		a.ResidueNumber != 3 || a.Chain != "A" {
		t.Errorf("atoms %+v", got.Molecule.Atoms)
	}
	if !slices.Equal(got.Molecule.Bonds, []molecule.Bond{{0, 1}, {1, 2}}) || !got.Molecule.Guessed {
		t.Errorf("bonds %v", got.Molecule.Bonds)
	}
	change := func(old, new string, n int) string { return strings.Replace(twoModels, old, new, n) }
	lines := strings.SplitAfter(twoModels, "\n")
	for what, c := range map[string]struct{ file, want string }{
		"empty":  {"", "two.pdb: there are no ATOM"},
		"no PDB": {"hello\nworld\n", "there are no ATOM"},
		"truncated": {strings.Join(lines[:12], ""),
			"two.pdb:12: frame 1 (from 0): the file ends inside the MODEL of line 9"},
		"cut in a line": {strings.Join(lines[:10], "") + lines[10][:50],
			"two.pdb:11: frame 1 (from 0), atom 1 (ALA2:CA): the record ends in column 50"},
		"missing atom": {strings.Join(append(slices.Clone(lines[:10]), lines[11:]...), ""),
			"two.pdb:13: frame 1 (from 0): has 3 atoms, expected 4 as in frame 0: atom 1 (ALA2:CA) is missing"},
		"first atom missing": {strings.Join(append(slices.Clone(lines[:9]), lines[10:]...), ""),
			"has 3 atoms, expected 4 as in frame 0: atom 0 (ALA2:N) is missing"},
		"another atom in front": {strings.Join(append(slices.Clone(lines[:9]), append([]string{
			"HETATM    5  O     O A   9       5.000   0.017  -0.716\n"}, lines[9:]...)...), ""),
			"two.pdb:10: frame 1 (from 0): has 5 atoms, expected 4 as in frame 0: atom 0 (O9:O) is not in frame 0"},
		"another atom": {strings.Join(append(slices.Clone(lines[:13]), append([]string{
			"HETATM    5 ZN    ZN A   9       5.000   0.017  -0.716\n"}, lines[13:]...)...), ""),
			"two.pdb:14: frame 1 (from 0): has 5 atoms, expected 4 as in frame 0: atom 4 (ZN9:ZN) is not in frame 0"},
		"other name": {strings.Join(lines[:10], "") + strings.Replace(lines[10], " CA ", " CB ", 1) +
			strings.Join(lines[11:], ""),
			"two.pdb:11: frame 1 (from 0), atom 1: is CB element C of ALA2 chain A, expected CA element C of ALA2 " +
				"chain A"},
		"other order": {strings.Join(lines[:10], "") + lines[11] + lines[10] + strings.Join(lines[12:], ""),
			"two.pdb:11: frame 1 (from 0), atom 1: is C of ALA2 chain A, expected CA element C"},
		"no number": {change("0.418   0.692", "0.4x8   0.692", 1),
			`two.pdb:4: frame 0 (from 0), atom 1 (ALA2:CA): y is "0.4x8", expected a number in columns 39 to 46`},
		"NaN": {change("  0.418   0.702", "    NaN   0.702", 1),
			"two.pdb:11: frame 1 (from 0), atom 1 (ALA2:CA): y is NaN"},
		"blank": {change("  0.418   0.702", "          0.702", 1), "atom 1 (ALA2:CA): y is missing"},
		"far": {change("  0.418   0.702", "   1e99   0.702", 1),
			"y is 1e99, expected a number of at most 1e+06 Å"},
		"nested":     {change("TER\nENDMDL\n", "", 1), "two.pdb:7: frame 0 (from 0): MODEL inside the MODEL of line 2"},
		"END inside": {change("TER\nENDMDL\n", "END\n", 1), "two.pdb:7: frame 0 (from 0): END inside the MODEL"},
		"no model":   {"MODEL 1\nENDMDL\n", "two.pdb:2: frame 0 (from 0): the model has no atoms"},
		"outside":    {lines[2] + twoModels, "two.pdb:3: frame 0 (from 0): MODEL after atoms that are in no model"},
		"residue":    {change("A   2 ", "A  2x ", 1), `the residue's number is "2x"`},
		"no name":    {change(" CA ", "    ", 1), "the atom has no name"},
		"long line":  {"ATOM" + strings.Repeat(" ", maxLine), "two.pdb:1: a line of more than 65536 bytes"},
		"a torn box": {change("-0.094   0.017  -0.706", "-0.094  27.017  -0.706", 1),
			"two.pdb: frame 1 (from 0), atom 1 (ALA2:CA): is 26.64 Å away from atom 2 (ALA2:C), to which it is bonded"},
		"unfilled": {change("-0.094   0.017  -0.706", " 0.257   0.418   0.702", 1),
			"frame 1 (from 0), atom 1 (ALA2:CA): is at the place of atom 2 (ALA2:C): 0 Å away"},
		"serial twice": {strings.Replace(twoModels, "HETATM    4", "HETATM    3", 1) + "CONECT    2    3\n",
			`two.pdb:16: CONECT names the serial number "3", which several atoms have`},
	} {
		_, err := DecodePDB("two.pdb", strings.NewReader(c.file))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	// Frames that END alone parts, Windows line ends, one frame without END.
	plain := strings.ReplaceAll(strings.NewReplacer("MODEL        1\n", "", "MODEL        2\n", "", "END\n", "",
		"ENDMDL", "END").Replace(twoModels), "\n", "\r\n")
	if got, err := DecodePDB("end.pdb", strings.NewReader(plain)); err != nil || got.N != 2 {
		t.Errorf("frames up to END: %+v, %v", got, err)
	}
	if got, err := DecodePDB("one.pdb", strings.NewReader(strings.Join(lines[2:6], ""))); err != nil || got.N != 1 {
		t.Errorf("one frame: %+v, %v", got, err)
	}
}

// CONECT records are bonds; atoms that they do not name have guessed ones; stale ones give a remark.
func TestConect(t *testing.T) {
	file := twoModels + "CONECT    4    2    3\nCONECT    2    4\nCONECT    4   77\n"
	got := testkit.Must(DecodePDB("c.pdb", strings.NewReader(file)))
	if m := got.Molecule; !slices.Equal(m.Bonds, []molecule.Bond{{0, 1}, {1, 3}, {2, 3}}) || m.Guessed {
		t.Errorf("bonds %v, guessed %v", m.Bonds, m.Guessed)
	}
	if len(got.Remarks) != 1 || !strings.Contains(got.Remarks[0], "not in the file (1 times, first in line 18)") {
		t.Errorf("remarks %q", got.Remarks)
	}
}

// Of alternate locations a residue has one, that of the highest occupancy in all; an atom
// that it lacks is taken from another.
func TestAlternateLocations(t *testing.T) {
	const file = `ATOM      1  N   SER A   2      -0.966   0.493   1.500  1.00  0.00           N
ATOM      2  CA ASER A   2       0.257   0.418   0.692  0.40  0.00           C
ATOM      3  CA BSER A   2       0.357   0.418   0.692  0.60  0.00           C
ATOM      4  C   SER A   2      -0.094   0.017  -0.716  1.00  0.00           C
ATOM      5  CB ASER A   2       1.257   1.418   0.692  0.70  0.00           C
ATOM      6  CB BSER A   2       1.357   1.418   0.692  0.60  0.00           C
ATOM      7  OG ASER A   2       2.257   2.018   0.692  0.30  0.00           O
ATOM      8  N  ALEU A   3      -1.294   0.317  -1.516  0.50  0.00           N
ATOM      9  N  BLEU A   3      -1.394   0.317  -1.516  0.50  0.00           N
CONECT    2    1
CONECT    3    1
`
	got := testkit.Must(DecodePDB("alt.pdb", strings.NewReader(file)))
	var at []float64
	for i := range got.Molecule.N() {
		at = append(at, got.X[3*i])
	}
	// A has 0.4 + 0.7 + 0.3 in residue 2, B 1.2; in residue 3 they are even.
	testkit.EqualSlices(t, at, []float64{-0.966, 0.257, -0.094, 1.257, 2.257, -1.294}, "x of the atoms")
	if len(got.Remarks) != 1 || !strings.Contains(got.Remarks[0], "3 records were left out") {
		t.Errorf("remarks %q", got.Remarks)
	}
	swapped := strings.NewReplacer("0.70", "0.10", "0.30", "0.05").Replace(file)
	got = testkit.Must(DecodePDB("alt.pdb", strings.NewReader(swapped)))
	if got.X[3] != 0.357 || got.X[9] != 1.357 || got.X[12] != 2.257 {
		t.Errorf("the other location: %v", got.X)
	}
}

// The element comes from its columns, else from where the name stands.
func TestElements(t *testing.T) {
	for line, want := range map[string]string{
		"ATOM      1  CA  ALA A   1       0.000   0.000   0.000":                         "C",
		"ATOM      1 CA   ALA A   1       0.000   0.000   0.000":                         "C",
		"HETATM    1 CA    CA A   1       0.000   0.000   0.000":                         "Ca",
		"HETATM    1 CL1  LIG A   1       0.000   0.000   0.000":                         "Cl",
		"ATOM      1 1HB  ALA A   1       0.000   0.000   0.000":                         "H",
		"ATOM      1 HG21 VAL A   1       0.000   0.000   0.000":                         "H",
		"HETATM    1 HG21 VAL A   1       0.000   0.000   0.000":                         "H",
		"ATOM      1  X1  LIG A   1       0.000   0.000   0.000  1.00  0.00          BR": "Br",
		"ATOM      1  X1  LIG A   1       0.000   0.000   0.000":                         "",
		"ATOM      1 SOD  SOD A   1       0.000   0.000   0.000  1.00  0.00          NA": "Na",
	} {
		got, err := DecodePDB("e.pdb", strings.NewReader(line))
		if err != nil || got.Molecule.Atoms[0].Element != want {
			t.Errorf("%s: %+v, %v; want %q", line, got, err, want)
		}
	}
	// Names that may be of two elements: the distance to the nearest atom decides, if that is near.
	for _, c := range []struct {
		first, next string
		apart       float64
		want        string
		said        bool
	}{
		{"HETATM    1 CD  ", " H1 ", 1.09, "C", true}, {"HETATM    1 CE  ", " C1 ", 1.53, "C", true},
		{"HETATM    1 NE  ", " H1 ", 1.01, "N", true}, {"HETATM    1 HE  ", " C1 ", 1.09, "H", true},
		{"HETATM    1 OS  ", " C1 ", 1.43, "O", true}, {"HETATM    1 CU  ", " O1 ", 1.95, "Cu", false},
		{"HETATM    1 CL1 ", " C1 ", 1.78, "Cl", false}, {"HETATM    1 NA  ", " O1 ", 2.40, "Na", false},
		{"ATOM      1  CL1", " C1 ", 1.78, "Cl", true}, {"ATOM      1  BR1", " C1 ", 1.95, "Br", true},
		{"ATOM      1  CA ", " N  ", 1.46, "C", false}, {"ATOM      1  CA ", " N  ", 3.80, "C", false},
	} {
		file := fmt.Sprintf("%s LIG A   1       0.000   0.000   0.000\n"+
			"ATOM      2 %s LIG A   1    %8.3f   0.000   0.000\n", c.first, c.next, c.apart)
		got := testkit.Must(DecodePDB("e.pdb", strings.NewReader("MODEL\n"+file+"ENDMDL\nMODEL\n"+file+"ENDMDL\n")))
		testkit.Equal(t, got.Molecule.Atoms[0].Element, c.want, "%s at %v from %s", c.first, c.apart, c.next)
		testkit.Equal(t, got.Remarks != nil, c.said, "a remark of %s", c.first)
	}
}

const twoXYZ = `3
water
O 0.0 0.0 0.0
H1 0.96 0.0 0.0 1 2 3
h -0.24 0.93 0.0

3

8 0.0 0.0 0.1
H1 0.96 0.0 0.1
1 -0.24 9.3e-1 0.1
`

func TestXYZ(t *testing.T) {
	file := strings.Replace(strings.Replace(twoXYZ, "\n8 ", "\nO ", 1), "\n1 -", "\nh -", 1)
	got, err := DecodeXYZ("w.xyz", strings.NewReader(file))
	if err != nil || got.N != 2 || got.X[17] != 0.1 || got.X[16] != 0.93 {
		t.Fatalf("%+v, %v", got, err)
	}
	if a := got.Molecule.Atoms; a[1].Name != "H1" || a[1].Element != "H" || a[2].Element != "H" {
		t.Errorf("%+v", a)
	}
	if got, err := DecodeXYZ("w.xyz", strings.NewReader("2\n\n6 0 0 0\n17 1.8 0 0\n")); err != nil ||
		got.Molecule.Atoms[1].Element != "Cl" {
		t.Errorf("elements by number: %+v, %v", got, err)
	}
	for what, c := range map[string]struct{ file, want string }{
		"empty":      {"\n\n", "w.xyz: there are no frames"},
		"no count":   {"O 0 0 0\n", `w.xyz:1: frame 0 (from 0): "O 0 0 0", expected the number of atoms, 1 to 32768`},
		"too many":   {"100000000\n\n", `"100000000", expected the number of atoms`},
		"none":       {"0\n\n", `"0", expected the number of atoms`},
		"no comment": {"3\n", "w.xyz:1: frame 0 (from 0): the file ends, expected the comment"},
		"truncated": {file[:strings.LastIndex(file, "h")],
			"w.xyz:10: frame 1 (from 0): the file ends, expected atom 2 of 3"},
		"cut": {strings.Replace(file, "0.0 0.0 0.1", "0.0 0.0", 1),
			"w.xyz:9: frame 1 (from 0), atom 0 (O): z is missing"},
		"blank": {strings.Replace(file, "H1 0.96 0.0 0.1", "", 1), "atom 1: a blank line"},
		"other": {strings.Replace(file, "O 0.0 0.0 0.1", "N 0 0 0.1", 1),
			"w.xyz:9: frame 1 (from 0), atom 0: is N, expected O as in frame 0"},
		"fewer": {strings.Replace(file, "3\n\n", "2\n\n", 1),
			"frame 1 (from 0): has 2 atoms, expected 3 as in frame 0: atom 2 (h) is missing"},
		"nanometres": {"3\n\nO 0 0 0\nH .096 0 0\nH -.024 .093 0\n",
			"frame 0 (from 0): half of the atoms have another within 0.096; the coordinates look like nanometres"},
		"all at zero": {"3\n\nO 0 0 0\nH 0 0 0\nH 0 0 0\n", "half of the atoms or more are at the places of others"},
		"no element":  {"1\n\n119 0 0 0\n", "there is no element of number 119"},
		"columns": {"1\nProperties=species:S:1:forces:R:3:pos:R:3\nH 0 0 0 1 1 1\n",
			"expected columns that begin with species:S:1:pos:R:3"},
		"infinite":      {"1\n\nH 0 inf 0\n", "y is inf"},
		"small letters": {"1\nproperties=species:S:1:forces:R:3:pos:R:3\nH 0 0 0 1 1 1\n", "columns that begin"},
		"an index": {"3\n\n1 0 0 0\n2 0 0 1\n3 0 0 2\n",
			"w.xyz:5: frame 0 (from 0): the first column counts the atoms, expected their symbols"},
	} {
		_, err := DecodeXYZ("w.xyz", strings.NewReader(c.file))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	if _, err := DecodeXYZ("w.xyz", strings.NewReader("1\nProperties=species:S:1:pos:R:3 x=1\nH 0 0 0\n")); err != nil {
		t.Error(err)
	}
}

const acetate = `acetate
  by hand           3D

  4  3  0  0  0  0  0  0  0  0999 V2000
    0.0000    0.0000    0.0000 C   0  0
    1.5200    0.0000    0.0000 C   0  0
    2.1000    1.1000    0.0000 O   0  0
    2.1000   -1.1000    0.0000 O   0  5
  2  1  1  0
  2  3  2  0
  2  4  1  0
M  CHG  1   4  -1
M  END
> <energy>
-1.5

$$$$
`

func TestSDF(t *testing.T) {
	second := strings.Replace(acetate, "1.5200", "1.5300", 1)
	got, err := DecodeSDF("a.sdf", strings.NewReader(acetate+second+"\n"))
	if err != nil || got.N != 2 || got.X[12+3] != 1.53 {
		t.Fatalf("%+v, %v", got, err)
	}
	if m := got.Molecule; m.Name != "acetate" || !slices.Equal(m.Bonds, []molecule.Bond{{0, 1}, {1, 2}, {1, 3}}) ||
		!slices.Equal(m.Orders, []int{1, 2, 1}) || m.Atoms[3].Charge != -1 || m.Guessed {
		t.Errorf("%+v", m)
	}
	mol, _, _ := strings.Cut(acetate, "> <")
	if got, err := DecodeSDF("a.mol", strings.NewReader(mol)); err != nil || got.N != 1 {
		t.Errorf("a MOL file: %+v, %v", got, err)
	}
	if got, err := DecodeSDF("a.mol", strings.NewReader(strings.Replace(mol, "M  CHG  1   4  -1\n", "", 1))); err !=
		nil || got.Molecule.Atoms[3].Charge != -1 {
		t.Errorf("a charge of the atom block: %+v, %v", got, err)
	}
	radical := strings.Replace(acetate, "M  CHG", "M  RAD  1   1   2\nM  CHG", 1)
	if got := testkit.Must(DecodeSDF("a.sdf", strings.NewReader(radical))); len(got.Remarks) != 1 ||
		!strings.Contains(got.Remarks[0], "Unpaired electrons (M  RAD, line 12)") {
		t.Errorf("a radical: %q", got.Remarks)
	}
	for what, c := range map[string]struct{ file, want string }{
		"empty":     {"", "a.sdf: there are no records"},
		"header":    {"x\n", "a.sdf:1: frame 0 (from 0): the file ends in the header"},
		"no counts": {"x\n\n\nhello\n", `a.sdf:4: frame 0 (from 0): "hello", expected the counts line`},
		"V3000":     {"x\n\n\n  0  0  0     0  0            999 V3000\n", "is V3000, expected V2000"},
		"2D":        {strings.Replace(acetate, "3D", "2D", 1), "frame 0 (from 0): the record is a drawing (2D"},
		"flat":      {strings.Replace(acetate, "3D", "  ", 1), "is a drawing (2D in its second line, or all z are 0"},
		"a library": {acetate + strings.Replace(strings.Replace(acetate, "  4  3  0", "  3  2  0", 1),
			"    2.1000   -1.1000    0.0000 O   0  5\n  2  1  1  0\n  2  3  2  0\n  2  4  1  0\nM  CHG  1   4  -1\n",
			"  2  1  1  0\n  2  3  2  0\n", 1), "frames are of one molecule, and these of C2O and C2O2"},
		"truncated": {acetate[:151], "expected atom 2 of 4: it is truncated"},
		"in bonds": {acetate[:strings.Index(acetate, "  2  4")],
			"a.sdf:10: frame 0 (from 0): the file ends, expected bond 2 of 3: it is truncated"},
		"no END":  {acetate[:strings.Index(acetate, "M  END")], "the file ends, expected M  END: it is truncated"},
		"early":   {strings.Replace(acetate, "M  END\n", "", 1), "$$$$ before M  END"},
		"in data": {strings.Replace(acetate, "$$$$\n", "", 1), "the file ends in data fields"},
		"no number": {strings.Replace(acetate, "1.5200", "1.5.00", 1),
			`a.sdf:6: frame 0 (from 0), atom 1 (C): x is "1.5.00", expected a number in columns 1 to 10`},
		"short": {strings.Replace(acetate, "    0.0000 C   0  0\n", "\n", 1), "atom 0: the record ends in column 20"},
		"bond": {strings.Replace(acetate, "  2  4  1", "  2  5  1", 1),
			`a.sdf:11: frame 0 (from 0): "  2  5  1  0", expected bond 2: two atoms of 1 to 4`},
		"with itself": {strings.Replace(acetate, "  2  4  1", "  2  2  1", 1), "expected bond 2"},
		"twice": {strings.Replace(acetate, "  2  4  1", "  3  2  1", 1),
			"bond 2 joins the atoms 3 and 2, which another bond joins"},
		"charge": {strings.Replace(acetate, "   4  -1\n", "   5  -1\n", 1), `M  CHG gives atom "5"`},
		"other bonds": {acetate + strings.Replace(acetate, "  2  3  2", "  2  3  1", 1),
			"a.sdf:34: frame 1 (from 0): its bond of atoms 1 and 2 has order 1, in frame 0 2"},
		"no bond": {acetate + strings.Replace(strings.Replace(acetate, "  2  4  1  0\n", "", 1), "  4  3  0",
			"  4  2  0", 1),
			"frame 1 (from 0): its bond of atoms 1 and 3 has order 0, in frame 0 1 (0"},
		"other atoms": {acetate + strings.Replace(acetate, "0.0000 O   0  0", "0.0000 S   0  0", 1),
			"frame 1 (from 0), atom 2: is S, expected O as in frame 0"},
		"no charge": {acetate + strings.Replace(acetate, "4  -1\n", "4   0\n", 1),
			"atom 3: is O, expected O charge -1 as in frame 0"},
	} {
		_, err := DecodeSDF("a.sdf", strings.NewReader(c.file))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}

// The extension decides the kind of a file, and faults are found before the file is read.
func TestRead(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"a.trr", `a.trr: extension ".trr", expected one of .pdb, .ent, .xyz`},
		{filepath.Join(t.TempDir(), "no.pdb"), "no such file"},
		{t.TempDir() + "/", "extension"},
	} {
		testkit.Refused(t, testkit.Err(Read(c.path)), c.want, c.path)
	}
	dir := filepath.Join(t.TempDir(), "d.pdb")
	testkit.OK(t, os.Mkdir(dir, 0o777))
	var e *fs.PathError
	if _, err := Read(dir); !errors.As(err, &e) {
		t.Errorf("a folder: %v", err)
	}
	defer func(n int) { maxNumbers = n }(maxNumbers)
	maxNumbers = 20
	for ext, want := range map[string]string{".pdb": "more than 20", ".xyz": "more than 20", ".sdf": "more than 20",
		".npy": "at most 20"} {
		m, x := ethanol(2)
		testkit.Refused(t, testkit.Err(Read(save(t, "a"+ext, write(t, ext, m, x)))), want, ext)
	}
}

// A DCD file, byte by byte as its readers take it.
func TestDCD(t *testing.T) {
	m := molecule.Anonymous(2)
	b := write(t, ".dcd", m, []float64{1, 2, 3, 4, 5, 6.1, -1, -2, -3, -4, -5, -6})
	u32 := func(at int) int { return int(b[at]) | int(b[at+1])<<8 | int(b[at+2])<<16 | int(b[at+3])<<24 }
	f32 := func(at int) float32 { return math.Float32frombits(uint32(u32(at))) }
	for at, want := range map[int]int{0: 84, 8: 2, 16: 1, 20: 2, 52: 0, 84: 24, 88: 84, 92: 84, 96: 1, 180: 84, 184: 4,
		188: 2, 192: 4, 196: 8, 208: 8} {
		testkit.Equal(t, u32(at), want, "number at byte %d", at)
	}
	if string(b[4:8]) != "CORD" || len(b) != 196+2*3*16 {
		t.Fatalf("%d bytes, %q", len(b), b[4:8])
	}
	for at, want := range map[int]float32{200: 1, 204: 4, 216: 2, 232: 3, 236: 6.1, 248: -1, 284: -6} {
		testkit.Equal(t, f32(at), want, "coordinate at byte %d", at)
	}
}

// What a format cannot hold is refused, with the frame and the atom.
func TestWriteFaults(t *testing.T) {
	m, x := ethanol(2)
	far := func(v float64) []float64 {
		y := slices.Clone(x)
		y[27+4] = v
		return y
	}
	big := molecule.Anonymous(1000)
	for _, c := range []struct {
		ext  string
		m    *molecule.Molecule
		x    []float64
		want string
	}{
		{".pdb", m, far(-1234.5), "PDB: frame 1 (from 0), atom 1 (EOH1:C2): y is -1234.5, expected a number in"},
		{".pdb", m, far(math.NaN()), "y is NaN"},
		{".sdf", m, far(1e6), "SDF: frame 1 (from 0), atom 1 (EOH1:C2): y is 1e+06"},
		{".sdf", big, make([]float64, 3000), "SDF: 1000 atoms and 0 bonds, expected at most 999"},
		{".dcd", m, far(1e39), "DCD: frame 1 (from 0), atom 1 (EOH1:C2): y is 1e+39"},
	} {
		testkit.Refused(t, Writers[c.ext](&bytes.Buffer{}, c.m, arrayfile.RowsOf(c.x, c.m.Dim())), c.want)
	}
	for _, v := range []float64{-999.9994, 9999.9994} { // the widest that fit
		if err := WritePDB(&bytes.Buffer{}, m, arrayfile.RowsOf(far(v), m.Dim())); err != nil {
			t.Error(err)
		}
	}
	full := &failing{}
	for ext, w := range Writers {
		if err := w(full, m, arrayfile.RowsOf(x, m.Dim())); err == nil {
			t.Errorf("%s: a full disk goes unnoticed", ext)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, fmt.Errorf("no space") }

package molecule

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/reference"
)

// dipeptide is the heavy atoms of ACE–ALA–NME.
func dipeptide() *Molecule {
	m := &Molecule{Name: "alanine dipeptide"}
	for _, a := range [][3]string{
		{"ACE", "1", "CH3"}, {"ACE", "1", "C"}, {"ACE", "1", "O"}, {"ALA", "2", "N"}, {"ALA", "2", "CA"},
		{"ALA", "2", "CB"}, {"ALA", "2", "C"}, {"ALA", "2", "O"}, {"NME", "3", "N"}, {"NME", "3", "C"},
	} {
		m.Atoms = append(m.Atoms, Atom{Name: a[2], Element: a[2][:1], Residue: a[0], ResidueNumber: int(a[1][0] - '0'),
			Chain: "A"})
	}
	return m
}

func TestSelect(t *testing.T) {
	m := dipeptide()
	testkit.Refused(t, testkit.Err(Anonymous(4).Select("CA")), "have no names", "no names")
	testkit.EqualSlices(t, testkit.Must(m.SelectAll([]string{"ACE:C", "3", "CA", "ALA:C"})), []int{1, 3, 4, 6})
	testkit.Refused(t, testkit.Err(m.SelectAll([]string{"CA", "X"})), `"X" fits no atom`)
	// Elements without names of their own, insertion codes, two chains.
	odd := &Molecule{Atoms: []Atom{
		{Name: "C"}, {Name: "C"}, {Name: "CA", Residue: "GLY", ResidueNumber: 52, Insertion: "A", Chain: "L"},
		{Name: "CA", Residue: "GLY", ResidueNumber: 52, Chain: "L"},
		{Name: "CA", Residue: "GLY", ResidueNumber: 52, Chain: "H"}, {Name: "1", Residue: "X"}, {},
	}}
	testkit.Equal(t, testkit.Must(odd.Select("GLY52A:CA")), 2, "insertion code")
	if got, err := odd.Select("H:52:CA"); err != nil || got != 4 {
		t.Errorf("chain: %d, %v", got, err)
	}
	// A label is found again, whatever the names.
	for _, m := range []*Molecule{m, odd} {
		for i := range m.Atoms {
			if got, err := m.Select(m.Label(i)); err != nil || got != i {
				t.Errorf("atom %d is called %q, which is %d, %v", i, m.Label(i), got, err)
			}
		}
	}
	if odd.Label(0) != "0" || odd.Label(4) != "H:GLY52:CA" || m.Label(6) != "ALA2:C" {
		t.Errorf("labels %q, %q, %q", odd.Label(0), odd.Label(4), m.Label(6))
	}
}

// Names make a molecule whose labels they are.
func TestFromNames(t *testing.T) {
	names := strings.Fields("ACE1:CH3 ACE1:C ALA2:N A:ALA2:CA C9 Cl1 CL1 1HB Xq")
	m := testkit.Must(FromNames(names))
	elements := ""
	for i, a := range m.Atoms {
		elements += a.Element + " "
		if got, err := m.Select(names[i]); names[i] != "Cl1" && names[i] != "CL1" && (err != nil || got != i) {
			t.Errorf("%s is atom %d, %v", names[i], got, err)
		}
	}
	if elements != "C C N C C Cl C H  " || m.Atoms[3].Chain != "A" || m.Atoms[3].ResidueNumber != 2 {
		t.Errorf("elements %q, %+v", elements, m.Atoms)
	}
}

// What looks like another unit, and metals, are said.
func TestDescribed(t *testing.T) {
	x := []float64{0, 0, 0, 1.21, 0, 0, -0.6, 0.9, 0, -0.6, -0.9, 0}
	for doubt, c := range map[string]struct {
		unit  float64
		first string
	}{"": {1, "C"}, "are these bohr? Ångström are expected: multiply by 0.529177": {1 / 0.529177, "C"},
		"are these nanometres?": {0.1, "C"}, "atom 0 is of the metal Fe": {1, "Fe"}} {
		m := &Molecule{Atoms: []Atom{{Element: c.first}, {Element: "O"}, {Element: "H"}, {Element: "H"}}}
		y := slices.Clone(x)
		for k := range y {
			y[k] *= c.unit
		}
		_, got := m.Described(y)
		if !strings.Contains(got, doubt) || (doubt == "") != (got == "") {
			t.Errorf("%q, want %q", got, doubt)
		}
	}
}

func TestRingTorsions(t *testing.T) {
	if got := RingTorsions([]int{0, 1, 2, 3, 4}); !reflect.DeepEqual(got,
		[][4]int{{4, 0, 1, 2}, {0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 0}, {3, 4, 0, 1}}) {
		t.Errorf("ring torsions %v", got)
	}
	if RingTorsions([]int{0, 1, 2}) != nil {
		t.Error("a ring of three has no torsions")
	}
}

// Torsions have the sign and the values of the reference's; distances, angles and volumes are by hand.
func TestGeometry(t *testing.T) {
	const n = 200
	x := make([]float64, 30*n)
	keyed.New(3, keyed.Probe, 0).Normals(x, 0, 0)
	values := make([]float64, 2*n)
	reference.Alanine.NewEvaluator(n).Values(values, x, n)
	for i := range n {
		φ := Torsion(x[30*i:30*i+30], 1, 3, 4, 6)
		if d := φ - (values[2*i] - 70*math.Pi/180); math.Abs(d) > 1e-11 {
			t.Fatalf("conformation %d: φ is %v, the reference's differs by %v", i, φ, d)
		}
	}
	y := []float64{1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 2, 3, 0, 1e-9, 0}
	for what, c := range map[string][2]float64{
		"distance":     {Distance(y, 0, 1), 1},
		"long":         {Distance(y, 0, 3), math.Sqrt(14)},
		"right angle":  {Angle(y, 0, 1, 2), math.Pi / 2},
		"small angle":  {Angle(y, 2, 1, 4), 0},
		"a turn":       {Torsion(y, 0, 1, 2, 3), -math.Pi / 2},
		"back":         {Torsion(y, 3, 2, 1, 0), -math.Pi / 2},
		"right hand":   {Volume(y, 1, 0, 2, 3), 6},
		"left hand":    {Volume(y, 1, 2, 0, 3), -6},
		"tiny is real": {Angle([]float64{1, 0, 0, 0, 0, 0, 1, 1e-9, 0}, 0, 1, 2), 1e-9},
	} {
		testkit.Near(t, c[0], c[1], 1e-15*max(1, math.Abs(c[1])), "%s", what)
	}
	line := []float64{0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 1, 0}
	if !math.IsNaN(Torsion(line, 0, 1, 2, 3)) || !math.IsNaN(Angle(line, 0, 0, 1)) {
		t.Error("what is not defined has a value")
	}
}

// Bonds of methanol, water and an ion, however they are turned and moved; a hydrogen in
// between keeps its nearest partner.
func TestGuessBonds(t *testing.T) {
	m := Anonymous(10)
	for i, e := range []string{"C", "o", "H", "H", "H", "H", "O", "H", "H", "NA"} {
		m.Atoms[i].Element = e
	}
	x := []float64{
		0, 0, 0, 1.42, 0, 0, -0.36, 1.03, 0, -0.36, -0.51, 0.89, -0.36, -0.51, -0.89, 1.73, 0.91, 0,
		1.9, 2.2, 0.3, 2.86, 2.2, 0.3, 1.66, 3.13, 0.3, 30, 0, 0, // a hydrogen bond, an ion far off
	}
	want := []Bond{{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 5}, {6, 7}, {6, 8}}
	c, s := math.Cos(0.7), math.Sin(0.7)
	for k, shift := range []float64{0, 1e3, -7.7} {
		y := slices.Clone(x)
		for i := 0; i < len(y); i += 3 {
			y[i], y[i+1] = c*y[i]-s*y[i+1]+shift, s*y[i]+c*y[i+1]+shift
		}
		testkit.EqualSlices(t, m.GuessBonds(y), want, "placement %d: bonds", k)
	}
	y := slices.Clone(x)
	copy(y[18:], []float64{2.3, 1.8, 0}) // both oxygens near the hydrogen
	if got := m.GuessBonds(y); !slices.Contains(got, Bond{1, 5}) || slices.Contains(got, Bond{5, 6}) {
		t.Errorf("a hydrogen between two: %v", got)
	}
	if Radius("CL") != 1.02 || Radius("") != Radius("C") || !Known("br") || Known("Xx") || Symbol(" FE ") != "Fe" {
		t.Error("elements")
	}
	for z, want := range map[int]string{-1: "", 0: "", 1: "H", 6: "C", 26: "Fe", 79: "Au", 118: "Og", 119: ""} {
		testkit.Equal(t, Numbered(z), want, "element %d", z)
	}
	// Elements unknown, as of coordinates alone: a chain of carbons.
	chain := Anonymous(3)
	testkit.EqualSlices(t, chain.GuessBonds([]float64{0, 0, 0, 1.53, 0, 0, 2, 1.45, 0}), []Bond{{0, 1}, {1, 2}},
		"a chain")
}

func ExampleMolecule_Select() {
	m := &Molecule{Atoms: []Atom{{Name: "C", Residue: "ACE", ResidueNumber: 1}, {Name: "N", Residue: "ALA",
		ResidueNumber: 2}, {Name: "C", Residue: "ALA", ResidueNumber: 2}}}
	fmt.Println(m.Select("ALA:C"))
	_, err := m.Select("C")
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// "C" fits 2 atoms: 0 (ACE1:C), 2 (ALA2:C); name one of them by its index or its residue, as in ALA2:CA
}

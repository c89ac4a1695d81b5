package sets

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// butane is a template of four carbons and an oxygen that hangs on the second: names
// CA appear twice. Bonds are guessed from distances.
const butane = `ATOM      1  C1  ABC A   1       0.000   0.000   0.000  1.00  0.00           C
ATOM      2  CA  ABC A   1       1.530   0.000   0.000  1.00  0.00           C
ATOM      3  CA  XYZ A   2       2.040   1.442   0.000  1.00  0.00           C
ATOM      4  C4  XYZ A   2       3.570   1.442   0.400  1.00  0.00           C
ATOM      5  O   ABC A   1       2.000  -0.700   1.150  1.00  0.00           O
END
`

func build(text string) (constraint.Set, error) {
	var s Set
	if err := yaml.UnmarshalWithOptions([]byte("{kind: molecule, "+text+"}"), &s, yaml.Strict()); err != nil {
		return nil, err
	}
	return s.Build("set")
}

// The keys make the conditions that they say, in degrees and ångström, of atoms by index or by name.
func TestMolecule(t *testing.T) {
	path := filepath.Join(t.TempDir(), "butane.pdb")
	testkit.OK(t, os.WriteFile(path, []byte(butane), 0o644))
	template := "template: " + path + ", "
	x := []float64{0, 0, 0, 1.53, 0, 0, 2.04, 1.442, 0, 3.57, 1.442, 0.4, 2, -0.7, 1.15}
	φ := molecule.Torsion(x, 0, 1, 2, 3) * 180 / math.Pi
	for _, c := range []struct {
		text, components string
		values           []float64 // at x
	}{
		{"atoms: 5, dihedrals: [{atoms: [0, 1, 2, 3], value: 170, name: φ}]",
			"[φ]", []float64{(φ - 170) * math.Pi / 180}},
		{"atom_names: [C1, ABC:CA, XYZ2:CA, 'C4', A:ABC1:O], distances: [{atoms: [C1, ABC:CA], value: 1}]",
			"[distance C1–ABC:CA]", []float64{0.53}},
		{"atoms: 5, dihedrals: [{atoms: [0, 1, 2, 3], value: 1.7e2}]",
			"[dihedral 0–1–2–3]", []float64{(φ - 170) * math.Pi / 180}},
		{"atoms: 5, dihedrals: [{atoms: [0, 1, 2, 3], value: 530}]", // the same
			"[dihedral 0–1–2–3]", []float64{(φ - 170) * math.Pi / 180}},
		{"atoms: 5, dihedrals: [{atoms: [0, 1, 2, 3], range: [150, 210], name: φ}]", "[φ ≥ 150° φ ≤ 210°]",
			[]float64{(150 - φ) * math.Pi / 180, (φ - 210) * math.Pi / 180}},
		{"atoms: 5, angles: [{atoms: [0, 1, 2], max: 165}], distances: [{atoms: [0, 1], min: 1}]",
			"[distance 0–1 ≥ 1 Å angle 0–1–2 ≤ 165°]", nil},
		{"atoms: 5, dihedrals: [{atoms: [0, 1, 2, 3], ranges: [[150, 210], [-60, 60]], name: φ}]",
			"[φ outside of 60° to 150° φ outside of 210° to 300°]", nil},
		{"atoms: 5, distances: [{atoms: [0, [2, 3, 4]], max: 2.5, name: NOE}]", "[NOE ≤ 2.5 Å]",
			[]float64{math.Sqrt(4+0.49+1.3225) - 2.5}},
		{"atoms: 5, windows: max, distances: [{atoms: [0, 1], range: [1.5, 1.6]}]", "[distance 0–1]", []float64{-0.03}},
		{template + "distances: [{atoms: [C1, ABC:CA], value: template}, {atoms: [A:XYZ2:CA, 2:C4], value: 1}]",
			"[distance ABC1:C1–ABC1:CA distance XYZ2:CA–XYZ2:C4]", []float64{0, math.Hypot(1.53, 0.4) - 1}},
		{template + "bonds: template", "[distance ABC1:C1–ABC1:CA distance ABC1:CA–XYZ2:CA distance ABC1:CA–ABC1:O " +
			"distance XYZ2:CA–XYZ2:C4]", []float64{0, 0, 0, 0}},
		{template + "bonds: template, rigid: [[0, 1, 4]]", "[distance ABC1:CA–XYZ2:CA distance XYZ2:CA–XYZ2:C4 " +
			"distance ABC1:C1–ABC1:CA distance ABC1:CA–ABC1:O distance ABC1:O–ABC1:C1]", nil},
		{template + "bond_angles: template", "[angle ABC1:C1–ABC1:CA–XYZ2:CA dihedral XYZ2:CA–ABC1:CA–ABC1:C1–ABC1:O " +
			"angle ABC1:C1–ABC1:CA–ABC1:O angle ABC1:CA–XYZ2:CA–XYZ2:C4]", nil},
		{template + "rigid: [[C1, 1, 2, O]]", "", []float64{0, 0, 0, 0, 0, 0}},
		{template + "chirality: [{atoms: [1, 0, 2, 4]}]", "[volume ABC1:CA–ABC1:C1–XYZ2:CA–ABC1:O ≤ 0 Å³]",
			[]float64{molecule.Volume(x, 1, 0, 2, 4)}},
		{template + "chirality: [{atoms: [1, 2, 0, 4], name: hand}]", "[hand ≥ 0 Å³]",
			[]float64{molecule.Volume(x, 1, 0, 2, 4)}},
		{"atoms: 5, chirality: [{atoms: [1, 2, 0, 4], range: [-1, 3.5]}]", "", nil},
		{template + "apart: [{min: 3}]", "[distance ABC1:C1–XYZ2:C4 ≥ 3 Å distance XYZ2:C4–ABC1:O ≥ 3 Å]", nil},
		{template + "apart: [{min: 3, atoms: [C1, 2, 3], beyond: 1}]",
			"[distance ABC1:C1–XYZ2:CA ≥ 3 Å distance ABC1:C1–XYZ2:C4 ≥ 3 Å]", nil},
		{template + "windows: max, apart: [{min: 3, name: no overlap}]", "[no overlap]", nil},
	} {
		s, err := build(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := fmt.Sprint(constraint.Components(s)); c.components != "" && got != c.components {
			t.Errorf("%s: components %s", c.text, got)
		}
		if v := constraint.Values(s, x); c.values != nil {
			for i, want := range c.values {
				if len(v) != len(c.values) || math.Abs(v[i]-want) > 1e-12 {
					t.Errorf("%s: values %v, want %v", c.text, v, c.values)
					break
				}
			}
		}
		if err := geometry.New(s, 1, 0).At(x, 1); err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

// What cannot be is refused at its key, with the atoms' names and what to write instead.
func TestBadMolecule(t *testing.T) {
	dir := t.TempDir()
	path, row := filepath.Join(dir, "butane.pdb"), filepath.Join(dir, "row.xyz")
	for name, text := range map[string]string{path: butane,
		row: "4\nin a row\nC 0 0 0\nC 1.5 0 0\nC 3 0 0\nC 4 1.2 0\n"} {
		testkit.OK(t, os.WriteFile(name, []byte(text), 0o644))
	}
	pdb, xyz := "template: "+path+", ", "template: "+row+", "
	for _, c := range []struct{ text, want string }{
		{"bonds: template", "set.atoms is 0; expected 1 to 10000 atoms, or a file in set.template"},
		{"atoms: 20000", "set.atoms is 20000"},
		{"atom_names: [CA, CA]", `set.atom_names[1] is CA; expected a name that atom 0 has not`},
		{"atom_names: [CA, 1.5]", "set.atom_names[1] is 1.5; expected an atom's name"},
		{"atoms: 3, atom_names: [CA, CB]", "set.atoms is 3; expected as many as there are names, 2"},
		{pdb + "atom_names: [CA]", "set.atom_names: the template has names; expected one of the two keys"},
		{pdb + "atoms: 4", "set.atoms is 4; expected the 5 of"},
		{"template: nowhere.pdb", "set.template: "},
		{"template: x.txt", `set.template: x.txt: extension ".txt"`},
		{"atoms: 4, bonds: template", "set.bonds: it asks for the template's, and there is no template"},
		{"atoms: 4, heavy: true", "set.heavy: it asks for the template's"},
		{"atoms: 4, rigid: [[0, 1, 2]]", "set.rigid[0]: it asks for the template's"},
		{"atoms: 4, dihedrals: [{atoms: [0, 1, 2, 3], value: 1e300}]", "set.dihedrals[0] is 1e+300; expected degrees"},
		{"atoms: 4, angles: [{atoms: [0, 1, 2], max: 1e4}]", "set.angles[0] is 10000; expected degrees in"},
		{"atoms: 4, distances: [{atoms: [0, 1], value: 1e300}]", "expected at most 1e6 Å"},
		{xyz + "chirality: [{atoms: [1, 0, 2, 3]}]", "set.chirality[0]: in the template centre 1 and its three"},
		{"atoms: 4, dihedrals: [{atoms: [0, 1, 2, 3], ranges: [[0, 60]]}]",
			"set.dihedrals[0].ranges: expected two or more ranges of a dihedral, or the key"},
		{"atoms: 4, dihedrals: [{atoms: [0, 1, 2, 3], ranges: [[0, 60], [170, -170]]}]",
			"set.dihedrals[0].ranges[1] is [170 -170]; expected a range that goes up, as [150, 210]"},
		{"atoms: 4, dihedrals: [{atoms: [0, 1, 2, 3], ranges: [[0, 60], [50, 90]]}]",
			"set.dihedrals[0]: the range [0°, 60°] and the next, from 50° on"},
		{"atoms: 4, dihedrals: [{atoms: [0, 1, 2, 3], value: condition}]", "set.dihedrals[0].name: expected a name"},
		{pdb + "coordinates: internal, dihedrals: [{atoms: [0, 1, 2, 3], value: condition, name: a}]",
			"set.coordinates is internal; expected positions, beside a value that is a condition"},
		{"atoms: 4, angles: [{atoms: [0, 1, 2], value: condition, name: a}]", "set.angles[0]: an angle cannot be a"},
		{"atoms: 4, distances: [{atoms: [0, [1, 4]], max: 3}]", "set.distances[0].atoms[1][1]: there is no atom 4"},
		{"atoms: 4, distances: [{atoms: [0, [1, 0]], max: 3}]", "set.distances[0]: atom 0 is there twice"},
		{"atoms: 4, distances: [{atoms: [0, [1, 2]], min: 3}]",
			"set.distances[0]: the distance to the nearest of a group; expected at least one atom in it, and a max"},
		{"atoms: 4, distances: [{atoms: [0, []], max: 3}]", "expected at least one atom in it"},
		{"atoms: 4, bonds: all", "set.bonds is all; expected template"},
		{"atoms: 4, distances: [{atoms: [0, 4], value: 1}]", "set.distances[0].atoms[1]: there is no atom 4"},
		{"atoms: 4, distances: [{atoms: [0, CA], value: 1}]", `set.distances[0].atoms[1]: "CA" fits no atom`},
		{pdb + "distances: [{atoms: [0, CA], value: 1}]",
			`set.distances[0].atoms[1]: "CA" fits 2 atoms: 1 (ABC1:CA), 2`},
		{pdb + "distances: [{atoms: [0, CB], value: 1}]", `set.distances[0].atoms[1]: "CB" fits no atom; the nearest`},
		{pdb + "distances: [{atoms: [0, 1.5], value: 1}]",
			"set.distances[0].atoms[1] is 1.5; expected an atom's index"},
		{pdb + "distances: [{atoms: [C1, 0], value: 1}]", "set.distances[0].atoms[1]: atom ABC1:C1 is there twice"},
		{pdb + "distances: [{atoms: [0, 1, 2], value: 1}]", "set.distances[0].atoms: 3 atoms; expected 2"},
		{pdb + "distances: [{atoms: [0, 1]}]", "set.distances[0]: expected one of value, range, ranges, min and max"},
		{pdb + "distances: [{atoms: [0, 1], value: 1, range: [1, 2]}]",
			"set.distances[0]: expected one of value, range"},
		{pdb + "distances: [{atoms: [0, 1], value: long}]",
			"set.distances[0].value is long; expected a number, template or condition"},
		{pdb + "distances: [{atoms: [0, 1], range: [2, 1]}]",
			"set.distances[0].range is [2 1]; expected a range that goes up"},
		{pdb + "distances: [{atoms: [0, 1], range: [2]}]", "set.distances[0].range is [2]; expected two numbers"},
		{pdb + "distances: [{atoms: [0, 1], value: -1}]", "set.distances[0]: a distance of -1 Å"},
		{pdb + "dihedrals: [{atoms: [0, 1, 2, 3], range: [170, -170]}]", "as [150, 210] for a dihedral across 180°"},
		{pdb + "dihedrals: [{atoms: [0, 1, 2, 3], range: [0, 360]}]",
			"set.dihedrals[0]: the range [0°, 360°] is the whole circle"},
		{pdb + "angles: [{atoms: [0, 1, 2], max: wide}]", "set.angles[0].max is wide; expected a number"},
		{pdb + "dihedrals: [{atoms: [0, 1, 2, 3], max: 90}]", "set.dihedrals[0]: a dihedral has a range of two ends"},
		{pdb + "angles: [{atoms: [0, 1, 2], value: 180}]",
			"set.angles[0]: an angle of 180° is within 1° of a straight line"},
		{pdb + "chirality: [{atoms: [1, 0, 2, 3], sign: left}]", "set.chirality[0].sign is left"},
		{pdb + "chirality: [{atoms: [1, 0, 2, 3], sign: positive, range: [0, 1]}]",
			"set.chirality[0]: expected a sign or a range"},
		{"atoms: 4, chirality: [{atoms: [1, 0, 2, 3]}]", "set.chirality[0]: it asks for the template's"},
		{pdb + "apart: [{min: -1}]", "set.apart[0]: a least distance of -1"},
		{pdb + "apart: [{min: 3, beyond: 9}]", "set.apart[0]: there is no pair of atoms"},
		{pdb + "apart: [{min: 3, beyond: -1}]", "set.apart[0].beyond is -1"},
		{pdb + "windows: square", "set.windows is square; expected one of smooth, max"},
		{pdb + "distances: [{atoms: [0, 1], value: 1}], bonds: template", "distance ABC1:C1–ABC1:CA is fixed at 1"},
		{xyz + "dihedrals: [{atoms: [0, 1, 2, 3], value: template}]",
			"set.dihedrals[0].value: the dihedral of 0 1 2 3 has no value"},
		{xyz + "dihedrals: [{atoms: [0, 1, 2, 3], value: 60, name: φ}]",
			`set.template: ` + row + `: constraint "φ": 0, 1 and 2 lie on a line`},
		{xyz + "bond_angles: template", "is 180° in the template"},
		{xyz + "rigid: [[0, 1, 2]]", "set.rigid[0]: the atoms of the group of 0 lie on a line"},
		{pdb + "distances: [{atoms: [0, 1], value: 1, nam: x}]", "nam"},
	} {
		testkit.Refused(t, testkit.Err(build(c.text)), c.want, c.text)
	}
}

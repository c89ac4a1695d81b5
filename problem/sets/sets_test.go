package sets

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Every row has keys with tags that leave out zeros, a doc for each, and a name of its own. A key that is of one type
// in one kind and of another elsewhere (TestKeyOfKinds) is listed here, so that none comes to be so by accident.
func TestRegistry(t *testing.T) {
	types, names := map[string]reflect.Type{}, map[string]bool{}
	several := map[string]bool{"bonds": true, "angles": true}
	for _, k := range All {
		if names[k.Name] || k.Name == "" {
			t.Errorf("the name %q is taken", k.Name)
		}
		names[k.Name] = true
		for key, f := range Fields(k.Keys) {
			if key == "" || key == "kind" || f.Tag.Get("yaml") != key+",omitempty" || f.Tag.Get("doc") == "" {
				t.Errorf("%s: the key %s has tags %q", k.Name, f.Name, f.Tag)
			}
			if before, ok := types[key]; ok && before != f.Type && !several[key] {
				t.Errorf("%s: the key %s is a %v, and a %v elsewhere", k.Name, key, f.Type, before)
			}
			types[key] = f.Type
		}
	}
}

// A constructor's error is placed in the file, with the keys that it speaks of.
func TestPlace(t *testing.T) {
	k := Row("made up", func(struct {
		Length float64 `yaml:"l,omitempty"`
	}) (constraint.Set, error) {
		return nil, nil
	})
	for _, c := range []struct {
		err  error
		want string
	}{
		{Bad("l", 3, "less than {m}"), "set.all[1].l is 3; expected less than set.all[1].m"},
		{&zoo.DomainError{Set: "x", Param: "length", Value: -1, Want: "more"}, "set.all[1].l is -1; expected more"},
		{&Error{Key: "set.all[1].all[0].r", Fault: "no"}, "set.all[1].all[0].r: no"},
		{&Error{Key: "expr", Fault: "not {x}"}, "set.all[1].expr: not {x}"},
	} {
		if got := place(c.err, "set.all[1]", k); got.Error() != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A key that two kinds have by different types is read as the kind's that the file names, in whatever layer.
func TestKeyOfKinds(t *testing.T) {
	read := func(text string) (s Set) {
		t.Helper()
		testkit.OK(t, yaml.Unmarshal([]byte(text), &s))
		return s
	}
	chain := read("{kind: chain, bonds: [1, 2]}")
	testkit.OK(t, testkit.Err(chain.Over(read("{angles: [1.9]}"), false).Build("set")))
	m := read("{kind: molecule, atoms: 4}").Over(read("{angles: [{atoms: [0, 1, 2], value: 100}]}"), false)
	if s, err := m.Build("set"); err != nil || len(s.Equalities()) != 1 {
		t.Error(err)
	}
	testkit.Refused(t, testkit.Err(chain.Over(read("{angles: [{atoms: [0, 1, 2], value: 100}]}"), false).Build("set")),
		"set.angles is", "a molecule's angles of a chain")
	testkit.Refused(t, testkit.Err(m.Over(read("{bonds: [1, 2]}"), false).Build("set")),
		"set.bonds is [1 2]", "a chain's bonds of a molecule")
}

// A key that was read when the set was of a kind where it has another type is read again, or refused.
func TestKeyOfAnotherType(t *testing.T) {
	k := Row("made up", func(struct {
		Dim []float64 `yaml:"dim,omitempty"`
	}) (constraint.Set, error) {
		return nil, nil
	})
	if got, err := (Set{keys: map[string]any{"dim": []any{1, 2.5}}}).of(k); err != nil ||
		!reflect.DeepEqual(reflect.ValueOf(got).Field(0).Interface(), []float64{1, 2.5}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := (Set{keys: map[string]any{"dim": 3}}).of(k); err == nil ||
		!strings.Contains(err.Error(), "dim is 3") {
		t.Errorf("%v, %v", got, err)
	}
}

// A set is a value: what is done to a copy leaves it alone.
func TestSetIsAValue(t *testing.T) {
	var s Set
	testkit.OK(t, yaml.Unmarshal([]byte("{kind: level-set, weights: a.npz}"), &s))
	other := s.WithFile("weights", "b.npz")
	if s.Files()["weights"] != "a.npz" || other.Files()["weights"] != "b.npz" {
		t.Errorf("%v and %v", s.Files(), other.Files())
	}
	var layer Set
	testkit.OK(t, yaml.Unmarshal([]byte("{kind: sphere, dim: 3, weights: ''}"), &layer))
	over := s.Over(layer, true)
	testkit.OK(t, testkit.Err(over.Build("set")))
	if s.Is() != "level-set" || s.has("dim") || over.has("weights") || !over.has("dim") {
		t.Errorf("%+v, %+v", s, over)
	}
}

func buildArm(t *testing.T, text string) (constraint.Set, error) {
	t.Helper()
	var s Set
	testkit.OK(t, yaml.Unmarshal([]byte(text), &s))
	return s.Build("set")
}

// All keys reach the set: names and numbers of components tell.
func TestArm(t *testing.T) {
	s, err := buildArm(t, `
kind: arm
robot: panda
waypoints: 3
start: {joints: [0, -0.3, 0.1, -2, 0.2, 1.8, 0.7]}
goal: {position: [0.4, 0.3, 0.5], rpy: [3.14159265, 0, 0]}
path:
  - {name: lid, link: panda_link5, point: [0, 0, 0.1], box: {min: [-1, -1, 0], max: [1, 1, 2]}}
  - {cone: [0, 0, -1], angle: 1.5}
step: [1, 1, 1, 1, 1, 1, 2]
period: 0.5
acceleration: [1, 1, 1, 1, 1, 1, 2]
obstacles:
  - {sphere: [1, 1, 1], radius: 0.1}
  - {capsule: [[-1, 1, 0], [-1, 1, 1]], radius: 0.1}
  - {box: [0, 0, 2.5], size: [1, 1, 0.1], rpy: [0.1, 0, 0]}
spheres: [{link: panda_link4, at: [0, 0, 0.1], radius: 0.05}, {link: panda_link7, radius: 0.1}]
self: [[panda_link4, panda_link7]]
margin: 0.01
`)
	testkit.OK(t, err)
	set, ok := constraint.As[*trajectory.Set](s)
	if !ok {
		t.Fatalf("%T", s)
	}
	all := strings.Join(constraint.Components(set), " ")
	for _, name := range []string{"circle[0,panda_joint1]", "start.panda_joint7 ", "start.panda_joint7.side", "goal.x",
		"goal.turn.a", "lid.x.min[1]", "lid.z.max[2]", "cone[1]", "limit[1,panda_joint4]", "clear[2,panda_link4,2]",
		"self[1,panda_link4,panda_link7]", "step[1,panda_joint6]", "bend[1,panda_joint7]"} {
		testkit.Contains(t, all, name, "there")
	}
	if strings.Contains(all, "limit[0,") || strings.Contains(all, "cone[0]") {
		t.Errorf("joints that are told are asked for more: %s", all)
	}
	if steps := set.Spec().Steps; steps[0] != 1 || steps[6] != 1.305 {
		t.Errorf("steps %v", steps)
	}
	if bends := set.Spec().Bends; len(bends) != 8 || bends[0] != 0.25 || bends[6] != 0.5 || bends[7] != 0 {
		t.Errorf("bends %v", bends)
	}
	s = testkit.Must(buildArm(t, "{kind: arm, robot: panda, waypoints: 3, acceleration: 0.3}"))
	if set, _ = constraint.As[*trajectory.Set](s); set.Spec().Bends[6] != 0.3 || set.Spec().Steps != nil {
		t.Errorf("bends %v, steps %v", set.Spec().Bends, set.Spec().Steps)
	}
	s = testkit.Must(buildArm(t, "{kind: arm, robot: panda, waypoints: 2, limits: false, "+
		"start: {joints: condition}, goal: {position: condition}}"))
	held := s.Capabilities().Held
	if s.Dim() != 28+14+3 || len(held) != 17 || held[0] != 28 {
		t.Errorf("R^%d with %v held", s.Dim(), held)
	}
	s, err = buildArm(t, "{kind: arm, urdf: ../../domain/robot/urdf/testdata/six.urdf, base: shoulder, tip: tool, "+
		"waypoints: 2}")
	testkit.OK(t, err)
	if set, ok := constraint.As[*trajectory.Set](s); !ok || set.Spec().Arm.Base != "shoulder" ||
		set.Spec().Arm.Joints[0].Name != "lift" {
		t.Errorf("a chain that begins at the shoulder is %+v", set.Spec().Arm)
	}
}

// What cannot be is named by its key.
func TestBadArms(t *testing.T) {
	const home = "start: {joints: [0, -0.3, 0.1, -2, 0.2, 1.8, 0.7]}"
	for _, c := range []struct{ keys, want string }{
		{"robot: panda", "set.waypoints is 0; expected a number in [1, 1000]"},
		{"robot: panda, waypoints: 2000", "set.waypoints is 2000; expected a number in [1, 1000]"},
		{"waypoints: 3", "set.robot is <nil>; expected panda, or the arm's file in set.urdf"},
		{"robot: kuka, waypoints: 3", "set.robot is kuka; expected panda"},
		{"robot: panda, urdf: arm.urdf, waypoints: 3", "set.robot: the arm is there twice"},
		{"robot: panda, base: panda_link1, waypoints: 3", "set.base: only an arm of a file"},
		{"urdf: ../../domain/robot/urdf/testdata/six.urdf, base: hip, waypoints: 3",
			`set.urdf: ../../domain/robot/urdf/testdata/six.urdf: `},
		{"urdf: nosuch.urdf, waypoints: 3", "set.urdf: open nosuch.urdf"},
		{"dh: [{d: 1, kind: loose}], waypoints: 3", "set.dh[0].kind is loose; expected one of revolute"},
		{"dh: [{d: 1, limits: [2, 1]}], waypoints: 3", "set.dh[0].limits is [2 1]; expected two numbers"},
		{"robot: panda, tip: hand, waypoints: 3", `set.tip: no link "hand"; the links of panda are`},
		{"robot: panda, waypoints: 3, start: {joints: [0, 0, 0]}",
			"set.start.joints: 3 values; expected those of the 7"},
		{"robot: panda, waypoints: 3, start: {joints: [0, 0, 0, 0, 0, 0, 0]}",
			`set.start.joints: joint "panda_joint4" at 0 is outside of its limits [-3.0718, -0.0698]`},
		{"robot: panda, waypoints: 3, start: {joints: [0, 0, 0, -3.1, 0, 1, 0]}",
			`set.start.joints: joint "panda_joint4" at -3.1 is outside of its limits`},
		{"robot: panda, waypoints: 3, start: {joints: home}", "set.start.joints is home; expected a list"},
		{"robot: panda, waypoints: 3, goal: {position: [5, 0, 0]}",
			"set.goal: no configuration of the arm keeps it: of 200 searches the nearest violates \"goal.x\" by 4"},
		{"robot: panda, waypoints: 3, start: {position: [0.4, 0, 0.3]}, " +
			"obstacles: [{sphere: [0.4, 0, 0.3], radius: 0.3}]", "set.start: no configuration of the arm keeps it"},
		{"robot: panda, waypoints: 3, path: [{link: panda_link4, box: {min: [-1, -1, 1.5], max: [1, 1, 2]}}]",
			"set.path: no configuration of the arm keeps it"},
		{"robot: panda, waypoints: 3, goal: {position: [1]}", "set.goal.position is [1]; expected three numbers"},
		{"robot: panda, waypoints: 3, path: [{name: x}]", "set.path[0]: expected one of position, plane"},
		{"robot: panda, waypoints: 3, path: [{cone: [0, 0, 1], angle: 4}]", "set.path[0].angle is 4; expected radians"},
		{"robot: panda, waypoints: 3, path: [{plane: {normal: [0, 0, 0]}}]", "set.path[0]: the axis is 0"},
		{"robot: panda, waypoints: 3, path: [{name: h, position: {z: 0.2}}], goal: {position: [0.4, 0, 0.3]}",
			"set.goal: goal.z must be 0.3, which h excludes"},
		{"robot: panda, waypoints: 3, path: [{link: panda_link2, position: {z: 0.2}}]",
			"set.path[0]: no joint moves what it asks for: it is at 0.333; expected 0.2"},
		{"robot: panda, waypoints: 3, step: 0", "set.step is 0; expected a number above 0"},
		{"robot: panda, waypoints: 3, step: [1]", "set.step is [1]; expected a number, or those of the 7 joints"},
		{"robot: panda, waypoints: 3, acceleration: -1", "set.acceleration is -1; expected a number above 0"},
		{"robot: panda, waypoints: 3, acceleration: [1, 1, 1, 1, 1, 1, -1]",
			`set.acceleration: steps of joint "panda_joint7" may differ by -1`},
		{"dh: [{}, {a: 1}, {kind: prismatic}], waypoints: 3, clearance: segments, obstacles: [{sphere: [3, 1, 1], " +
			"radius: 0.1}]", `set.clearance: joint "joint3" slides without limits`},
		{"robot: panda, waypoints: 3, obstacles: [{cylinder: [[1, 0, 0]], radius: 0.1}]",
			"set.obstacles[0].cylinder is [[1 0 0]]; expected the two ends of its axis"},
		{"robot: panda, waypoints: 3, cloud: none.csv, cloud_radius: 0.1", "set.cloud: open none.csv"},
		{"robot: panda, waypoints: 3, obstacles: [{radius: 0.1}]", "set.obstacles[0]: expected one of sphere, capsule"},
		{"robot: panda, waypoints: 3, obstacles: [{sphere: [0, 0, 0.3], radius: 0.1}]",
			"set.obstacles[0]: it is -0.067 m from panda_link1, which no joint moves"},
		{"robot: panda, waypoints: 3, " + home + ", obstacles: [{sphere: [0.2, 0, 0.6], radius: 0.3}]",
			`set.start.joints: they violate "clear[0,panda_link3,0]" by`},
		{"robot: panda, waypoints: 3, " + home + ", path: [{name: h, position: {z: 0.2}}]",
			`set.start.joints: they violate "h[0]" by`},
		{"robot: panda, waypoints: 3, self: [[panda_link1, panda_link9]]", `set.self[0]: no link "panda_link9"`},
	} {
		_, err := buildArm(t, "{kind: arm, "+c.keys+"}")
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.keys, err, c.want)
		}
	}
}

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

// Loads are coordinates, numbers of the file, or given under names that formulas can use.
func TestGrid(t *testing.T) {
	const small = "case: ../../domain/grid/testdata/small.m"
	for _, c := range []struct {
		keys, held, err string
		dim             int
	}{
		{small, "", "", 19},
		{small + ", loads: fixed", "", "", 13},
		{small + ", loads: condition", "Pd_20 Pd_30 Pd_40 Qd_20 Qd_30 Qd_40", "", 19},
		{"loads: free", "", "set.case is <nil>; expected a MATPOWER case file", 0},
		{"case: sets_test.go", "", "sets_test.go:1: ", 0},
		{"case: none.m", "", "set.case: open none.m: no such file", 0},
	} {
		var s Set
		testkit.OK(t, yaml.UnmarshalWithOptions([]byte("{kind: grid, "+c.keys+"}"), &s, yaml.Strict()))
		set, err := s.Build("set")
		if c.err != "" {
			testkit.Refused(t, err, c.err)
			continue
		}
		testkit.OK(t, err)
		own := set.Capabilities()
		testkit.Equal(t, strings.Join(own.HeldNames, " "), c.held, c.keys)
		testkit.Equal(t, len(own.Held), len(strings.Fields(c.held)), c.keys)
		testkit.Equal(t, set.Dim(), c.dim, c.keys)
	}
}

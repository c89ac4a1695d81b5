package sets

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
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
	testkit.Cases(t, func(keys string) string { return fmt.Sprint(testkit.Err(buildArm(t, "{kind: arm, "+keys+"}"))) })
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
	t.Chdir(t.TempDir())
	testkit.OK(t, os.WriteFile("butane.pdb", []byte(butane), 0o644))
	x := []float64{0, 0, 0, 1.53, 0, 0, 2.04, 1.442, 0, 3.57, 1.442, 0.4, 2, -0.7, 1.15}
	testkit.Cases(t, func(text string) string {
		s, err := build(text)
		if err != nil {
			return err.Error()
		}
		testkit.OK(t, geometry.New(s, 1, 0).At(x, 1))
		return fmt.Sprintf("%s at %.9f", constraint.Components(s), constraint.Values(s, x))
	})
}

// What cannot be is refused at its key, with the atoms' names and what to write instead.
func TestBadMolecule(t *testing.T) {
	t.Chdir(t.TempDir())
	testkit.OK(t, os.WriteFile("butane.pdb", []byte(butane), 0o644))
	row := "4\nin a row\nC 0 0 0\nC 1.5 0 0\nC 3 0 0\nC 4 1.2 0\n"
	testkit.OK(t, os.WriteFile("row.xyz", []byte(row), 0o644))
	testkit.Cases(t, func(text string) string { return fmt.Sprint(testkit.Err(build(text))) })
}

// Loads are coordinates, numbers of the file, or given under names that formulas can use.
func TestGrid(t *testing.T) {
	testkit.Cases(t, func(keys string) string {
		var s Set
		testkit.OK(t, yaml.UnmarshalWithOptions([]byte("{kind: grid, "+keys+"}"), &s, yaml.Strict()))
		set, err := s.Build("set")
		if err != nil {
			return err.Error()
		}
		own := set.Capabilities()
		testkit.Equal(t, len(own.Held), len(own.HeldNames), keys)
		return fmt.Sprintf("R^%d, given %q", set.Dim(), own.HeldNames)
	})
}

// Of each kind, all that its set says: components with values and slopes at a point, what it knows, files and keys.
func TestKinds(t *testing.T) {
	testkit.Keep(t, "kinds %q, implied by %q", names(), Implying())
	testkit.Keep(t, "keys %q", Keys())
	kept := func(text string) string {
		var s Set
		if err := yaml.UnmarshalWithOptions([]byte("{"+text+"}"), &s, yaml.Strict()); err != nil {
			return err.Error()
		}
		out := fmt.Sprintf("%s of %q, unbounded %v, files %v, idle %v", s.Is(), KeysOf(s.Is()), s.Unbounded(),
			s.Files(), s.Idle("set"))
		given := []string{"u", "v"}
		if !strings.Contains(text, "let: {}") { // that asks for a condition
			given = nil
		}
		set, err := s.BuildGiven("set", given)
		if err != nil {
			return out + "\n" + err.Error()
		}
		own := set.Capabilities()
		out += fmt.Sprintf("\n%s\n%s in R^%d, held %v %q, parts %v, %d steps of %d %q, families %v, "+
			"names %q, selects %s",
			testkit.Must(yaml.Marshal(s)), own.Name, set.Dim(), own.Held, own.HeldNames, own.Parts, own.Steps,
			own.StepDim, own.StepNames, own.Families, own.Names, own.Selection)
		stream := keyed.New(3, keyed.Probe, 0)
		x, along := make([]float64, set.Dim()), make([]float64, set.Dim())
		stream.Normals(along, 0, 0)
		stream.Normals(x, 1, 0)
		switch {
		case own.Start != nil:
			own.Start(x, stream, 0, 0)
		case own.SampleUniform != nil:
			own.SampleUniform(x, stream, 0)
		}
		all := constraint.Components(set)
		values, jac := make([]float64, len(all)), make([]float64, len(all)*len(x))
		set.NewEvaluator(1).Jacobians(values, jac, x, 1)
		out += fmt.Sprintf("\nat %.6f", x[:min(len(x), 40)])
		for i, name := range all[:min(len(all), 200)] {
			slope := 0.0
			for j, v := range along {
				slope += v * jac[i*len(x)+j]
			}
			out += fmt.Sprintf("\n%s: %.8f, slope %.8f", name, values[i]+0, slope+0)
			if own.Support != nil {
				out += fmt.Sprintf(" %v", own.Support[i])
			}
		}
		return strings.ReplaceAll(out, "-0.00000000", "0.00000000")
	}
	for text := range strings.Lines(string(testkit.Must(os.ReadFile("testdata/kinds.txt")))) {
		testkit.Keep(t, "\n%s= %s", text, strings.ReplaceAll(kept(text), "\n", "\n= "))
	}
}

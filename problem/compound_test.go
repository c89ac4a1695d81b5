package problem

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/problem/sets"
	"github.com/landing-diffusion/landing/tools/testkit"
)

const pair = `data: {path: x.csv}
set:
  product:
    - {kind: torus, major: 2, minor: 0.6}
    - all:
        - kind: sphere
          dim: 3
          radius: 2
        - dim: 3
          inequality:
            - {name: north, expr: "x[2] >= 0.5"}
process: {method: OLLA}
`

// Products and intersections load, nested too, survive their resolved form, and take settings like other keys.
func TestCompoundSets(t *testing.T) {
	for _, c := range []struct{ set, name, components string }{
		{"product: [{kind: sphere, dim: 3}, {kind: box, lower: [0], upper: [1]}]",
			"product of sphere in R^3 and box in R^1", "[0.radius] [1.lower[0] 1.upper[0]]"},
		{"kind: product, names: [a, b], product: [{kind: sphere, dim: 3}, {kind: torus, major: 2, minor: 1}]",
			"product of sphere in R^3 and torus", "[a.radius b.tube] []"},
		{"all: [{kind: sphere, dim: 3}, {kind: sphere, dim: 3}]",
			"intersection of sphere in R^3 and sphere in R^3", "[0.radius 1.radius] []"},
		{`all: [{kind: sphere, dim: 2}, {dim: 2, equality: [{name: line, expr: "x[0]"}]}]`,
			"intersection of sphere in R^2 and set of formulas in R^2 with 1 equality and 0 inequalities",
			"[radius line] []"},
		{"product: [{product: [{kind: sphere, dim: 2}]}, {kind: simplex, dim: 2}]",
			"product of (product of sphere in R^2) and simplex in R^2", "[0.0.radius 1.sum] [1.lower[0] 1.lower[1]]"},
	} {
		p, err := load(t, "set: {"+c.set+"}")
		if err != nil {
			t.Errorf("%s: %v", c.set, err)
			continue
		}
		again, err := Load(p.Resolved(), "resolved", "", nil)
		if err != nil || !reflect.DeepEqual(again.Set, p.Set) || string(again.Resolved()) != string(p.Resolved()) {
			t.Errorf("%s: %v: the resolved form has %+v\n%s", c.set, err, again.Set, p.Resolved())
		}
		proc := testkit.Must(again.Build())
		if got := fmt.Sprint(proc.Set.Equalities(), proc.Set.Inequalities()); constraint.Name(proc.Set) != c.name ||
			got != c.components {
			t.Errorf("%s: %s with %s", c.set, constraint.Name(proc.Set), got)
		}
	}
	p, err := load(t, "set: {kind: torus, major: 2, minor: 1}", "set.major=0", "set.minor=0", "set.kind=product",
		"set.product=[{kind: simplex, dim: 2}]")
	if err != nil || p.Set.Is() != "product" {
		t.Errorf("%+v, %v", p, err)
	}
}

// An error inside of a nested set names its place, with its line.
func TestCompoundFaults(t *testing.T) {
	testkit.Cases(t, func(input string) string {
		p, err := Load([]byte(changed(pair, input)), "f", "", nil)
		if err == nil {
			_, err = p.Build()
		}
		return fmt.Sprint(err)
	})
}

// Files of nested sets have keys of their own, and one is changed without the others.
func TestNestedFiles(t *testing.T) {
	weights, octahedron := files(t)
	text := fmt.Sprintf("set: {product: [{kind: level-set, weights: %s}, {kind: level-set, weights: %[1]s, mesh: "+
		"%s}]}\nprior: empirical", weights, octahedron)
	p := testkit.Must(load(t, text))
	q := *p
	q.SetFile("set.product[1].weights", "other.npz")
	if got := fmt.Sprint(p.Files()); got != fmt.Sprintf("map[data.path: set.product[0].weights:%s "+
		"set.product[1].mesh:%s set.product[1].weights:%[1]s]", weights, octahedron) {
		t.Errorf("files %s", got)
	}
	if f := q.Files(); f["set.product[1].weights"] != "other.npz" || f["set.product[0].weights"] != weights ||
		f["set.product[1].mesh"] != octahedron {
		t.Errorf("files %v", f)
	}
	testkit.Refused(t, testkit.Err(q.Build()), "mine.yaml:1: set.product[1].weights: open other.npz")
}

// A kind that a program adds may have a key that others have, of another type: it is
// read by the set's kind, also where an earlier layer names that.
func TestAddedKind(t *testing.T) {
	before := sets.All
	defer func() { sets.All = before }()
	sets.All = append(slices.Clone(before), sets.Row("spheres", func(k struct {
		Radius []float64 `yaml:"radius,omitempty" doc:"one a sphere"`
	}) (constraint.Set, error) {
		var of []constraint.Set
		for _, r := range k.Radius {
			if !(r > 0) {
				return nil, fmt.Errorf("radius %v", r)
			}
			of = append(of, zoo.Sphere{D: 2, R: r})
		}
		return constraint.Product(of...), nil
	}))
	for _, c := range []struct {
		set, setting, want string
	}{
		{"kind: spheres, radius: [1, 2]", "seed=1", ""},
		{"kind: spheres", "set.radius=[1, 2, 3]", ""},
		{"kind: spheres, radius: 1", "seed=1", "mine.yaml:1: set.radius is 1; expected a list"},
		{"kind: sphere, dim: 2, radius: [1]", "seed=1", "mine.yaml:1: set.radius is [1]; expected a finite number"},
		{"kind: spheres, radius: [0]", "seed=1", "mine.yaml:1: set: radius 0"},
		{"kind: sphere, dim: 2, radius: 3", "set.kind=spheres", "this key belongs to set.kind sphere, simplex"},
		{"kind: sphere, radius: 3", "set.kind=spheres",
			"mine.yaml:1: set.radius is 3; expected what it is of a spheres"},
		{"kind: spheres, radius: [1]", "set.kind=''", "set.kind is missing"},
	} {
		_, err := load(t, "set: {"+c.set+"}", c.setting)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, --set %s: %v; want %s", c.set, c.setting, err, c.want)
		}
	}
}

// Where data.kind is not written it follows from the set: motions of an arm, and conformations of a molecule unless the
// file is a table. A written kind stays, and needs nothing else.
func TestKindFollows(t *testing.T) {
	template := filepath.Join(t.TempDir(), "m.xyz")
	testkit.OK(t, os.WriteFile(template, []byte("3\n\nC 0 0 0\nC 1.5 0 0\nC 2 1.4 0\n"), 0o666))
	arm := "set: {kind: arm, robot: panda, waypoints: 5"
	molecule := "set: {kind: molecule, template: " + template + ", distances: [{name: b, atoms: [0, 1], value: 1.5}]}"
	for _, c := range []struct{ text, want string }{
		{arm + "}\n", "trajectory"},
		{arm + "}\ndata: {path: mine.csv}\n", "trajectory"},
		{arm + ", start: {position: condition}}\n", "trajectory"},
		{"set: {all: [{" + arm[6:] + "}, {dim: 70, inequality: [{name: g, expr: \"x[0] - 1\"}]}]}\n", "trajectory"},
		{arm + "}\ndata: {kind: points}\n", "points"},
		{molecule + "\ndata: {path: a.pdb}\n", "molecule"},
		{molecule + "\ndata: {path: a.SDF}\n", "molecule"},
		{molecule + "\ndata: {path: a.npy}\n", "molecule"},
		{molecule + "\ndata: {path: a.npz}\n", "molecule"},
		{molecule + "\n", "molecule"},
		{molecule + "\ndata: {path: a.csv}\n", "points"},
		{molecule + "\ndata: {kind: points, path: a.pdb}\n", "points"},
		{"set: {kind: sphere, dim: 3}\ndata: {path: places.csv}\n", "points"},
		{"set: {kind: sphere, dim: 3}\ndata: {path: a.pdb}\n", "points"},
	} {
		p := testkit.Must(Load([]byte(c.text), "p.yaml", "", nil))
		if _, err := p.Assemble(); err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		testkit.Equal(t, p.Data.Kind, c.want, "%s: data.kind", c.text)
		again := testkit.Must(Load(p.Resolved(), "config.yaml", "", nil))
		if _, err := again.Assemble(); err != nil || again.Data.Kind != c.want {
			t.Errorf("%s: read back data.kind is %s, %v", c.text, again.Data.Kind, err)
		}
	}
}

package problem

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// An error names the line and key of each fault of a file of added constraints; what is right adds the components it
// names.
func TestAdded(t *testing.T) {
	formulas := "set: {names: [a, b, c], let: {r: norm(x)}, equality: [{name: ball, expr: r = 1}]}\n"
	sphere := "set: {kind: sphere, dim: 3}\n"
	chain := "set: {kind: molecule, atoms: 4, distances: [{atoms: [0, 1], value: 1.5}]}\n"
	xyz := filepath.Join(t.TempDir(), "butane.xyz")
	testkit.OK(t, os.WriteFile(xyz, []byte("4\n\nC -0.5 1.4 0\nC 0 0 0\nC 1.5 0 0\nC 2 1 1\n"), 0o666))
	turning := fmt.Sprintf("set: {kind: molecule, template: %q, coordinates: internal, bonds: template}\n", xyz)
	arm := "set: {kind: arm, robot: panda, waypoints: 3}\n"
	for _, c := range []struct{ problem, text, want string }{
		{formulas, "inequality: [{name: cap, expr: 'a + r >= 1.2'}]", "cap"},
		{sphere, "let: {q: 2*u}\ninequality: [{name: cap, expr: 'q >= w'}]", "cap"},
		{sphere, "equality: [{name: cut, expr: 'x[0] = 0.1'}]\nmeasure: surface", "cut"},
		{chain, "dihedrals: [{name: psi, atoms: [0, 1, 2, 3], range: [130, 170]}]", "psi"},
		{turning, "dihedrals: [{name: psi, atoms: [0, 1, 2, 3], range: [130, 170]}]", "psi"},
		{turning, "apart: [{min: 2.6}]", "≥ 2.6 Å"},
		{arm, "obstacles: [{name: ball, sphere: [0.4, 0, 0.5], radius: 0.1}]", "clear[0,panda_link3,0]"},
		{arm, "obstacles: [{name: ball, sphere: [0.4, 0, 0.5], radius: 0.1}]\ninequality: [{name: low, expr: 'x[0]'}]",
			"low clear[0,panda_link3,0]"},
		{sphere, "inequality: [{name: cap, expr: 'y >= 0'}]", "given.yaml:1: inequality[0].expr"},
		{sphere, "\nequalty: []", "given.yaml:2: equalty: there is no such key"},
		{sphere, "inequality: [{expr: 'x[0] >= 0'}]", "inequality[0].name"},
		{sphere, "measure: level", "nothing is asked"},
		{sphere, "measure: volume\nequality: [{name: cut, expr: 'x[0]'}]", "given.yaml:1: measure"},
		{sphere, "observe: [{expr: 'x[0]', value: 1, sd: 0}]", "given.yaml:1: observe[0].sd is 0"},
		{sphere, "observe: [{expr: 'x[0]', value: 1, sd: .nan}]", "given.yaml:1: observe[0].sd"},
		{sphere, "observe: [{expr: 'x[0]', value: 1}]", "observe[0].sd"},
		{sphere, "observe: [{expr: 'x[0]', sd: 1}]", "observe[0].value"},
		{turning, "observe: [{name: a, expr: 'x[0]', value: 1, sd: 1}, {name: b, atoms: [0, 3], value: 3, sd: 1}]",
			"a b"},
		{chain, "observe: [{name: b, atoms: [0, 1, 2, 3], value: 30, sd: 5}]", "b"},
		{sphere, "observe: [{atoms: [0, 1], value: 1, sd: 1}]", "given.yaml:1: observe[0]: this key belongs to a set"},
		{chain, "observe: [{atoms: [0, 9], value: 1, sd: 1}]", "given.yaml:1: observe[0].atoms"},
		{chain, "observe: [{atoms: [0], value: 1, sd: 1}]", "given.yaml:1: observe[0]: expected expr, or atoms"},
		{sphere, "observe: [{expr: x, value: 1, sd: 1}]", "(x is the whole point, x[0] its first coordinate)"},
		{sphere, "observe: [{expr: 'x[0] +', value: 1, sd: 1}]", "given.yaml:1: observe[0].expr"},
		{sphere, "obstacles: [{sphere: [0, 0, 1], radius: 0.1}]", "a set of another kind"},
		{sphere, "dihedrals: [{atoms: [0, 1, 2, 3], value: 10}]", "a set of another kind"},
		{chain, "dihedrals: [{atoms: [0, 1, 2, 9], value: 10}]", "given.yaml:1: dihedrals[0]"},
		{arm, "obstacles: [{name: ball, radius: 0.1}]", "given.yaml:1: obstacles[0]"},
		{sphere, "inequality: [" + strings.Repeat("{name: a, expr: '0'},", 70) + "]", "at most 64"},
		{sphere, strings.Repeat("#", maxFile+1), "1048576 bytes"},
	} {
		p, err := Load([]byte(c.problem), "test.yaml", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		set, err := buildSet(p)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		a, err := LoadAdded([]byte(c.text), "given.yaml")
		if err == nil {
			cut, e := a.Build(p, set, []string{"u", "v", "w", "exp"})
			if err = e; err == nil {
				got = strings.Join(constraint.Components(cut.Set), " ")
				whole := a.Whole(set, cut)
				n, hard := len(constraint.Components(whole)), cut.Hard() != nil
				m, ok := constraint.As[*trajectory.Set](whole)
				if ok && len(m.Spec().Obstacles) != 1 {
					t.Errorf("%s: the set of the planner does not have the obstacle", c.text)
				}
				if hard && n <= len(constraint.Components(set)) {
					t.Errorf("%s: the whole set has %d components", c.text, n)
				}
			}
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%.80s:\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
}

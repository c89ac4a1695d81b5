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
	problems := map[string]string{"formulas": formulas, "sphere": sphere, "chain": chain, "turning": turning,
		"arm": arm}
	testkit.Cases(t, func(input string) string {
		of, text, _ := strings.Cut(input, " + ")
		p, err := Load([]byte(problems[of]), "test.yaml", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		set, err := buildSet(p)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		a, err := LoadAdded([]byte(text), "given.yaml")
		if err == nil {
			cut, e := a.Build(p, set, []string{"u", "v", "w", "exp"})
			if err = e; err == nil {
				got = strings.Join(constraint.Components(cut.Set), " ")
				whole := a.Whole(set, cut)
				n, hard := len(constraint.Components(whole)), cut.Hard() != nil
				m, ok := constraint.As[*trajectory.Set](whole)
				if ok && len(m.Spec().Obstacles) != 1 {
					t.Errorf("%s: the set of the planner does not have the obstacle", text)
				}
				if hard && n <= len(constraint.Components(set)) {
					t.Errorf("%s: the whole set has %d components", text, n)
				}
			}
		}
		if err != nil {
			return err.Error()
		}
		return got
	})
	large := strings.Repeat("#", maxFile+1)
	testkit.Refused(t, testkit.Err(LoadAdded([]byte(large), "given.yaml")), "1048576 bytes")
	large = "inequality: [" + strings.Repeat("{name: a, expr: '0'},", 70) + "]"
	testkit.Refused(t, testkit.Err(LoadAdded([]byte(large), "given.yaml")), "at most 64")
}

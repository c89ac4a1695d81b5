package problem

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

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

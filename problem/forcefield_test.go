package problem

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/domain/molecule/amber"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// dipeptide is alanine dipeptide with φ = −70°, as a set of formulas.
const dipeptide = "name: p\nset: {kind: formula, dim: 66, let: {atom: \"reshape(x, 22, 3)\"}, equality: " +
	"[{name: phi, expr: \"dihedral(atom[4], atom[6], atom[8], atom[14]) = -70 * pi / 180\"}]}\n"

// f = U/kT of the built-in molecule, and of the same from files, with chains that begin at its conformation. Errors
// name the key.
func TestForceField(t *testing.T) {
	dir := t.TempDir()
	write := func(name, from string) string {
		b := testkit.Must(os.ReadFile(filepath.Join("..", "domain", "molecule", "amber", "testdata", from)))
		path := filepath.Join(dir, name)
		testkit.OK(t, os.WriteFile(path, b, 0o600))
		return path
	}
	prmtop, rst := write("a.prmtop", "dipeptide.prmtop"), write("a.rst7", "dipeptide.rst7")
	broken := filepath.Join(dir, "broken.prmtop")
	testkit.OK(t, os.WriteFile(broken, []byte("%VERSION\n%FLAG POINTERS\n"), 0o600))
	build := func(potential string) (*langevin.Chains, error) {
		p := testkit.Must(Load([]byte(dipeptide+"potential: {kind: amber, "+potential+"}\n"), "p.yaml", "", nil))
		return p.BuildChains()
	}
	want := make([]float64, 1)
	for _, c := range []struct {
		keys    string
		solvent amber.Solvent
		kelvin  float64
	}{
		{"molecule: alanine-dipeptide", amber.OBC2, 300},
		{"molecule: alanine-dipeptide, solvent: vacuum, temperature: 600", amber.Vacuum, 600},
		{"prmtop: " + prmtop + ", coordinates: " + rst + ", solvent: obc2-polar", amber.OBC2Polar, 300},
	} {
		chains, err := build(c.keys)
		if err != nil {
			t.Errorf("%s: %v", c.keys, err)
			continue
		}
		direct := testkit.Must(amber.NewPotential(amber.AlanineDipeptide(), c.solvent, c.kelvin, nil))
		x, got := amber.AlanineStart(), make([]float64, 1)
		direct.Value(want, x, 1)
		chains.Process.Potential.(langevin.Energy).Value(got, x, 1)
		testkit.Near(t, got[0], want[0], 1e-6, "%s: f", c.keys)
		start, err := langevin.Start(t.Context(), chains.Process, 2, 1)
		if err != nil || math.Abs(start[0]-x[0]) > 0.05 {
			t.Errorf("%s: chains begin at %v, %v", c.keys, start, err)
		}
	}
	for keys, want := range map[string]string{
		"":                                       "potential.prmtop",
		"molecule: water":                        "potential.molecule",
		"molecule: alanine-dipeptide, prmtop: b": "either a prmtop file, or potential.molecule",
		"prmtop: nosuch":                         "nosuch",
		"prmtop: " + broken:                      "broken.prmtop, line 2, section POINTERS",
		"prmtop: " + prmtop:                      "potential.coordinates",
		"prmtop: " + rst:                         "expected %VERSION",
		"coordinates: " + prmtop:                 "a prmtop file; expected coordinates",
		"solvent: oil":                           "potential.solvent",
		"temperature: -1":                        "potential.temperature",
		"coordinates: " + dir + "/none":          "none",
	} {
		if !strings.Contains(keys, "prmtop:") && !strings.Contains(keys, "molecule:") && keys != "" {
			keys = "molecule: alanine-dipeptide, " + keys
		}
		err := testkit.Err(build(keys))
		testkit.Refused(t, err, want, keys)
		gone := want == "nosuch" || want == "none" // a file that is not there is no fault of a key
		testkit.Equal(t, errors.As(err, new(*fs.PathError)), gone, keys)
	}
	p := testkit.Must(Load([]byte("name: p\nset: {kind: sphere, dim: 4}\npotential: {kind: amber, molecule: "+
		"alanine-dipeptide}\n"), "p.yaml", "", nil))
	for key, value := range map[string]string{"prmtop": "a", "molecule": "a", "coordinates": "a", "solvent": "a",
		"temperature": "1"} {
		q, err := Load([]byte(dipeptide+"potential: {kind: quadratic, "+key+": "+value+"}\n"), "p.yaml", "", nil)
		testkit.OK(t, err)
		var fault *KeyError
		if _, err := q.BuildChains(); !errors.As(err, &fault) || fault.Key != "potential."+key {
			t.Errorf("%s of kind quadratic: %v", key, err)
		}
	}
	var fault *KeyError
	if _, err := p.Build(); !errors.As(err, &fault) || fault.Key != "potential.molecule" {
		t.Errorf("22 atoms on a sphere: %v", err)
	}
}

// The files of a force field are among those that a run keeps.
func TestForceFieldFiles(t *testing.T) {
	p, err := Load([]byte(dipeptide+"potential: {kind: amber, prmtop: a, coordinates: b}\n"), "p.yaml", "", nil)
	testkit.OK(t, err)
	for key, path := range map[string]string{prmtopKey: "a", coordinatesKey: "b"} {
		testkit.Equal(t, p.Files()[key], path, "%s", key)
		p.SetFile(key, path+path)
		testkit.Equal(t, p.Files()[key], path+path, "%s became", key)
	}
}

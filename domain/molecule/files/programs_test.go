package files

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// RDKit, OpenMM, Biopython and MDAnalysis read all atoms, names, bonds and frames of what is written, and what
// MDAnalysis writes is read. Set LANDING_PYTHON to a Python that has some of them.
func TestPrograms(t *testing.T) {
	python := cmp.Or(os.Getenv("LANDING_PYTHON"), "python3")
	if _, err := exec.LookPath(python); err != nil {
		t.Skip("there is no Python: ", err)
	}
	if out, err := exec.Command(python, "-c", "import numpy").CombinedOutput(); err != nil {
		t.Skipf("there is no NumPy: %s", out)
	}
	script := testkit.Must(filepath.Abs("../../../tools/bench/rivals/molecule_files.py"))
	named, x := ethanol(120)
	for i := range named.Atoms {
		named.Atoms[i].ResidueNumber = 1
	}
	named.Orders = slices.Repeat([]int{1}, len(named.Bonds))
	bare := molecule.Anonymous(9)
	bare.Bonds = named.Bonds
	// As XYZ and SDF files have them.
	symbols := &molecule.Molecule{Atoms: slices.Clone(named.Atoms), Bonds: named.Bonds}
	for i, a := range symbols.Atoms {
		symbols.Atoms[i] = molecule.Atom{Name: a.Element, Element: a.Element}
	}
	for what, m := range map[string]*molecule.Molecule{"names": named, "no names": bare, "symbols": symbols} {
		dir, bonds := t.TempDir(), ""
		for _, ext := range []string{".npy", ".pdb", ".sdf", ".dcd", ".xyz"} {
			testkit.OK(t, os.WriteFile(filepath.Join(dir, "frames"+ext), write(t, ext, m, x), 0o666))
		}
		for _, b := range m.Bonds {
			bonds += fmt.Sprintln(b[0], b[1])
		}
		testkit.OK(t, os.WriteFile(filepath.Join(dir, "bonds.txt"), []byte(bonds), 0o666))
		run := func() (string, error) {
			out, err := exec.Command(python, script, dir).CombinedOutput()
			return string(out), err
		}
		out, err := run()
		if err != nil {
			t.Errorf("%s: %v\n%s", what, err, out)
			continue
		}
		t.Logf("%s:\n%s", what, out)
		for ext, off := range map[string]float64{".dcd": 5.1e-4, ".xtc": 5.6e-3} {
			path := filepath.Join(dir, "again"+ext)
			if _, err := os.Stat(path); err != nil {
				continue // there is no MDAnalysis
			}
			got := testkit.Must(Read(path))
			if got.N != 120 || slices.ContainsFunc(got.X, func(v float64) bool { return math.IsNaN(v) }) {
				t.Errorf("%s%s: %d frames", what, ext, got.N)
			}
			for k, v := range got.X {
				testkit.Near(t, v, x[k], off, "%s%s: number %d", what, ext, k)
			}
		}
		if what != "names" {
			continue
		}
		// One coordinate that is off by a part in a million is seen, in float32.
		x[27*100+5] *= 1 + 1e-6
		testkit.OK(t, os.WriteFile(filepath.Join(dir, "frames.dcd"), write(t, ".dcd", m, x), 0o666))
		out, err = run()
		if x[27*100+5] /= 1 + 1e-6; strings.Contains(out, "mdanalysis, dcd") &&
			(err == nil || !strings.Contains(out, "FAULT mdanalysis, dcd")) {
			t.Errorf("a changed coordinate: %v\n%s", err, out)
		}
	}
}

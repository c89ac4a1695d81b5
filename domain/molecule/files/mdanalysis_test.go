package files

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// MDAnalysis reads what is written: DCD to the same float32, PDB to its columns, names
// and bonds. Set LANDING_PYTHON to a Python that has it.
func TestMDAnalysis(t *testing.T) {
	python := cmp.Or(os.Getenv("LANDING_PYTHON"), "python3")
	if _, err := exec.LookPath(python); err != nil {
		t.Skip("there is no Python: ", err)
	}
	script := testkit.Must(filepath.Abs("../../../tools/bench/rivals/mdanalysis_frames.py"))
	run := func(dir string) (string, error) {
		out, err := exec.Command(python, script, dir).CombinedOutput()
		return string(out), err
	}
	m, x := ethanol(300)
	dir := t.TempDir()
	put := func(name string, data []byte) {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), data, 0o666))
	}
	for _, ext := range []string{".npy", ".pdb", ".dcd", ".xyz"} {
		put("frames"+ext, write(t, ext, m, x))
	}
	bonds := ""
	for _, b := range m.Bonds {
		bonds += fmt.Sprintln(b[0], b[1])
	}
	put("bonds.txt", []byte(bonds))
	out, err := run(dir)
	if strings.HasPrefix(out, "skipped") {
		t.Skip(strings.TrimSpace(out))
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"dcd: 300 frames of 9 atoms, largest difference 0 Å", "EOH1:C1/C EOH1:C2/C EOH1:O1/O",
		"EOH2:H6/H", "bonds: 8"} {
		testkit.Contains(t, out, want)
	}
	// One coordinate of one frame off by a part in a million is seen.
	x[27*200+5] *= 1 + 1e-6
	put("frames.dcd", write(t, ".dcd", m, x))
	if out, err := run(dir); err == nil || !strings.Contains(out, "FAULT dcd") {
		t.Errorf("a changed coordinate: %v\n%s", err, out)
	}
	// Atoms without names are read too.
	bare := molecule.Anonymous(9)
	bare.Bonds = m.Bonds
	for _, ext := range []string{".npy", ".pdb", ".dcd", ".xyz"} {
		put("frames"+ext, write(t, ext, bare, x))
	}
	if out, err := run(dir); err != nil {
		t.Errorf("atoms without names: %v\n%s", err, out)
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Frames of all atoms, in another order and to three decimals, become frames of the set's
// atoms on the set; those outside its window are left out; what is written trains.
func TestDataRefine(t *testing.T) {
	dir := t.TempDir()
	var pdb strings.Builder
	line := func(i int, name string, p [3]float64) {
		fmt.Fprintf(&pdb, "ATOM  %5d  %-3s LIG A   1    %8.3f%8.3f%8.3f  1.00  0.00           %s\n", i, name, p[0],
			p[1],
			p[2], name[:1])
	}
	for f := range 40 {
		fmt.Fprintf(&pdb, "MODEL %d\n", f)
		line(1, "H1", [3]float64{-0.6, -0.9, 0})
		line(2, "C2", [3]float64{1.5, 0, 0})
		line(3, "C1", [3]float64{0, 0, 0})
		r := 1.5 + 0.01*float64(f%3)
		line(4, "C3", [3]float64{1.5 + 0.02*float64(f), r, 0.1})
		fmt.Fprintln(&pdb, "ENDMDL")
	}
	problem := `name: bent
data: {kind: molecule}
set:
  kind: molecule
  atom_names: [LIG1:C1, LIG1:C2, LIG1:C3]
  distances: [{name: bond, atoms: [0, 1], value: 1.53}]
  angles: [{name: bend, atoms: [0, 1, 2], range: [90, 105]}]
process: {steps: 20, horizon: 0.1}
network: {kind: aligned, width: 8, layers: 2}
train: {epochs: 1, batch: 8}
prior: empirical
`
	for name, text := range map[string]string{"p.yaml": problem, "all.pdb": pdb.String()} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	if r := do(t, dir, "train", "p.yaml", "--data", "all.pdb"); r.code != exitConfig || !strings.Contains(r.stderr,
		`violates "bond" by 0.03`) || !strings.Contains(r.stderr, "landing refine brings") {
		t.Errorf("frames off the set: exit %d, %s", r.code, r.stderr)
	}
	r := ok(t, dir, "refine", "p.yaml", "--data", "all.pdb", "-o", "near.npy")
	if !strings.Contains(r.stdout, "in near.npy: moved by 0.0122 (median), 0.0131 (worst, row 0) Å") ||
		!strings.Contains(r.stdout, `violate "bend ≤ 105°"`) ||
		!strings.Contains(r.stderr, "1 of the frames' 4 atoms are not in the set") {
		t.Errorf("%s%s", r.stdout, r.stderr)
	}
	ok(t, dir, "train", "p.yaml", "--data", "near.npy")
	for _, ext := range []string{"pdb", "dcd", "sdf", "xyz"} {
		r := ok(t, dir, "generate", "runs/bent-001", "-n", "3", "-o", "out."+ext)
		testkit.Equal(t, strings.Contains(r.stderr, "note: out."+ext+` rounds coordinates: in it "`), (ext != "xyz"),
			"%s: %s", ext, r.stderr)
	}
	out, err := os.ReadFile(filepath.Join(dir, "out.pdb"))
	if err != nil || !strings.Contains(string(out), "  C3  LIG     1 ") || strings.Count(string(out), "MODEL") != 3 {
		t.Errorf("%s, %v", out, err)
	}
	if v := wantJSON(t, ok(t, dir, "refine", "p.yaml", "--data", "all.pdb", "-o", "b.xyz", "--json")); v["points"] !=
		40.0 || v["file"] != "b.xyz" || v["kept"].(float64) < 10 {
		t.Errorf("%v", v)
	}
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitConfig, []string{"--data", "all.pdb", "-o", "near.npy"}, "near.npy"},
		{exitUsage, []string{"--within", "0"}, "--within is 0; expected a number above 0"},
		{exitUsage, []string{"-o", "x.txt"}, "expected a file that ends in .npy or .csv or .parquet or .pdb"},
		{exitUsage, []string{"--move", "-1"}, "--move is -1; expected a number of Å"},
		{exitConfig, []string{"--data", "all.pdb", "--move", "0.01", "-o", "c.npy"},
			"row 0 (from 0) would move by 0.0131 Å (root mean square over atoms)"},
		{exitConfig, []string{"--data", "all.pdb", "--within", "0.001", "-o", "c.npy"},
			"none of 40 rows can be brought to Σ"},
	} {
		if r := do(t, dir, append([]string{"refine", "p.yaml"}, c.args...)...); r.code != c.code ||
			!strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: exit %d, %s", c.args, r.code, r.stderr)
		}
	}
}

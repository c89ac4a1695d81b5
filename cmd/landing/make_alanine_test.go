package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/domain/molecule/files"
	"github.com/landing-diffusion/landing/tools/testkit"
)

var shortChains = []string{"make", "alanine", "-n", "96", "--chains", "8", "--burn", "50", "--every", "10"}

// landing make alanine writes heavy atoms in the paper's order, φ to round-off and ψ in its
// window; all atoms as models of a PDB file; and a story that has their numbers.
func TestDataAlanine(t *testing.T) {
	dir := t.TempDir()
	v := wantJSON(t, ok(t, dir, append(shortChains, "--json")...))
	if v["frames"] != 96.0 || len(v["atoms"].([]any)) != 10 || v["psi_ess"] == nil ||
		v["worst_violation"].(float64) > 1e-12 {
		t.Errorf("%v", v)
	}
	a, err := arrayfile.ReadNPY(filepath.Join(dir, "alanine.npy"))
	if err != nil || len(a.Shape) != 3 || a.Shape[0] != 96 || a.Shape[1] != 10 || a.Shape[2] != 3 {
		t.Fatalf("%v, %v", a.Shape, err)
	}
	for i := range 96 {
		x := a.AsFloat64()[30*i : 30*i+30]
		φ, ψ := molecule.Torsion(x, 1, 3, 4, 6)*180/math.Pi, molecule.Torsion(x, 3, 4, 6, 8)*180/math.Pi
		if math.Abs(φ+70) > 1e-10 || ψ < 130 || ψ > 170 {
			t.Fatalf("frame %d: φ %v, ψ %v", i, φ, ψ)
		}
	}
	story, err := os.ReadFile(filepath.Join(dir, "alanine.json"))
	if err != nil || !strings.Contains(string(story), `"force_field": "ff14SB`) ||
		!strings.Contains(string(story), v["sha256"].(string)) {
		t.Errorf("%s, %v", story, err)
	}

	r := ok(t, dir, append(shortChains, "--atoms", "all", "--psi", "160:200", "--solvent", "vacuum", "-o",
		"all.pdb")...)
	testkit.Contains(t, r.stdout, "96 frames of 22 atoms in all.pdb, how they were made in all.json")
	f := testkit.Must(files.Read(filepath.Join(dir, "all.pdb")))
	testkit.Equal(t, len(f.X), 96*66)
	if ok(t, dir, append(shortChains, "-o", "b.npy", "--workers", "1")...); true {
		first, _ := os.ReadFile(filepath.Join(dir, "alanine.npy"))
		second, _ := os.ReadFile(filepath.Join(dir, "b.npy"))
		if len(first) == 0 || !bytes.Equal(first, second) {
			t.Error("the same flags give other bytes")
		}
	}
}

// With parameters from files the same molecule gives the same law. Other molecules and invalid flags are errors.
func TestDataAlanineFaults(t *testing.T) {
	dir := t.TempDir()
	for name, from := range map[string]string{"a.prmtop": "dipeptide.prmtop", "a.rst7": "dipeptide.rst7"} {
		b := testkit.Must(os.ReadFile(filepath.Join("..", "..", "domain", "molecule", "amber", "testdata", from)))
		for copy, text := range map[string]string{name: string(b),
			"other" + name: strings.Replace(string(b), "NME", "NMA", 1),
			"cut" + name:   string(b[:len(b)/2])} {
			testkit.OK(t, os.WriteFile(filepath.Join(dir, copy), []byte(text), 0o600))
		}
	}
	own := append(shortChains, "--prmtop", "a.prmtop", "--coordinates", "a.rst7", "--json")
	if v := wantJSON(t, ok(t, dir, own...)); v["prmtop"] != "a.prmtop" || v["force_field"] != "a.prmtop" ||
		len(v["prmtop_sha256"].(string)) != 64 || v["prmtop_sha256"] == v["coordinates_sha256"] {
		t.Errorf("%v", v)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitConfig, "alanine.npy", nil},
		{exitUsage, "ends in .dcd or .npy or .pdb or .sdf or .xyz", []string{"-o", "x.csv"}},
		{exitUsage, "-n is 0", []string{"-n", "0", "-o", "x.npy"}},
		{exitUsage, `--psi is "170:130"`, []string{"--psi", "170:130", "-o", "x.npy"}},
		{exitUsage, `--psi is "0:360"`, []string{"--psi", "0:360", "-o", "x.npy"}},
		{exitUsage, "--phi is 190", []string{"--phi", "190", "-o", "x.npy"}},
		{exitUsage, "--solvent", []string{"--solvent", "oil", "-o", "x.npy"}},
		{exitUsage, `--atoms is "light"`, []string{"--atoms", "light", "-o", "x.npy"}},
		{exitUsage, "--temperature is -1", []string{"--temperature", "-1", "-o", "x.npy"}},
		{exitUsage, "a smaller step", []string{"--step", "0.5", "-o", "x.npy"}},
		{exitUsage, "--prmtop and --coordinates go together", []string{"--prmtop", "a.prmtop", "-o", "x.npy"}},
		{exitConfig, "nosuch", []string{"--prmtop", "nosuch", "--coordinates", "a.rst7", "-o", "x.npy"}},
		{exitConfig, "section", []string{"--prmtop", "cuta.prmtop", "--coordinates", "a.rst7", "-o", "x.npy"}},
		{exitConfig, "line 8: 2 fields", []string{"--prmtop", "a.prmtop", "--coordinates", "cuta.rst7", "-o", "x.npy"}},
		{exitConfig, `"NME:N" fits no atom`, []string{"--prmtop", "othera.prmtop", "--coordinates", "a.rst7", "-o",
			"x.npy"}},
	} {
		if r := do(t, dir, append(shortChains, c.args...)...); r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: exit %d, want %d with %q: %s", c.args, r.code, c.code, c.want, r.stderr)
		}
	}
}

// A force field goes from data to a run and back: training on all atoms with the potential of a
// file, generation from the copy that the run keeps, and chains of landing mcmc.
func TestForceFieldInARun(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"dipeptide.prmtop", "dipeptide.rst7"} {
		b := testkit.Must(os.ReadFile(filepath.Join("..", "..", "domain", "molecule", "amber", "testdata", name)))
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	ok(t, dir, append(shortChains, "--atoms", "all", "-o", "all.npy")...)
	text := "name: p\ndata: {kind: molecule, path: all.npy}\nset: {kind: molecule, atoms: 22, dihedrals: " +
		"[{name: phi, atoms: [4, 6, 8, 14], value: -70}]}\n" +
		"potential: {kind: amber, prmtop: dipeptide.prmtop, coordinates: dipeptide.rst7}\n" +
		"observe: [{name: psi, expr: \"dihedral(x[18:21], x[24:27], x[42:45], x[48:51])\"}]\n" +
		"process: {steps: 5, horizon: 0.1, sigma: {min: 0.05, max: 0.3}}\nprior: empirical\n" +
		"sample: {measure: level, step: 0.012, chains: 8, burn: 200, draws: 40, thin: 20, max_rhat: 10}\n"
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(text), 0o600))
	ok(t, dir, append([]string{"train", "p.yaml", "--out", "r"}, tiny...)...)
	testkit.OK(t, os.Remove(filepath.Join(dir, "dipeptide.prmtop")))
	ok(t, dir, "generate", "r", "-n", "10", "-o", "x.npy")
	if r := do(t, dir, "mcmc", "p.yaml"); r.code != exitConfig || !strings.Contains(r.stderr, "dipeptide.prmtop") {
		t.Errorf("without its file: exit %d, %s", r.code, r.stderr)
	}
	r := ok(t, dir, "mcmc", filepath.Join("r", "config.yaml"), "--set", "potential.prmtop=r/potential.prmtop.prmtop",
		"--set", "potential.coordinates=dipeptide.rst7", "--json")
	v := wantJSON(t, r)
	if v["violation"].(map[string]any)["worst"].(float64) > 1e-10 || v["failed"] != 0.0 {
		t.Errorf("%v", v)
	}
}

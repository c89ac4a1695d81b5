package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

const armHead = `name: arm
prior: empirical
process: {steps: 20, horizon: 2, sigma: {min: 0.1, max: 0.6}, repulsion: 0.02}
set:
  dim: 14
  let: {c: "x[0:7]", s: "x[7:14]"}
`

// Seven joints as cosines and sines: each pair on the unit circle, the end at a
// height, no joint below the floor or in the obstacle.
const armSeparate = armHead + `
  equality:
    - {name: "unit[j]", for: "j in 0..6", expr: "c[j]^2 + s[j]^2 - 1"}
    - {name: height, expr: "sum(s) - 1"}
  inequality:
    - {name: "floor[j]", for: "j in 0..6", expr: "sum(s[0:j+1]) >= -0.6"}
    - {name: obstacle, expr: "norm([sum(c[0:4]) - 2, sum(s[0:4]) - 1.5]) >= 0.2"}
`

// The same Σ as the paper writes it: one sum of squares, one sum of ReLUs.
const armSummed = armHead + `
  equality:
    - {name: all, expr: "sum(vector(j in 0..6, (c[j]^2 + s[j]^2 - 1)^2)) + (sum(s) - 1)^2"}
  inequality:
    - {name: avoid, expr: "sum(vector(j in 0..6, relu(-0.6 - sum(s[0:j+1]))))
        + relu(0.2 - norm([sum(c[0:4]) - 2, sum(s[0:4]) - 1.5]))"}
`

// The summed form of the arm's constraints fails with its reason and exit code 4; the separate form passes.
func TestCheckArm(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"separate.yaml": armSeparate, "summed.yaml": armSummed} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	r := do(t, dir, "check", "summed.yaml")
	if r.code != 4 || !strings.Contains(r.stderr, "checks failed") {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
	for _, want := range []string{"all ", "sum of squares", "Write its terms as separate equalities", "avoid ",
		"sum of ReLUs", "write its terms as separate inequalities"} {
		testkit.Contains(t, r.stdout, want)
	}
	r = ok(t, dir, "check", "separate.yaml")
	if strings.Contains(r.stdout, "FAIL  ") || !strings.Contains(r.stdout, "0 FAIL") || r.stderr != "" {
		t.Errorf("got\n%s%s", r.stdout, r.stderr)
	}
	v := wantJSON(t, do(t, dir, "check", "summed.yaml", "--json"))
	if v["status"] != "FAIL" || v["problem"] != "arm" || v["equalities"] != 1.0 {
		t.Errorf("got %v", v)
	}
	failing := map[string]bool{}
	for _, f := range v["findings"].([]any) {
		if f := f.(map[string]any); f["status"] == "FAIL" && f["check"] == "gradient on Σ" {
			failing[f["component"].(string)] = true
			if f["numbers"].(map[string]any) == nil {
				t.Error("no numbers")
			}
		}
	}
	if !failing["all"] || !failing["avoid"] {
		t.Errorf("failing components %v", failing)
	}
}

// check says what is wrong where other verbs refuse, and refuses what leaves nothing to look at.
func TestCheckVerb(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	write("off.csv", "1,0,0\n0,1,0\n0,0,1.5\n")
	write("flat.csv", "1,0\n0,1\n")
	write("points.yaml", "name: p\ndata: {kind: points}\nset: {kind: sphere, dim: 3}\n")
	for _, c := range []struct {
		code           int
		stdout, stderr string
		args           []string
	}{
		{0, "PASS  kinks", "", []string{"demo", "--variant=fixed"}},
		{0, "no data was given", "", []string{"volcano"}},
		{4, "landing diverges at 2; α = ", "check failed", []string{"demo", "--variant=fixed", "--set",
			"process.landing={mode: explicit, rate: 20}"}},
		{0, "process.landing.rate: auto is 6.494", "", []string{"demo", "--variant=fixed", "--why", "--set",
			"process.landing={mode: explicit, rate: auto}"}},
		{0, "process.repulsion: auto is 0: there are no inequalities", "", []string{"demo", "--variant=fixed",
			"--why", "--set",
			"process.repulsion=auto"}},
		{0, "landing.rate 6.49\n", "", []string{"demo", "--variant=fixed", "--set",
			"process.landing={mode: explicit, rate: auto}"}},
		{4, "1 of 3 rows are beyond the tolerance 0.005611 (1 % of the spread of a coordinate), first row 2 with 0.5",
			"check failed",
			[]string{"points.yaml", "--data", "off.csv"}},
		{3, "", "its points have 2 coordinates", []string{"points.yaml", "--data", "flat.csv"}},
		{3, "", "no such file", []string{"points.yaml", "--data", "none.csv"}},
		{3, "", "process.steps is 0", []string{"demo", "--variant=fixed", "--set", "process.steps=0"}},
		{3, "", "neither a file nor one of the recipes", []string{"nosuch"}},
		{2, "", "expected a recipe or a problem file", nil},
	} {
		r := do(t, dir, append([]string{"check", "-q"}, c.args...)...) // a busy machine would show progress
		if r.code != c.code || !strings.Contains(r.stdout, c.stdout) || !strings.Contains(r.stderr, c.stderr) ||
			c.stdout == "" && r.stdout != "" || c.stderr == "" && r.stderr != "" {
			t.Errorf("check %v: exit %d, want %d\n%s%s", c.args, r.code, c.code, r.stdout, r.stderr)
		}
		if strings.Contains(r.stdout, "\x1b") {
			t.Error("colours outside a terminal")
		}
	}
}

// No recipe fails on its own data, nor any of its variants.
func TestCheckRecipes(t *testing.T) {
	for _, name := range problem.Recipes() {
		t.Run(name, func(t *testing.T) {
			args := []string{"check", name, "--json", "--set", "network={width: 16, layers: 1}"}
			source, origin, err := problem.Source(name)
			testkit.OK(t, err)
			p := testkit.Must(problem.Load(source, origin, "", nil))
			switch {
			case p.Data.Kind == "demo":
			case p.Data.Kind == "earth" && name != "volcano" && !testkit.Longest():
				t.Skip("the catalogues' recipes differ in epochs and batch alone")
			case p.Data.Kind == "earth":
				args = append(args, "--data", testkit.Shared(t, "data/earth/"+name+".csv"))
			case name == "bunny50": // the other surfaces differ in numbers only
				// of 50 000 points some do: each is a pass of the surface's network
				args = append(args, "--data", someRows(t, testkit.Shared(t, "data/mesh/bunny_eigfn50.npy"), 100),
					"--set", "set.weights="+testkit.Shared(t, "data/mesh/bunny_sdf.npz"), "--set",
					"set.mesh="+testkit.Shared(t, "data/mesh/bunny.ply"))
			default:
				t.Skipf("no data of kind %s for this test", p.Data.Kind)
			}
			variants := testkit.Must(problem.Variants(source, origin))
			seen := map[string]bool{}
			for _, variant := range append(variants, "") {
				if name == "bunny50" && variant == "olla-p" && !testkit.Longest() {
					continue // 400 projected steps
				}
				v := testkit.Must(problem.Load(source, origin, variant, problem.ParseSettings("train.epochs=1")))
				if seen[string(v.Resolved())] { // another but for its epochs, which are not looked at
					continue
				}
				seen[string(v.Resolved())] = true
				r := do(t, t.TempDir(), append(args, "--variant", variant)...)
				if r.code != 0 {
					t.Errorf("variant %q: exit %d\n%s", variant, r.code, r.stderr)
				}
			}
		})
	}
}

// someRows writes n rows at equal distances through an array to a file.
func someRows(t *testing.T, path string, n int) string {
	t.Helper()
	x := testkit.Must(arrayfile.ReadNPY(path))
	d := x.Shape[1]
	var b bytes.Buffer
	testkit.OK(t, arrayfile.EncodeNPY(&b, arrayfile.Of(langevin.Starts(x.AsFloat64(), d, n), n, d)))
	out := filepath.Join(t.TempDir(), "rows.npy")
	testkit.OK(t, os.WriteFile(out, b.Bytes(), 0o666))
	return out
}

// A set of formulas trains with the uniform prior; one whose chains do not mix is
// refused before training, with exit code 4.
func TestUniformPriorOfFormulas(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	write("circle.csv", "1,0\n0,1\n-1,0\n0,-1\n0.6,0.8\n0.8,0.6\n-0.6,0.8\n0.6,-0.8\n-0.6,-0.8\n0.8,-0.6\n")
	write("circle.yaml", "name: c\nprior: uniform\ndata: {path: circle.csv}\nset: {dim: 2, equality: [{name: r, "+
		"expr: \"norm(x) - 1\"}]}\ntrain: {epochs: 1, batch: 4}\nnetwork: {width: 8, layers: 1}\n")
	write("points.csv", "1,0\n-1,0\n1,0.5\n-1,0.5\n1,-0.5\n-1,-0.5\n1,0.1\n-1,0.1\n1,-0.2\n-1,0.2\n")
	write("lines.yaml", "name: l\nprior: uniform\ndata: {path: points.csv}\nuniform: {max_steps: 2000}\nset: {dim: 2, "+
		"equality: [{name: sides, expr: \"x[0]^2 - 1\"}], inequality: [{name: high, expr: \"x[1] <= 1\"}, "+
		"{name: low, expr: \"x[1] >= -1\"}]}\ntrain: {epochs: 1, batch: 4}\nnetwork: {width: 8, layers: 1}\n")
	r := ok(t, dir, "train", "circle.yaml", "--out", "r")
	testkit.Contains(t, r.stderr, "prior: uniform, from 32 chains")
	checkMetrics(t, filepath.Join(dir, "r")) // how chains mixed is there
	ok(t, dir, "generate", "r", "-n", "10", "-o", "s.npy")
	r = do(t, dir, "train", "lines.yaml", "--out", "l")
	if r.code != 4 || !strings.Contains(r.stderr, "have not mixed") || !strings.Contains(r.stderr, "x[0]") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	r = do(t, dir, "check", "lines.yaml")
	if !strings.Contains(r.stdout, "2 components") || !strings.Contains(r.stdout, "the uniform prior will not mix") {
		t.Errorf("got %s", r.stdout)
	}
}

// Check says before training what prior: auto becomes, with the reason; it says nothing about a written prior.
func TestAutoPriorIsTold(t *testing.T) {
	dir := t.TempDir()
	text := "name: p\ndata: {kind: demo}\nset: {kind: sphere, dim: 3}\nprocess: {horizon: 0.1}\n" +
		"network: {width: 8, layers: 1}\ntrain: {epochs: 1, times_per_path: 2}\n"
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(text), 0o666))
	const told = "prior: empirical, since forward paths do not end in the uniform law (energy test, p = 0.001"
	if r := ok(t, dir, "train", "p.yaml", "--out", "a"); !strings.Contains(r.stderr, told) {
		t.Errorf("got %s", r.stderr)
	}
	r := ok(t, dir, "train", "p.yaml", "--out", "b", "--set", "prior=empirical", "--set", "train.stop=held_out_loss")
	checkMetrics(t, filepath.Join(dir, "b")) // held-out losses are there
	if strings.Contains(r.stderr, "prior:") {
		t.Errorf("got %s", r.stderr)
	}
}

// A file of places on two circles becomes a problem that check and train accept; nothing is
// written over, and faults have the exit codes of the other verbs.
func TestInit(t *testing.T) {
	dir := t.TempDir()
	z := make([]float64, 400)
	keyed.New(8, keyed.Probe, 0).Normals(z, 0, 0)
	var b strings.Builder
	fmt.Fprintln(&b, "a,b,c,d,kind")
	for i := range 200 {
		s, c := math.Sincos(3 * z[2*i])
		u, v := math.Sincos(3 * z[2*i+1])
		fmt.Fprintf(&b, "%v,%v,%v,%v,%d\n", c, s, v, u, i%4)
	}
	write := func(name, text string) {
		t.Helper()
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	write("two.csv", b.String())
	r := ok(t, dir, "init", "two.csv")
	for _, want := range []string{"two.csv: 200 rows of 5 numbers (CSV)", "kind condition (4 whole numbers",
		"norm(x[0:2]) = 1", "set        a product: 2 × circle", "wrote      problem.yaml; next: landing check " +
			"problem.yaml"} {
		testkit.Contains(t, r.stdout, want)
	}
	if n := strings.Count(r.stdout, "\n"); n > 12 || r.stderr != "" {
		t.Errorf("%d lines, and on standard error %q", n, r.stderr)
	}
	if r := do(t, dir, "check", "problem.yaml"); r.code != 0 {
		t.Errorf("check: exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	ok(t, dir, append([]string{"train", "problem.yaml"}, tiny...)...)

	before := testkit.Must(os.ReadFile(filepath.Join(dir, "problem.yaml")))
	r = do(t, dir, "init", "two.csv", "--json")
	if e := wantJSON(t, r)["error"].(map[string]any); r.code != exitConfig || e["kind"] != "exists" ||
		e["file"] != "problem.yaml" || strings.Contains(r.stderr, "--force") {
		t.Errorf("a file that is there: exit %d, %v, %s", r.code, e, r.stderr)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "problem.yaml")); err != nil || string(after) != string(before) {
		t.Errorf("the file that was there has changed: %v", err)
	}

	v := wantJSON(t, ok(t, dir, "init", "two.csv", "-o", "sub.yaml", "--json", "--formula", "norm(x[0:2]) = 1"))
	given := v["formulas"].([]any)[0].(map[string]any)
	if v["problem"] != "sub.yaml" || v["rows"].(float64) != 200 || v["set_dimension"].(float64) != 2 ||
		given["max"].(float64) > 1e-14 || len(v["holds"].([]any)) != 2 || len(v["nearly"].([]any)) != 0 {
		t.Errorf("%v", v)
	}

	write("holes.csv", strings.Replace(b.String(), ",0\n", ",\n", 1))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"holes.csv"}, exitConfig, "line 2 (kind is empty)"},
		{[]string{"none.csv"}, exitConfig, "none.csv"},
		{[]string{"two.json"}, exitConfig, `extension ".json"`},
		{[]string{"two.csv", "--formula", "x[0] +"}, exitUsage, "x[0] +"},
		{[]string{"two.csv", "--formula", "log(x[0]) = 1"}, exitConfig, "log(x[0]) = 1"},
		{[]string{"two.csv", "--drop", "colour", "--clean", "c.csv"}, exitUsage, `no column "colour"`},
		{[]string{"two.csv", "-o", "problem.txt"}, exitUsage, ".yaml"},
		{[]string{"holes.csv", "--clean", "two.csv"}, exitConfig, "two.csv: exists already"},
		{[]string{}, exitUsage, "a data file"},
	} {
		args := append([]string{"init"}, c.args...)
		if len(c.args) > 0 && !strings.Contains(strings.Join(c.args, " "), "-o ") {
			args = append(args, "-o", "new.yaml")
		}
		r := do(t, dir, args...)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
			t.Errorf("landing %v: exit %d, %s; expected %d with %q", args, r.code, r.stderr, c.code, c.want)
		}
		if _, err := os.Stat(filepath.Join(dir, "new.yaml")); err == nil {
			t.Errorf("landing %v wrote a file", args)
		}
	}
	ok(t, dir, "init", "holes.csv", "--clean", "whole.csv", "-o", "new.yaml")
	if r := do(t, dir, "check", "new.yaml"); r.code != 0 {
		t.Errorf("check of cleaned data: exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

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

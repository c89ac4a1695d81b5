package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
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

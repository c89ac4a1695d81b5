package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Data on a product of a torus and a sphere is looked at by the doctor, trained on with a uniform prior in closed form,
// generated and sampled without learning, each component named by its factor; then on the part of it where a formula
// couples the factors, whose prior comes from chains or terminal states.
func TestProductRun(t *testing.T) {
	dir := t.TempDir()
	set := constraint.Product(zoo.Torus{Major: 2, Minor: 0.6}, zoo.Sphere{D: 3})
	var rows strings.Builder
	x := make([]float64, 6)
	for i := range uint64(120) {
		set.Capabilities().SampleUniform(x, keyed.New(1, keyed.Probe, 42), i)
		x[5] = max(x[5], -x[5])
		fmt.Fprintf(&rows, "%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", x[0], x[1], x[2], x[3], x[4], x[5])
	}
	write := func(name, text string) {
		t.Helper()
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	write("points.csv", "a,b,c,d,e,f\n"+rows.String())
	product := `{product: [{kind: torus, major: 2, minor: 0.6}, {kind: sphere, dim: 3}], names: [ring, ball]}`
	const rest = `
data: {path: points.csv}
process: {method: ULLA, steps: 10, horizon: 3, sigma: {min: 0.1, max: 1}, curvature: true}
sample: {chains: 4, draws: 20, burn: 20, thin: 1, max_rhat: 100}
train: {max_failed: 0.2}
generate: {max_failed: 0.5}
`
	write("p.yaml", "set: "+product+rest)
	if r := do(t, dir, "check", "p.yaml"); r.code != 0 ||
		!strings.Contains(r.stdout, "ring.tube  independent of the components before it") ||
		!strings.Contains(r.stdout, "product of torus and sphere in R^3: d = 6, 2 equalities") {
		t.Errorf("check: exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	ok(t, dir, append([]string{"train", "p.yaml", "--out", "r"}, tiny...)...)
	ok(t, dir, "generate", "r", "-n", "50", "-o", "s.npy")
	v := wantJSON(t, ok(t, dir, "report", "r", "--text", "--json"))
	components := v["components"].([]any)
	if len(components) != 2 || components[0].(map[string]any)["name"] != "ring.tube" {
		t.Errorf("components %v", components)
	}
	ok(t, dir, "report", "r")
	ok(t, dir, "mcmc", "p.yaml", "-o", "c.npy")

	write("q.yaml", "prior: empirical\nset: {all: ["+product+`, {dim: 6, inequality: [{name: north, expr: "x[5] `+
		`>= 0"}]}]}`+rest)
	if r := do(t, dir, "check", "q.yaml"); r.code != 0 || !strings.Contains(r.stdout, "north") ||
		!strings.Contains(r.stdout, "ring.tube") {
		t.Errorf("check: exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	ok(t, dir, append([]string{"train", "q.yaml", "--out", "q", "--set", "process.repulsion=0.02", "--set",
		"process.walls=paper"}, tiny...)...)
	ok(t, dir, "generate", "q", "-n", "50", "-o", "t.npy")

	write("bad.yaml", "set:\n  product:\n    - {kind: torus, major: 2, minor: 0.6}\n    - kind: sphere\n      "+
		"dim: 3\n      radius: -1\n")
	if r := do(t, dir, "check", "bad.yaml"); r.code != exitConfig ||
		!strings.Contains(r.stderr, "bad.yaml:6: set.product[1].radius is -1; expected a number above 0") {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
}

// The file of a nested set lies beside the problem file that names it, and in the working folder where a setting does.
func TestNestedFile(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, os.Mkdir(filepath.Join(dir, "sub"), 0o777))
	const product = "[{kind: level-set, weights: none.npz}]"
	for _, c := range []struct{ text, setting, want string }{
		{"set: {product: " + product + "}", "seed=2", filepath.Join("sub", "none.npz")},
		{"seed: 2", "set.product=" + product, "none.npz"},
		{"seed: 2", "set={product: " + product + "}", "none.npz"},
	} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, "sub", "p.yaml"), []byte(c.text), 0o666))
		r := do(t, dir, "check", "sub/p.yaml", "--set", c.setting)
		want := "set.product[0].weights: open " + filepath.Join(dir, c.want)
		if r.code != exitConfig || !strings.Contains(r.stderr, want) {
			t.Errorf("%s with --set %s: exit %d, %s; want %s", c.text, c.setting, r.code, r.stderr, want)
		}
	}
}

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// A table of points is proved, or the answer says which of its points have no proof.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	write("p.yaml", `set: {dim: 2, equality: [{name: circle, expr: "norm(x) = 1"}]}`)
	write("good.csv", "x,y\n0.6,0.8\n1,0\n0,-1\n")
	v := wantJSON(t, ok(t, dir, "verify", "good.csv", "--problem", "p.yaml", "--json"))
	if v["proved"] != 3.0 || v["delta"].(float64) > 1e-15 || v["proofs"] != "good.csv.proof.jsonl" {
		t.Errorf("%v", v)
	}
	write("bad.csv", "x,y\n0.6,0.8\n0,0\n")
	write("far.csv", "x,y\n0.6,0.8\n0,1.001\n")
	write("named.yaml", `set: {names: [u, v], equality: [{name: ellipse, expr: "4*u^2 + v^2 = 4"}]}`)
	write("turned.csv", "v,u\n0,1\n")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"bad.csv", "--problem", "p.yaml"}, 4, `1 sample, the first number 1: "circle" has no`},
		{[]string{"far.csv", "--problem", "p.yaml"}, 4, "further away than 6e-07 (--within)"},
		{[]string{"far.csv", "--problem", "p.yaml", "--within", "0.01", "--force"}, 0, "2 of 2 samples are proved"},
		{[]string{"far.csv", "--problem", "p.yaml", "--within", "-1"}, 2, "expected a distance above 0"},
		{[]string{"good.csv", "--problem", "p.yaml"}, 3, "exists already"},
		{[]string{"good.csv"}, 2, "expected --problem or --run"},
		{[]string{"none.csv"}, 3, "none.csv: no such file"},
		{[]string{"turned.csv", "--problem", "named.yaml"}, 3, "turned.csv: column 0 (from 0) is v, which"},
		{[]string{"good.csv", "--checker"}, 2, "expected a data file, or --checker"},
		{[]string{"good.csv", "--set", "seed=1"}, 2, "need --problem"},
		{[]string{"p.yaml", "--problem", "p.yaml"}, 3, "extension"},
		{[]string{"--checker"}, 0, "import json"},
	} {
		r := do(t, dir, append([]string{"verify"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.stdout+r.stderr, c.says) {
			t.Errorf("%v: exit %d; expected %d and %q\n%s%s", c.args, r.code, c.code, c.says, r.stdout, r.stderr)
		}
	}
}

// Arrays of a run with internal coordinates hold positions, and tables hold points: verify reads both.
func TestVerifyInternal(t *testing.T) {
	dir, frames := t.TempDir(), ""
	for i := range 60 {
		sin, cos := math.Sincos(1 + 0.02*float64(i))
		frames += fmt.Sprintf("4\n\nC -0.5 1.4 0\nC 0 0 0\nC 1.5 0 0\nC 2 %v %v\n", 1.4*cos, 1.4*sin)
	}
	for name, text := range map[string]string{"f.xyz": frames, "p.yaml": "data: {kind: molecule, path: f.xyz}\n" +
		"set: {kind: molecule, template: f.xyz, coordinates: internal, bonds: template}\n"} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	if r := ok(t, dir, "train", "p.yaml", "--set", "name=p", "--set", "train.epochs=1"); !strings.Contains(r.stdout,
		"-o samples.xyz") || !strings.Contains(r.stderr, "that moves atoms by") {
		t.Errorf("%s%s", r.stdout, r.stderr)
	}
	for _, file := range []string{"s.npy", "s.csv", "s.sdf", "s.parquet"} {
		if r := ok(t, dir, "generate", "runs/p-001", "-n", "5", "-o", file); strings.Contains(r.stderr, "warning") {
			t.Errorf("generate repeats what train said: %s", r.stderr)
		}
		if v := wantJSON(t, ok(t, dir, "verify", file, "--json")); v["proved"] != 5.0 {
			t.Errorf("%s: %v", file, v)
		}
	}
}

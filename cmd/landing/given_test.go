package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// generate --given keeps of the plain samples those that pass, or sends particles; its samples keep what is given, and
// do not depend on the number of workers. What cannot be is refused with its line, and nothing is written.
func TestGiven(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir)
	file := func(text string) { testkit.OK(t, os.WriteFile("g.yaml", []byte(text), 0o644)) }
	rows := func(name string) []float64 { return testkit.Must(arrayfile.ReadNPY(name)).Float64 }
	const north = "inequality: [{name: north, expr: 'x[2] >= 0'}]\n"
	file(north + "draw: rejection\n")
	v := wantJSON(t, ok(t, dir, "generate", "r", "--given", "g.yaml", "-n", "40", "-o", "a.npy", "--json"))
	given := v["given"].(map[string]any)
	ok(t, dir, "generate", "r", "-n", "300", "-o", "plain.npy")
	var want []float64
	for x := rows("plain.npy"); len(want) < 3*40 && len(x) > 0; x = x[3:] {
		if x[2] >= 0 {
			want = append(want, x[:3]...)
		}
	}
	testkit.EqualSlices(t, rows("a.npy"), want, "samples by rejection")
	testkit.Equal(t, given["by"], any("rejection"), "drawn by")
	testkit.Equal(t, given["attempts"], any(256.0), "plain samples, of which a first batch suffices")

	file(north + "equality: [{name: cut, expr: 'x[0] = 0.1'}]\nobserve: [{expr: 'x[1]', value: 0.3, sd: 0.5}]\n")
	v = wantJSON(t, ok(t, dir, "generate", "r", "--given", "g.yaml", "-n", "50", "-o", "b.npy", "--workers", "1",
		"--json"))
	ok(t, dir, "generate", "r", "--given", "g.yaml", "-n", "50", "-o", "c.npy", "--workers", "3")
	ok(t, dir, "generate", "r", "--given", "g.yaml", "-n", "9", "-o", "few.npy")
	testkit.EqualSlices(t, rows("c.npy"), rows("b.npy"), "with three workers, samples")
	testkit.Equal(t, v["given"].(map[string]any)["by"], any("particles"), "drawn by")
	file("") // the record has what was given
	proof := ok(t, dir, "verify", "b.npy").stdout
	if !strings.Contains(proof, "50 of 50 samples are proved") || !strings.Contains(proof, "with what is given") {
		t.Error(proof)
	}
	for x := rows("b.npy"); len(x) > 0; x = x[3:] {
		if d := x[0] - 0.1; d > 1e-9 || d < -1e-9 || x[2] < 0 {
			t.Fatalf("the sample %v is off", x[:3])
		}
	}
	for _, c := range []struct {
		text string
		code int
		says string
	}{
		{"inequality: [{name: out, expr: 'norm(x) >= 2'}]", exitCheck, "no point of the set"},
		{"equality: [{name: again, expr: 'norm(x) = 1'}]", exitConfig, `"again" holds at all points`},
		{"equality: [{name: out, expr: 'norm(x) = 2'}]", exitCheck, "landing: no point of the set"},
		{"\n\nobserve: [{expr: 'y', value: 1, sd: 1}]", exitConfig, "g.yaml:3"},
		{"observe: [{expr: 'x[0]', value: 1, sd: 1}]\ndraw: repair", exitConfig, "draw: repair"},
	} {
		file(c.text)
		r := do(t, dir, "generate", "r", "--given", "g.yaml", "-n", "1", "-o", "d.npy")
		if _, err := os.Stat("d.npy"); r.code != c.code || !strings.Contains(r.stderr, c.says) || err == nil {
			t.Errorf("%s: exit %d, want %d with %q\n%s%s", c.text, r.code, c.code, c.says, r.stderr, r.stdout)
		}
	}
	testkit.Equal(t, do(t, dir, "generate", "r", "--given", "g.yaml", "--shard", "1/2").code, exitUsage, "a shard")
}

// A motion past an obstacle that training never saw is repaired or plain, by what was asked, and keeps what is given.
// The answer says its law. An obstacle that no motion passes is exit 4 by all ways of drawing.
func TestGivenObstacles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	file := func(name, text string) { testkit.OK(t, os.WriteFile(name, []byte(text), 0o644)) }
	file("p.yaml", `data: {kind: trajectory, path: p.npy}
defaults: fixed
set:
  kind: arm
  dh: [{a: 0}, {a: 1}, {a: 1}]
  waypoints: 8
  limits: false
  start: {joints: [-0.6, 0.1, 0]}
  goal: {joints: [0.6, 0.1, 0]}
  obstacles: [{sphere: [-1, 0, 0], radius: 0.1}]
  clearance: segments
  margin: 0.01
network: {kind: temporal, options: {channels: 4}}
process: {steps: 10}
train: {epochs: 1}
`)
	ok(t, dir, "make", "arm", "p.yaml", "-n", "40", "-o", "p.npy", "--reserve", "0.01:0.03")
	ok(t, dir, "verify", "p.npy", "--problem", "p.yaml") // clear along segments
	ok(t, dir, "train", "p.yaml", "--out", "r")
	file("g.yaml", "observe: [{expr: 'x[8]', value: 0, sd: 1}]\n"+
		"obstacles: [{sphere: [-1, 2, 0], radius: 0.1}]\ndraw: repair")
	if r := do(t, dir, "generate", "r", "--given", "g.yaml", "-n", "1", "-o", "s.npy"); r.code != exitConfig ||
		!strings.Contains(r.stderr, "weighs no observations") {
		t.Errorf("draw: repair of observations: exit %d, %s", r.code, r.stderr)
	}
	for _, c := range []struct{ draw, ball, by, law string }{
		{"auto", "[1.4, -0.9, 0]", "repair", "no stated law"}, // beside the start
		{"repair", "[1.4, -0.9, 0]", "repair", "no stated law"},
		{"auto", "[-1.4, 0, 0]", "rejection", "the run's law"}, // far from all motions
		{"auto", "[1.7, -1, 0]", "", "repair found 0 of 3"},    // at the start
		{"rejection", "[1.7, -1, 0]", "", "rejection found 0 of 3"},
		{"repair", "[1.7, -1, 0]", "", "it touches something"},
	} {
		file("g.yaml", "obstacles: [{sphere: "+c.ball+", radius: 0.05}]\ndraw: "+c.draw+"\n")
		args := []string{"generate", "r", "--given", "g.yaml", "-n", "3", "-o", "s.npy", "--force", "--json"}
		if c.by == "" {
			if r := do(t, dir, args...); r.code != exitCheck || !strings.Contains(r.stderr, c.law) {
				t.Errorf("draw: %s of a ball at the start: exit %d, %s", c.draw, r.code, r.stderr)
			}
			continue
		}
		v := wantJSON(t, ok(t, dir, args...))
		given := v["given"].(map[string]any)
		if law := given["law"].(string); given["by"] != c.by || !strings.HasPrefix(law, c.law) {
			t.Errorf("draw: %s past %s is by %s: %s", c.draw, c.ball, given["by"], law)
		}
		if w := v["violation"].(map[string]any)["worst"].(float64); w > 1e-9 {
			t.Errorf("draw: %s past %s violates by %g", c.draw, c.ball, w)
		}
	}
}

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

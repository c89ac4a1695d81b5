package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bench problems prints a row for each problem and then the bars, or one object; what it makes
// can be opened by the other verbs, and is not written over.
func TestBenchProblems(t *testing.T) {
	dir := t.TempDir()
	small := []string{"dev", "bench", "problems", "--only", "rows-200", "--for", "1m", "--set", "train.times_per_path=1",
		"--set", "train.epochs=2", "--set", "network.width=8"}
	text := ok(t, dir, small...)
	lines := strings.Split(text.stdout, "\n")
	if !strings.Contains(lines[0], "1m0s of training each, seed 1, with train.times_per_path=1, train.epochs=2") ||
		!strings.HasPrefix(lines[2], "problem ") || !strings.HasPrefix(lines[3], "rows-200  3  200 ") ||
		!strings.Contains(lines[3], "0 of 200") || !strings.HasPrefix(lines[5], "energy distance within mean + 3 sd") {
		t.Errorf("got\n%s", text.stdout)
	}
	folder := filepath.Join("runs", "problems-001", "rows-200")
	v := wantJSON(t, ok(t, dir, "report", filepath.Join(folder, "run"), "--text", "--json"))
	if v["epoch"].(float64) != 2 {
		t.Errorf("eval: %v", v)
	}
	ok(t, dir, "train", filepath.Join(folder, "observed.yaml"), "--set", "train.epochs=1", "--set",
		"train.times_per_path=1", "--set", "network.width=8")

	r := ok(t, dir, append(small, "--json", "--out", "mine", "--seed", "2")...)
	v = wantJSON(t, r)
	rows, bars := v["problems"].([]any), v["bars"].([]any)
	if len(rows) != 1 || len(bars) != 5 || v["seed"].(float64) != 2 || v["complete"] != true {
		t.Errorf("%v", v)
	}
	row := rows[0].(map[string]any)
	energy := row["energy"].(map[string]any)["statistic"].(float64)
	if row["verdict"] == "" || energy <= 0 || row["epochs"].(float64) != 2 {
		t.Errorf("%v", row)
	}
	again := do(t, dir, append(small, "--out", "mine")...)
	if again.code != exitConfig || !strings.Contains(again.stderr, "mine: exists already and holds files") {
		t.Errorf("a second time: exit %d\n%s", again.code, again.stderr)
	}
}

// Files alone, and the list.
func TestBenchProblemsFiles(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, "dev", "bench", "problems", "--files-only", "--only", "arm3,box", "--out", "files", "--json")
	for _, name := range []string{"arm3/problem.yaml", "arm3/data.csv", "box/observed.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, "files", filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
	ok(t, dir, "dev", "bench", "problems", "--files-only", "--only", "arm3", "--seen", "turned,itself", "--out", "seen")
	turned := filepath.Join(dir, "seen", "arm3-turned")
	ok(t, turned, "check", "problem.yaml")
	if _, err := os.Stat(filepath.Join(dir, "seen", "arm3", "problem.yaml")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "files", "box", "run")); err == nil {
		t.Error("there is a run")
	}
	all := wantJSON(t, ok(t, dir, "dev", "bench", "problems", "--list", "--json"))["problems"].([]any)
	if len(all) < 27 || all[0].(map[string]any)["about"] == "" {
		t.Error(all)
	}
	for _, c := range []struct{ args, says string }{
		{"--only tori", `there is no problem "tori"; expected names of curve, `},
		{"--only torus --seen mirrored", `--seen: there is no view "mirrored"; expected names of itself, larger`},
		{"--only torus,so3 --seen turned", "the set of so3 has no formulas"},
		{"--for 1ms", "--for is 1ms; expected 1s to 24h"},
		{"--seed 0", "--seed is 0"},
		{"now", "expected no arguments"},
	} {
		r := do(t, dir, strings.Fields("bench problems "+c.args)...)
		if r.code != exitUsage || r.stdout != "" || !strings.Contains(r.stderr, c.says) {
			t.Errorf("landing dev bench problems %s: exit %d\n%s%s", c.args, r.code, r.stdout, r.stderr)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
)

// landing make grid writes rows that check takes under the same case, as NPY and with names as CSV.
func TestMakeGrid(t *testing.T) {
	dir := t.TempDir()
	source, err := os.ReadFile("../../domain/grid/testdata/small.m")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"small.m": string(source),
		"p.yaml": "data: {path: g.csv}\nset: {kind: grid, case: small.m, loads: condition}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	v := wantJSON(t, ok(t, dir, "make", "grid", "small.m", "-n", "60", "--json"))
	a, err := arrayfile.ReadNPY(filepath.Join(dir, "grid.npy"))
	if err != nil || a.Shape[0] != 60 || a.Shape[1] != 19 || v["rows"] != 60.0 || len(v["notes"].([]any)) != 2 {
		t.Fatalf("%v, %v, %v", a.Shape, v, err)
	}
	r := ok(t, dir, "make", "grid", "small.m", "-n", "60", "-o", "g.csv")
	if !strings.Contains(r.stdout, "60 states of 19 numbers in g.csv; ") || !strings.Contains(r.stderr, "isolated") {
		t.Errorf("%s%s", r.stdout, r.stderr)
	}
	table, err := os.ReadFile(filepath.Join(dir, "g.csv"))
	if err != nil || !strings.HasPrefix(string(table), "V_10,V_20,") {
		t.Errorf("%.40s, %v", table, err)
	}
	if r := ok(t, dir, "check", "p.yaml"); !strings.Contains(r.stdout, "0 FAIL") {
		t.Error(r.stdout)
	}
	swapped := strings.Replace(string(table), "V_10,V_20,", "V_20,V_10,", 1)
	if err := os.WriteFile(filepath.Join(dir, "g.csv"), []byte(swapped), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := do(t, dir, "check", "p.yaml"); r.code != exitConfig ||
		!strings.Contains(r.stderr, "g.csv: column 0 (from 0) is V_20, which is coordinate 1 of the set") {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitConfig, []string{"small.m"}, "grid.npy"},
		{exitUsage, []string{"small.m", "--loads", "2"}, "--loads is 2; expected 0 to 1"},
		{exitUsage, []string{"small.m", "-n", "0"}, "-n is 0"},
		{exitConfig, []string{"none.m", "-o", "x.npy"}, "none.m"},
	} {
		if r := do(t, dir, append([]string{"make", "grid"}, c.args...)...); r.code != c.code ||
			!strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: exit %d, %s", c.args, r.code, r.stderr)
		}
	}
}

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/tools/testkit"
)

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

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
)

// landing make so writes what its flags say, the same bytes each time, and never over a file.
func TestDataSO(t *testing.T) {
	dir := t.TempDir()
	flags := []string{"make", "so", "--size", "4", "--modes", "2", "-n", "30", "--seed", "5"}
	r := ok(t, dir, append(flags, "--json")...)
	if v := wantJSON(t, r); v["file"] != "so4-2.npy" || v["count"] != 30.0 {
		t.Errorf("got %v", v)
	}
	a, err := arrayfile.ReadNPY(filepath.Join(dir, "so4-2.npy"))
	if err != nil || len(a.Shape) != 3 || a.Shape[0] != 30 || a.Shape[1] != 4 || a.Shape[2] != 4 {
		t.Fatalf("%v, %v", a.Shape, err)
	}
	if r := ok(t, dir, append(flags, "-o", "b.npy", "--workers", "1")...); !strings.Contains(r.stdout,
		"30 matrices of SO(4) in 2 modes") {
		t.Errorf("got %q", r.stdout)
	}
	first, _ := os.ReadFile(filepath.Join(dir, "so4-2.npy"))
	second, _ := os.ReadFile(filepath.Join(dir, "b.npy"))
	if len(first) == 0 || !bytes.Equal(first, second) {
		t.Error("the same flags give other bytes")
	}
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitConfig, flags, "so4-2.npy"},
		{exitUsage, []string{"make", "so", "--modes", "0"}, "--modes is 0; expected a number above 0"},
		{exitUsage, []string{"make", "so", "--sd", "-1"}, "--sd is -1"},
		{exitUsage, []string{"make", "so", "-o", "x.csv"}, "ends in .npy"},
		{exitUsage, []string{"make", "soo"}, `there is no verb "soo" under make`},
		{exitUsage, []string{"make", "so", "--size", "101"}, "--size is 101; expected 2 to 100 rows"},
	} {
		if r := do(t, dir, c.args...); r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: exit %d, %s", c.args, r.code, r.stderr)
		}
	}
}

// A run on SO(n) goes from the data to the table, which lists the worst of many
// constraints and the distance of the power traces with its parts, as --json does.
func TestTrainSO(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, "make", "so", "--size", "5", "--modes", "2", "-n", "40", "--output", "d.npy")
	ok(t, dir, append([]string{"train", "so10-3", "--set", "set.n=5", "--data", "d.npy", "--out", "r"}, tiny...)...)
	text := ok(t, dir, "report", "r", "--text").stdout
	if !strings.Contains(text, "15 constraints; the 8 worst") || strings.Count(text, "\n  gram[") != 8 ||
		strings.Count(text, "\n  tr X") != 4 {
		t.Errorf("got\n%s", text)
	}
	v := wantJSON(t, ok(t, dir, "report", "r", "--text", "--json"))
	jsd := v["jsd"].(map[string]any)
	if len(v["components"].([]any)) != 15 || v["wrong_component"] != 0.0 || len(jsd["parts"].([]any)) != 4 ||
		jsd["uniform"] == nil || jsd["floor"] == nil {
		t.Errorf("got %v", v)
	}
}

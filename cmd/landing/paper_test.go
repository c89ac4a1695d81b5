package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A figure from data in the binary, small: cells are run once, rows are left, and a second call runs nothing.
func TestPaper(t *testing.T) {
	dir := t.TempDir()
	small := []string{"paper", "demo", "--only", "demo/ULLA/N=20,demo/ULLA-P/N=20", "--for", "0", "--set",
		"train.epochs=2", "--set", "network.width=8", "--set", "network.layers=1", "--out", "p"}
	dry := ok(t, dir, append(small, "--dry-run")...)
	if !strings.Contains(dry.stdout, "demo-ULLA-P-N=20-s1  waiting") || !strings.HasSuffix(dry.stdout, "2 cells\n") {
		t.Errorf("dry run:\n%s", dry.stdout)
	}
	if _, err := os.Stat(filepath.Join(dir, "p")); err == nil {
		t.Error("a dry run makes a folder")
	}
	first := ok(t, dir, small...)
	for _, want := range []string{"method, N →  20", "OLLA         –", "ULLA-P       0.", "ULLA         0.",
		"Training of each network: the recipe's own epochs, ", "Forward paths that lost a projection, %"} {
		testkit.Contains(t, first.stdout, want)
	}
	second := ok(t, dir, small...)
	if strings.Contains(second.stderr, "epoch") || second.stdout != first.stdout {
		t.Errorf("a second call:\n%s%s", second.stderr, second.stdout)
	}
	third := wantJSON(t, ok(t, dir, append(small, "--json")...))
	testkit.Equal(t, len(third["tables"].([]any)), 2, "%v", third)

	whole := ok(t, dir, "paper", "demo", "--dry-run", "--for", "1m", "--only", "demo/ULLA/N=20$")
	if below := ok(t, dir, "paper", "demo", "--dry-run", "--for", "1m", "--only", "demo/ULLA"); strings.Count(
		whole.stdout, "-s1 ") != 1 || strings.Count(below.stdout, "-s1 ") != 6 {
		t.Errorf("a whole name is\n%s\nand what is below one is\n%s", whole.stdout, below.stdout)
	}

	// What the folder has is enough to show tables.
	shown := ok(t, dir, "paper", "demo", "--show", "--markdown", "--out", "p")
	testkit.Contains(t, shown.stdout, "| ULLA-P | 0.")
}

// What cannot be run is refused before anything is.
func TestPaperRefuses(t *testing.T) {
	dir := t.TempDir()
	refused(t, dir, "paper")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "cells.csv"), []byte("cell,seed\n"), 0o666))
	r := do(t, dir, "paper", "demo", "--show", "--rows", "cells.csv")
	if r.code != exitConfig || !strings.Contains(r.stderr, "cells.csv: it is no file of rows") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}

// Parts of a list are all of it, each cell once.
func TestPaperShards(t *testing.T) {
	dir, seen := t.TempDir(), map[string]bool{}
	for _, part := range []string{"1/3", "2/3", "3/3"} {
		v := wantJSON(t, do(t, dir, "paper", "rates", "inertia", "table6", "--dry-run", "--shard", part, "--json"))
		for _, of := range v["sweeps"].([]any) {
			for _, c := range of.(map[string]any)["cells"].([]any) {
				name := fmt.Sprint(c.(map[string]any)["name"])
				if seen[name] {
					t.Errorf("%s is in two parts", name)
				}
				seen[name] = true
			}
		}
	}
	// Cells of bunny100/ULLA have three seeds; two of table 6 are of table 5.
	if len(seen) != 19+4+6+2 {
		t.Errorf("%d cells", len(seen))
	}
	r := do(t, dir, "paper", "demo", "--shard", "4/3")
	if r.code != exitUsage || !strings.Contains(r.stderr, `the part is "4/3"`) {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}

// The list has every table and figure with what it costs.
func TestPaperList(t *testing.T) {
	v := wantJSON(t, ok(t, t.TempDir(), "paper", "--list", "--json", "--for", "5m"))
	costs := map[string]float64{}
	for _, e := range v["exhibits"].([]any) {
		m := e.(map[string]any)
		costs[m["name"].(string)] = m["seconds"].(float64)
	}
	// Table 11 draws 19 rows from one network; table 1 has 8 sets of 5 trainings, which four methods share one of,
	// and three seeds of ULLA, as the paper says, by data and set alone, and that for all of the budget.
	if costs["table11"] != 300 || costs["table1"] != 300*(8*5+4*24) || costs["demo"] != 24*300 || len(costs) != 18 {
		t.Errorf("%v", costs)
	}
}

// The paper's RDDPM is a variant of the recipes on the earth and on SO(10): projected at each of 400 steps, which a
// short training takes without losing a path, and generation without losing a sample.
func TestRDDPM(t *testing.T) {
	if testing.Short() {
		t.Skip("windows are fitted to paths of 400 steps")
	}
	dir := t.TempDir()
	var csv strings.Builder
	csv.WriteString("latitude,longitude\n")
	for i := range 40 {
		fmt.Fprintf(&csv, "%.2f,%.2f\n", 50*math.Sin(float64(i)), 170*math.Sin(float64(3*i)))
	}
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "places.csv"), []byte(csv.String()), 0o666))
	ok(t, dir, "make", "so", "--modes", "3", "-n", "12", "-o", "so.npy")
	for _, name := range []string{"volcano", "earthquake", "flood", "fire", "so10-3", "so10-5"} {
		data, origin, err := problem.Source(name)
		testkit.OK(t, err)
		p := testkit.Must(problem.Load(data, origin, "rddpm", nil))
		proc := testkit.Must(p.Build())
		if s := proc.Schedule; proc.Method != langevin.OLLAP || s.N != 400 || s.Geometric {
			t.Errorf("%s: %v, %+v", name, proc.Method, s)
		}
	}
	small := []string{"--set", "train.epochs=1", "--set", "network.width=8", "--set", "network.layers=1", "--set",
		"train.times_per_path=2"}
	for _, c := range []struct{ recipe, variant, data string }{
		{"volcano", "rddpm,paper", "places.csv"}, {"so10-3", "rddpm", "so.npy"},
	} {
		out := c.recipe + "-" + c.variant
		args := append([]string{"train", c.recipe, "--variant", c.variant, "--data", c.data, "--out", out, "--set",
			"train.max_failed=0"}, small...)
		ok(t, dir, args...)
		v := wantJSON(t, ok(t, dir, "generate", out, "-n", "20", "-o", out+".npy", "--json"))
		if v["failed"].(float64) != 0 || !(v["violation"].(map[string]any)["worst"].(float64) < 1e-12) {
			t.Errorf("%s: %v", out, v)
		}
	}
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// A figure from data in the binary, small: cells are run once, rows are left, and a second call runs nothing.
func TestPaper(t *testing.T) {
	dir := t.TempDir()
	small := []string{"paper", "demo", "--only", "demo/ULLA/N=20,demo/ULLA-P/N=20", "--for", "0", "--set",
		"train.epochs=2", "--set", "network.width=8", "--set", "network.layers=1", "--out", "p"}
	dry := ok(t, dir, append(small, "--dry-run")...)
	if !strings.Contains(dry.stdout, "demo/ULLA-P/N=20  seed 1  process.method=") ||
		!strings.HasSuffix(dry.stdout, "2 cells to run\n") {
		t.Errorf("dry run:\n%s", dry.stdout)
	}
	if _, err := os.Stat(filepath.Join(dir, "p")); err == nil {
		t.Error("a dry run makes a folder")
	}
	first := ok(t, dir, append(small, "--note", "a test")...)
	for _, want := range []string{"method, N →  20", "OLLA         –", "ULLA-P       0.", "ULLA         0.",
		"Training of each network: the recipe's own epochs, ", "Forward paths that lost a projection, %"} {
		testkit.Contains(t, first.stdout, want)
	}
	table := filepath.Join(dir, "p", "rows.json")
	rows, err := os.ReadFile(table)
	if err != nil || strings.Count(string(rows), "\n") != 4 || strings.Count(string(rows), `"note":"a test"`) != 2 {
		t.Fatalf("%v:\n%s", err, rows)
	}
	second := ok(t, dir, small...)
	if !strings.Contains(second.stderr, "all cells are finished") || second.stdout != first.stdout {
		t.Errorf("a second call:\n%s%s", second.stderr, second.stdout)
	}

	// A row that is lost, as by a kill before it was written, comes again: the same bytes.
	lines := strings.SplitAfter(string(rows), "\n")
	testkit.OK(t, os.WriteFile(table, []byte(lines[0]+lines[2]+lines[3]), 0o666))
	third := wantJSON(t, ok(t, dir, append(small, "--json", "--note", "a test")...))
	if again, err := os.ReadFile(table); err != nil || !bytes.Equal(again, rows) {
		t.Errorf("%v: other rows\n%s\n%s", err, again, rows)
	}
	testkit.Equal(t, len(third["tables"].([]any)), 2, "%v", third)

	whole := ok(t, dir, "paper", "demo", "--dry-run", "--for", "1m", "--only", "demo/ULLA/N=20$")
	if below := ok(t, dir, "paper", "demo", "--dry-run", "--for", "1m", "--only", "demo/ULLA"); strings.Count(
		whole.stdout, "seed 1") != 1 || strings.Count(below.stdout, "seed 1") != 6 {
		t.Errorf("a whole name is\n%s\nand what is below one is\n%s", whole.stdout, below.stdout)
	}

	// Rows alone are enough to show tables.
	shown := ok(t, t.TempDir(), "paper", "demo", "--show", "--markdown", "--rows", table, "--set", "train.epochs=2",
		"--set", "network.width=8", "--set", "network.layers=1")
	if !strings.Contains(shown.stdout, "| ULLA-P | 0.") {
		t.Errorf("shown:\n%s", shown.stdout)
	}
}

// What cannot be run is refused before anything is.
func TestPaperRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, `the paper has no "table9" here; expected all or some of table1,`, []string{"table9"}},
		{exitUsage, "expected a table or a figure", nil},
		{exitUsage, `--only: no cell of these tables and figures is called "flood/ULLA"`, []string{"figure-5", "--only",
			"flood/ULLA"}},
		{exitUsage, `no cell of these tables and figures is called "demo/ULLA$"`, []string{"demo", "--only",
			"demo/ULLA$"}},
		{exitUsage, "--for is 10ms; expected 0 or a time from 1s", []string{"demo", "--for", "10ms"}},
		{exitUsage, `--out is ""; expected a folder`, []string{"demo", "--out", ""}},
		{exitConfig, "demo-OLLA-P-N=40-900s-s1", []string{"demo", "--set", "network.width=0"}},
		{exitConfig, "24 cells cannot be, and nothing was run", []string{"demo", "--set", "network.octaves_of=start",
			"--set", "process.steps=0"}},
		{exitUsage, "--seeds is -1", []string{"demo", "--seeds", "-1"}},
		{exitUsage, "expected --seeds N", []string{"demo", "--set", "seed=2"}},
		{exitConfig, "recipe volcano: volcano.csv is needed: --data-dir names the folder", []string{"figure-5"}},
		{exitConfig, "and 19 more: --set network.girth=3: network.girth", []string{"demo", "--set",
			"network.girth=3", "--dry-run"}},
	} {
		r := do(t, dir, append([]string{"paper"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%q: exit %d, want %d with %q\n%s", c.args, r.code, c.code, c.want, r.stderr)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "cells.csv"), []byte("cell,seed\n"), 0o666))
	r := do(t, dir, "paper", "demo", "--show", "--rows", "cells.csv")
	if r.code != exitConfig || !strings.Contains(r.stderr, "cells.csv: it is no file of rows") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}

// Parts of a list are all of it, each cell once, and cells of one training in one part.
func TestPaperShards(t *testing.T) {
	dir, seen, nets := t.TempDir(), map[string]bool{}, map[string]string{}
	for _, part := range []string{"1/3", "2/3", "3/3"} {
		v := wantJSON(t, do(t, dir, "paper", "rates", "inertia", "table6", "--dry-run", "--shard", part, "--json"))
		for _, c := range v["cells"].([]any) {
			m := c.(map[string]any)
			name := fmt.Sprint(m["cell"], m["seed"])
			if seen[name] {
				t.Errorf("%s is in two parts", name)
			}
			seen[name] = true
			net := fmt.Sprint(m["run"])
			if p, ok := nets[net]; ok && p != part {
				t.Errorf("%s is trained in %s and %s", net, p, part)
			}
			nets[net] = part
		}
	}
	// Cells of bunny100/ULLA have three seeds; two of table 6 are of table 5.
	if len(seen) != 19+4+6+2 || len(nets) < 5 {
		t.Errorf("%d cells, %d trainings", len(seen), len(nets))
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
		costs[m["name"].(string)] = m["seconds_left"].(float64)
	}
	// Table 11 draws 19 rows from one network; table 1 has 8 sets of 5 trainings, which four methods share one of,
	// and three seeds of ULLA, as the paper says, by data and set alone, and that for all of the budget.
	if costs["table11"] != 300 || costs["table1"] != 300*(8*5+4*24) || costs["demo"] != 24*300 || len(costs) != 18 {
		t.Errorf("%v", costs)
	}
}

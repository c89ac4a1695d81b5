package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// short is a sweep of two tiny cells, whose budgets are counts.
const shortSweep = `name: short
problems: [demo]
methods: [ULLA, {name: other, method: OLLA, set: {process.steps: 12}}]
seeds: [3]
budget: {epochs: 12}
samples: 60
set:
  network: {width: 8, layers: 1}
  train: {times_per_path: 2, checkpoint_every: 0.001}
cells:
  - {method: other, train: {rows: 20000}}
`

// A sweep that is killed at random moments, other ones each time, and gone on with by the same command at another
// number of workers,
// ends in the same bytes as one that is left alone: its rows, samples and weights.
func TestSweepKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "short.yaml"), []byte(shortSweep), 0o666))
	command := func(args ...string) *exec.Cmd {
		return self(t, dir, append([]string{"sweep", "short.yaml"}, args...)...)
	}
	begun := time.Now()
	if out, err := command("--out", "whole").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	whole := time.Since(begun)
	want := ends(t, filepath.Join(dir, "whole"))
	if len(want) != 5 {
		t.Fatalf("%d files; expected rows, and samples and weights of two cells", len(want))
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	kills := 3
	if testkit.Longest() {
		kills = 20
	}
	killed, folder, finished := 0, 0, false
	out := func() string { return fmt.Sprintf("killed-%d", folder) }
	for killed < kills {
		cmd := command("--out", out(), "--workers", fmt.Sprint(1+killed%3))
		if killProcess(t, cmd, time.Duration(random.Float64()*0.6*float64(whole))) { // it was done before
			sameEnds(t, ends(t, filepath.Join(dir, out())), want, seed)
			folder++
			continue
		}
		killed++
	}
	for !finished {
		said, err := command("--out", out()).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		finished = true
	}
	sameEnds(t, ends(t, filepath.Join(dir, out())), want, seed)
	stale := 0
	filepath.WalkDir(filepath.Join(dir, out()), func(path string, _ os.DirEntry, _ error) error {
		if strings.Contains(path, ".tmp-") && filepath.Dir(path) != filepath.Join(dir, out()) {
			stale++
		}
		return nil
	})
	if stale > 0 {
		t.Errorf("%d files are left that were being written when a process was killed", stale)
	}
}

// ends reads what a sweep must end in the same bytes of.
func ends(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	add := func(name string, paths ...string) {
		if len(paths) == 0 {
			t.Fatalf("%s has no %s", dir, name)
		}
		data := testkit.Must(os.ReadFile(paths[len(paths)-1]))
		out[name] = data
	}
	add("rows", filepath.Join(dir, "rows.json"))
	cells := testkit.Must(os.ReadDir(filepath.Join(dir, "runs")))
	for _, c := range cells {
		at := filepath.Join(dir, "runs", c.Name())
		add(c.Name()+" samples", filepath.Join(at, "samples.npy"))
		weights := testkit.Must(filepath.Glob(filepath.Join(at, "checkpoints", "*", "weights.safetensors")))
		add(c.Name()+" weights", weights...)
	}
	return out
}

func sameEnds(t *testing.T, got, want map[string][]byte, seed uint64) {
	t.Helper()
	testkit.Equal(t, len(got), len(want))
	for name, data := range want {
		testkit.EqualSlices(t, got[name], data,
			"%s: other bytes than of a sweep that was left alone (moments drawn from %d)", name, seed)
	}
}

// The parts of a sweep are those of the whole: in one folder they end in the same rows.
func TestSweepShards(t *testing.T) {
	dir := t.TempDir()
	small := strings.NewReplacer("seeds: [3]", "seeds: [3, 4]", "epochs: 12", "epochs: 1", "rows: 20000",
		"rows: 2000").Replace(shortSweep)
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "short.yaml"), []byte(small), 0o666))
	ok(t, dir, "sweep", "short.yaml", "--dry-run", "--json")
	ok(t, dir, "sweep", "short.yaml", "--out", "whole")
	for i, want := range []string{"demo-ULLA-1epochs-s3", "demo-ULLA-1epochs-s4", "demo-other-2000rows-s3"} {
		part := fmt.Sprintf("%d/3", i+1)
		v := wantJSON(t, ok(t, dir, "sweep", "short.yaml", "--out", "parts", "--shard", part, "--json"))
		if v["complete"].(bool) != (i == 2) {
			t.Errorf("after part %s: complete is %v", part, v["complete"])
		}
		if _, err := os.Stat(filepath.Join(dir, "parts", "units", want, "result.json")); err != nil {
			t.Errorf("part %s has not done %s: %v", part, want, err)
		}
		done := 0
		for _, c := range v["cells"].([]any) {
			if c.(map[string]any)["state"] == "done" {
				done++
			}
		}
		if want := []int{2, 3, 4}[i]; done != want { // of four cells the first part has two
			t.Errorf("after part %s %d cells are done, want %d", part, done, want)
		}
	}
	sameEnds(t, ends(t, filepath.Join(dir, "parts")), ends(t, filepath.Join(dir, "whole")), 0)

	v := wantJSON(t, ok(t, dir, "compare", "whole", "-o", "t.html", "-o", "t.md", "-o", "t.csv", "-o", "t.json",
		"--json"))
	group := v["groups"].([]any)[0].(map[string]any)
	if len(v["groups"].([]any)) != 1 || len(group["lines"].([]any)) != 2 {
		t.Errorf("got %v", v)
	}
	for _, file := range []string{"t.html", "t.md", "t.csv", "t.json"} {
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() < 200 {
			t.Errorf("%s: %v", file, err)
		}
		if r := do(t, dir, "compare", "whole", "-o", file); r.code != 3 || !strings.Contains(r.stderr, "--force") {
			t.Errorf("%s is written over: exit %d, %s", file, r.code, r.stderr)
		}
	}
	// a run by itself: judged once, for its evaluation is of an earlier version; kept, and read again
	run := filepath.Join("whole", "runs", "demo-ULLA-1epochs-s3")
	testkit.OK(t, os.WriteFile(filepath.Join(dir, run, "evaluation.json"), []byte(`{"verdict": {}}`), 0o600))
	first := ok(t, dir, "compare", run, filepath.Join("whole", "runs", "demo-ULLA-1epochs-s4"), "--json")
	testkit.Contains(t, first.stderr, "of an earlier version; `landing report RUN`")
	testkit.Contains(t, first.stderr, "kept as evaluation.json")
	kept := testkit.Must(os.ReadFile(filepath.Join(dir, run, "evaluation.json")))
	again := ok(t, dir, "compare", run, filepath.Join("whole", "runs", "demo-ULLA-1epochs-s4"), "--json")
	if again.stdout != first.stdout || strings.Contains(again.stderr, "kept as") {
		t.Errorf("a second time other figures\n%s\n%s", first.stdout, again.stdout)
	}
	if after, err := os.ReadFile(filepath.Join(dir, run, "evaluation.json")); err != nil || !bytes.Equal(after, kept) {
		t.Errorf("the evaluation was written over: %v", err)
	}
	r := ok(t, dir, "report", run, "-n", "20")
	testkit.Contains(t, r.stderr, "evaluation.json was of 335 samples of seed 3; it is now of 20 of seed 3")
	v = wantJSON(t, ok(t, dir, "compare", run, "--json"))
	line := v["groups"].([]any)[0].(map[string]any)["lines"].([]any)[0].(map[string]any)
	if row := line["entries"].([]any)[0].(map[string]any)["row"].(map[string]any); row["samples"] != 20.0 {
		t.Errorf("compared by %v", row)
	}
	if r := do(t, dir, "compare", run, "--against", "nothing"); r.code != 2 || !strings.Contains(r.stderr, "ULLA") {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
}

// What cannot be is refused by cell, with its place in the file, before anything runs; a cell that fails is
// recorded and the rest goes on.
func TestSweepFaults(t *testing.T) {
	dir := t.TempDir()
	testkit.Cases(t, func(file string) string {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(file), 0o666))
		r, dry := do(t, dir, "sweep", "s.yaml"), do(t, dir, "sweep", "s.yaml", "--dry-run")
		if r.stderr != dry.stderr || r.code != 3 || dry.code != 3 {
			t.Errorf("%q: exit %d, with --dry-run %d %s", file, r.code, dry.code, dry.stderr)
		}
		if _, err := os.Stat(filepath.Join(dir, "sweeps")); err == nil {
			t.Fatalf("%q: something was run", file)
		}
		return strings.TrimSuffix(strings.ReplaceAll(r.stderr, dir, ""), "\n")
	})
	var seeds []string
	for i := range 1001 {
		seeds = append(seeds, fmt.Sprint(i))
	}
	grid := fmt.Sprintf("problems: [demo]\nseeds: [%s]\nsettings: [%s]", strings.Join(seeds, ","),
		strings.TrimSuffix(strings.Repeat("{name: NUMBER},", 1000), ","))
	for i := range 1000 {
		grid = strings.Replace(grid, "NUMBER", fmt.Sprintf("x%d", i), 1)
	}
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(grid), 0o666))
	if r := do(t, dir, "sweep", "s.yaml"); r.code != 3 ||
		!strings.Contains(r.stderr, "of 1001000 cells; expected at most") {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
	for _, shard := range []string{"0/3", "4/3", "1/0", "1/1000000000", "-1/2", "1", "1/2/3", "a/b",
		"01/99999999999999999999"} {
		if r := do(t, dir, "sweep", "s.yaml", "--shard", shard); r.code != 2 || !strings.Contains(r.stderr, "i/n") {
			t.Errorf("--shard %s: exit %d, %s", shard, r.code, r.stderr)
		}
	}

	failing := strings.Replace(shortSweep, "epochs: 12", "epochs: 1", 1)
	failing = strings.Replace(failing, "  - {method: other, train: {rows: 20000}}",
		"  - {method: ULLA, set: {train.learning_rate: 1e15, train.clip: 1e15, train.batch: 8}}", 1)
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "f.yaml"), []byte(failing), 0o666))
	r := do(t, dir, "sweep", "f.yaml", "--json")
	if r.code != 1 || !strings.Contains(r.stderr, "1 cell failed") {
		t.Fatalf("exit %d, %s", r.code, r.stderr)
	}
	cells := wantJSON(t, r)["cells"].([]any)
	first, second := cells[0].(map[string]any), cells[1].(map[string]any)
	if first["state"] != "failed" || first["reason"] == "" || second["state"] != "done" {
		t.Errorf("got %v and %v", first["state"], second["state"])
	}
	if r := do(t, dir, "sweep", "f.yaml"); r.code != 1 || strings.Contains(r.stderr, "[1 of 2]") {
		t.Errorf("what failed was run again: exit %d, %s", r.code, r.stderr)
	}
	if r := do(t, dir, "sweep", "f.yaml", "--retry"); r.code != 1 || !strings.Contains(r.stderr, "[1 of 2]") ||
		strings.Contains(r.stderr, "[2 of 2]") {
		t.Errorf("--retry: exit %d, %s", r.code, r.stderr)
	}
	testkit.Contains(t, ok(t, dir, "compare", "sweeps/short").stdout, "0 of 1")
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "f.yaml"),
		[]byte(strings.Replace(failing, "width: 8", "width: 9", 1)), 0o666))
	if r := do(t, dir, "sweep", "f.yaml"); r.code != 3 || !strings.Contains(r.stderr, "with another task") {
		t.Errorf("another network in the same folder: exit %d, %s", r.code, r.stderr)
	}
}

// Processes that begin a sweep in one folder at the same moment share its cells: each is done by one of them.
func TestSweepTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	small := strings.NewReplacer("seeds: [3]", "seeds: [3, 4]", "epochs: 12", "epochs: 1", "rows: 20000",
		"rows: 2000").Replace(shortSweep)
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "short.yaml"), []byte(small), 0o666))
	var all []*childProcess
	for range 3 {
		all = append(all, startProcess(t, self(t, dir, "sweep", "short.yaml", "--out", "together", "-q", "--workers",
			"1")))
	}
	for _, c := range all {
		if err := c.Wait(); err != nil {
			t.Errorf("%v\n%s%s", err, c.Out.String(), c.Said.String())
		}
	}
	if r := ok(t, dir, "sweep", "short.yaml", "--out", "together"); strings.Contains(r.stderr, "[1 of 4]") {
		t.Errorf("a cell was left: %s", r.stderr)
	}
	ok(t, dir, "sweep", "short.yaml", "--out", "alone")
	sameEnds(t, ends(t, filepath.Join(dir, "together")), ends(t, filepath.Join(dir, "alone")), 0)
}

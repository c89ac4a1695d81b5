package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// sameFiles holds two files of a folder against each other.
func sameFiles(t *testing.T, dir, got, want string) {
	t.Helper()
	a := testkit.Must(os.ReadFile(filepath.Join(dir, got)))
	b := testkit.Must(os.ReadFile(filepath.Join(dir, want)))
	if !bytes.Equal(a, b) {
		t.Errorf("%s has %d bytes, others than the %d of %s", got, len(a), len(b), want)
	}
}

// Parts of samples join to the bytes of one call; a part that is whole is not made again; what cannot be is refused
// with an exit code and leaves nothing.
func TestGenerateInParts(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir)
	draw := []string{"generate", "r", "-n", "11", "--first", "4", "--seed", "9", "--set", "process.steps=20"}
	with := func(more ...string) []string { return append(append([]string{}, draw...), more...) }
	ok(t, dir, with("-o", "one.csv")...)
	for i := 1; i <= 3; i++ {
		v := wantJSON(t, ok(t, dir, with("-o", "all.csv", "--json", "--shard", fmt.Sprintf("%d/3", i))...))
		if v["made"] != true || v["rows"] != []any{3., 4., 4.}[i-1] {
			t.Errorf("part %d: %v", i, v)
		}
	}
	again := wantJSON(t, ok(t, dir, with("-o", "all.csv", "--json", "--shard", "2/3")...))
	if again["made"] != false || again["first"] != 7. {
		t.Errorf("again: %v", again)
	}
	m := wantJSON(t, ok(t, dir, "merge", "all.csv.parts", "--json"))
	if m["file"] != "all.csv" || m["rows"] != 11. || m["parts"] != 3. {
		t.Errorf("merged: %v", m)
	}
	sameFiles(t, dir, "all.csv", "one.csv")
	t.Setenv("SLURM_ARRAY_TASK_ID", "0")
	t.Setenv("SLURM_ARRAY_TASK_MIN", "0")
	t.Setenv("SLURM_ARRAY_TASK_COUNT", "1")
	ok(t, dir, with("-o", "auto.csv", "--shard", "auto")...)
	ok(t, dir, "merge", "auto.csv.parts/generate-4-15", "-o", "auto.csv")
	sameFiles(t, dir, "auto.csv", "one.csv")
	if v := wantJSON(t, ok(t, dir, with("-o", "many.csv", "--shard", "12/12", "--json")...)); v["rows"] != 1. {
		t.Errorf("the last of more parts than rows: %v", v)
	}
	if v := wantJSON(t, ok(t, dir, with("-o", "many.csv", "--shard", "1/12", "--json")...)); v["rows"] != 0. ||
		v["part"] != nil {
		t.Errorf("an empty part: %v", v)
	}
	t.Setenv("SLURM_ARRAY_TASK_ID", "")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{with("--shard", "1/0"), 2, `the part is "1/0"; expected i/n`},
		{with("--shard", "0/4"), 2, "expected i/n"},
		{with("--shard", "1/1000000000"), 2, "n ≤ 100000"},
		{with("--shard", "auto"), 2, "neither SLURM_ARRAY_TASK_ID"},
		{with("--shard", "1/2", "--force"), 2, "--force and --shard do not go together"},
		{with("--shard", "1/2", "--diagnose"), 2, "--diagnose and --shard"},
		{with("--shard", "1/2", "-o", "x.pdb"), 2, "not written to such files"},
		{with("--shard", "1/2", "--checkpoint", "7"), 3, `no checkpoint "7"`},
		{with("--shard", "2/3", "-o", "all.csv", "--seed", "8"), 3, "now with another task"},
		{[]string{"merge"}, 2, "expected a folder of parts"},
		{[]string{"merge", "all.csv.parts"}, 3, "exists already"},
		{[]string{"merge", "many.csv.parts"}, 3, "rows 4 to 13 are missing, of 4 to 14"},
		{[]string{"merge", "r", "-o", "y.npy"}, 3, "holds no part"},
		{[]string{"merge", "gone", "-o", "y.npy"}, 3, "holds no part"},
		{[]string{"merge", "all.csv.parts", "-o", "y.txt"}, 2, `-o is "y.txt"`},
		{[]string{"merge", "all.csv.parts/generate-4-7"}, 2, "expected -o"},
	} {
		r := do(t, dir, c.args...)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("landing %v: exit %d, %s\nwant %d, %q", c.args, r.code, r.stderr, c.code, c.want)
		}
	}
	for _, name := range []string{"y.npy", "many.csv", "x.pdb.parts", "samples.npy.parts"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	path := filepath.Join(dir, "all.csv.parts/generate-7-11/rows.npy")
	rows := testkit.Must(os.ReadFile(path))
	rows[len(rows)-1] ^= 1
	testkit.OK(t, os.WriteFile(path, rows, 0o666))
	for _, args := range [][]string{with("-o", "all.csv", "--shard", "2/3"), {"merge", "all.csv.parts", "--force"}} {
		r := do(t, dir, args...)
		if r.code != 3 || !strings.Contains(r.stderr, "generate-7-11 the part is made again") {
			t.Errorf("damaged: exit %d, %s", r.code, r.stderr)
		}
	}
	sameFiles(t, dir, "all.csv", "one.csv") // which --force has not touched
}

// Parts, and their merge, that are killed at random moments and begun again end in the bytes of one call; no file is
// seen before it is whole.
func TestPartsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	demoRun(t, dir)
	draw := []string{"generate", "r", "-n", "20000", "--set", "process.steps=5"}
	ok(t, dir, append(draw, "-o", "one.csv")...)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	// until runs a command until it ends by itself, but kills it the first times, later each time.
	until := func(kills int, args ...string) {
		t.Helper()
		for killed, whole := 0, 100*time.Millisecond; ; killed, whole = killed+1, whole*3/2 {
			after := time.Hour
			if killed < kills {
				after = time.Duration(random.Float64() * float64(whole))
			}
			if killProcess(t, self(t, dir, args...), after) {
				return
			}
			if _, err := os.Stat(filepath.Join(dir, "all.csv")); err == nil && args[0] == "merge" {
				return // killed when it had written the file
			}
		}
	}
	for _, part := range []string{"1/3", "2/3", "3/3"} {
		until(4, append(draw, "-o", "all.csv", "--shard", part, "-q")...)
	}
	until(8, "merge", "all.csv.parts", "-q")
	sameFiles(t, dir, "all.csv", "one.csv")
}

// Samples under conditions, of a file too, in parts are those of one call.
func TestConditionsInParts(t *testing.T) {
	dir := t.TempDir()
	var points strings.Builder
	points.WriteString("x,y,r\n")
	for i := range 60 {
		r, at := 1+float64(i%7)/7, 0.3*float64(i)
		fmt.Fprintf(&points, "%.17g,%.17g,%.17g\n", r*math.Cos(at), r*math.Sin(at), r)
	}
	for name, text := range map[string]string{"circle.csv": points.String(), "asked.csv": "r\n1.1\n1.4\n1.8\n",
		"circle.yaml": "name: circle\ndata: {kind: points, path: circle.csv}\ncondition: {columns: [r]}\nset:\n" +
			"  dim: 2\n  equality: [{name: circle, expr: \"norm(x) = r\"}]\nprocess: {steps: 10, horizon: 1}\n"} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	ok(t, dir, append([]string{"train", "circle.yaml", "--out", "r"}, tiny...)...)
	for _, c := range []struct {
		ext  string
		args []string
	}{
		{".csv", []string{"generate", "r", "-n", "4", "--condition", "asked.csv"}},
		{".npy", []string{"generate", "r", "-n", "11", "--condition", "r=1.25"}},
	} {
		one, all := "one-"+c.args[0]+c.ext, "all-"+c.args[0]+c.ext
		for _, name := range []string{one, one + ".json", all, all + ".json"} {
			os.Remove(filepath.Join(dir, name))
		}
		os.RemoveAll(filepath.Join(dir, all+partsDir))
		ok(t, dir, append(c.args, "-o", one, "--json")...)
		for i := 1; i <= 5; i++ {
			ok(t, dir, append(c.args, "-o", all, "--json", "--shard", fmt.Sprintf("%d/5", i))...)
		}
		ok(t, dir, "merge", all+partsDir, "--json")
		sameFiles(t, dir, all, one)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The ends of forward paths are the states of an empirical prior of as many, and step 0 is the data.
func TestForward(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, "train", "demo", "--variant=fixed",
		"--out", "r", "-q", "--set", "train.epochs=1", "--set", "train.times_per_path=1",
		"--set", "network.width=8", "--set", "process.steps=10", "--set", "prior=empirical")
	read := func(name string) []float64 {
		f := testkit.Must(os.Open(filepath.Join(dir, name)))
		defer f.Close()
		return testkit.Must(arrayfile.DecodeNPY(f)).Float64
	}
	ends := read("r/ends.npy")
	n := strconv.Itoa(len(ends) / 3)
	got := wantJSON(t, ok(t, dir, "dev", "forward", "r", "-n", n, "-o", "f.npy", "--json", "-q"))
	testkit.EqualSlices(t, read("f.npy"), ends, "the last states")
	testkit.Equal(t, got["step"], any(10.0), "the last step")
	ok(t, dir, "dev", "forward", "r", "-n", "20000", "--step", "0", "-o", "x.npy")
	ok(t, dir, "dev", "forward", "r", "-n", "20000", "--step", "3", "-o", "y.npy", "--workers", "1")
	x, y := read("x.npy"), read("y.npy")
	if len(x) != 60000 || len(y) != 60000 || x[0] == y[0] || x[59999] == y[59999] {
		t.Errorf("%d and %d numbers", len(x), len(y))
	}
	for says, args := range map[string][]string{
		`-o is "x.csv"`:            {"-o", "x.csv"},
		"--step is 11; expected":   {"--step", "11"},
		"--seed is -2; expected 0": {"--seed", "-2"},
		"-n is 1000000000000; expected at most 89478485 paths of 3 coordinates": {"-n", "1000000000000"},
	} {
		if r := do(t, dir, append([]string{"dev", "forward", "r"}, args...)...); r.code != exitUsage {
			t.Errorf("%s: %d %s", says, r.code, r.stderr)
		} else {
			testkit.Contains(t, r.stderr, says)
		}
	}
}

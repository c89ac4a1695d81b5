package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Samples as Parquet are those as NPY, at any number of workers and in parts too, and init, train and eval take
// such files.
func TestParquet(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir, "prior=uniform")
	ok(t, dir, "generate", "r", "-n", "300", "-o", "a.parquet", "--workers", "1")
	ok(t, dir, "generate", "r", "-n", "300", "-o", "b.parquet", "--workers", "3")
	ok(t, dir, "generate", "r", "-n", "300", "-o", "a.npy")
	file := func(name string) []byte {
		return testkit.Must(os.ReadFile(filepath.Join(dir, name)))
	}
	testkit.EqualSlices(t, file("a.parquet"), file("b.parquet"), "the bytes depend on the workers")
	p := testkit.Must(dataset.ReadPoints(filepath.Join(dir, "a.parquet")))
	q, err := dataset.ReadPoints(filepath.Join(dir, "a.npy"))
	if err != nil || !slices.Equal(p.X, q.X) {
		t.Errorf("other points as Parquet than as NPY, %v", err)
	}
	for _, share := range []string{"1/2", "2/2"} {
		ok(t, dir, "generate", "r", "-n", "300", "-o", "c.parquet", "--shard", share)
	}
	ok(t, dir, "merge", "c.parquet.parts")
	testkit.EqualSlices(t, file("a.parquet"), file("c.parquet"), "parts have other bytes than the whole")
	v := wantJSON(t, ok(t, dir, "report", "r", "--text", "--samples", "a.parquet", "--json"))
	testkit.Equal(t, v["samples"], 300.0, "eval of a Parquet file")
	out := ok(t, dir, "init", "a.parquet", "-o", "p.yaml").stdout
	testkit.Contains(t, out, "Parquet, float64", "init")
	ok(t, dir, append([]string{"train", "p.yaml", "--out", "s", "--set", "train.max_seconds=0"}, tiny...)...)
}

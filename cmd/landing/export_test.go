package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// export writes what it says, keeps what is there, and refuses by name what it cannot write.
func TestExport(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, append([]string{"train", "demo", "--variant=fixed",
		"--out", "r", "--set", "prior=uniform"},
		tiny...)...)
	v := wantJSON(t, ok(t, dir, "export", "r", "--onnx", "a.onnx", "--torch", "t", "--license", "mit", "--json"))
	if written := v["written"].([]any); len(written) != 2 || written[0].(map[string]any)["path"] != "a.onnx" {
		t.Errorf("got %v", v)
	}
	file := testkit.Must(os.ReadFile(filepath.Join(dir, "a.onnx")))
	testkit.Contains(t, string(file), "\x0a\x07license\x12\x03mit", "the licence as an entry of metadata")
	testkit.Contains(t, ok(t, dir, "export", "r", "--torch", "u").stdout, "class Score(torch.nn.Module)",
		"the loader is not printed")
	ok(t, dir, "export", "r", "--onnx", "a.onnx", "--float32", "--force")
	if again, _ := os.ReadFile(filepath.Join(dir, "a.onnx")); len(again) == len(file) {
		t.Error("--float32 --force changed nothing")
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "nothing to write", []string{"r"}},
		{exitUsage, "ends in .onnx", []string{"r", "--onnx", "a.pb"}},
		{exitUsage, "--with-reference", []string{"r", "--onnx", "b.onnx", "--with-reference"}},
		{exitUsage, "a run folder", []string{"--onnx", "b.onnx"}},
		{exitConfig, "a.onnx exists already", []string{"r", "--onnx", "a.onnx"}},
		{exitConfig, "name another", []string{"r", "--torch", "t", "--force"}},
		{exitConfig, "name another", []string{"r", "--hub", "t"}},
		{exitConfig, "has no evaluation", []string{"r", "--hub", "h", "--onnx", "b.onnx"}},
		{exitConfig, "no such run folder", []string{"nowhere", "--onnx", "b.onnx"}},
		{exitConfig, "has no checkpoint", []string{"r", "--onnx", "b.onnx", "--checkpoint", "7"}},
	} {
		verb := append([]string{"export"}, c.args...)
		if c.args[0] == "--" {
			verb = c.args[1:]
		}
		got := do(t, dir, verb...)
		if got.code != c.code || !strings.Contains(got.stderr, c.want) {
			t.Errorf("export %v: exit %d, want %d and %q\n%s", c.args, got.code, c.code, c.want, got.stderr)
		}
	}
	f := &run.Folder{Dir: filepath.Join(dir, "r")}
	testkit.OK(t, f.Lock())
	defer f.Unlock()
	busy := do(t, dir, "export", "r", "--onnx", "b.onnx")
	if busy.code != exitConfig || !strings.Contains(busy.stderr, "--checkpoint") {
		t.Errorf("a run at work: exit %d\n%s", busy.code, busy.stderr)
	}
	names := testkit.Must(f.Checkpoints().Names())
	for _, left := range []string{"b.onnx", "h"} {
		if _, err := os.Lstat(filepath.Join(dir, left)); err == nil {
			t.Errorf("%s was written by a command that failed", left)
		}
	}
	ok(t, dir, "export", "r", "--onnx", "b.onnx", "--checkpoint", names[len(names)-1])
}

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

// landing export --network describes a network, evaluates it, and says what is wrong with rows.
func TestScoreVerb(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir)
	v := wantJSON(t, ok(t, dir, "export", "r", "--network", "--json"))
	if v["kind"] != "mlp" || v["dim"].(float64) != 3 || v["momentum"] != true || len(v["times"].([]any)) != 50 {
		t.Errorf("got %v", v)
	}
	testkit.OK(t, testkit.Err(os.Stat(filepath.Join(dir, v["file"].(string)))))
	if r := ok(t, dir, "export", "r", "--network"); !strings.Contains(r.stdout, "rows (x, p, t), points of 3 numbers") {
		t.Errorf("got %s", r.stdout)
	}
	write := func(name, text string) {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	write("rows.csv", "0,0,1,0.1,0.2,0,0.04\n1,0,0,0,0.2,0.3,2\n")
	ok(t, dir, "export", "r", "--scores", "rows.csv", "--precision", "float32", "--json")
	a, err := arrayfile.ReadNPY(filepath.Join(dir, "scores.npy"))
	if err != nil || len(a.Float64) != 6 || a.Shape[0] != 2 || a.Float64[0] == 0 {
		t.Errorf("%v, %v", a, err)
	}
	write("narrow.csv", "0,0,1,2\n")
	write("nan.csv", "0,0,1,0.1,0.2,NaN,0.04\n")
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{3, "--force", []string{"--scores", "rows.csv"}},
		{3, "rows have 4 numbers; expected 7", []string{"--scores", "narrow.csv", "-o", "n.npy"}},
		{3, "nan.csv:1", []string{"--scores", "nan.csv", "-o", "n.npy"}},
		{3, "gone.csv", []string{"--scores", "gone.csv", "-o", "n.npy"}},
		{2, "ends in .npy", []string{"--scores", "rows.csv", "-o", "n.csv"}},
		{2, "expected float32", []string{"--scores", "rows.csv", "-o", "n.npy", "--precision", "float16"}},
		{2, "expected --scores ROWS", []string{"--precision", "float32"}},
		{2, "this run has none", []string{"--scores", "rows.csv", "-o", "n.npy", "--hide-condition"}},
		{2, "--license changes nothing", []string{"--network", "--license", "mit"}},
		{2, "--float32 changes nothing", []string{"--network", "--float32"}},
		{2, "--force changes nothing", []string{"--network", "--force"}},
	} {
		if r := do(t, dir, append([]string{"export", "r"}, c.args...)...); r.code != c.code ||
			!strings.Contains(r.stderr, c.says) {
			t.Errorf("landing export r %v: exit %d, %s; expected %q", c.args, r.code, r.stderr, c.says)
		}
	}
}

// Values are h and g of each row, where a part that does not count may be NaN.
func TestValues(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte("set: {dim: 2, equality: [{name: h, "+
		"expr: 'x[0]'}], inequality: [{name: g, expr: 'where(x[0], sqrt(x[0]), x[1]) <= 1'}]}\n"), 0o666))
	x := []float64{4, 7, -4, 7, math.Copysign(0, -1), 3}
	for name, n := range map[string]int{"p.npy": 6, "odd.npy": 5} {
		f := testkit.Must(os.Create(filepath.Join(dir, name)))
		testkit.OK(t, arrayfile.EncodeNPY(f, arrayfile.Of(x[:n], n)))
		testkit.OK(t, f.Close())
	}
	got := wantJSON(t, ok(t, dir, "dev", "values", "p.yaml", "--data", "p.npy", "-o", "v.npy", "--json"))
	testkit.Equal(t, len(got["equalities"].([]any)), 1, "equalities")
	v := testkit.Must(arrayfile.ReadNPY(filepath.Join(dir, "v.npy")))
	testkit.EqualSlices(t, v.Float64, []float64{4, 1, -4, 6, 0, -1}, "values")
	r := do(t, dir, "dev", "values", "p.yaml", "--data", "odd.npy", "--force", "-o", "v.npy")
	testkit.Equal(t, r.code, 3, "exit code")
	testkit.Contains(t, r.stderr, "expected rows of 2")
}

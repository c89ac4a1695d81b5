package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Samples are drawn by other keys with --set: the record beside them, the result and an
// evaluation of them say by which; two sets never overwrite each other.
func TestDrawnByOtherKeys(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir)
	read := func(name string) []byte {
		t.Helper()
		return testkit.Must(os.ReadFile(filepath.Join(dir, name)))
	}
	generate := func(out string, more ...string) map[string]any {
		t.Helper()
		return wantJSON(t, ok(t, dir, append([]string{"generate", "r", "-n", "30", "-o", out, "--json"}, more...)...))
	}
	plain := generate("plain.npy")
	if plain["drawn_by"] != nil || plain["record"] != "plain.npy.json" || plain["steps"] != nil {
		t.Errorf("got %v", plain)
	}
	generate("same.npy", "--set", "process.steps=50", "--set", "process.method=ulla")
	fewer := generate("fewer.npy", "--set", "process.steps=20", "--diagnose")
	if !bytes.Equal(read("plain.npy"), read("same.npy")) || bytes.Equal(read("plain.npy"), read("fewer.npy")) {
		t.Error("the run's own keys draw other samples, or others the same")
	}
	const want = `[{"key":"process.steps","own":50,"value":20}]`
	var record struct {
		Drawn   any   `json:"drawn_by"`
		Samples int   `json:"samples"`
		Failed  []int `json:"failed_samples"`
		SHA256  string
		Steps   struct{ Times []float64 }
	}
	testkit.OK(t, json.Unmarshal(read("fewer.npy.json"), &record))
	for what, v := range map[string]any{"the result": fewer["drawn_by"], "the record": record.Drawn} {
		if got, _ := json.Marshal(v); string(got) != want {
			t.Errorf("%s says %s, want %s", what, got, want)
		}
	}
	if record.Samples != 30 || record.Failed == nil || len(record.Steps.Times) != 21 {
		t.Errorf("record %+v", record)
	}

	// What is in a file is scored as what was drawn, with the keys.
	for file, set := range map[string][]string{"plain.npy": nil, "fewer.npy": {"--set", "process.steps=20"}} {
		scored := wantJSON(t, ok(t, dir, "report", "r", "--text", "--samples", file, "--json"))
		drawn := wantJSON(t, ok(t, dir, append([]string{"report", "r", "--text", "-n", "30", "--json"}, set...)...))
		for _, key := range []string{"epoch", "samples", "failed", "jsd", "components", "nearest", "two_sample",
			"drawn_by"} {
			a, _ := json.Marshal(scored[key])
			b, _ := json.Marshal(drawn[key])
			testkit.EqualSlices(t, a, b, "%s, %s: of the file", file, key)
		}
	}
	if r := ok(t, dir, "report", "r", "--text", "--samples", "fewer.npy"); !strings.Contains(r.stdout,
		"  process.steps  20    50") {
		t.Errorf("eval does not say how the samples were drawn:\n%s", r.stdout)
	}

	generate("places.csv") // latitude and longitude
	if v := wantJSON(t, ok(t, dir, "report", "r", "--samples", "places.csv", "--json")); v["samples"].(float64) != 30 ||
		v["violation"].(map[string]any)["worst"].(float64) > 1e-12 {
		t.Errorf("samples of a catalogue: %v", v["violation"])
	}

	// The record is of one file and one run.
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "plain.npy"), read("fewer.npy"), 0o666))
	ok(t, dir, append([]string{"train", "demo", "--variant=fixed", "--out", "other", "--set", "seed=2"}, tiny...)...)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"report", "r", "--samples", "plain.npy"}, 3, "is not the file that plain.npy.json describes"},
		{[]string{"report", "other", "--text", "--samples", "fewer.npy"}, 3, "holds samples of another run, r"},
		{[]string{"report", "r", "--samples", "fewer.npy", "--seed", "2"}, 2,
			"--samples and --seed do not go together"},
		{[]string{"report", "r", "--text", "--set", "train.epochs=5"}, 3, "it takes another training"},
		{[]string{"generate", "r", "-o", "fewer.npy", "--set", "process.steps=10"}, 3, "fewer.npy exists already"},
	} {
		r := do(t, dir, c.args...)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
			t.Errorf("landing %v: exit %d, %s", c.args, r.code, r.stderr)
		}
	}
	testkit.OK(t, os.Remove(filepath.Join(dir, "plain.npy.json")))
	if r := ok(t, dir, "report", "r", "--text", "--samples", "plain.npy"); !strings.Contains(r.stderr,
		"there is no plain.npy.json") {
		t.Errorf("a file without record: %s", r.stderr)
	}
	// A record whose samples are gone is in nobody's way; another file of that name is.
	testkit.OK(t, os.Remove(filepath.Join(dir, "fewer.npy")))
	generate("fewer.npy")
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "mine.npy.json"), []byte("{}"), 0o666))
	if r := do(t, dir, "generate", "r", "-n", "3", "-o", "mine.npy"); r.code != 3 ||
		!strings.Contains(r.stderr, "mine.npy.json exists already") {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
}

// A report of samples that are drawn by other keys has a folder of its own.
func TestReportsByOtherKeys(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir)
	ok(t, dir, "report", "r", "-n", "40")
	page := wantJSON(t, ok(t, dir, "report", "r", "-n", "40", "--set", "process.steps=20", "--set", "prior=uniform",
		"--json"))["report"].(string)
	testkit.Equal(t, page, filepath.Join("r", "drawn", "steps=20,prior=uniform", "report.html"), "the report")
	html, err := os.ReadFile(filepath.Join(dir, page))
	if err != nil || !bytes.Contains(html, []byte("Drawn by other keys than those of training: process.steps=20, "+
		"prior=uniform.")) || !bytes.Contains(html, []byte("landing report r --text --set process.steps=20")) {
		t.Errorf("the page does not say how its samples were drawn: %v", err)
	}
	for _, name := range []string{"samples.npy", "samples.npy.json", "figures/steps.svg"} {
		if _, err := os.Stat(filepath.Join(dir, filepath.Dir(page), name)); err != nil {
			t.Error(err)
		}
	}
	again := []string{"report", "r", "-n", "40", "--set", "prior=uniform", "--set", "process.steps=20"}
	if r := do(t, dir, again...); r.code != 0 {
		t.Errorf("the same keys again: exit %d, %s", r.code, r.stderr)
	}
	if v := wantJSON(t, ok(t, dir, "show", "r", "--json")); len(v["drawn"].([]any)) != 1 {
		t.Errorf("show: %v", v["drawn"])
	}
}

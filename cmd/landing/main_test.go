package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/tools/testkit"
	_ "github.com/landing-diffusion/landing/tools/testkit/trained" // what is trained is small
)

// TestMain lets the test binary stand in for the program, so that tests can kill it.
func TestMain(m *testing.M) {
	if os.Getenv("LANDING_TEST_MAIN") != "" {
		main()
		return
	}
	os.Setenv("LANDING_TEST_MAIN", "1") // processes that the program starts of itself are the program, and no tests
	code := m.Run()
	for _, dir := range demoRuns {
		os.RemoveAll(dir)
	}
	whole := !testing.Short()
	for _, some := range []string{"test.run", "test.skip", "test.list"} {
		whole = whole && flag.Lookup(some).Value.String() == ""
	}
	if code == 0 && whole {
		for _, of := range unmet() {
			fmt.Fprintf(os.Stderr, "no test holds what is printed against the schema of %s\n", of)
			code = 1
		}
	}
	os.Exit(code)
}

type transcript struct {
	code           int
	stdout, stderr string
}

// do runs the program in dir.
func do(t *testing.T, dir string, args ...string) transcript {
	t.Helper()
	t.Chdir(dir)
	var stdout, stderr bytes.Buffer
	code := Main(context.Background(), args, &stdout, &stderr)
	r := transcript{code, stdout.String(), stderr.String()}
	checkOutput(t, args, r)
	return r
}

func ok(t *testing.T, dir string, args ...string) transcript {
	t.Helper()
	r := do(t, dir, args...)
	if r.code != 0 {
		t.Fatalf("landing %v: exit %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return r
}

// wantJSON decodes one object from standard output, and nothing else there.
func wantJSON(t *testing.T, r transcript) map[string]any {
	t.Helper()
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(r.stdout))
	if err := d.Decode(&v); err != nil {
		t.Fatalf("standard output is not JSON: %v\n%s", err, r.stdout)
	}
	if d.More() {
		t.Fatalf("standard output holds more than one object:\n%s", r.stdout)
	}
	return v
}

var tiny = []string{"--set", "train.epochs=3", "--set", "network.width=8", "--set", "network.layers=1", "--set",
	"train.times_per_path=2"}

// demoRuns are folders with a run r of the demo, by its settings: trained once for all tests.
var demoRuns = map[string]string{}

// demoRun puts into dir, which it goes to, what landing train demo --out r with tiny and settings of the form key=value
// makes.
func demoRun(t *testing.T, dir string, settings ...string) {
	t.Helper()
	key := strings.Join(settings, " ")
	shared, there := demoRuns[key]
	if !there {
		shared = testkit.Must(os.MkdirTemp("", "landing-demo-*"))
		args := append([]string{"train", "demo", "--variant=fixed", "--out", "r"}, tiny...)
		for _, s := range settings {
			args = append(args, "--set", s)
		}
		demoRuns[key] = shared
		ok(t, shared, args...)
	}
	t.Chdir(dir)
	testkit.OK(t, os.CopyFS(filepath.Join(dir, "r"), os.DirFS(filepath.Join(shared, "r"))))
}

// demo leaves everything that it promises, and prints the promised keys.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	v := wantJSON(t, ok(t, dir, append([]string{"demo", "--json"}, tiny...)...))
	for _, path := range []string{"run", "samples", "failed", "jsd.full", "jsd.held_out", "jsd.floor",
		"violation.worst",
		"violation.mean", "seconds.train", "seconds.simulate", "seconds.generate"} {
		at := any(v)
		for _, key := range strings.Split(path, ".") {
			m, _ := at.(map[string]any)
			at = m[key]
		}
		if at == nil {
			t.Errorf("no %s in the output", path)
		}
	}
	checkMetrics(t, filepath.Join(dir, "runs", "demo-001"))
	if v["samples"].(float64) != 335 || v["failed"].(float64) != 0 ||
		v["violation"].(map[string]any)["worst"].(float64) > 1e-12 {
		t.Errorf("got %v", v)
	}
	for _, file := range []string{"config.yaml", "problem.yaml", "manifest.json", "status.json", "metrics.jsonl",
		"report.html", "samples.npy", "figures/map.png", "figures/map.svg"} {
		if info, err := os.Stat(filepath.Join(dir, "runs", "demo-001", file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
	samples, err := arrayfile.ReadNPY(filepath.Join(dir, "runs", "demo-001", "samples.npy"))
	if err != nil || samples.Shape[0] != 335 || samples.Shape[1] != 3 {
		t.Errorf("samples of shape %v, %v", samples.Shape, err)
	}
}

// Every verb keeps standard output for its result, one object with --json, and refuses to write over what is there.
func TestVerbs(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir, "prior=uniform")
	for _, args := range [][]string{
		{"report", "r", "--text", "-n", "200"}, {"show", "r"}, {"recipes"}, {"recipes", "volcano"},
		{"report", "r", "-n", "200"},
		{"generate", "r", "-n", "20", "-o", "a.npy"}, {"generate", "r", "-n", "20", "-o", "a.csv"},
		{"compare", "r", "other=a.csv"},
		{"mcmc", "demo", "-o", "d.npy", "--set", "sample.draws=20", "--set", "sample.max_rhat=100"},
		{"train", "r"}, {"export", "r", "--network"},
		{"version"}, {"ls"}, {"dev", "man", "m"},
	} {
		r := ok(t, dir, append(args, "--json")...)
		v := wantJSON(t, r)
		if args[0] == "compare" { // a file of any program is a line beside the run
			if lines := v["groups"].([]any)[0].(map[string]any)["lines"].([]any); len(lines) != 2 ||
				lines[1].(map[string]any)["name"] != "other" {
				t.Errorf("compared as %v", lines)
			}
		}
		if kept, err := os.ReadFile(filepath.Join(dir, "r", "evaluation.json")); err != nil || len(kept) == 0 {
			t.Errorf("after %v the folder keeps no verdict: %v", args, err)
		}
	}
	for _, args := range [][]string{
		{"generate", "r", "-n", "20", "-o", "a.npy"}, {"mcmc", "demo", "-o", "d.npy"},
		{"train", "demo", "--variant=fixed", "--out", "r"},
	} {
		r := do(t, dir, args...)
		if r.code != 3 || !strings.Contains(r.stderr, "--force") || r.stdout != "" {
			t.Errorf("landing %v: exit %d, %s", args, r.code, r.stderr)
		}
	}
	ok(t, dir, "report", "r", "-n", "200") // replaces its own page, but none that was changed
	for _, name := range []string{"report.html", "samples.npy", "figures/loss.png"} {
		file := filepath.Join(dir, "r", name)
		kept := testkit.Must(os.ReadFile(file))
		testkit.OK(t, os.WriteFile(file, append(kept, '\n'), 0o666))
		if r := do(t, dir, "report", "r", "-n", "200"); r.code != 3 || !strings.Contains(r.stderr, "--force") ||
			!strings.Contains(r.stderr, name) {
			t.Errorf("%s was changed: exit %d, %s", name, r.code, r.stderr)
		}
		testkit.OK(t, os.WriteFile(file, kept, 0o666))
	}
	ok(t, dir, "generate", "r", "-n", "20", "-o", "a.npy", "--force")
	ok(t, dir, "mcmc", "demo", "-o", "d.npy", "--force", "--set", "sample.draws=20", "--set", "sample.max_rhat=100")
	v := wantJSON(t, ok(t, dir, "train", "r", "--json"))
	if v["loss"].(float64) == 0 || v["epochs"].(float64) != 3 {
		t.Errorf("a finished run reports %v", v)
	}
	testkit.OK(t, os.Remove(filepath.Join(dir, "r", "report.html")))
	ok(t, dir, "report", "r", "-n", "200")
	text := ok(t, dir, "report", "r", "--text", "-n", "200")
	if !strings.Contains(text.stdout, "against all data") || !strings.Contains(text.stdout,
		"forward paths to the prior") {
		t.Errorf("got %s", text.stdout)
	}
}

// Samples 0 … 19 are the first of samples 0 … 49, at any number of workers; and
// --first continues them.
func TestGenerateIsAddressed(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir)
	ok(t, dir, "generate", "r", "-n", "50", "-o", "all.npy", "--workers", "1")
	ok(t, dir, "generate", "r", "-n", "20", "-o", "first.npy", "--workers", "7")
	ok(t, dir, "generate", "r", "-n", "30", "--first", "20", "-o", "rest.npy")
	read := func(name string) []float64 {
		a := testkit.Must(arrayfile.ReadNPY(filepath.Join(dir, name)))
		return a.Float64
	}
	got := append(read("first.npy"), read("rest.npy")...)
	for i, v := range read("all.npy") {
		if got[i] != v {
			t.Fatalf("sample %d differs", i/3)
		}
	}
}

// Flags of generate count: seeds, checkpoints.
func TestGenerateFlags(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, append([]string{"train", "demo", "--variant=fixed",
		"--out", "r", "--set", "train.checkpoint_every=0"}, tiny...)...)
	file := func(name string, flags ...string) string {
		ok(t, dir, append([]string{"generate", "r", "-n", "5", "-o", name}, flags...)...)
		data := testkit.Must(os.ReadFile(filepath.Join(dir, name)))
		return string(data)
	}
	plain := file("a.npy")
	if file("b.npy", "--seed", "1") != plain || file("c.npy", "--seed", "2") == plain ||
		file("d.npy", "--seed", "0") == plain {
		t.Error("--seed does not choose the samples")
	}
	names, err := os.ReadDir(filepath.Join(dir, "r", "checkpoints"))
	if err != nil || len(names) != 3 {
		t.Fatalf("%d checkpoints, %v", len(names), err)
	}
	if file("e.npy", "--checkpoint", names[2].Name()) != plain ||
		file("f.npy", "--checkpoint", names[0].Name()) == plain {
		t.Error("--checkpoint does not choose the network")
	}
	if r := do(t, dir, "generate", "r", "--checkpoint", "../checkpoints/"+names[0].Name()); r.code != 3 {
		t.Errorf("a path as a checkpoint: exit %d", r.code)
	}
}

// Faults: the exit code, and one line that names the place.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	write("bad.yaml", "name: x\nset: {kind: sphere, dim: 3}\nprocess:\n  steps: 0\n")
	write("long.yaml", "name: x\nset: {kind: sphere, dim: 300}\nprocess: {steps: 1000000}\n")
	write("wide.yaml", "set: {kind: sphere, dim: 1000000}\n")
	write("both.yaml", "set: {kind: sphere, dim: 3000}\nprocess: {steps: 10000}\n")
	write("lat.csv", "# c\nlat,lon\n10,20\n95,0\n")
	write("nan.csv", "lat,lon\n10,20\nNaN,0\n")
	write("empty.csv", "")
	write("ragged.csv", "lat,lon\n10,20\n10\n")
	write("one.csv", "lat,lon\n10,20\n")
	write("points.yaml", "name: p\ndata: {kind: points}\nset: {kind: sphere, dim: 3}\ntrain: {epochs: 1}\n")
	write("off.csv", "1,0,0\n0,1,0\n0,0,1.5\n")
	write("empty.yaml", "name: e\nset: {dim: 2, equality: [{name: h, expr: \"dot(x, x) + 1\"}]}\ndata: {path: "+
		"flat.csv}\n")
	write("all-off.csv", "1,0,0\n0,1.5,0\n0,0,2.25\n")
	write("flat.csv", "1,0\n0,1\n")
	write("cut.npy", "\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (4, 3), }"+
		strings.Repeat(" ", 58)+"\n12345678")
	write("affine.yaml", "name: a\nprior: uniform\nset: {kind: affine, a: [[1, 1]], b: [1]}\n")
	write("diverge.yaml", "name: d\ndata: {kind: demo}\nset: {kind: sphere, dim: 3}\nnetwork: {width: 8, layers: "+
		"1}\ntrain: {epochs: 3, times_per_path: 2, learning_rate: 1e15, clip: 0}\n")
	write("failing.yaml", "name: f\ndata: {kind: demo}\nset: {kind: sphere, dim: 3}\nnetwork: {width: 8, layers: "+
		"1}\nprocess: {method: OLLA-P, steps: 4, horizon: 4, sigma: {min: 1, max: 2}}\ntrain: {epochs: 1}\n")
	refused(t, dir)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "bytes left out", []string{"init", "flat.csv", "--formula", strings.Repeat("x[0] + ", 12000)}},
		{4, "Σ may be empty. The last point violates \"h\" by ", []string{"mcmc", "empty.yaml"}},
		{4, "forward paths failed a projection", []string{"train", "failing.yaml"}},
		{5, "not finite in epoch", []string{"train", "diverge.yaml"}},
	} {
		if r := do(t, dir, c.args...); r.code != c.code || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
			t.Errorf("landing %v: exit %d, want %d with %q; got\n%s%s", c.args, r.code, c.code, c.want, r.stdout,
				r.stderr)
		}
	}
	if runs, _ := filepath.Glob(filepath.Join(dir, "runs", "*")); len(runs) != 2 {
		t.Errorf("faulty problems left runs: %v", runs)
	}
}

// refused compares exit codes and messages of the command lines in testdata/TEST.txt, which begin with words of before.
func refused(t *testing.T, dir string, before ...string) {
	t.Helper()
	testkit.Cases(t, func(line string) string {
		r := do(t, dir, append(before, words(t, line)...)...)
		if r.stdout != "" && !strings.Contains(line, "--dry-run") {
			t.Errorf("%s: standard output %q", line, r.stdout)
		}
		return fmt.Sprintf("exit %d: %s", r.code, strings.TrimSuffix(strings.ReplaceAll(r.stderr, dir, ""), "\n"))
	})
}

// A device where a file is expected is refused by name, and not read to its end.
func TestDevices(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "zero.csv")); err != nil {
		t.Skip(err)
	}
	demoRun(t, dir)
	for _, link := range []string{"zero.npz", "zero.ply", "zero.npy", "r/metrics.jsonl"} {
		if err := os.Remove(filepath.Join(dir, link)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		testkit.OK(t, os.Symlink("/dev/zero", filepath.Join(dir, link)))
	}
	level := "name: l\nset: {kind: level-set, weights: zero.npz}\n"
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "level.yaml"), []byte(level), 0o666))
	regular := "is a device, a pipe or a socket; expected a regular file"
	for _, c := range []struct {
		want string
		args []string
	}{
		{"/dev/zero: has more than 1048576 bytes", []string{"check", "/dev/zero"}},
		{"/dev/zero: " + regular, []string{"check", "volcano", "--data", "/dev/zero"}},
		{"zero.csv: " + regular, []string{"train", "so10-3", "--data", "zero.csv"}},
		{"zero.npy: " + regular, []string{"train", "so10-3", "--data", "zero.npy"}},
		{"zero.ply: " + regular, []string{"make", "eigenfunction", "zero.ply"}},
		{"zero.npz: " + regular, []string{"check", "level.yaml"}},
		{"metrics.jsonl: " + regular, []string{"show", "r"}},
	} {
		if r := do(t, dir, c.args...); r.code != 3 || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
			t.Errorf("landing %v: exit %d, want 3 with %q; got\n%s%s", c.args, r.code, c.want, r.stdout, r.stderr)
		}
	}
}

// A run whose folder was tampered with, or whose data changed, is refused.
func TestForeignRuns(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "d.csv")
	places := func(extra string) {
		testkit.OK(t, os.WriteFile(data, []byte("lat,lon\n"+strings.Repeat("10,20\n30,40\n-50,60\n", 10)+extra), 0o666))
	}
	places("")
	ok(t, dir, append([]string{"train", "volcano", "--data", "d.csv", "--out", "r"}, tiny...)...)
	ok(t, dir, append([]string{"train", "demo", "--variant=fixed", "--out", "other"}, tiny...)...)
	places("1,2\n")
	if r := do(t, dir, "report", "r", "--text"); r.code != 3 ||
		!strings.Contains(r.stderr, "is not the data of this run") {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
	places("")
	config := filepath.Join(dir, "r", "config.yaml")
	old := testkit.Must(os.ReadFile(config))
	testkit.OK(t, os.WriteFile(config, bytes.Replace(old, []byte("width: 8"), []byte("width: 9"), 1), 0o666))
	if r := do(t, dir, "report", "r", "--text"); r.code != 3 || !strings.Contains(r.stderr,
		"was changed or belongs to another problem") {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
	testkit.OK(t, os.WriteFile(config, old, 0o666))
	testkit.OK(t, os.RemoveAll(filepath.Join(dir, "r", "checkpoints")))
	testkit.OK(t, os.Rename(filepath.Join(dir, "other", "checkpoints"), filepath.Join(dir, "r", "checkpoints")))
	for _, verb := range []string{"report", "train"} {
		if r := do(t, dir, verb, "r"); r.code != 3 || !strings.Contains(r.stderr, "belongs to another problem") {
			t.Errorf("%s: exit %d, %s", verb, r.code, r.stderr)
		}
	}
}

// Ctrl-C keeps what was done, says how to go on, and exits 130; so does the
// resumed run end with the same bytes as one that was not stopped.
func TestInterruptAndKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	settings := []string{"--set", "train.epochs=80", "--set", "network.width=16", "--set", "train.times_per_path=2",
		"--set", "train.checkpoint_every=0.05"}
	if out, err := self(t, dir, append([]string{"train", "demo", "--variant=fixed", "--out", "whole"},
		settings...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	final := func(name string) []byte {
		paths, err := filepath.Glob(filepath.Join(dir, name, "checkpoints", "*", "weights.safetensors"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s has no checkpoint: %v", name, err)
		}
		return testkit.Must(os.ReadFile(paths[len(paths)-1]))
	}
	want := final("whole")
	wait := func(name string, least int) { // until some checkpoints are there
		for range 60_000 {
			records, _ := os.ReadFile(filepath.Join(dir, name, "metrics.jsonl"))
			paths, _ := filepath.Glob(filepath.Join(dir, name, "checkpoints", "0*"))
			if len(paths) > 0 && bytes.Count(records, []byte("\n")) >= least {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Fatal("training does not get on")
	}
	for name, signal := range map[string]os.Signal{"stopped": os.Interrupt, "killed": os.Kill} {
		c := startProcess(t, self(t, dir, append([]string{"train", "demo", "--variant=fixed",
			"--out", name}, settings...)...))
		wait(name, 5)
		testkit.OK(t, c.Process.Signal(signal))
		err := c.Wait()
		if signal == os.Interrupt {
			if c.ProcessState.ExitCode() != 130 || !strings.Contains(c.Said.String(), "landing train "+name) {
				t.Errorf("exit %d (%v)\n%s", c.ProcessState.ExitCode(), err, c.Said.String())
			}
		}
		if out, err := self(t, dir, "train", name, "--workers", "1").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		testkit.EqualSlices(t, final(name), want, "%s and resumed: other weights than in one go", name)
		records, err := os.ReadFile(filepath.Join(dir, name, "metrics.jsonl"))
		if err != nil || bytes.Count(records, []byte("\n")) != 80 {
			t.Errorf("%s: %d lines of metrics, want 80", name, bytes.Count(records, []byte("\n")))
		}
	}
}

// The paper's volcano recipe starts on the real data.
func TestVolcanoRecipe(t *testing.T) {
	data := testkit.Shared(t, "data/earth/volcano.csv")
	abs := testkit.Must(filepath.Abs(data))
	dir := t.TempDir()
	for _, variant := range []string{"", "paper", "olla", "ulla-p,paper"} {
		args := append([]string{"train", "volcano", "--data", abs, "--json", "--variant", variant}, tiny...)
		v := wantJSON(t, ok(t, dir, args...))
		testkit.Equal(t, v["epochs"].(float64), 3, "got %v", v)
	}
}

// A message names the first ten samples that failed.
func TestNumbers(t *testing.T) {
	all := []uint64{3, 5, 8, 9, 11, 12, 13, 20, 21, 22, 23}
	testkit.Equal(t, numbers(all[:10]), "numbers 3, 5, 8, 9, 11, 12, 13, 20, 21, 22", "ten")
	testkit.Equal(t, numbers(all), "numbers 3, 5, 8, 9, 11, 12, 13, 20, 21, 22, …", "eleven")
}

// A training within a time ends trained, and says what came from the clock; times that are none are refused.
func TestTrainFor(t *testing.T) {
	dir := t.TempDir()
	fast := []string{"--set", "network.width=8", "--set", "network.layers=1", "--set", "prior=uniform", "--set",
		"train.paths=200", "--set", "process.steps=10"} // an epoch is a small part of the time
	out := wantJSON(t, ok(t, dir, append([]string{"train", "demo", "--variant=fixed",
		"--for", "3s", "--json", "--out", "r"}, fast...)...))
	show := wantJSON(t, ok(t, dir, "show", "r", "--json"))
	clock, _ := show["manifest"].(map[string]any)["clock"].([]any)
	if len(clock) == 0 {
		t.Fatalf("the manifest has nothing of the clock: %v", show["manifest"])
	}
	if last := clock[len(clock)-1].(map[string]any); last["key"] != "train.epochs" || last["value"] != out["epochs"] {
		t.Errorf("trained %v epochs by %v", out["epochs"], last)
	}
	text := ok(t, dir, "show", "r").stdout
	if !strings.Contains(text, "from a clock") || !strings.Contains(text, "max_seconds: 3") {
		t.Errorf("show says\n%s", text)
	}
	// The commands that a report prints give its samples again, by keys and not by a clock.
	ok(t, dir, "report", "r", "-n", "50", "--seed", "7", "-q")
	page := string(testkit.Must(os.ReadFile(filepath.Join(dir, "r", "report.html"))))
	last, _ := clock[len(clock)-1].(map[string]any)["repeat"].(string)
	line := regexp.MustCompile(`landing train demo [^<\n]*`).FindString(page)
	if judging := "landing report r --text -n 50 --seed 7"; !strings.Contains(page, judging) ||
		last != "" && (line == "" || strings.Contains(line, "--for")) {
		t.Fatalf("no %q, or %q", judging, line)
	}
	if last != "" {
		ok(t, dir, strings.Fields(strings.Replace(line, "--out r", "--out again", 1))[1:]...)
		ok(t, dir, "report", "again", "-n", "50", "--seed", "7", "-q")
		a, b := testkit.Must(os.ReadFile(filepath.Join(dir, "r", "samples.npy"))),
			testkit.Must(os.ReadFile(filepath.Join(dir, "again", "samples.npy")))
		if !bytes.Equal(a, b) {
			t.Errorf("%s gives other samples", line)
		}
	}
	most := wantJSON(t, ok(t, dir, append([]string{"train", "demo", "--variant=fixed",
		"--for", "10m", "--json", "--set",
		"train.epochs=2"}, fast...)...))
	testkit.Equal(t, most["epochs"], 2.0)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--for", "0.5s"}, "--for is 500ms; expected a time from 1s to 1000h0m0s"},
		{[]string{"--for", "0s"}, "--for is 0s; expected"},
		{[]string{"--for", "-5m"}, "--for is -5m0s; expected"},
		{[]string{"--for", "5"}, "--for"},
		{[]string{"--for", "5m", "--set", "train.max_seconds=3"}, "expected one of them"},
	} {
		if r := do(t, dir, append([]string{"train", "demo"}, c.args...)...); r.code != exitUsage ||
			!strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: %d\n%s", c.args, r.code, r.stderr)
		}
	}
	if r := do(t, dir, "train", "demo", "--variant=fixed", "--set", "train.max_seconds=1e9"); r.code != exitConfig ||
		!strings.Contains(r.stderr, "train.max_seconds is 1e+09; expected 0, or a number in [1, 3600000]") {
		t.Errorf("%d\n%s", r.code, r.stderr)
	}
}

// A finished run is trained longer, and what it was stays; keys that cannot change are named.
func TestResumeLonger(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir, "prior=uniform")
	copies := 0
	copied := func(from string) string { // this process holds the lock of what it trained
		copies++
		to := "copy" + strconv.Itoa(copies)
		testkit.OK(t, os.CopyFS(filepath.Join(dir, to), os.DirFS(filepath.Join(dir, from))))
		return to
	}
	r := copied("r")
	out := wantJSON(t, ok(t, dir, "train", r, "--set", "train.epochs=5", "--json"))
	testkit.Equal(t, out["epochs"], 5.0)
	show := wantJSON(t, ok(t, dir, "show", r, "--json"))
	list, _ := show["manifest"].(map[string]any)["extensions"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["after_epoch"] != 3.0 {
		t.Fatalf("extensions %v", list)
	}
	first := list[0].(map[string]any)["checkpoint"].(string)
	text := ok(t, dir, "show", r).stdout
	testkit.Contains(t, text, "train.epochs=5 after epoch 3 (checkpoint "+first, "show")
	ok(t, dir, "generate", r, "--checkpoint", first, "-n", "10", "-o", "old.npy")
	ok(t, dir, "generate", r, "-n", "10", "-o", "new.npy")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--set", "train.batch=7"}, exitConfig, "train.batch: a run cannot continue with another value"},
		{[]string{"--set", "train.epochs=5"}, exitConfig, "more than the 5 that are trained"},
		{[]string{"--for", "2000h"}, exitUsage, "--for is 2000h0m0s; expected a time"},
		{[]string{"--for", "0s"}, exitUsage, "--for is 0s"},
		{[]string{"--for", "5m", "--set", "train.max_seconds=3"}, exitUsage, "expected one of them"},
	} {
		if got := do(t, dir, append([]string{"train", copied(r)}, c.args...)...); got.code != c.code ||
			!strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: %d\n%s", c.args, got.code, got.stderr)
		}
	}
}

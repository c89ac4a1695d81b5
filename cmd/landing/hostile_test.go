package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A checkpoint whose hashes are right but whose numbers cannot be is damaged; a run
// with stray folders beside its checkpoints resumes.
func TestForgedRuns(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir)
	f := testkit.Must(run.Open(filepath.Join(dir, "r")))
	var m run.Manifest
	testkit.OK(t, f.ReadJSON(run.ManifestFile, &m))
	for _, name := range []string{"notes", "99999999-old"} {
		testkit.OK(t, os.Mkdir(filepath.Join(dir, "r", "checkpoints", name), 0o777))
	}
	copies := 0
	copied := func() string { // the test's process still holds the lock of r
		copies++
		name := fmt.Sprintf("r%d", copies)
		testkit.OK(t, os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(dir, "r"))))
		return name
	}
	ok(t, dir, "train", copied())
	ok(t, dir, "generate", "r", "-n", "5")
	var state train.State
	arrays := testkit.Must(f.Checkpoints().Load("", m.Config, &state))
	number := state.Updates
	refused := func(state train.State, want string) {
		t.Helper()
		number++
		testkit.OK(t, f.Checkpoints().Save(number, arrays, state, m.Config))
		for _, args := range [][]string{{"train", copied()}, {"generate", "r", "-n", "5", "--force"}} {
			if r := do(t, dir, args...); r.code != 3 || !strings.Contains(r.stderr, want) ||
				strings.Contains(r.stderr, "goroutine") {
				t.Errorf("landing %v: exit %d, want 3 with %q\n%s", args, r.code, want, r.stderr)
			}
		}
	}
	forged := state
	forged.Step = -5
	refused(forged, "state.json: is damaged: step is -5; expected")
	forged = state
	forged.Epoch = -1
	refused(forged, "state.json: is damaged: epoch is -1; expected")
	shape := arrays[0].Array.Shape
	arrays[0].Array.Shape = []int{1, arrays[0].Array.Len()}
	arrays[4].Array.Shape = []int{1, arrays[4].Array.Len()}
	refused(state, "the checkpoint is damaged: ")
	arrays[0].Array.Shape = shape
	arrays[0].Array.Float32[0] = float32(math.NaN())
	refused(state, `weights.safetensors: is damaged: element 0 of "raw.layer_0.weight" is not a finite number`)
}

// Nothing is written through a link that leads out of the run folder.
func TestLinksOut(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir)
	out := t.TempDir()
	for link, args := range map[string][]string{
		"figures": {"report", "r"},
		".lock":   {"train", "r"},
	} {
		path := filepath.Join(dir, "r", link)
		testkit.OK(t, os.RemoveAll(path))
		if err := os.Symlink(filepath.Join(out, link), path); err != nil {
			t.Skip(err)
		}
		if r := do(t, dir, args...); r.code != 3 || !strings.Contains(r.stderr, link) ||
			!strings.Contains(r.stderr, "is a symbolic link out of the run folder") {
			t.Errorf("landing %v: exit %d, %s", args, r.code, r.stderr)
		}
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("written outside: %v, %v", left, err)
	}
}

// With --json an error is one object on standard output, its message on standard error and the exit code as without.
func TestErrorsAsJSON(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	write("bad.yaml", "name: x\nset: {kind: sphere, dim: 3}\nprocess:\n  steps: 0\n")
	write("not.yaml", "name: x\nset: [\n")
	write("lat.csv", "lat,lon\n10,20\n95,0\n")
	write("off.csv", "1,0,0\n0,1,0\n0,0,1.5\n")
	write("points.yaml", "name: p\ndata: {kind: points}\nset: {kind: sphere, dim: 3}\ntrain: {epochs: 1}\n")
	write("empty.yaml", "name: e\nset: {dim: 2, equality: [{name: h, expr: \"dot(x, x) + 1\"}]}\n")
	for _, c := range []struct {
		code            int
		kind, file, key string
		line            int
		args            []string
	}{
		{2, "usage", "", "", 0, []string{"demo", "--nosuch"}},
		{2, "usage", "", "", 0, []string{"fly"}},
		{2, "usage", "", "", 0, []string{"report"}},
		{2, "usage", "", "", 0, []string{"version", "--workers", "-1"}},
		{3, "problem", "bad.yaml", "process.steps", 4, []string{"train", "bad.yaml"}},
		{3, "problem", "", "train.epochs", 0, []string{"train", "demo", "--set", "train.epochs=x"}},
		{3, "problem", "not.yaml", "", 2, []string{"check", "not.yaml"}},
		{3, "data", "lat.csv", "", 3, []string{"train", "volcano", "--data", "lat.csv"}},
		{3, "data", "off.csv", "", 0, []string{"train", "points.yaml", "--data", "off.csv"}},
		{3, "file", "nosuch.csv", "", 0, []string{"train", "volcano", "--data", "nosuch.csv"}},
		{3, "run", "nosuch", "", 0, []string{"report", "nosuch", "--text"}},
		{3, "exists", "lat.csv.npy", "", 0, []string{"make", "so", "-o", "lat.csv.npy"}},
		{4, "check", "", "", 0, []string{"mcmc", "empty.yaml"}},
	} {
		if c.kind == "exists" {
			write(c.file, "")
		}
		plain, r := do(t, dir, c.args...), do(t, dir, append(c.args, "--json")...)
		if r.code != c.code || plain.code != c.code || r.stderr != plain.stderr || r.stderr == "" {
			t.Errorf("landing %v: exit %d and %d with --json, %q and %q", c.args, plain.code, r.code,
				plain.stderr, r.stderr)
		}
		e, _ := wantJSON(t, r)["error"].(map[string]any)
		message, _ := e["message"].(string)
		if message == "" || !strings.Contains(r.stderr, message) {
			t.Errorf("landing %v: message %q, standard error %q", c.args, message, r.stderr)
		}
		delete(e, "message")
		want := map[string]any{"code": float64(c.code), "kind": c.kind}
		if c.file != "" {
			want["file"] = c.file
		}
		if c.key != "" {
			want["key"] = c.key
		}
		if c.line != 0 {
			want["line"] = float64(c.line)
		}
		if !maps.Equal(e, want) {
			t.Errorf("landing %v: %v, want %v", c.args, e, want)
		}
	}
	// A check that fails has its report there, and nothing else.
	r := do(t, dir, "check", "empty.yaml", "--json")
	if v := wantJSON(t, r); r.code != 4 || v["findings"] == nil || v["error"] != nil {
		t.Errorf("exit %d, %s", r.code, r.stdout)
	}
	if r := ok(t, dir, "--version"); !strings.HasPrefix(r.stdout, "landing version ") {
		t.Errorf("got %q", r.stdout)
	}
}

// A run that was killed before it could say how far it is can be shown.
func TestShowWithoutStatus(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir)
	testkit.OK(t, os.Remove(filepath.Join(dir, "r", "status.json")))
	if r := ok(t, dir, "show", "r"); !strings.Contains(r.stdout, "state        unknown\n") {
		t.Errorf("got %s", r.stdout)
	}
	v := wantJSON(t, ok(t, dir, "show", "r", "--json"))
	if s := v["status"].(map[string]any); s["state"] != "unknown" {
		t.Errorf("got %v", s)
	}
}

// Control characters of files, keys and names never reach the terminal; JSON has them as its own escapes.
func TestControlCharacters(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Skip(err)
		}
	}
	write("key.yaml", "name: x\n\"a\\e[31m\\nlanding: \\u202eb\": 3\n")
	write("name.yaml", "name: e\nset: {dim: 2, equality: [{name: \"h\\e]0;x\\a\", expr: \"dot(x, x) - 1\"}]}\n"+
		"potential: {kind: linear, b: [1, 0]}\nprior: empirical\n")
	write("\x1b[2J.yaml", "name: x\nset: {kind: sphere, dim: 0}\n")
	write("\x1b[2J.csv", "1,x\n")
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{3, `a\x1b[31m\nlanding: \u202eb: there is no such key`, []string{"check", "key.yaml"}},
		{3, `\x1b[2J.yaml:2: set.dim`, []string{"check", "\x1b[2J.yaml"}},
		{3, `\x1b[2J.csv:1: longitude is "x"`, []string{"train", "volcano", "--data", "\x1b[2J.csv"}},
		{2, `unknown command "\x1b[31m"`, []string{"\x1b[31m"}},
		{2, `unknown flag: --\x9b`, []string{"version", "--\x9b"}},
		{0, `h\x1b]0;x\x07`, []string{"check", "name.yaml"}},
	} {
		r := do(t, dir, c.args...)
		if out := r.stdout + r.stderr; r.code != c.code || !strings.Contains(out, c.want) ||
			text.Printable(out) != out {
			t.Errorf("landing %q: exit %d, want %q in\n%q\n%q", c.args, r.code, c.want, r.stdout, r.stderr)
		}
	}
	e := wantJSON(t, do(t, dir, "check", "key.yaml", "--json"))["error"].(map[string]any)
	testkit.Equal(t, e["key"], "a\x1b[31m\nlanding: \u202eb")
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"σ_k² ≤ 1\tΣ\u202f…\n": "σ_k² ≤ 1\tΣ\u202f…\n",
		"a\x1b[31mb\x7f":       `a\x1b[31mb\x7f`,
		"a\rb\r\nc":            `a\x0db` + "\nc",
		"\u009b31m\u202e":      `\x9b31m\u202e`,
		"\x9b\xff":             `\x9b\xff`,
	} {
		testkit.Equal(t, text.Printable(in), want, "%q", in)
	}
	testkit.Equal(t, text.Line("a\nb"), `a\nb`)
	joined := errors.Join(errors.New("a\nb"), errors.Join(errors.New("c"), errors.New("d")))
	testkit.EqualSlices(t, lines(joined), []string{`a\nb`, "c", "d"})
}

// Output without room is a failure of its own, no fault of the configuration.
func TestFull(t *testing.T) {
	for err, want := range map[error]int{
		&fs.PathError{Op: "write", Path: "x", Err: syscall.EIO}:                                            exitFailure,
		fmt.Errorf("x: %w", &fs.PathError{Op: "open", Path: "x", Err: syscall.ENOSPC}):                     exitFailure,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}:                                          exitConfig,
		errors.Join(fault.Errorf(fault.Check, "", "x"), &fs.PathError{Op: "write", Err: io.ErrClosedPipe}): exitCheck,
	} {
		testkit.Equal(t, exitCode(err), want, "%v: exit", err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"recipes"}, {"recipes", "--json"}, {"--help"}, {"--version"},
		{"version", "--help"}} {
		var stderr bytes.Buffer
		if code := Main(t.Context(), args, full, &stderr); code != exitFailure || !strings.Contains(stderr.String(),
			"no space left") {
			t.Errorf("landing %v: exit %d, %s", args, code, stderr.String())
		}
	}
}

// A training goes on when nobody reads what it says: train 2>&1 | head -1.
func TestClosedPipe(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	dir := t.TempDir()
	r, w, err := os.Pipe()
	testkit.OK(t, err)
	testkit.OK(t, r.Close())
	defer w.Close()
	for _, verb := range []string{"recipes", "--help"} {
		silent := self(t, "", verb)
		var said bytes.Buffer
		silent.Stdout, silent.Stderr = w, &said
		if err := silent.Run(); err != nil || said.Len() > 0 {
			t.Errorf("%s: %v, %q", verb, err, said.String())
		}
	}
	for name, both := range map[string]bool{"messages": false, "all": true} {
		cmd := self(t, dir, append([]string{"train", "demo", "--variant=fixed", "--out", name}, tiny...)...)
		cmd.Stderr = w
		if both {
			cmd.Stdout = w
		}
		testkit.OK(t, cmd.Run())
		status, err := os.ReadFile(filepath.Join(dir, name, "status.json"))
		if err != nil || !strings.Contains(string(status), `"state": "trained"`) {
			t.Errorf("%s: %s, %v", name, status, err)
		}
	}
}

// Data of two rows trains, with a warning and without NaN.
func TestFewRows(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"p.yaml": "name: p\ndata: {kind: points, path: two.csv}\nset: {kind: sphere, dim: 3}\nnetwork: {width: 8, " +
			"layers: 1}\ntrain: {epochs: 2}\n",
		"two.csv": "1,0,0\n0,1,0\n", "earth.csv": "10,20\n30,40\n",
	} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	warning := "warning: 2 data points are too few to hold any out"
	for run, args := range map[string][]string{"r": {"p.yaml"}, "e": append([]string{"volcano", "--data", "earth.csv"},
		tiny...)} {
		if r := ok(t, dir, append([]string{"train", "--out", run}, args...)...); strings.Count(r.stderr, warning) != 1 {
			t.Errorf("train: %s", r.stderr)
		}
		for _, verb := range [][]string{{"report"}, {"report", "--text"}} {
			r := ok(t, dir, append(verb, run, "-n", "100")...)
			if strings.Count(r.stderr, warning) != 1 || strings.Contains(r.stdout, "NaN") ||
				!strings.Contains(r.stdout, "too few points to hold any out") {
				t.Errorf("%v %s: %s%s", verb, run, r.stderr, r.stdout)
			}
		}
		page, err := os.ReadFile(filepath.Join(dir, run, "report.html"))
		if err != nil || bytes.Contains(page, []byte(">NaN")) {
			t.Errorf("%s: the page has NaN, or is missing: %v", run, err)
		}
	}
}

// The number of a sample fits in 64 bits.
func TestLastSamples(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir)
	if r := do(t, dir, "generate", "r", "-n", "5", "--first", "18446744073709551611"); r.code != 2 ||
		!strings.Contains(r.stderr, "--first is 18446744073709551611; expected at most 18446744073709551610") {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
	ok(t, dir, "generate", "r", "-n", "5", "--first", "18446744073709551610")
}

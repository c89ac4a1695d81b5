package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// events decodes the lines of standard error: objects of known kinds, and nothing else.
func events(t *testing.T, text string) (all []event) {
	t.Helper()
	for line := range strings.Lines(text) {
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		e := event{at: &at{}}
		if err := d.Decode(&e); err != nil {
			t.Fatalf("standard error holds a line that is no event: %v\n%s", err, line)
		}
		switch e.Event {
		case "message", "progress", "run", "error":
		default:
			t.Fatalf("an event of kind %q", e.Event)
		}
		all = append(all, e)
	}
	return all
}

// With --progress json every line of standard error is an event: where the run is, how far it is, what went wrong.
func TestEvents(t *testing.T) {
	dir := t.TempDir()
	r := ok(t, dir, append([]string{"train", "demo", "--variant=fixed",
		"--out", "r", "--progress", "json", "--json"}, tiny...)...)
	wantJSON(t, r)
	folder, last := "", at{}
	for _, e := range events(t, r.stderr) {
		switch e.Event {
		case "run":
			folder = e.Run
		case "progress":
			last = *e.at
		}
	}
	if folder != "r" || last.Done != 3 || last.Of != 3 || last.Loss == nil || *last.Loss == 0 || last.Violation == nil {
		t.Errorf("the run is %q, at the end %+v", folder, last)
	}

	r = ok(t, dir, "generate", "r", "-n", "20", "--progress=json")
	if e := events(t, r.stderr); len(e) == 0 || e[len(e)-1].Done != 20 || e[len(e)-1].Of != 20 {
		t.Errorf("got %s", r.stderr)
	}
	if strings.Contains(ok(t, dir, "generate", "r", "-n", "20", "-o", "quiet.npy", "-q", "--progress=json").stderr,
		`"progress"`) {
		t.Error("--quiet shows progress")
	}

	for _, c := range []struct {
		code int
		kind fault.Kind
		args []string
	}{
		{2, "usage", []string{"--progress=json", "train"}},
		{2, "usage", []string{"--no-such-flag", "--progress", "json", "train"}},
		{2, "usage", []string{"--progress", "json", "no-such-verb"}},
		{3, "exists", []string{"generate", "r", "--progress=json"}},
		{3, "run", []string{"generate", "gone", "-o", "b.npy", "--progress=json", "--json"}},
		{4, "check", []string{"mcmc", "demo", "--set", "sample.draws=20", "--set", "sample.max_rhat=1.001",
			"--progress=json"}},
	} {
		r := do(t, dir, c.args...)
		e := events(t, r.stderr)
		if len(e) == 0 || e[len(e)-1].Event != "error" || e[len(e)-1].Error.Kind != c.kind ||
			e[len(e)-1].Error.Code != c.code || e[len(e)-1].Error.Message == "" || r.code != c.code {
			t.Errorf("landing %v: exit %d, %s", c.args, r.code, r.stderr)
		}
	}
	if r := do(t, dir, "version", "--progress", "xml"); r.code != 2 || !strings.Contains(r.stderr, "text or json") {
		t.Errorf("--progress xml: exit %d, %s", r.code, r.stderr)
	}
}

func TestMessageLevels(t *testing.T) {
	for line, want := range map[string]event{
		"warning: a: b": {Event: "message", Level: "warning", Message: "a: b"},
		"note: x":       {Event: "message", Level: "note", Message: "x"},
		"note x":        {Event: "message", Level: "info", Message: "note x"},
	} {
		testkit.Equal(t, messageOf(line), want, "%q", line)
	}
}

// A context that lives as long as a pipe is open.
func TestWhileOpen(t *testing.T) {
	r, w := io.Pipe()
	ctx := whileOpen(t.Context(), r)
	w.Write([]byte("what is written is not read"))
	if ctx.Err() != nil {
		t.Fatal("it ended while its pipe was open")
	}
	w.Close()
	select {
	case <-ctx.Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("it goes on without its pipe")
	}
}

// A training with --attended ends as after Ctrl-C when the program that holds its standard input
// closes it: it keeps a checkpoint, from which it goes on.
func TestAttended(t *testing.T) {
	dir := t.TempDir()
	args := append([]string{"train", "demo", "--variant=fixed", "--out", "r", "--attended", "--progress",
		"json"}, tiny...)
	c := startProcess(t, self(t, dir, append(args, "--set", "train.epochs=1000000")...))
	for begun := time.Now(); time.Since(begun) < 10*time.Minute; time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(filepath.Join(dir, "r", "metrics.jsonl")); err == nil && info.Size() > 0 {
			break
		}
	}
	c.CloseInput()
	c.Wait()
	all := events(t, c.Said.String())
	if e := all[len(all)-1]; c.ProcessState.ExitCode() != exitInterrupted || e.Error == nil ||
		e.Error.Kind != "interrupted" {
		t.Fatalf("exit %d, %s", c.ProcessState.ExitCode(), c.Said.String())
	}
	var status struct{ State string }
	text, err := os.ReadFile(filepath.Join(dir, "r", "status.json"))
	if err != nil || json.Unmarshal(text, &status) != nil || status.State != "interrupted" {
		t.Fatalf("%v, %s", err, text)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "r", "checkpoints", "0*")); len(found) == 0 {
		t.Error("it left no checkpoint")
	}
}

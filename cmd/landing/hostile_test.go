package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/train"
)

// A checkpoint whose hashes are right but whose numbers cannot be is damaged; a run
// with stray folders beside its checkpoints resumes.
func TestForgedRuns(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, append([]string{"train", "demo", "--out", "r"}, tiny...)...)
	f, err := run.Open(filepath.Join(dir, "r"))
	if err != nil {
		t.Fatal(err)
	}
	var m run.Manifest
	if err := f.ReadJSON(run.ManifestFile, &m); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"notes", "99999999-old"} {
		if err := os.Mkdir(filepath.Join(dir, "r", "checkpoints", name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	copies := 0
	copied := func() string { // the test's process still holds the lock of r
		copies++
		name := fmt.Sprintf("r%d", copies)
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(dir, "r"))); err != nil {
			t.Fatal(err)
		}
		return name
	}
	ok(t, dir, "resume", copied())
	ok(t, dir, "generate", "r", "-n", "5")
	var state train.State
	arrays, err := f.LoadCheckpoint("", m.Config, &state)
	if err != nil {
		t.Fatal(err)
	}
	number := state.Updates
	refused := func(state train.State, want string) {
		t.Helper()
		number++
		if err := f.SaveCheckpoint(number, arrays, state, m.Config); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"resume", copied()}, {"generate", "r", "-n", "5", "--force"}} {
			if r := do(t, dir, args...); r.code != 3 || !strings.Contains(r.stderr, want) || strings.Contains(r.stderr, "goroutine") {
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
	ok(t, dir, append([]string{"train", "demo", "--out", "r"}, tiny...)...)
	out := t.TempDir()
	for link, args := range map[string][]string{
		"figures": {"report", "r"},
		".lock":   {"resume", "r"},
	} {
		path := filepath.Join(dir, "r", link)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
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

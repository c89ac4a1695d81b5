package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/onnxrun"
)

// export writes what it says, keeps what is there, and refuses by name what it cannot write.
func TestExport(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, append([]string{"train", "demo", "--variant=fixed",
		"--out", "r", "--tensorboard", "--set", "prior=uniform"},
		tiny...)...)
	v := wantJSON(t, ok(t, dir, "export", "r", "--onnx", "a.onnx", "--torch", "t", "--license", "mit", "--json"))
	if written := v["written"].([]any); len(written) != 2 || written[0].(map[string]any)["path"] != "a.onnx" {
		t.Errorf("got %v", v)
	}
	file := testkit.Must(os.ReadFile(filepath.Join(dir, "a.onnx")))
	m, err := onnxrun.Decode(file)
	if err != nil || m.Metadata["license"] != "mit" || len(m.Inputs) != 3 || m.Inputs[0].Type != 11 {
		t.Errorf("%v, %v, %v", m.Metadata, m.Inputs, err)
	}
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
	ok(t, dir, "export", "r", "--tensorboard", "board")
	events, err := os.ReadFile(filepath.Join(dir, "board", "events.out.tfevents.0000000001.landing"))
	if err != nil || !strings.Contains(string(events), "epoch/loss") {
		t.Errorf("no losses among the events, %v", err)
	}
	// Those of a training stand in the run folder; going on adds a file.
	ok(t, dir, "train", "r", "--set", "train.epochs=4")
	if files, err := os.ReadDir(filepath.Join(dir, "r", run.EventsDir)); err != nil || len(files) != 2 {
		t.Errorf("events of two sessions are in %v, %v", files, err)
	}
	f := &run.Folder{Dir: filepath.Join(dir, "r")}
	testkit.OK(t, f.Lock())
	defer f.Unlock()
	busy := do(t, dir, "export", "r", "--onnx", "b.onnx")
	if busy.code != exitConfig || !strings.Contains(busy.stderr, "--checkpoint") {
		t.Errorf("a run at work: exit %d\n%s", busy.code, busy.stderr)
	}
	names := testkit.Must(f.Checkpoints())
	for _, left := range []string{"b.onnx", "h"} {
		if _, err := os.Lstat(filepath.Join(dir, left)); err == nil {
			t.Errorf("%s was written by a command that failed", left)
		}
	}
	ok(t, dir, "export", "r", "--onnx", "b.onnx", "--checkpoint", names[len(names)-1])
}

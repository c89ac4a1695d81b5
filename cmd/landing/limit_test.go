package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A training that nobody gave a length says first that it takes long, and how to have a result soon; it trains.
func TestLongTrainingIsForetold(t *testing.T) {
	dir := t.TempDir()
	long := longTraining
	longTraining = 0
	defer func() { longTraining = long }()
	const told = "note: this training takes about "
	small := []string{"--set", "network={width: 8, layers: 1}", "--timeout", "4s"}
	r := do(t, dir, append([]string{"train", "demo", "--set", "title=a b", "--out", "r"}, small...)...)
	const cut = "For a result in minutes:\n  landing train demo --set 'title=a b' --out r"
	words, command, _ := strings.Cut(r.stderr, cut)
	ended := r.code == 0 || r.code == exitTime // a fast machine is done before the limit
	if !ended || !strings.Contains(words, told) || !strings.Contains(command, " --timeout 4s --for 5m\n") ||
		!strings.Contains(command, "epoch") {
		t.Errorf("exit %d\n%s", r.code, r.stderr)
	}
	for _, length := range []string{"train.epochs=1", "train.max_seconds=1"} {
		if r := do(t, dir, append([]string{"train", "demo", "--set", length}, small...)...); strings.Contains(r.stderr,
			told) {
			t.Errorf("%s: %s", length, r.stderr)
		}
	}
}

// --timeout ends a training with all that it did, says how to go on, and exits with a code of its own; what goes on
// begins where it ended.
func TestMaxTime(t *testing.T) {
	dir := t.TempDir()
	status := func() (s run.Status) {
		data, err := os.ReadFile(filepath.Join(dir, "r", run.StatusFile))
		if err == nil {
			err = json.Unmarshal(data, &s)
		}
		testkit.OK(t, err)
		return s
	}
	r := do(t, dir, append([]string{"train", "demo", "--variant=fixed", "--out", "r", "--timeout", "1s", "--json"},
		append(tiny, "--set", "train.epochs=1000000", "--set", "train.paths=100", "--set", "process.steps=5")...)...)
	first := status()
	if r.code != exitTime || first.State != "interrupted" || first.Epoch == 0 || first.Epoch >= first.Epochs ||
		!strings.Contains(r.stderr, "stopped by --timeout 1s after epoch") ||
		!strings.Contains(r.stderr, "landing train r") {
		t.Errorf("exit %d, %+v\n%s", r.code, first, r.stderr)
	}
	if e := wantJSON(t, r)["error"].(map[string]any); e["kind"] != "time" || e["code"] != float64(exitTime) ||
		!strings.Contains(e["message"].(string), "landing train r goes on") {
		t.Errorf("got %v", e)
	}
	if r := do(t, dir, "train", "r", "--timeout", "1s"); r.code != exitTime || status().Epoch <= first.Epoch {
		t.Errorf("exit %d, %+v after %+v\n%s", r.code, status(), first, r.stderr)
	}
	// A training that ends before is as without.
	whole := append([]string{"train", "demo", "--variant=fixed", "--out", "s", "--timeout", "1h"}, tiny...)
	if r := ok(t, dir, whole...); strings.Contains(r.stderr, "timeout") {
		t.Errorf("got %s", r.stderr)
	}
	for _, most := range []string{"0s", "-1s", "10ms", "2000h"} {
		if r := do(t, dir, "train", "demo", "--variant=fixed", "--timeout", most); r.code != exitUsage ||
			!strings.Contains(r.stderr, "expected a time from 1s to 1000h") {
			t.Errorf("--timeout %s: exit %d %s", most, r.code, r.stderr)
		}
	}
}

// The version says which commit and which machine it is for.
func TestVersion(t *testing.T) {
	dir := t.TempDir()
	v := wantJSON(t, ok(t, dir, "version", "--json"))
	for _, key := range []string{"version", "go", "os", "arch"} {
		if s, _ := v[key].(string); s == "" {
			t.Errorf("no %s in %v", key, v)
		}
	}
	if r := ok(t, dir, "version"); !strings.HasPrefix(r.stdout, "landing version ") {
		t.Errorf("got %s", r.stdout)
	}
}

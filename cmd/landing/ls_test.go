package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/internal/text"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// ls lists what train left, in an empty folder nothing, and refuses what it does not know.
func TestLs(t *testing.T) {
	dir := t.TempDir()
	if r := ok(t, dir, "ls"); r.stdout != "no runs\n" || !strings.Contains(r.stderr, "no folder runs") {
		t.Errorf("%s%s", r.stdout, r.stderr)
	}
	ok(t, dir, append([]string{"train", "demo", "--variant=fixed", "--set", "train.evaluate_every=3"}, tiny...)...)
	checkMetrics(t, filepath.Join(dir, "runs", "demo-001"))
	r := ok(t, dir, "ls")
	for _, want := range []string{"runs/demo-001", "finished", "3/3", "not judged; of epoch 3", "demo, ULLA"} {
		testkit.Contains(t, r.stdout, want)
	}
	runs := wantJSON(t, ok(t, dir, "ls", "runs", "--json"))["runs"].([]any)
	if e := runs[0].(map[string]any); len(runs) != 1 || e["state"] != "finished" || !(e["bytes"].(float64) > 1000) ||
		!(e["distance"].(map[string]any)["value"].(float64) > 0) {
		t.Errorf("got %v", runs)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, `--sort is "luck"; expected one of name`, []string{"--sort", "luck"}},
		{exitUsage, "--depth is 0; expected 1 to 32", []string{"--depth", "0"}},
		{exitConfig, "nowhere", []string{"nowhere"}},
	} {
		if r := do(t, dir, append([]string{"ls"}, c.args...)...); r.code != c.code ||
			!strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: exit %d, %s", c.args, r.code, r.stderr)
		}
	}
}

func TestUnits(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 999: "999", 19_600_000: "19.6M", 5e12: "5T"} {
		testkit.Equal(t, text.SI(n), want, "%v", n)
	}
	for d, want := range map[time.Duration]string{-time.Second: "0 s", 59 * time.Second: "59 s", time.Hour: "1 h",
		59 * time.Minute: "59 min", 47 * time.Hour: "47 h", 72 * time.Hour: "3 d"} {
		testkit.Equal(t, text.Age(d), want, "%v", d)
	}
}

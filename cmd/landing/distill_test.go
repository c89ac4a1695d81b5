package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// distill makes a run folder that the other verbs take as any other, and says what its samples are
// worth by each number of evaluations, and who taught it.
func TestDistill(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir, "prior=uniform")
	set := []string{"--set", "train.epochs=2", "--set", "network.width=8", "--set", "network.layers=1", "--set",
		"network.octaves=0", "--set", "network.octaves_of=point"}
	v := wantJSON(t, ok(t, dir, append([]string{"distill", "r", "--steps", "4,1", "-n", "80", "--out", "s",
		"--json"}, set...)...))
	samples, _ := v["samples"].([]any)
	if len(samples) != 2 {
		t.Fatalf("got %v", v)
	}
	for i, want := range []float64{4, 1} {
		s := samples[i].(map[string]any)
		if s["evaluations"] != want || s["failed"] != 0.0 || !(s["jsd"].(float64) > 0) ||
			!(s["violation"].(float64) <= 1e-12) {
			t.Errorf("samples %d: %v", i, s)
		}
	}
	far := v["samples"].([]any)[0].(map[string]any)["over_teacher"].(float64)
	if v["good"] != (far <= 1.5) || (v["remedy"] == nil) != (far <= 1.5) {
		t.Errorf("%v times as far as the teacher's samples: good %v, %v, %v", far, v["good"], v["verdict"], v["remedy"])
	}
	if own := v["teacher_samples"].(map[string]any); own["evaluations"] != 50.0 {
		t.Errorf("the teacher takes %v evaluations", own["evaluations"])
	}
	scored := wantJSON(t, ok(t, dir, "report", "s", "--text", "-n", "100", "--json"))
	testkit.Equal(t, scored["network_evaluations"], 4.0, "eval")
	scored = wantJSON(t, ok(t, dir, "report", "s", "--text", "-n", "100", "--set", "generate.evaluations=1", "--json"))
	testkit.Equal(t, scored["network_evaluations"], 1.0, "with one evaluation eval")
	ok(t, dir, "generate", "s", "-n", "20", "-o", "x.npy")
	ok(t, dir, "show", "s")
	ok(t, dir, "report", "s", "-n", "100")
	ok(t, dir, "train", "s", "--set", "train.epochs=3")
	testkit.OK(t, testkit.Err(os.Stat(filepath.Join(dir, "s", "report.html"))))

	for _, c := range []struct {
		code int
		args []string
	}{
		{exitConfig, []string{"s"}},                                 // a student
		{exitConfig, []string{"nowhere"}},                           // no run
		{exitConfig, []string{"r", "--set", "network.output=loud"}}, // a key that cannot be
		{exitUsage, []string{"r", "--steps", "0"}}, {exitUsage, []string{"r", "--steps", "4,x"}},
		{exitUsage, []string{"r", "--steps", "66"}}, {exitUsage, []string{"r", "-n", "0"}},
		{exitUsage, []string{"r", "--for", "1ms"}}, {exitUsage, []string{}},
	} {
		if got := do(t, dir, append([]string{"distill"}, c.args...)...); got.code != c.code {
			t.Errorf("distill %v: exit %d, want %d\n%s", c.args, got.code, c.code, got.stderr)
		}
	}
}

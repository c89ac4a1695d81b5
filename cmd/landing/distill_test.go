package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/problem"
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

// A student is good within one and a half of its teacher's distance, with no more failures and violation; else
// there are words, and a command that trains three times as long.
func TestDistilledVerdict(t *testing.T) {
	teacher := counted{Evaluations: 50, Distance: 0.1, Ratio: 1, Violation: 1e-13}
	good := counted{Evaluations: 4, Distance: 0.15, Ratio: 1.5, Violation: 1e-12}
	with := func(change func(*counted)) counted {
		c := good
		change(&c)
		return c
	}
	epochs, clock := &problem.Problem{}, &problem.Problem{}
	epochs.Train.Epochs, clock.Train.MaxSeconds = 20, 30.5
	epochs.Generate.MaxViolation, clock.Generate.MaxViolation = 1e-9, 1e-9
	for name, c := range map[string]struct {
		of            counted
		p             *problem.Problem
		words, remedy string
	}{
		"good":  {good, epochs, "1.50 times", ""},
		"far":   {with(func(c *counted) { c.Ratio = 1.51 }), epochs, "training may bring", "s --set train.epochs=60"},
		"clock": {with(func(c *counted) { c.Ratio = 2 }), clock, "2.00 times", "s --for 1m1s"},
		"fails": {with(func(c *counted) { c.Failed = 1 }), epochs, "1 failed", "s --set train.epochs=60"},
		"off":   {with(func(c *counted) { c.Violation = 2e-9 }), epochs, "violate", "s --set train.epochs=60"},
		"fewer": {with(func(c *counted) { c.Ratio = 2 }), epochs, "take 2, whose samples are 1.25 times",
			"landing generate s --set generate.evaluations=2 -n 10000 -o samples.npy"},
		"ended": {with(func(c *counted) { c.Ratio = 2 }), epochs, "shorter training may",
			"landing distill r --set train.stop=epochs --set train.epochs=14"},
		"none": {with(func(c *counted) { c.Ratio = metric.NaN }), epochs, "no distance", "landing report s --text"},
	} {
		d := distilled{Run: "s", Of: teacher, Samples: []counted{c.of}, Teacher: run.Teacher{Run: "r"}, Epochs: 28}
		switch name { // those that are no better, and are not named: of a failure, too far
		case "fewer":
			d.Samples = append(d.Samples, with(func(c *counted) { c.Evaluations, c.Ratio = 2, 1.25 }),
				with(func(c *counted) { c.Evaluations, c.Ratio, c.Failed = 1, 1.125, 1 }))
		case "far":
			d.Samples = append(d.Samples, with(func(c *counted) { c.Evaluations, c.Ratio = 2, 1.505 }))
		}
		d.judge(c.p, name == "ended")
		command := ""
		if d.Remedy != nil {
			command = commandLine(d.Remedy)
		}
		if d.Good != (name == "good") || !strings.Contains(d.Verdict, c.words) ||
			!strings.HasSuffix(command, c.remedy) || (command == "") != (c.remedy == "") {
			t.Errorf("%s: good %v, %q, %q", name, d.Good, d.Verdict, command)
		}
	}
}
